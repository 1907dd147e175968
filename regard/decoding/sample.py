"""Samples the next token: functions from logits to logits, and one from logits to ids. Knows no network."""

import math
from collections.abc import Iterator

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
    mass = logits.cpu().double().softmax(dim=-1).cumsum(dim=-1)  # (B, V); not every device has doubles
    point = torch.rand(len(mass), 1, dtype=torch.float64, generator=generator) * mass[:, -1:]  # (B, 1)
    return torch.searchsorted(mass, point, right=True).squeeze(-1).clamp(max=mass.shape[-1] - 1).to(logits.device)


def sample(step: Step, logits: Tensor, sampling: Sampling, generator: torch.Generator) -> Iterator[int]:
    """Samples the ids of one text, endlessly: draws a token, feeds it to the step, repeats. logits (1, V)"""
    while True:
        last = draw(shape(logits, sampling), generator)  # (1,)
        yield int(last)
        logits = step(last)
