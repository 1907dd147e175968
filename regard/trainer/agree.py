"""Two passes that should agree (R-Drop, 2106.14448): their cross-entropy, and how far apart what they say is.

Dropout makes two passes over the same text say different things; making that difference small is a strong rein on a
network that sees little text. Worked out chunk by chunk beside its gradient, as in loss.py.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

ROWS = 256  # places whose logits, of both passes, exist at one time


def agreed_loss(
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
        total: Tensor = _AgreedLoss.apply(rows, labels, table, bias, smoothing, weight / 4)  # type: ignore[no-untyped-call]
    return total, len(labels)


class _AgreedLoss(torch.autograd.Function):
    """With logits a, b and probabilities p, q, the divergence p|q + q|p is the sum of (p - q)(a - b)."""

    @staticmethod
    def forward(
        ctx: Any, rows: Tensor, labels: Tensor, table: Tensor, bias: Tensor | None, smoothing: float, weight: float
    ) -> Tensor:
        total = rows.new_zeros(())
        to_rows, to_table = torch.empty_like(rows), torch.zeros_like(table)
        to_bias = torch.zeros_like(bias) if bias is not None else None
        for start in range(0, len(labels), ROWS):
            chunk, truth = rows[:, start : start + ROWS], labels[start : start + ROWS]  # (2, n, D), (n,)
            logits = F.linear(chunk, table, bias)  # (2, n, V)
            loss, slopes = _of_logits(logits, truth, smoothing, weight)
            total += loss
            to_rows[:, start : start + ROWS] = slopes @ table
            to_table.addmm_(slopes.flatten(0, 1).T, chunk.flatten(0, 1))
            if to_bias is not None:
                to_bias += slopes.sum((0, 1))
        ctx.save_for_backward(to_rows, to_table, to_bias)
        return total

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, None, Tensor, Tensor | None, None, None]:
        to_rows, to_table, to_bias = ctx.saved_tensors
        return slope * to_rows, None, slope * to_table, None if to_bias is None else slope * to_bias, None, None


def _of_logits(logits: Tensor, truth: Tensor, smoothing: float, weight: float) -> tuple[Tensor, Tensor]:
    """The loss of logits (2, n, V), summed, and its slopes (2, n, V)."""
    apart = logits[0] - logits[1]  # (n, V)
    evenly, told = smoothing / logits.shape[-1], 1 - smoothing
    places = truth.expand(2, -1)[..., None]  # (2, n, 1)
    said = told * logits.gather(2, places).sum() + evenly * logits.sum()
    mass = logits.logsumexp(-1, keepdim=True)  # (2, n, 1)
    p, q = logits.sub_(mass).exp_()  # (n, V) each
    inner_p, inner_q = (torch.linalg.vecdot(x, apart)[:, None] for x in (p, q))  # (n, 1)
    loss = (mass.sum() - said) / 2 + weight * (inner_p - inner_q).sum()
    # Of the divergence by a: p (a - b - <p, a - b>) + p - q; by b the same with the passes exchanged.
    to_p = (weight * (apart - inner_p + 1) + 0.5).mul_(p).sub_(q, alpha=weight)
    to_q = (weight * (inner_q - apart + 1) + 0.5).mul_(q).sub_(p, alpha=weight)
    slopes = torch.stack([to_p, to_q]).sub_(evenly / 2)  # (2, n, V)
    slopes.scatter_add_(2, places, slopes.new_full(places.shape, -told / 2))
    return loss, slopes
