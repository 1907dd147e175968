"""The folder of a run: one owner at a time, and nothing that is not ours is removed, overwritten or written through."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
from conftest import SHORT
from test_resume import STEPS, command, make_states, settings

import regard
from regard.training.record import clear, sole_owner


def tree(folder):
    """All that is there: names, kinds, contents."""
    return {
        str(path.relative_to(folder)): path.readlink() if path.is_symlink() else path.is_file() and path.read_bytes()
        for path in sorted(folder.rglob("*"))
    }


def train(to, pairs, steps=3, **options):
    return regard.train(
        "translate", to=to, settings=SHORT | {"stop": {"steps": steps}, "workers": 1}, **pairs, **options
    )


@pytest.fixture(scope="module")
def trained(tmp_path_factory, pairs):
    to = tmp_path_factory.mktemp("trained") / "m"
    train(to, pairs)
    return to


def theirs(place):
    """A folder of the user's, with names that ours would have."""
    (place / "state").mkdir(parents=True)
    for name in ("run.json", "metrics.jsonl", "tokenizer.json", "notes.txt", "state/weights-00000001.safetensors"):
        (place / name).write_text("mine")
    return place


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("kind", ["folder", "link", "link to nothing", "file", "beside a model"])
def test_a_run_folder_that_is_not_ours_is_refused_and_left_alone(tmp_path, pairs, trained, kind, fresh):
    to = tmp_path / "proj"
    if kind == "beside a model":
        shutil.copytree(trained, to, ignore=shutil.ignore_patterns("run"))
    to.mkdir(exist_ok=True)
    if kind.startswith("link"):
        (to / "run").symlink_to(theirs(tmp_path / "elsewhere") if kind == "link" else tmp_path / "nowhere")
    elif kind == "file":
        (to / "run").write_text("mine")
    else:
        theirs(to / "run")
    before = tree(tmp_path)
    with pytest.raises(regard.RunError, match=r"proj/run (is a|was not made by).*move it away, or train to another"):
        train(to, pairs, fresh=fresh)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("leads_to", ["a model", "an empty folder", "nothing"])
def test_nothing_is_trained_through_a_link(tmp_path, pairs, trained, leads_to):
    if leads_to == "a model":
        shutil.copytree(trained, tmp_path / "there")
    elif leads_to == "an empty folder":
        (tmp_path / "there").mkdir()
    (tmp_path / "m").symlink_to(tmp_path / "there")
    before = tree(tmp_path)
    with pytest.raises(regard.RunError, match=r"m is a link, .* name the folder itself"):
        train(tmp_path / "m", pairs, steps=5)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("name", ["run/state", "run/lock", "run/.regard", ".new", ".ready"])
def test_links_in_the_place_of_what_is_ours_are_refused(tmp_path, pairs, trained, name):
    elsewhere = theirs(tmp_path / "elsewhere")
    to = tmp_path / "m"
    shutil.copytree(trained, to)
    with_link = to / name
    if with_link.is_dir():
        shutil.rmtree(with_link)
    with_link.unlink(missing_ok=True)
    with_link.symlink_to(elsewhere if name not in {"run/lock", "run/.regard"} else elsewhere / "notes.txt")
    before = tree(elsewhere)
    with pytest.raises(regard.RegardError, match="link"):
        train(to, pairs, steps=5)
    assert tree(elsewhere) == before


def test_a_strangers_run_is_resumed_without_writing_outside(tmp_path, pairs, trained):
    """Links in the place of every file that a run writes: replaced or refused, never written through."""
    elsewhere = theirs(tmp_path / "elsewhere")
    to = tmp_path / "m"
    shutil.copytree(trained, to)
    for name in ("run/metrics.jsonl", "run/snapshots.jsonl", "run/tokens.json", "run/survey.json"):
        (to / name).unlink(missing_ok=True)
        (to / name).symlink_to(elsewhere / "notes.txt")
    (to / "run" / "state" / "weights-00000005.safetensors").symlink_to(elsewhere / "notes.txt")
    before = tree(elsewhere)
    train(to, pairs, steps=5)
    assert tree(elsewhere) == before
    assert not any(path.is_symlink() for path in to.rglob("*"))


@pytest.mark.parametrize(
    "name",
    [
        "run.json",
        "metrics.jsonl",
        "tokens.json",
        "tokens.pairs.flat.bin",
        "survey.json",
        "state/state-00000003.json",
        "lock",
    ],
)
def test_a_pipe_in_a_run_is_refused_or_replaced_at_once(tmp_path, pairs, trained, name):
    to = tmp_path / "m"
    shutil.copytree(trained, to)
    (to / "run" / name).unlink(missing_ok=True)
    os.mkfifo(to / "run" / name)
    signal.alarm(60)
    try:
        train(to, pairs, steps=4)
    except regard.RunError as problem:
        assert name in str(problem) and "named pipe" in str(problem)
    finally:
        signal.alarm(0)


def test_files_of_the_user_survive_a_resume_and_a_fresh_start(tmp_path, pairs, trained):
    to = tmp_path / "m"
    shutil.copytree(trained, to)
    notes = [to / "notes.txt", to / "README.md", to / "run" / "notes.txt", to / "run" / "state" / "notes.txt",
             to / "run" / "plots" / "loss.txt", to / "run" / "state" / "weights-best.safetensors"]  # fmt: skip
    for path in notes:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
    (to / "run" / ".run.json.0123abcd.unfinished").write_text("half")
    train(to, pairs, steps=5)
    train(to, pairs, steps=2, fresh=True)
    assert all(path.read_text() == "mine" for path in notes)
    assert not list(to.rglob("*.unfinished"))
    assert regard.load(to).info.training["steps"] == 2


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize(
    "name", ["generation_config.json", "tokenizer_config.json", ".new/notes.txt", ".ready/notes.txt"]
)
def test_a_file_that_could_not_be_replaced_is_refused_before_the_training(tmp_path, pairs, trained, name, fresh):
    to = tmp_path / "m"
    shutil.copytree(trained, to)
    assert (to / name).exists() or name.startswith(".")
    (to / name).parent.mkdir(exist_ok=True)
    (to / name).write_text("{}")
    before = tree(to)
    with pytest.raises(regard.RunError, match=rf"{name.split('/')[0]}.* cannot be written: it .*: move it away"):
        train(to, pairs, steps=5, fresh=fresh)
    assert tree(to) == before
    (to / name).unlink()
    train(to, pairs, steps=5, fresh=fresh)
    assert regard.load(to).info.training["steps"] == 5


@pytest.mark.parametrize("has_lock", [False, True])
def test_a_run_of_0_1_without_the_mark_is_resumed(tmp_path, pairs, trained, has_lock):
    to = tmp_path / "m"
    shutil.copytree(trained, to)
    (to / "run" / ".regard").unlink()
    if not has_lock:
        (to / "run" / "lock").unlink()
    with sole_owner(to, fresh=False) as run:
        assert run.path == to / "run"
    assert (to / "run" / ".regard").is_file() and (to / "run" / "run.json").is_file()


def test_a_model_that_is_not_ours_beside_a_run_is_refused(tmp_path, pairs, trained):
    to = tmp_path / "m"
    shutil.copytree(trained, to)
    (to / "regard.json").write_text('{"somebody": "else"}')
    before = tree(to)
    with pytest.raises(regard.RunError, match=r"regard\.json is not of a model that regard wrote"):
        train(to, pairs, steps=5)
    assert tree(to) == before


def test_only_names_of_ours_are_cleared(tmp_path):
    (tmp_path / "run" / "state").mkdir(parents=True)
    make_states(tmp_path / "run" / "state", [10, 20])
    (tmp_path / "run" / "state" / "state-of-the-art.json").write_text("mine")
    (tmp_path / "run" / "state" / "best-00000001.safetensors").mkdir()
    make_states(tmp_path / "run" / "state", [30])
    clear(tmp_path / "run")
    assert set(tree(tmp_path / "run")) == {
        "state", "state/state-of-the-art.json", "state/best-00000001.safetensors"
    }  # fmt: skip


HOLD = """
import os, sys, time
from pathlib import Path
from regard.errors import RunError
from regard.training.record import sole_owner
to, log, turns = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
(log / f"ready-{os.getpid()}").touch()
while len(list(log.glob("ready-*"))) < 3:
    time.sleep(0.001)
while turns:
    try:
        with sole_owner(to, False) as run:
            run.check()
            mine = log / "inside"
            mine.mkdir()  # fails if another process is inside
            time.sleep(0.002)
            mine.rmdir()
            run.check()
            turns -= 1
    except RunError as problem:
        assert "another process is training" in str(problem) or "keeps changing" in str(problem), problem
"""


def test_of_many_processes_one_at_a_time_owns_a_folder(tmp_path):
    """Each takes the folder and leaves it again as if nothing had been; those who are refused take nothing away."""
    (tmp_path / "log").mkdir()
    words = [sys.executable, "-c", HOLD, tmp_path / "a" / "m", tmp_path / "log", "50"]
    running = [subprocess.Popen(words, stderr=subprocess.PIPE) for _ in range(3)]
    for process in running:
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said.decode()
    assert not (tmp_path / "log" / "inside").exists()


def test_a_refused_training_does_not_take_the_lock_of_another_away(tmp_path):
    """Not even while the first still reads its text and has written nothing."""
    with sole_owner(tmp_path / "m", fresh=False) as run:
        for _ in range(3):
            with pytest.raises(regard.RunError, match="another process is training"), sole_owner(tmp_path / "m", True):
                pass
        run.check()
    assert not (tmp_path / "m").exists()


def test_a_training_whose_folder_is_moved_stops_and_is_resumed_there(tmp_path, pairs):
    """Meanwhile another may begin in its old place; neither writes into the other's."""
    to, moved = tmp_path / "m", tmp_path / "moved"
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command(pairs, to), env=environment, stderr=subprocess.PIPE)
    log = to / "run" / "metrics.jsonl"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (log.exists() and log.stat().st_size):
        time.sleep(0.01)
    to.rename(moved)
    theirs(to / "run")
    before = tree(to)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 1 and b"was moved, replaced or removed" in said, said
    assert tree(to) == before
    regard.train("translate", to=moved, settings=settings(), **pairs)
    assert regard.load(moved).info.training["steps"] == STEPS


def test_a_damaged_record_of_a_run_of_ours_can_be_started_over(tmp_path, pairs, trained):
    to = tmp_path / "m"
    shutil.copytree(trained, to)
    (to / "run" / "run.json").write_text(json.dumps({"config": []}))
    with pytest.raises(regard.RunError, match=r"run\.json cannot be read .*add --fresh"):
        train(to, pairs)
    train(to, pairs, steps=2, fresh=True)
