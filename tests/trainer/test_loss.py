"""The fused loss is cross-entropy, without the logits."""

import pytest
import torch
import torch.nn.functional as F

from regard.trainer import loss as loss_module
from regard.trainer.loss import token_loss

PAD = 19


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_loss_and_gradients_are_those_of_plain_cross_entropy(smoothing, monkeypatch):
    monkeypatch.setattr(loss_module, "ROWS", 4)  # several chunks, the last one shorter
    hidden = torch.randn(3, 5, 8, dtype=torch.float64, requires_grad=True)
    table = torch.randn(20, 8, dtype=torch.float64, requires_grad=True)
    labels = torch.randint(0, PAD, (3, 5))
    labels[1, 3:] = PAD
    total, count = token_loss(hidden, labels, table, pad_id=PAD, smoothing=smoothing)
    (3 * total).backward()
    got = hidden.grad.clone(), table.grad.clone()
    hidden.grad = table.grad = None
    logits = hidden @ table[:-1].T  # padding is never a choice
    plain = F.cross_entropy(
        logits.flatten(0, 1), labels.flatten(), ignore_index=PAD, reduction="sum", label_smoothing=smoothing
    )
    (3 * plain).backward()
    assert count == 13
    assert torch.allclose(total, plain)
    assert torch.allclose(got[0], hidden.grad)
    assert torch.allclose(got[1], table.grad)
    assert (got[1][PAD] == 0).all()


def test_scoring_needs_no_gradient_and_gives_the_same_sum():
    hidden, table, labels = torch.randn(2, 4, 8), torch.randn(20, 8), torch.randint(0, PAD, (2, 4))
    with torch.inference_mode():
        scored, _ = token_loss(hidden, labels, table, pad_id=PAD)
    trained, _ = token_loss(hidden.requires_grad_(), labels, table, pad_id=PAD)
    assert scored == pytest.approx(trained.item(), rel=1e-6)
