"""Measures of heads (entropy, sinks), and attention rollout through all layers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from torch import Tensor

    from regard.look.inspection import Inspection

APART = ("hops", "words", "labels")  # kinds of attention whose queries are none of the keys
STUCK = 0.5  # a head with half of its attention on one key, for nearly every query, has a sink


def measure(seen: Inspection, name: str) -> dict[str, Any]:
    """rollout (T, S) · entropy (layers, H): 0 at one place, 1 everywhere alike · sink (layers, H): a place or None"""
    kind = seen.kinds[name]
    return {
        "rollout": roll_out(seen, name),
        "entropy": spread(kind.weights).tolist(),
        "sink": [[find_sink(head) for head in layer] for layer in kind.weights],
    }


def spread(weights: Tensor) -> Tensor:
    """weights (layers, H, T, S) -> (layers, H): mean entropy, as a share of uniform attention's."""
    bits = -(weights * weights.clamp(min=1e-12).log2()).sum(-1).mean(-1)  # (layers, H)
    return bits / max(1.0, math.log2(weights.shape[-1]))


def find_sink(weights: Tensor) -> int | None:
    """The one key that takes most of the attention of nearly every query. weights (T, S)"""
    if len(weights) < 4:
        return None  # too few to speak of everybody
    share, place = weights.mean(0).max(0)
    return int(place) if float(share) >= STUCK else None


def roll_out(seen: Inspection, name: str) -> Tensor:
    """Attention through all layers: each takes half from below and half from where it looked (Abnar and Zuidema 2020).

    Of cross-attention: where the last layers look, through what the encoder mixed there. (T, S)
    """
    weights = seen.kinds[name].weights  # (layers, H, T, S)
    if name in APART:
        return weights.mean((0, 1))
    if name == "cross":
        return weights.mean((0, 1)) @ roll_out(seen, "encoder")
    total = torch.eye(weights.shape[-1])
    for layer in weights.mean(1):
        total = (0.5 * layer + 0.5 * torch.eye(len(layer))) @ total
    return total


def argmax_overlap(attention: Sequence[Sequence[float]], importance: Sequence[Sequence[float]]) -> float:
    """Share of rows whose most attended column is also the most important one."""
    same = [
        max(range(len(a)), key=a.__getitem__) == max(range(len(b)), key=lambda place: abs(b[place]))
        for a, b in zip(attention, importance, strict=True)
    ]
    return sum(same) / len(same) if same else 0.0
