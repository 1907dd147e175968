"""Cross-entropy as (sum, count), fused with the output layer so that the logits of a batch never exist at once."""

from typing import Any

import torch
from torch import Tensor

ROWS = 512  # hidden vectors whose logits exist at one time: 512 x 10,000 x 4 bytes = 20 MB


def token_loss(
    rows: Tensor, labels: Tensor, table: Tensor, *, bias: Tensor | None = None, smoothing: float = 0.0
) -> tuple[Tensor, int]:
    """Cross-entropy summed over all rows, and how many there were; the caller divides once.

    rows (N, D) · labels (N,) · table (V, D), whose rows are scored against them, plus bias (V,) if there is one.
    With smoothing, that share of the truth is spread evenly over all choices.
    """
    total: Tensor = _SummedLoss.apply(rows, labels, table, bias, smoothing)  # type: ignore[no-untyped-call]
    return total, len(labels)


class _SummedLoss(torch.autograd.Function):
    """The gradient is worked out chunk by chunk beside the loss itself, while the chunk's logits are there."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, labels: Tensor, table: Tensor, bias: Tensor | None, smoothing: float) -> Tensor:
        needs_gradient = any(ctx.needs_input_grad)
        total = rows.new_zeros(())
        to_rows = torch.empty_like(rows) if needs_gradient else rows
        to_table = torch.zeros_like(table) if needs_gradient else table
        to_bias = torch.zeros_like(bias) if bias is not None else None
        for start in range(0, len(rows), ROWS):
            chunk = slice(start, start + ROWS)
            logits = rows[chunk] @ table.T  # (n, V)
            if bias is not None:
                logits += bias
            index = labels[chunk, None]  # (n, 1)
            total -= (1 - smoothing) * logits.gather(1, index).sum()
            if smoothing:
                total -= smoothing / len(table) * logits.sum()
            top = logits.amax(dim=1, keepdim=True)  # (n, 1)
            slope = logits.sub_(top).exp_()  # (n, V), in place from here on: this is the largest tensor of a step
            mass = slope.sum(dim=1, keepdim=True)  # (n, 1)
            total += (top + mass.log()).sum()
            if needs_gradient:
                slope.div_(mass)  # probabilities, and below minus what they should have been
                if smoothing:
                    slope.sub_(smoothing / len(table))
                slope.scatter_add_(1, index, torch.full_like(mass, smoothing - 1))
                to_rows[chunk] = slope @ table
                to_table.addmm_(slope.T, rows[chunk])
                if to_bias is not None:
                    to_bias += slope.sum(0)
        ctx.save_for_backward(to_rows, to_table, to_bias)
        return total

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, None, Tensor, Tensor | None, None]:
        to_rows, to_table, to_bias = ctx.saved_tensors
        return slope * to_rows, None, slope * to_table, None if to_bias is None else slope * to_bias, None
