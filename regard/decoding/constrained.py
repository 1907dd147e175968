"""Beam search for sequences that must contain given phrases. Knows a step function, no network.

Hypotheses compete only with those that have met as many of their constraints, so that one with a phrase in it is not
pruned by likelier ones without (dynamic beam allocation, Post and Vilar 2018).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

import torch
from torch import Tensor

from regard.decoding.found import Hypothesis
from regard.decoding.search import Step
from regard.decoding.settings import Search

MOST_LOST = 1.0  # nats per token that constraints may cost before a note warns of it

Phrases = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class _Partial:
    """An unfinished hypothesis and the phrases it must still contain."""

    ids: tuple[int, ...] = ()
    score: float = 0.0
    missing: Phrases = ()
    within: tuple[int, ...] = ()  # the rest of the phrase it has begun
    phrase: tuple[int, ...] = ()  # that phrase
    parent: int = 0  # the beam it extends

    def extend(self, token: int, score: float, parent: int) -> _Partial:
        """The hypothesis one token longer."""
        missing, phrase = self.missing, self.phrase
        if self.within and token == self.within[0]:
            rest = self.within[1:]
        else:  # a phrase that was begun and left is required again
            missing = (*missing, phrase) if self.within else missing
            phrase = next((one for one in missing if one[0] == token), ())
            rest = phrase[1:]
            missing = _without(missing, phrase)
        return _Partial((*self.ids, token), score, missing, rest, phrase if rest else (), parent)

    @property
    def remaining(self) -> int:
        """Tokens of required phrases that are still missing."""
        return sum(map(len, self.missing)) + len(self.within)


def beam_with(
    step: Step, start: Tensor, ends: Sequence[int], limit: int, search: Search, phrases: Sequence[Sequence[int]]
) -> list[Hypothesis]:
    """The best sequences that contain every phrase, best first; if there is none, the one with fewest missing.

    start (1,): one row. Arguments as of `beam`.
    """
    width = max(search.beams, 2)
    partials = [_Partial(missing=tuple(tuple(phrase) for phrase in phrases if phrase))]
    found: list[Hypothesis] = []
    last = start
    for _ in range(limit):
        log_probs = step(last).log_softmax(dim=-1)  # (W, V)
        candidates = list(_candidates(partials, log_probs, 2 * width))
        found += [Hypothesis(list(one.ids[:-1]), one.score, True)
                  for one in candidates if one.ids[-1] in ends and not one.remaining]  # fmt: skip
        going = [one for one in candidates if one.ids[-1] not in ends]
        if len(found) >= width or not going:
            break
        partials = _share(going, width)
        step.keep(torch.tensor([one.parent for one in partials], device=start.device))
        last = torch.tensor([one.ids[-1] for one in partials], device=start.device)  # (W,)
    if not found:
        nearest = min(partials, key=lambda one: (one.remaining, -one.score))
        return [Hypothesis(list(nearest.ids), nearest.score, False)]
    return sorted(found, key=lambda one: one.rank(search.length_penalty), reverse=True)[: search.n_best]


def compare_forced(found: Hypothesis, free: Hypothesis, phrases: Sequence[Sequence[int]]) -> tuple[str, ...]:
    """A warning where a phrase is missing, or where the phrases make it far less likely than a free search."""
    ids = list(found.ids)
    for phrase in phrases:
        if not any(ids[place : place + len(phrase)] == list(phrase) for place in range(len(ids))):
            return ("a term could not be placed in it",)
    length = len(found.ids) + 1
    if (found.score - free.score) / length < -MOST_LOST:
        return (
            f"the terms make it far less likely (score {found.score:.1f}, without them {free.score:.1f}); check it",
        )
    return ()


def _candidates(partials: list[_Partial], log_probs: Tensor, count: int) -> Iterator[_Partial]:
    """The extensions of each hypothesis: its likeliest tokens, and those that begin or continue a phrase."""
    values, tokens = log_probs.topk(min(count, log_probs.shape[1]), dim=1)  # (W, count)
    for number, (partial, row, scores) in enumerate(zip(partials, tokens.tolist(), values.tolist(), strict=True)):
        wanted = {partial.within[0]} if partial.within else {phrase[0] for phrase in partial.missing}
        known = dict(zip(row, scores, strict=True))
        for token in wanted - known.keys():
            known[token] = float(log_probs[number, token])
        for token, log_prob in known.items():
            if not math.isinf(log_prob):
                yield partial.extend(token, partial.score + log_prob, number)


def _share(candidates: list[_Partial], width: int) -> list[_Partial]:
    """The best of each bank in turn, beginning with the bank that has fewest tokens missing."""
    banks: dict[int, list[_Partial]] = {}
    for one in sorted(candidates, key=lambda one: -one.score):
        banks.setdefault(one.remaining, []).append(one)
    rounds = zip_longest(*(banks[remaining] for remaining in sorted(banks)))
    return [one for one in chain.from_iterable(rounds) if one is not None][:width]


def _without(phrases: Phrases, phrase: tuple[int, ...]) -> Phrases:
    if phrase not in phrases:
        return phrases
    place = phrases.index(phrase)
    return phrases[:place] + phrases[place + 1 :]
