"""A run that was stopped resumes as if it never had been: bit for bit, or with a clear refusal."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
import torch
from conftest import SHORT, write_pairs
from safetensors.torch import load_file
from torch.nn.modules.module import register_module_forward_hook

import regard
from regard.files import hash_file
from regard.model.blocks import Block
from regard.training.checkpoint import CheckpointStore, TrainState
from regard.training.loop import Progress, Validated
from regard.training.stop import Stopper

STEPS = 50


def settings(steps=STEPS, **more):
    return SHORT | {"stop": {"steps": steps}} | more


def final_weights(to):
    """The published model, and the checkpoint that the next session would resume from."""
    state = max((to / "run" / "state").glob("weights-*.safetensors"))
    return hash_file(to / "model.safetensors"), hash_file(state), state.name


@pytest.fixture(scope="module")
def whole(tmp_path_factory, pairs):
    """A run that was never stopped."""
    to = tmp_path_factory.mktemp("whole") / "model"
    regard.train("translate", to=to, settings=settings(), **pairs)
    return final_weights(to)


def test_the_same_run_twice_gives_the_same_bits(whole, tmp_path, pairs):
    regard.train("translate", to=tmp_path / "m", settings=settings(), **pairs)
    assert final_weights(tmp_path / "m") == whole


def test_whoever_stops_reading_stops_the_run_and_can_go_on(whole, tmp_path, pairs):
    for stop_after in (7, 21, 40):
        for event in regard.training("translate", to=tmp_path / "m", settings=settings(), **pairs):
            if isinstance(event, Progress) and event.step >= stop_after:
                break
    regard.train("translate", to=tmp_path / "m", settings=settings(), **pairs)
    assert final_weights(tmp_path / "m") == whole


def test_n_steps_and_n_more_are_2n_steps(whole, tmp_path, pairs):
    """A finished run is extended by asking for more; the score at its old end leaves no trace."""
    for steps in (13, 33, STEPS):
        regard.train("translate", to=tmp_path / "m", settings=settings(steps), **pairs)
    assert final_weights(tmp_path / "m") == whole


@pytest.mark.parametrize("moment", ["learn", "encode", "score"])
def test_a_stop_asked_for_at_any_moment_is_clean(whole, tmp_path, pairs, moment, monkeypatch):
    """Also while learning pieces, tokenising or validating."""
    from regard.families.translate import recipe as translate
    from regard.text.tokenizer import Tokenizer

    stopper = Stopper()
    places = {"learn": (translate, "learn_pairs"), "encode": (Tokenizer, "encode_all"), "score": (Tokenizer, "decode")}
    home, inside = places[moment]
    original = getattr(home, inside)

    def asking(*args, **kwargs):
        stopper.ask()
        return original(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(home, inside, asking)
        with pytest.raises(KeyboardInterrupt):
            for _ in regard.training("translate", to=tmp_path / "m", settings=settings(), stopper=stopper, **pairs):
                pass
    regard.train("translate", to=tmp_path / "m", settings=settings(), **pairs)
    assert final_weights(tmp_path / "m") == whole


@pytest.mark.parametrize(("moment", "workers"), [("rehearsal", 1), ("forward", 1), ("backward", 1), ("forward", 2)])
def test_a_stop_in_the_middle_of_a_step_computes_no_further(whole, tmp_path, pairs, moment, workers):
    """A step of a large model takes minutes. The unfinished one is repeated."""
    stopper, asked_at, after = Stopper(), {"rehearsal": 3, "forward": 101, "backward": 101}[moment], []
    passes = 0

    def count(module, _, output):
        nonlocal passes
        if isinstance(module, Block) and module.training:
            passes += 1
            if stopper.is_asked:
                after.append(passes)
            if passes >= asked_at and moment == "backward":
                output.register_hook(lambda _: stopper.ask())
            elif passes >= asked_at:
                stopper.ask()

    with pytest.raises(KeyboardInterrupt), register_module_forward_hook(count):
        for _ in regard.training(
            "translate", to=tmp_path / "m", settings=settings(workers=workers), stopper=stopper, **pairs
        ):
            pass
    assert stopper.is_asked and not after
    regard.train("translate", to=tmp_path / "m", settings=settings(workers=workers), **pairs)
    if workers == 1:
        assert final_weights(tmp_path / "m") == whole
    assert CheckpointStore(tmp_path / "m" / "run" / "state").newest().step == STEPS


COMMAND = [sys.executable, "-m", "regard", "train", "translate"]


def command(pairs, to):
    sets = [
        f"{section}.{key}={value}"
        for section, values in SHORT.items()
        if isinstance(values, dict)
        for key, value in values.items()
    ]
    words = [word for one in [*sets, "threads=1"] for word in ("--set", one)]
    return [*COMMAND, str(pairs["source"]), str(pairs["target"]), "--to", str(to), "--steps", str(STEPS), *words]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_killed_process_goes_on_bit_for_bit(whole, tmp_path, pairs, number):
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command(pairs, tmp_path / "m"), env=environment, stderr=subprocess.PIPE)
    log = tmp_path / "m" / "run" / "metrics.jsonl"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (log.exists() and log.stat().st_size):
        time.sleep(0.01)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    if number != signal.SIGKILL:
        assert process.returncode == 130, said
        assert b"all is saved" in said and b"Traceback" not in said
    regard.train("translate", to=tmp_path / "m", settings=settings(), **pairs)
    assert final_weights(tmp_path / "m") == whole


def test_metrics_tell_each_step_once(tmp_path, pairs):
    for steps in (15, 30):
        regard.train("translate", to=tmp_path / "m", settings=settings(steps), **pairs)
    entries = [json.loads(line) for line in (tmp_path / "m" / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [e["step"] for e in entries if "learning_rate" in e] == [10, 20, 30]
    assert [e["step"] for e in entries if "bleu" in e] == [20]
    assert all({"step", "seconds", "tokens_per_second", "loss"} <= e.keys() for e in entries if "learning_rate" in e)


def test_another_text_is_refused(tmp_path, pairs):
    regard.train("translate", to=tmp_path / "m", settings=settings(5), **pairs)
    other = write_pairs(tmp_path / "other", 200)
    with pytest.raises(regard.RunError, match=r"was begun with other text \(source: train\.en was changed"):
        regard.train("translate", to=tmp_path / "m", settings=settings(9), **other)
    with pytest.raises(regard.RunError, match=r"valid_source: none -> train\.en"):
        regard.train(
            "translate", to=tmp_path / "m", settings=settings(9), **pairs,
            valid_source=other["source"], valid_target=other["target"],
        )  # fmt: skip


def test_other_settings_are_refused_and_fresh_starts_over(tmp_path, pairs):
    regard.train("translate", to=tmp_path / "m", settings=settings(5), **pairs)
    changed = settings(5, seed=2)
    with pytest.raises(regard.RunError, match=r"other settings \(seed: 1 -> 2\)"):
        regard.train("translate", to=tmp_path / "m", settings=changed, **pairs)
    regard.train("translate", to=tmp_path / "m", settings=changed, fresh=True, **pairs)
    assert regard.load(tmp_path / "m").info.settings["seed"] == 2


def test_fresh_loses_nothing_when_the_new_run_cannot_begin(tmp_path, pairs):
    regard.train("translate", to=tmp_path / "m", settings=settings(5), **pairs)
    before = final_weights(tmp_path / "m")
    with pytest.raises(regard.CorpusError):
        regard.train("translate", to=tmp_path / "m", fresh=True, source=tmp_path / "no.en", target=pairs["target"])
    assert final_weights(tmp_path / "m") == before
    assert CheckpointStore(tmp_path / "m" / "run" / "state").newest().step == 5


def test_what_was_decided_is_kept_when_it_is_not_said_again(tmp_path, pairs):
    regard.train("translate", to=tmp_path / "m", settings=settings(5), **pairs)
    regard.train("translate", to=tmp_path / "m", settings={"stop": {"steps": 8}, "device": "auto"}, **pairs)
    info = regard.load(tmp_path / "m").info
    assert info.settings["model"]["width"] == 32 and info.training["steps"] == 8


def test_two_trainings_into_one_folder_are_refused(tmp_path, pairs):
    first = regard.training("translate", to=tmp_path / "m", settings=settings(5), **pairs)
    next(first)
    with pytest.raises(regard.RunError, match="another process is training"):
        regard.train("translate", to=tmp_path / "m", settings=settings(5), **pairs)
    first.close()


def test_a_folder_of_something_else_is_left_alone(tmp_path, pairs):
    (tmp_path / "thesis.tex").write_text("all my work")
    with pytest.raises(regard.RunError, match="not a model"):
        regard.train("translate", to=tmp_path, settings=settings(5), **pairs)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_refused_run_leaves_nothing_behind(tmp_path, pairs):
    with pytest.raises(regard.CorpusError):
        regard.train("translate", to=tmp_path / "a" / "b", source=tmp_path / "no.de", target=tmp_path / "no.en")
    assert list(tmp_path.iterdir()) == []


def test_minutes_only_choose_the_last_step(whole, tmp_path, pairs):
    """A run that ended by the clock at some step is the same as one that was configured to end there."""
    to = tmp_path / "m"
    events = list(regard.training("translate", to=to, settings=SHORT | {"stop": {"minutes": 0.02}}, **pairs))
    assert any(isinstance(event, Progress) for event in events)
    state = CheckpointStore(to / "run" / "state").newest()
    regard.train("translate", to=tmp_path / "n", settings=settings(state.step), **pairs)
    assert final_weights(tmp_path / "n") == final_weights(to)


def test_validation_does_not_change_what_is_learned(tmp_path, pairs):
    often = SHORT | {"train": SHORT["train"] | {"valid_every": 3}}
    rarely = SHORT | {"train": SHORT["train"] | {"valid_every": 1000}}
    hashes = []
    for name, chosen in (("often", often), ("rarely", rarely)):
        events = list(
            regard.training("translate", to=tmp_path / name, settings=chosen | {"stop": {"steps": 12}}, **pairs)
        )
        assert sum(isinstance(event, Validated) for event in events) == (4 - 1 if name == "often" else 0)
        hashes.append(hash_file(max((tmp_path / name / "run" / "state").glob("weights-*"))))
    assert hashes[0] == hashes[1]


def make_states(folder, steps):
    store = CheckpointStore(folder)
    for step in steps:
        tensors = {"w": torch.full((100,), float(step))}
        store.put("weights", step, tensors)
        store.save(TrainState(step=step, averaged=(step,)), tensors, {"0.m": tensors["w"]})
    return store


def test_the_newest_whole_state_wins(tmp_path):
    store = make_states(tmp_path, [10, 20, 30])
    assert store.newest().step == 30
    (tmp_path / "optimizer-00000030.safetensors").write_bytes(b"short")
    assert store.newest().step == 20
    (tmp_path / "state-00000020.json").write_text('{"state": {"st')
    assert store.newest() is None
    assert not (tmp_path / "weights-00000010.safetensors").exists()  # older ones were tidied away


@pytest.mark.parametrize("damage", [b"{", None])
def test_a_run_that_fell_back_saves_again_and_forgets_the_damaged_state(tmp_path, damage):
    store = make_states(tmp_path, [10, 30])
    broken = tmp_path / ("state-00000030.json" if damage else "weights-00000030.safetensors")
    broken.write_bytes(damage or b"short")
    assert store.newest().step == 10
    make_states(tmp_path, [20])
    assert store.newest().step == 20
    assert sorted(path.name for path in tmp_path.glob("state-*")) == ["state-00000010.json", "state-00000020.json"]
    assert not list(tmp_path.glob("*00000030*"))


@pytest.mark.parametrize("victim", ["weights", "optimizer", "state"])
def test_any_damage_to_the_newest_state_falls_back(tmp_path, victim):
    store = make_states(tmp_path, [10, 20])
    path = next(tmp_path.glob(f"{victim}-00000020*"))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    newest = store.newest()
    assert newest.step == 10
    assert load_file(tmp_path / "weights-00000010.safetensors")["w"][0] == 10


def test_what_was_found_in_the_text_is_found_again_if_someone_edits_it(tmp_path, pairs):
    """Else other pairs would be held out than those that were not learned from."""
    regard.train("translate", to=tmp_path / "m", settings=settings(2), **pairs)
    survey = tmp_path / "m" / "run" / "survey.json"
    before = survey.read_bytes()
    found = json.loads(before)
    survey.write_text(json.dumps(found | {"count": found["count"] - 5, "valid": found["valid"][:3]}))
    regard.train("translate", to=tmp_path / "m", settings=settings(3), **pairs)
    assert survey.read_bytes() == before
