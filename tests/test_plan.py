"""The plan: measured before the first step, kept with the run, and true as it goes. And the text it is made from."""

import json
from pathlib import Path

import pytest
import torch
from conftest import SHORT, family_settings
from hypothesis import given
from hypothesis import strategies as st

import regard
from regard.config import merge, resolve
from regard.data.store import open_tensors, write_tensors
from regard.training.checkpoint import CheckpointStore
from regard.training.encode import Preparing
from regard.training.loop import Progress, Validated
from regard.training.plan import AT_ONCE, Plan, last_step, lay_out, validations
from regard.training.session import Finished


def run(to, files, steps, **others):
    """The plan of a run, and what came after it."""
    settings = merge(SHORT, {"stop": {"steps": steps}} | others)
    events = regard.training("translate", to=to, settings=settings, **files)
    return [event for event in events if not isinstance(event, Preparing)]


def test_the_plan_is_measured_once_kept_and_used_again(tmp_path, pairs):
    first = run(tmp_path / "m", pairs, 4)[0]
    kept = json.loads((tmp_path / "m" / "run" / "run.json").read_text())
    assert isinstance(first, Plan) and first.measured == kept["measured"]
    assert first.measured["tokens_per_second"] > 0 and first.measured["memory"] > 50e6
    assert run(tmp_path / "m", pairs, 6)[0].measured == first.measured


def test_an_epoch_takes_as_many_steps_as_planned_and_reads_every_pair_once(tmp_path, pairs):
    plan, *events = run(tmp_path / "m", pairs, None, stop={"epochs": 2}, workers=1)
    tokens = [event.tokens for event in events if isinstance(event, Progress)]
    assert events[-1].step == len(tokens) == 2 * plan.updates_per_epoch == last_step(plan.config, len(tokens) // 2)
    assert sum(tokens[: len(tokens) // 2]) == sum(tokens[len(tokens) // 2 :])
    assert 0 < plan.left == pytest.approx(2 * plan.seconds_per_epoch)


def test_measuring_leaves_nothing_behind(tmp_path, pairs):
    """A run that begins with the measurement ends as one that finds the figures kept: equal to the last bit."""
    run(tmp_path / "measured", pairs, 6)
    events = regard.training("translate", to=tmp_path / "kept", settings=merge(SHORT, {"stop": {"steps": 6}}), **pairs)
    assert isinstance(next(event for event in events if not isinstance(event, Preparing)), Plan)
    events.close()  # before the first step: what was measured is in run.json, and nothing was trained
    assert CheckpointStore(tmp_path / "kept" / "run" / "state").newest() is None
    run(tmp_path / "kept", pairs, 6)
    stores = [CheckpointStore(tmp_path / name / "run" / "state") for name in ("measured", "kept")]
    for what in ("weights", "optimizer"):
        one, other = (store.get(what, 6) for store in stores)
        assert one.keys() == other.keys() and all(torch.equal(tensor, other[name]) for name, tensor in one.items())


def test_time_left_falls_to_the_price_of_the_last_score(tmp_path, pairs):
    events = run(tmp_path / "m", pairs, 40)
    left = [event.left for event in events if isinstance(event, Progress)]
    last_score = [event for event in events if isinstance(event, Validated)][-1].seconds
    assert all(value is not None and value >= 0 for value in left)
    assert left[-1] <= 2 * last_score + 1e-9 and left[5] > left[-1]
    assert isinstance(events[-1], Finished)


def test_who_trains_until_it_gets_no_better_is_told_no_end():
    config = resolve({"train": {"grad_accumulation": 2}})
    assert last_step(config, 100) is None
    assert (
        last_step(resolve({"stop": {"epochs": 3}, "train": {"grad_accumulation": 2}}), 101) == 152
    )  # an update is two batches
    assert last_step(resolve({"stop": {"epochs": 3, "steps": 9}, "train": {"grad_accumulation": 2}}), 101) == 9


@pytest.mark.parametrize("train", [{"valid_every": 7}, {"valid_every": None}])
def test_validations_to_come_are_counted_as_they_come(tmp_path, pairs, train):
    plan, *events = run(tmp_path / "m", pairs, 200, train=SHORT["train"] | train)
    validated = [event.step for event in events if isinstance(event, Validated)]
    assert len(validated) > 1
    assert [validations(plan.config, step, 200) for step in (0, *validated)] == list(range(len(validated), -1, -1))


def test_encoded_text_is_mapped_from_its_file_and_encoded_again_if_damaged(tmp_path, family_files):
    for task, files in family_files.items():
        to = tmp_path / task
        regard.train(task, to=to, settings=family_settings(task, 2), **files)
        path = max((to / "run").glob("tokens.*.bin"), key=lambda path: path.stat().st_size)
        before = path.read_bytes()
        path.write_bytes(before[:-8] + b"damaged!")
        list(regard.training(task, to=to, settings=family_settings(task, 4), **files))
        assert path.read_bytes() == before, task
        path.unlink()
        list(regard.training(task, to=to, settings=family_settings(task, 6), **files))
        assert path.read_bytes() == before, task


def test_kept_tensors_come_back_without_being_read(tmp_path):
    path = tmp_path / "t.safetensors"
    big = torch.arange(5_000_000, dtype=torch.int32)
    write_tensors(path, {"ids": big}, {"left_out": []})
    tensors, about = open_tensors(path)
    assert torch.equal(tensors["ids"], big) and about == {"left_out": []}
    before = _own_memory()
    again, _ = open_tensors(path)
    assert int(again["ids"][::1000].sum()) == int(big[::1000].sum())
    assert _own_memory() - before < 4_000_000  # of 20 MB: they are the file's pages, which all processes share
    path.write_bytes(b"no such thing")
    with pytest.raises(regard.RunError, match="cannot be read"):
        open_tensors(path)


def _own_memory() -> int:
    """Bytes of memory that belong to this process alone."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))


@given(st.integers(16, 40_000), st.integers(1, 16), st.integers(1, 4))
def test_parts_are_shared_out_equally_and_are_no_larger_than_does_well(tokens, workers, threads):
    train = lay_out(resolve({"device": "cpu", "train": {"tokens_per_batch": tokens}}), workers, threads).train
    assert train.grad_accumulation % workers == 0 and train.share(tokens) <= AT_ONCE * threads
    assert train.grad_accumulation == workers or -(-tokens // (train.grad_accumulation - workers)) > AT_ONCE * threads
