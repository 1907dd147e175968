"""Samples the next token: functions from logits to logits, and one from logits to ids. Knows no network."""

import math
from collections.abc import Iterator, Sequence
from random import Random

import torch
from torch import Tensor

from regard.decoding.search import Step
from regard.decoding.settings import Sampling


def keep_top_k(logits: Tensor, count: int) -> Tensor:
    """Masks all but the `count` largest logits of each row; ties with the last stay. logits (B, V)"""
    least = logits.topk(min(count, logits.shape[-1])).values[:, -1:]  # (B, 1)
    return logits.masked_fill(logits < least, -math.inf)


def keep_top_p(logits: Tensor, share: float) -> Tensor:
    """Masks all but the likeliest tokens whose probabilities reach `share`, at least one. logits (B, V)"""
    ordered, places = logits.sort(descending=True, stable=True)  # (B, V)
    before = ordered.softmax(dim=-1).cumsum(dim=-1).roll(1, dims=-1)  # (B, V) mass of the likelier tokens
    before[:, 0] = 0
    dropped = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, places, before >= share)
    return logits.masked_fill(dropped, -math.inf)


def shape(logits: Tensor, sampling: Sampling) -> Tensor:
    """The logits after temperature, top-k and top-p. logits (B, V) -> (B, V)"""
    if sampling.temperature == 0:
        return keep_top_k(logits, 1)
    logits = logits / sampling.temperature
    if sampling.top_k is not None:
        logits = keep_top_k(logits, sampling.top_k)
    if sampling.top_p is not None:
        logits = keep_top_p(logits, sampling.top_p)
    return logits


def draw(logits: Tensor, generator: torch.Generator) -> Tensor:
    """Samples one id per row. logits (B, V) -> (B,); a function of the logits and the generator alone."""
    return _at(logits, torch.rand(len(logits), 1, dtype=torch.float64, generator=generator))


def _at(logits: Tensor, points: Tensor) -> Tensor:
    """The ids at points of the distribution, 0 to 1. logits (B, V) · points (B, 1) -> (B,)"""
    mass = logits.cpu().double().softmax(dim=-1).cumsum(dim=-1)  # (B, V); not every device has doubles
    found = torch.searchsorted(mass, points * mass[:, -1:], right=True).squeeze(-1)  # (B,)
    return found.clamp(max=mass.shape[-1] - 1).to(logits.device)


class SeededRows:
    """Samples one id per row, each row with numbers of its own: what it draws does not depend on its neighbours."""

    def __init__(self, seeds: Sequence[str], sampling: Sampling) -> None:
        self._numbers, self._sampling = [Random(seed) for seed in seeds], sampling

    def __call__(self, logits: Tensor, rows: list[int]) -> Tensor:
        """logits (B, V) of these rows -> (B,)"""
        points = torch.tensor([[self._numbers[row].random()] for row in rows], dtype=torch.float64)  # (B, 1)
        return _at(shape(logits, self._sampling), points)


def sample(step: Step, logits: Tensor, sampling: Sampling, generator: torch.Generator) -> Iterator[int]:
    """Samples the ids of one text, endlessly: draws a token, feeds it to the step, repeats. logits (1, V)"""
    while True:
        last = draw(shape(logits, sampling), generator)  # (1,)
        yield int(last)
        logits = step(last)
