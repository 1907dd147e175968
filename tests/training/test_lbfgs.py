"""L-BFGS: a convex loss reaches its minimum, and a step that went too far is taken back."""

import pytest
import torch

from regard.training.checkpoint import flatten_optimizer, restore_optimizer
from regard.training.lbfgs import LBFGS


def regression():
    """Logistic regression on few examples, and its minimum found by another method."""
    draw = torch.Generator().manual_seed(1)
    inputs, labels = torch.randn(40, 6, generator=draw), torch.randint(3, (40,), generator=draw)
    return lambda weights: torch.nn.functional.cross_entropy(inputs @ weights, labels)


def minimize(weights, loss, steps, optimizer=None):
    optimizer = optimizer or LBFGS([weights], lr=1.0, weight_decay=0.01)
    for _ in range(steps):
        weights.grad = None
        loss(weights).backward()
        optimizer.step()
    return optimizer


def test_it_finds_the_minimum_of_loss_and_weight_decay():
    loss, weights = regression(), torch.zeros(6, 3, requires_grad=True)
    minimize(weights, loss, 60)
    plain = torch.zeros(6, 3, requires_grad=True)
    for _ in range(3000):
        gradient = torch.autograd.grad(loss(plain) + 0.005 * plain.square().sum(), plain)[0]
        plain = (plain - 0.5 * gradient).detach().requires_grad_()
    assert torch.allclose(weights, plain, atol=1e-3)


def test_weights_decay_to_where_they_began():
    weights = torch.full((6, 3), 2.0, requires_grad=True)
    minimize(weights, lambda w: 0 * w.sum(), 3)
    assert torch.equal(weights, torch.full((6, 3), 2.0))


def test_a_step_that_went_too_far_is_taken_back():
    weights = torch.zeros(1, requires_grad=True)
    minimize(weights, lambda w: 50 * (w - 0.1).square().sum(), 8, LBFGS([weights], lr=1.0, weight_decay=0.0))
    assert weights.item() == pytest.approx(0.1, abs=1e-4)


def test_steps_stop_and_more_steps_are_as_many_in_one_go():
    loss, whole = regression(), torch.zeros(6, 3, requires_grad=True)
    minimize(whole, loss, 12)
    weights = torch.zeros(6, 3, requires_grad=True)
    memory = flatten_optimizer(minimize(weights, loss, 5))
    later = LBFGS([weights], lr=1.0, weight_decay=0.01)
    restore_optimizer(later, {name: tensor.clone() for name, tensor in memory.items()})
    minimize(weights, loss, 7, later)
    assert torch.equal(weights, whole)


def test_at_a_learning_rate_of_0_nothing_moves_or_is_kept():
    weights = torch.zeros(6, 3, requires_grad=True)
    optimizer = minimize(weights, regression(), 2, LBFGS([weights], lr=0.0, weight_decay=0.01))
    assert not weights.any() and not optimizer.state
