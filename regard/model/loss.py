"""Cross-entropy as (sum, count), fused with the output layer so that the logits of a batch never exist at once."""

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

TO_TWO = math.log2(math.e)
ROWS = 128  # hidden vectors whose logits exist at one time: 128 x 10,000 x 4 bytes = 5 MB, which a cache holds
HOTTEST, TRIES = 20.0, 32  # the highest temperature, and how often the best is looked for


def token_loss(
    rows: Tensor, labels: Tensor, table: Tensor, *, bias: Tensor | None = None, smoothing: float = 0.0
) -> tuple[Tensor, int]:
    """Cross-entropy summed over all rows, and how many there were; the caller divides once.

    rows (N, D) · labels (N,) · table (V, D), whose rows are scored against them, plus bias (V,) if there is one.
    With smoothing, that share of the target distribution is uniform over the vocabulary.
    """
    with torch.autocast(rows.device.type, enabled=False):  # sums over a vocabulary need float32
        total: Tensor = _SummedLoss.apply(rows.to(table.dtype), labels, table, bias, smoothing)  # type: ignore[no-untyped-call]
    return total, len(labels)


class _SummedLoss(torch.autograd.Function):
    """Computes the gradient chunk by chunk together with the loss, while the chunk's logits exist."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, labels: Tensor, table: Tensor, bias: Tensor | None, smoothing: float) -> Tensor:
        needs_gradient = any(ctx.needs_input_grad)
        evenly, certain = (
            smoothing / len(table),
            1 - smoothing,
        )  # target probability of every token, and the label's extra
        table_sum = table.sum(0)  # (D,)
        total = rows.new_zeros(())
        to_rows = torch.empty_like(rows) if needs_gradient else rows
        to_table = (torch.empty_like if len(rows) else torch.zeros_like)(table) if needs_gradient else table
        to_bias = torch.zeros_like(bias) if bias is not None else None
        for start in range(0, len(rows), ROWS):
            chunk, truth = rows[start : start + ROWS], labels[start : start + ROWS]  # (n, D), (n,)
            # In powers of two, not of e: exp2 takes two thirds of the time of exp on a CPU.
            logits = F.linear(
                chunk * TO_TWO, table, None if bias is None else bias * TO_TWO
            )  # (n, V), the largest tensor
            total -= certain * logits.gather(1, truth[:, None]).sum() / TO_TWO
            if smoothing:
                total -= evenly * ((chunk @ table_sum).sum() + (0 if bias is None else len(chunk) * bias.sum()))
            top = logits.amax(dim=1, keepdim=True)  # (n, 1)
            odds = logits.sub_(top).exp2_()  # (n, V), in place; divided by their sum they are probabilities
            mass = odds.sum(dim=1, keepdim=True)  # (n, 1)
            total += (top + mass.log2()).sum() / TO_TWO
            if needs_gradient:
                # Probabilities minus targets; but terms that are constant over a row, or concern one token of it, are
                # added where tensors are small, not to every logit.
                to_rows[start : start + ROWS] = (odds @ table) / mass - evenly * table_sum - certain * table[truth]
                to_table.addmm_(odds.T, chunk / mass, beta=int(start > 0))  # the first is not added to anything
                if to_bias is not None:
                    to_bias += (odds.T @ (1 / mass)).squeeze(1)
        if needs_gradient:
            to_table.sub_(evenly * rows.sum(0)).index_add_(0, labels, rows, alpha=-certain)
            if to_bias is not None:
                to_bias.sub_(evenly * len(rows)).index_add_(0, labels, rows.new_full(labels.shape, -certain))
        ctx.save_for_backward(to_rows, to_table, to_bias)
        return total

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, Tensor, Tensor | None, None]:
        to_rows, to_table, to_bias = ctx.saved_tensors
        return grad * to_rows, None, grad * to_table, None if to_bias is None else grad * to_bias, None


def fit_temperature(loss: Callable[[float], float]) -> float:
    """The temperature by which logits are divided so that their loss, summed over held-out examples, is smallest.

    Few examples are no reason for a temperature far from 1: its squared logarithm counts as much as one's loss.
    """

    def cost(log_temperature: float) -> float:
        return loss(math.exp(log_temperature)) + log_temperature**2

    low, high = -math.log(HOTTEST), math.log(HOTTEST)  # the loss has one minimum between them
    for _ in range(TRIES):
        left, right = low + (high - low) * 0.382, low + (high - low) * 0.618
        low, high = (low, right) if cost(left) < cost(right) else (left, high)
    return math.exp((low + high) / 2)
