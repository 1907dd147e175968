"""Steps, rates, averages and milestones."""

import itertools

import pytest
import torch

from regard.config import TrainConfig
from regard.data.batch import PairBatch
from regard.model.loss import token_loss
from regard.training.loop import Trainer, average, is_milestone
from regard.training.optim import learning_rate

PAD = 49


def loss(model, batch):
    hidden = model(batch.source, batch.target)
    return token_loss(hidden.flatten(0, 1), batch.labels.flatten(), model.embedding.table.weight, smoothing=0.1)


def some_batch(rows: int) -> PairBatch:
    source, labels = torch.randint(0, PAD, (rows, 5)), torch.randint(0, PAD, (rows, 6))
    target = torch.cat([torch.full((rows, 1), PAD), labels[:, :-1]], 1)
    return PairBatch(rows * 11, source, target, labels)


def one_step(network, batches):
    config = TrainConfig(grad_accumulation=len(batches), warmup_steps=1, learning_rate=0.01)
    plain = lambda model, config: torch.optim.SGD(model.parameters(), lr=0.01)  # noqa: E731  a step that is the gradient
    return Trainer(network, loss, batches.__getitem__, config, seed=1, make_optimizer=plain).make_step()


@pytest.mark.parametrize("pieces", [2, 4, 100])
def test_a_batch_in_pieces_has_the_gradient_of_the_whole_one(network, pieces):
    start = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    batches = [some_batch(6)] * 4  # more are prepared than are used
    whole = one_step(network, batches[:1] * 4)
    after_whole = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    network.load_state_dict(start)
    parts = batches[0].split(pieces)
    assert len(parts) == min(pieces, 6)
    assert sum(len(part.source) for part in parts) == 6
    halves = one_step(network, parts * 4)
    assert halves.loss == pytest.approx(whole.loss, rel=1e-5)
    for name, tensor in network.state_dict().items():
        assert torch.allclose(tensor, after_whole[name], atol=1e-6), name


def test_training_on_one_batch_learns_it(network):
    config = TrainConfig(warmup_steps=10, learning_rate=0.01)
    batch = some_batch(4)
    trainer = Trainer(network, loss, lambda position: batch, config, seed=1)
    losses = [e.loss for _, e in zip(range(60), trainer.train(lambda s: False, lambda: None), strict=False)]
    assert losses[0] > 3.5
    assert losses[-1] < 1.2  # label smoothing in `loss` keeps it above zero


def test_the_rate_warms_up_and_falls_with_the_root_of_the_step():
    config = TrainConfig(learning_rate=0.01, warmup_steps=100)
    rates = [learning_rate(step, config) for step in range(1, 1001)]
    assert rates[0] == pytest.approx(0.0001)
    assert max(rates) == rates[99] == pytest.approx(0.01)
    assert rates[399] == pytest.approx(0.005)
    constant = TrainConfig(learning_rate=0.01, warmup_steps=100, schedule="constant")
    assert learning_rate(900, constant) == 0.01


def test_average_is_the_mean_in_any_order():
    parts = [{"w": torch.randn(4)} for _ in range(5)]
    mean = average(parts)["w"]
    assert torch.allclose(mean, torch.stack([p["w"] for p in parts]).mean(0), atol=1e-6)
    assert torch.equal(mean, average(parts[::-1])["w"])


def test_milestones_come_equally_often_per_doubling_but_never_too_rarely():
    steps = [s for s in range(1, 10_000) if is_milestone(s, per_doubling=4, first=64, widest=1024)]
    assert steps[0] == 64
    for power in range(6, 12):
        assert sum(2**power <= s < 2 ** (power + 1) for s in steps) == 4
    assert max(b - a for a, b in itertools.pairwise(steps)) == 1024
