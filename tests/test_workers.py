"""Several processes train one model: the same result whichever computes, exact resume, and no process left behind."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from conftest import SHORT, plan_of

import regard
from regard.config import merge
from regard.training import forked
from regard.training.checkpoint import CheckpointStore

TINY = merge(SHORT, {"model": {"layers": 1, "width": 16, "heads": 2, "ffn_width": 32}, "train": {"valid_every": 1000}})


def settings(steps: int, workers: int, **others) -> dict:
    return merge(TINY, {"stop": {"steps": steps}, "workers": workers, "train": {"grad_accumulation": 2}} | others)


def state(folder: Path) -> dict[str, torch.Tensor]:
    store = CheckpointStore(folder / "run" / "state")
    step = store.newest().step
    return store.get("weights", step) | {f"adam {k}": v for k, v in store.get("optimizer", step).items()}


def assert_same(one: dict, other: dict, tolerance: float | None = None) -> None:
    assert one.keys() == other.keys()
    for name, tensor in one.items():
        if tolerance is None:
            assert torch.equal(tensor, other[name]), name
        else:
            assert torch.allclose(tensor, other[name], atol=tolerance), name


@pytest.fixture
def may_fork(monkeypatch):
    """Workers are forked, whatever threads other tests have left here: that is quicker than to start them."""
    monkeypatch.setattr(forked, "can_fork", lambda: True)


@pytest.fixture(scope="module")
def alone(tmp_path_factory, pairs) -> Path:
    """One process that computes both parts of each batch."""
    to = tmp_path_factory.mktemp("alone") / "m"
    regard.train("translate", to=to, settings=settings(20, workers=1), **pairs)
    return to


def test_two_workers_stopped_and_resumed_make_bit_for_bit_what_one_process_makes(tmp_path, pairs, alone, may_fork):
    to = tmp_path / "m"
    regard.train("translate", to=to, settings=settings(11, workers=2), **pairs)
    *_, finished = events = list(regard.training("translate", to=to, settings=settings(20, workers=2), **pairs))
    plan = plan_of(events)
    assert (plan.step, plan.config.workers, plan.note, finished.step) == (11, 2, None, 20)
    assert_same(state(to), state(alone))
    assert "inexact_from" not in json.loads((to / "run" / "run.json").read_text())


def test_the_learning_rate_falls_in_all_workers_alike(tmp_path, pairs, may_fork):
    for workers in (1, 2):
        cooled = merge(settings(8, workers), {"model": {"dropout": 0.1}, "train": {"cooldown": 0.5, "r_drop": 5}})
        regard.train("translate", to=tmp_path / f"{workers}", settings=cooled, **pairs)
    assert_same(state(tmp_path / "2"), state(tmp_path / "1"))


def test_another_number_of_workers_goes_on_and_says_that_exactness_ended(tmp_path, pairs, alone, may_fork):
    to = tmp_path / "m"
    regard.train("translate", to=to, settings=settings(8, workers=1), **pairs)
    plan = plan_of(list(regard.training("translate", to=to, settings=settings(20, workers=2), **pairs)))
    assert plan.config.workers == 2 and plan.config.train.grad_accumulation == 2
    assert "no longer bit for bit" in plan.note and "1 thread," in plan.note and "2 workers" in plan.note
    assert json.loads((to / "run" / "run.json").read_text())["inexact_from"] == [8]
    assert_same(state(to), state(alone), tolerance=1e-5)
    again, *_ = regard.training(
        "translate", to=to, settings=merge(TINY, {"stop": {"steps": 20}, "train": {"grad_accumulation": 2}}), **pairs
    )
    assert again.config.workers == 2 and again.note is None  # the layout in use is what is kept


def test_a_worker_without_a_part_waits_for_the_others(tmp_path, pairs, may_fork):
    """Begun by one process with one part: the second has nothing to compute, and the plan says so."""
    one = {"train": {"grad_accumulation": 1}}
    for to, steps in ((tmp_path / "m", 3), (tmp_path / "alone", 6)):
        regard.train("translate", to=to, settings=merge(settings(steps, workers=1), one), **pairs)
    more = merge(settings(6, workers=2), one)
    plan = plan_of(list(regard.training("translate", to=tmp_path / "m", settings=more, **pairs)))
    assert "1 of 2 workers has a part of a batch to compute" in plan.note
    assert_same(state(tmp_path / "m"), state(tmp_path / "alone"), tolerance=1e-5)


def test_a_run_that_is_only_prepared_is_laid_out_for_the_workers_that_train_it(tmp_path, pairs, may_fork):
    """Text is prepared on one machine, stopped before the first step, and trained by many: as if they had begun it."""
    by = [merge(TINY, {"stop": {"steps": 8}, "workers": workers}) for workers in (0, 1, 2)]
    for event in (events := regard.training("translate", to=tmp_path / "m", settings=by[1], **pairs)):
        if isinstance(event, regard.Plan):
            events.close()
    store = (tmp_path / "m" / "run" / "tokens.json").stat().st_mtime_ns
    plan = plan_of(list(regard.training("translate", to=tmp_path / "m", settings=by[2], **pairs)))
    assert (plan.step, plan.config.workers, plan.config.train.grad_accumulation, plan.note) == (0, 2, 2, None)
    assert (tmp_path / "m" / "run" / "tokens.json").stat().st_mtime_ns == store
    regard.train("translate", to=tmp_path / "fresh", settings=by[2], **pairs)
    assert_same(state(tmp_path / "m"), state(tmp_path / "fresh"))


def test_sharded_weights_are_those_of_one_process_and_open_with_any_number(tmp_path, pairs, alone, may_fork):
    """FSDP: after 20 steps each weight is within 1e-5 of one process with the same batches."""
    to = tmp_path / "m"
    plan = plan_of(list(regard.training("translate", to=to, settings=settings(14, workers=2, shard=True), **pairs)))
    assert plan.config.shard is True
    resumed, *_ = regard.training("translate", to=to, settings=settings(20, workers=1, shard=True), **pairs)
    assert resumed.step == 14  # whole files, read by one process
    assert_same(state(to), state(alone), tolerance=1e-5)
    again = tmp_path / "again"
    regard.train("translate", to=again, settings=settings(7, workers=1, shard=True), **pairs)
    regard.train("translate", to=again, settings=settings(20, workers=2, shard=True), **pairs)
    assert_same(state(again), state(alone), tolerance=1e-5)


@pytest.mark.parametrize("is_forked", [True, False])
def test_when_a_worker_is_killed_the_state_is_saved_and_the_run_goes_on(tmp_path, pairs, alone, monkeypatch, is_forked):
    monkeypatch.setattr(forked, "can_fork", lambda: is_forked)
    to = tmp_path / "m"
    before = _children(os.getpid())
    events = regard.training("translate", to=to, settings=settings(20, workers=2), **pairs)
    for event in events:
        if getattr(event, "step", 0) == 5:
            (helper,) = _children(os.getpid()) - before
            os.kill(helper, 9)
            break
    with pytest.raises(regard.RunError, match=r"worker 1 ended \(signal 9\).* saved up to step \d+, the same command"):
        list(events)
    assert state(to)
    regard.train("translate", to=to, settings=settings(20, workers=2), **pairs)
    assert_same(state(to), state(alone))


def test_a_worker_that_was_killed_while_it_waited_is_replaced(tmp_path, pairs, alone, monkeypatch, may_fork):
    start = forked.ForkedWorker.__init__

    def start_dead(self, work) -> None:
        start(self, work)
        self.kill()
        self.wait(30)

    monkeypatch.setattr(forked.ForkedWorker, "__init__", start_dead)
    to = tmp_path / "m"
    regard.train("translate", to=to, settings=settings(20, workers=2), **pairs)
    assert_same(state(to), state(alone))


def test_workers_end_when_the_first_process_is_killed(tmp_path, pairs):
    to = tmp_path / "m"
    sets = [word for one in ("model.width=16", "model.layers=1", "threads=1") for word in ("--set", one)]
    words = [sys.executable, "-m", "regard", "train", "translate", pairs["source"], pairs["target"], "--to", to,
             "--workers", "2", "--steps", "100000", *sets]  # fmt: skip
    first = subprocess.Popen([str(word) for word in words], stderr=subprocess.PIPE, text=True)
    try:
        _until((to / "run" / "metrics.jsonl").exists)
        helpers = _children(first.pid)
        assert len(helpers) == 1
    finally:
        first.kill()
        first.communicate()
    _until(lambda: not any(map(_is_there, helpers)))


def test_nothing_is_unpickled_between_workers(tmp_path, pairs, monkeypatch):
    """Where every pickle.loads fails, two workers train all the same, also sharded."""
    (tmp_path / "sitecustomize.py").write_text(
        "import pickle, torch\n"
        "def refuse(*args, **kwargs):\n    raise RuntimeError('something was pickled')\n"
        "pickle.loads = pickle.load = pickle.dumps = pickle.dump = refuse\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    said = _cli(tmp_path / "m", pairs, "--workers", "2", "--steps", "4", "--set", "shard=true")
    assert said.returncode == 0, said.stderr
    assert "2 workers with 1 thread each, sharded" in said.stderr


def test_torchrun_on_two_machines_makes_bit_for_bit_the_same(tmp_path, pairs, alone):
    """Two agents on loopback are two machines to torchrun: each starts its own process, and they meet by address."""
    to = tmp_path / "m"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = tmp_path / "run.toml"
    config.write_text(_toml(settings(20, workers=2)))
    started = []
    for rank in range(2):
        launch = [sys.executable, "-m", "torch.distributed.run", "--nnodes=2", f"--node-rank={rank}",
                  "--nproc-per-node=1", "--master-addr=127.0.0.1", f"--master-port={port}"]  # fmt: skip
        words = ["-m", "regard", "train", "translate", pairs["source"], pairs["target"], "--to", to, "--config", config,
                 "--workers", "2"]  # fmt: skip
        env = os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
        started.append(subprocess.Popen([*launch, *map(str, words)], stderr=subprocess.PIPE, text=True, env=env))
    said = [process.communicate(timeout=240)[1] for process in started]
    assert [process.returncode for process in started] == [0, 0], said
    assert "The model is in" in said[0] and "The model is in" not in said[1]
    assert_same(state(to), state(alone))


def test_workers_that_were_not_started_cannot_be_asked_for(tmp_path, pairs, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setenv("RANK", "0")
    with pytest.raises(regard.ConfigError, match=r"workers=2 were asked for, but 4 processes were started"):
        regard.train("translate", to=tmp_path / "m", settings=settings(5, workers=2), **pairs)


def _cli(to: Path, pairs: dict, *words: str) -> subprocess.CompletedProcess:
    sets = ("model.width=16", "model.layers=1", "model.heads=2", "threads=1", "text.vocab_size=400")
    command = [
        sys.executable,
        "-m",
        "regard",
        "train",
        "translate",
        pairs["source"],
        pairs["target"],
        "--to",
        to,
        *words,
    ]
    command += [word for one in sets for word in ("--set", one)]
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=240, check=False)


def _toml(tree: dict) -> str:
    """Settings as TOML: plain values first, then the sections."""
    plain = [f"{name} = {json.dumps(value)}" for name, value in tree.items() if not isinstance(value, dict)]
    sections = [f"[{name}]\n{_toml(value)}" for name, value in tree.items() if isinstance(value, dict)]
    return "\n".join([*plain, *sections])


def _children(parent: int) -> set[int]:
    """Processes that another has started and that have not ended."""
    found = {int(path.name) for path in Path("/proc").glob("[0-9]*")}
    return {pid for pid in found if _look(pid)[1:] == [str(parent)] and _is_there(pid)}


def _is_there(pid: int) -> bool:
    return _look(pid)[:1] not in ([], ["Z"])


def _look(pid: int) -> list[str]:
    """What a process does, and whose child it is; nothing if it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
    except OSError:
        return []


def _until(is_so, seconds: float = 120) -> None:
    began = time.monotonic()
    while not is_so():
        assert time.monotonic() - began < seconds, "it never came"
        time.sleep(0.1)
