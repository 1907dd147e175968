"""When training goes wrong: bad steps touch nothing, short memory means micro-batches, and the diagnosis says why."""

import json
import math
import subprocess
import sys

import pytest
import torch
from conftest import SHORT
from test_loop import loss, some_batch

import regard
from regard.config import TrainConfig, merge
from regard.model.loss import token_loss
from regard.training.checkpoint import CheckpointStore
from regard.training.diagnose import Diverged, first_bad_layer
from regard.training.loop import MOST_SKIPPED, Trainer


def make(network, spoiled=lambda step: 1.0) -> Trainer:
    """A trainer whose loss is multiplied by what `spoiled` says of the step."""
    trainer = Trainer(
        network, lambda model, batch: _times(loss(model, batch), spoiled(trainer.step + 1)),
        lambda position: some_batch(4), TrainConfig(learning_rate=0.01, warmup_steps=1), seed=1,
    )  # fmt: skip
    return trainer


def _times(found, factor):
    return found[0] * factor, found[1]


def weights(network) -> dict:
    return {name: tensor.clone() for name, tensor in network.state_dict().items()}


@pytest.mark.parametrize("factor", [math.nan, math.inf, 10.0])
def test_a_bad_step_is_skipped_before_it_touches_weights_or_adam(network, factor):
    """Not a number, infinite, or a loss far above that of a network that knows nothing."""
    trainer = make(network, lambda step: factor if step == 3 else 1.0)
    good = [trainer.make_step() for _ in range(2)]
    before, adam = weights(network), {k: v.clone() for k, v in trainer.state()[1].items()}
    bad = trainer.make_step()
    assert [event.is_skipped for event in [*good, bad]] == [False, False, True]
    assert all(torch.equal(tensor, before[name]) for name, tensor in network.state_dict().items())
    assert all(torch.equal(tensor, adam[name]) for name, tensor in trainer.state()[1].items())
    after = trainer.make_step()
    assert not after.is_skipped and after.step == 4
    assert any(not torch.equal(tensor, before[name]) for name, tensor in network.state_dict().items())


def test_several_bad_steps_in_a_row_stop_the_run_and_tell_the_rate_the_batch_and_the_layer(network):
    trainer = make(network, lambda step: math.nan if step > 2 else 1.0)
    for _ in range(2 + MOST_SKIPPED - 1):
        trainer.make_step()
    with pytest.raises(Diverged) as told:
        trainer.make_step()
    assert told.value.step == 2 + MOST_SKIPPED
    assert told.value.learning_rate > 0 and math.isnan(told.value.loss) and len(told.value.batch.sample) == 5


def test_updates_without_any_label_are_skipped_and_are_no_divergence(network):
    def some_loss(model, batch):
        rows = model(batch.source, batch.target).flatten(0, 1)[: None if trainer.step == 0 else 0]  # (N, D)
        return token_loss(rows, batch.labels.flatten()[: len(rows)], model.table)

    config = TrainConfig(learning_rate=0.01, warmup_steps=1)
    trainer = Trainer(network, some_loss, lambda position: some_batch(4), config, seed=1)
    assert not trainer.make_step().is_skipped
    before = weights(network)
    assert all(trainer.make_step().is_skipped for _ in range(MOST_SKIPPED + 1))
    assert all(torch.equal(tensor, before[name]) for name, tensor in network.state_dict().items())


def test_a_rehearsal_does_not_diverge_though_its_first_batch_was_an_easy_one(network):
    trainer = make(network, lambda step: 1.0 if step == 1 else 10.0)
    assert [made.is_skipped for made in trainer.rehearse(MOST_SKIPPED + 2)] == [False] + [True] * (MOST_SKIPPED + 1)
    assert trainer.step == trainer.skipped == 0


def test_the_first_layer_whose_numbers_get_out_of_hand_is_named(network):
    batch = some_batch(4)
    assert first_bad_layer(network, lambda: loss(network, batch)[0]).startswith("none")
    with torch.no_grad():
        network.decoder.blocks[1].feed_forward.up.weight[0, 0] = math.nan
    found = first_bad_layer(network, lambda: loss(network, batch)[0])
    assert found.startswith("decoder.blocks.1.feed_forward.up (") and "nan" in found


def test_a_rate_far_too_high_ends_with_a_diagnosis_and_the_last_good_state_intact(tmp_path, pairs):
    train = {"learning_rate": 100.0, "warmup_steps": 2000, "max_grad_norm": 1e9, "valid_every": 1}
    settings = merge(SHORT, {"train": train, "stop": {"steps": 300}})
    with pytest.raises(regard.RunError) as told:
        regard.train("translate", to=tmp_path / "m", settings=settings, **pairs)
    parts = ("training diverged", "Learning rate", "First bad layer", "texts such as '", "last good state is step",
             "--fresh --set train.learning_rate=25")  # fmt: skip
    assert all(part in str(told.value) for part in parts), told.value
    log = [json.loads(line) for line in (tmp_path / "m" / "run" / "metrics.jsonl").read_text().splitlines()]
    assert log[-1]["skipped"] == MOST_SKIPPED
    store = CheckpointStore(tmp_path / "m" / "run" / "state")
    state = store.newest()
    assert 0 < state.step < log[-1]["step"] - MOST_SKIPPED  # before the step that ruined it
    assert all(tensor.isfinite().all() for tensor in store.get("weights", state.step).values())
    assert f"last good state is step {state.step}." in str(told.value)


SCRIPT = """
import contextlib, json, resource, sys
import torch, regard
from regard import device
from regard.training import plan

def allow(more):
    # This process may have only so many more bytes than it has now: a real allocation fails.
    now = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + more if more else resource.RLIM_INFINITY, resource.RLIM_INFINITY))

torch.set_num_threads(1)
device.tuned_malloc = contextlib.nullcontext  # else what rehearsals gave back is still there
plan.TRY_SECONDS = 0.0
settings = {
    "threads": 1, "text": {"vocab_size": 400}, "stop": {"steps": 4},
    "model": {"layers": 1, "width": 32, "heads": 4, "ffn_width": 4096, "dropout": 0.0},
    "train": {
        "tokens_per_batch": 6000, "grad_accumulation": 1, "valid_every": 100, "warmup_steps": 20,
        "learning_rate": 0.001,
    },
}
events = regard.training("translate", to=sys.argv[3], source=sys.argv[1], target=sys.argv[2], settings=settings)
for event in events:
    if type(event).__name__ == "Progress":
        print(json.dumps([event.step, event.loss, event.micro_batches]))
        if event.step in (2, 3) and int(sys.argv[4]):
            allow(int(sys.argv[4]) * 2**20 if event.step == 2 else 0)
        if event.step == 4:
            break
events.close()  # saves; what a finished model needs is not tested here
"""


def test_a_batch_that_does_not_fit_is_computed_in_pieces_and_the_run_learns_the_same(tmp_path, pairs):
    """A real failure to allocate (RLIMIT_AS), not a simulated one."""

    def run(name: str, megabytes: int) -> list:
        words = [sys.executable, "-c", SCRIPT, pairs["source"], pairs["target"], tmp_path / name, megabytes]
        said = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=240, check=False)
        assert said.returncode == 0, said.stderr
        return [json.loads(line) for line in said.stdout.splitlines()]

    roomy, tight = run("roomy", 0), run("tight", 130)
    assert [pieces for *_, pieces in roomy] == [1, 1, 1, 1]
    assert [pieces for *_, pieces in tight][:2] == [1, 1] and tight[2][2] > 1 and tight[3][2] == tight[2][2]
    assert [step for step, *_ in tight] == [1, 2, 3, 4]
    assert [loss for _, loss, _ in tight] == pytest.approx([loss for _, loss, _ in roomy], rel=1e-4)
    state = CheckpointStore(tmp_path / "tight" / "run" / "state").newest()
    assert state.doubled_at == (3,) and state.micro_batches == tight[3][2]


def test_products_in_half_precision_learn_too(tmp_path, pairs):
    settings = merge(SHORT, {"precision": "bfloat16", "stop": {"steps": 60}, "train": {"valid_every": 60}})
    losses = [
        e.loss
        for e in regard.training("translate", to=tmp_path / "m", settings=settings, **pairs)
        if hasattr(e, "learning_rate")
    ]
    assert losses[0] > 5.5 and losses[-1] < losses[0] - 1
    assert all(
        tensor.dtype == torch.float32
        for tensor in CheckpointStore(tmp_path / "m" / "run" / "state").get("weights", 60).values()
    )
