"""R-Drop (2106.14448): the cross-entropy of two passes with different dropout, and the divergence between them.

A strong regularizer where there is little text. Computed chunk by chunk together with its gradient, as in loss.py.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.model.loss import TO_TWO

ROWS = 64  # places whose logits, of both passes, exist at one time: few, so that they stay in the cache


def r_drop_loss(
    first: Tensor,
    second: Tensor,
    labels: Tensor,
    table: Tensor,
    *,
    bias: Tensor | None = None,
    smoothing: float = 0.0,
    weight: float,
) -> tuple[Tensor, int]:
    """The mean cross-entropy of two passes plus weight / 4 times their divergence both ways; its sum and the count.

    first, second (N, D) · labels (N,) · table (V, D) · bias (V,). The quarter is that of the paper, whose loss is the
    sum of both passes and half the weight times the mean divergence.
    """
    with torch.autocast(first.device.type, enabled=False):
        rows = torch.stack([first, second]).to(table.dtype)  # (2, N, D)
        total: Tensor = _RDropLoss.apply(rows, labels, table, bias, smoothing, weight / 4)  # type: ignore[no-untyped-call]
    return total, len(labels)


class _RDropLoss(torch.autograd.Function):
    """With logits a, b and probabilities p, q, the divergence p|q + q|p is the sum of (p - q)(a - b)."""

    @staticmethod
    def forward(
        ctx: Any, rows: Tensor, labels: Tensor, table: Tensor, bias: Tensor | None, smoothing: float, weight: float
    ) -> Tensor:
        evenly, certain = (
            smoothing / len(table),
            1 - smoothing,
        )  # target probability of every token, and the label's extra
        total = rows.new_zeros(())
        to_rows, to_table = torch.empty_like(rows), torch.zeros_like(table)
        to_bias = torch.zeros_like(bias) if bias is not None else None
        for start in range(0, len(labels), ROWS):
            chunk, truth = rows[:, start : start + ROWS], labels[start : start + ROWS]  # (2, n, D), (n,)
            logits = F.linear(chunk * TO_TWO, table, None if bias is None else bias * TO_TWO)  # (2, n, V)
            total -= certain * logits.gather(2, truth.expand(2, -1)[..., None]).sum() / (2 * TO_TWO)
            loss, grads = _of_logits(logits, weight)
            total += loss
            for which, grad in enumerate(grads):
                to_rows[which, start : start + ROWS] = grad @ table
                to_table.addmm_(grad.T, chunk[which])
                if to_bias is not None:
                    to_bias += grad.sum(0)
        # Targets are the same for both passes and concern one token each, so they are added where tensors are small.
        both = rows.sum(0)  # (N, D)
        table_sum = table.sum(0)  # (D,)
        total -= evenly / 2 * ((both @ table_sum).sum() + (0 if bias is None else 2 * len(labels) * bias.sum()))
        to_rows -= (evenly * table_sum + certain * table[labels]) / 2
        to_table.sub_(evenly / 2 * both.sum(0)).index_add_(0, labels, both, alpha=-certain / 2)
        if to_bias is not None:
            to_bias.sub_(evenly * len(labels)).index_add_(0, labels, rows.new_full(labels.shape, -certain))
        ctx.save_for_backward(to_rows, to_table, to_bias)
        return total

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, Tensor, Tensor | None, None, None]:
        to_rows, to_table, to_bias = ctx.saved_tensors
        return grad * to_rows, None, grad * to_table, None if to_bias is None else grad * to_bias, None, None


def _of_logits(logits: Tensor, weight: float) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Of logits (2, n, V) to base 2: the summed loss without label terms, and its gradient (n, V) for each pass."""
    weight = weight / TO_TWO  # of differences in powers of two
    difference = logits[0] - logits[1]  # (n, V)
    top = logits.amax(-1, keepdim=True)  # (2, n, 1)
    odds = logits.sub_(top).exp2_()  # (2, n, V), in place
    mass = odds.sum(-1, keepdim=True)  # (2, n, 1)
    p, q = odds.mul_(1 / mass)  # (n, V) each
    inner_p, inner_q = (torch.linalg.vecdot(x, difference)[:, None] for x in (p, q))  # (n, 1)
    loss = (top + mass.log2()).sum() / (2 * TO_TWO) + weight * (inner_p - inner_q).sum()
    # Of the divergence by a: p (a - b - <p, a - b>) + p - q; by b the same with the passes exchanged.
    own = weight * TO_TWO + 0.5
    to_p = torch.add(own - weight * inner_p, difference, alpha=weight).mul_(p).sub_(q, alpha=weight * TO_TWO)
    to_q = difference.mul_(-weight).add_(own + weight * inner_q).mul_(q).sub_(p, alpha=weight * TO_TWO)
    return loss, (to_p, to_q)
