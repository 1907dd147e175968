"""Cross-entropy as (sum, count), fused with the output layer so that the logits of a batch never exist at once."""

from typing import Any

import torch
from torch import Tensor

ROWS = 512  # hidden vectors whose logits exist at one time: 512 x 10,000 x 4 bytes = 20 MB


def token_loss(
    hidden: Tensor, labels: Tensor, table: Tensor, *, pad_id: int, smoothing: float = 0.0
) -> tuple[Tensor, int]:
    """Cross-entropy summed over real labels, and how many there were; the caller divides once.

    hidden (B, T, D) · labels (B, T) · table (V, D), whose rows are scored against hidden; the row of padding, which
    is the last, is never a choice. With smoothing, that share of the truth is spread evenly over all choices.
    """
    assert pad_id == len(table) - 1, "padding is the last id"
    is_real = labels != pad_id  # (B, T)
    rows, wanted = hidden[is_real], labels[is_real]  # (N, D), (N,)
    total: Tensor = _SummedLoss.apply(rows, wanted, table[:-1], smoothing)  # type: ignore[no-untyped-call]
    return total, len(wanted)


class _SummedLoss(torch.autograd.Function):
    """The gradient is worked out chunk by chunk beside the loss itself, while the chunk's logits are there."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, wanted: Tensor, table: Tensor, smoothing: float) -> Tensor:
        needs_gradient = any(ctx.needs_input_grad)
        total = rows.new_zeros(())
        to_rows = torch.empty_like(rows) if needs_gradient else rows
        to_table = torch.zeros_like(table) if needs_gradient else table
        for start in range(0, len(rows), ROWS):
            chunk = slice(start, start + ROWS)
            logits = rows[chunk] @ table.T  # (n, V)
            index = wanted[chunk, None]  # (n, 1)
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
        ctx.save_for_backward(to_rows, to_table)
        return total

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, None, Tensor, None]:
        to_rows, to_table = ctx.saved_tensors
        return slope * to_rows, None, slope * to_table, None
