"""Beam search for sequences that must contain given phrases. Knows a step function, no network.

Sequences compete with those that have got as far with their phrases as they have, so that one that has said a phrase
is not thrown out by likelier ones that have not (dynamic beam allocation, Post and Vilar 2018).
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

MOST_LOST = 1.0  # nats a token that given phrases may cost before a note says so

Phrases = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class _Hope:
    """A sequence that may become an answer."""

    ids: tuple[int, ...] = ()
    score: float = 0.0
    unsaid: Phrases = ()
    within: tuple[int, ...] = ()  # the rest of the phrase it is in the middle of
    phrase: tuple[int, ...] = ()  # that phrase
    parent: int = 0  # the beam it goes on from

    def say(self, token: int, score: float, parent: int) -> _Hope:
        """One token later."""
        unsaid, phrase = self.unsaid, self.phrase
        if self.within and token == self.within[0]:
            rest = self.within[1:]
        else:  # a phrase that was broken off is to be said still
            unsaid = (*unsaid, phrase) if self.within else unsaid
            phrase = next((one for one in unsaid if one[0] == token), ())
            rest = phrase[1:]
            unsaid = _without(unsaid, phrase)
        return _Hope((*self.ids, token), score, unsaid, rest, phrase if rest else (), parent)

    @property
    def owed(self) -> int:
        """Tokens of phrases that are still to be said."""
        return sum(map(len, self.unsaid)) + len(self.within)


def beam_with(
    step: Step, start: Tensor, ends: Sequence[int], limit: int, search: Search, phrases: Sequence[Sequence[int]]
) -> list[Hypothesis]:
    """The best sequences that contain every phrase, best first; where none can be found in time, the nearest miss.

    start (1,): one row. Arguments as of `beam`.
    """
    width = max(search.beams, 2)
    hopes = [_Hope(unsaid=tuple(tuple(phrase) for phrase in phrases if phrase))]
    found: list[Hypothesis] = []
    last = start
    for _ in range(limit):
        log_probs = step(last).log_softmax(dim=-1)  # (W, V)
        candidates = list(_candidates(hopes, log_probs, 2 * width))
        found += [Hypothesis(list(one.ids[:-1]), one.score, True)
                  for one in candidates if one.ids[-1] in ends and not one.owed]  # fmt: skip
        going = [one for one in candidates if one.ids[-1] not in ends]
        if len(found) >= width or not going:
            break
        hopes = _share(going, width)
        step.keep(torch.tensor([one.parent for one in hopes], device=start.device))
        last = torch.tensor([one.ids[-1] for one in hopes], device=start.device)  # (W,)
    if not found:
        nearest = min(hopes, key=lambda one: (one.owed, -one.score))
        return [Hypothesis(list(nearest.ids), nearest.score, False)]
    return sorted(found, key=lambda one: one.rank(search.length_penalty), reverse=True)[: search.n_best]


def compare_forced(found: Hypothesis, free: Hypothesis, phrases: Sequence[Sequence[int]]) -> tuple[str, ...]:
    """A note where phrases could not be said, or make a sequence much less likely than the one found without them."""
    said = list(found.ids)
    for phrase in phrases:
        if not any(said[place : place + len(phrase)] == list(phrase) for place in range(len(said))):
            return ("a term could not be placed in it",)
    length = len(found.ids) + 1
    if (found.score - free.score) / length < -MOST_LOST:
        return (
            f"the terms make it far less likely (score {found.score:.1f}, without them {free.score:.1f}); check it",
        )
    return ()


def _candidates(hopes: list[_Hope], log_probs: Tensor, count: int) -> Iterator[_Hope]:
    """What may follow each: its likeliest tokens, and those that go on with a phrase."""
    values, tokens = log_probs.topk(min(count, log_probs.shape[1]), dim=1)  # (W, count)
    for number, (hope, row, chances) in enumerate(zip(hopes, tokens.tolist(), values.tolist(), strict=True)):
        wanted = {hope.within[0]} if hope.within else {phrase[0] for phrase in hope.unsaid}
        known = dict(zip(row, chances, strict=True))
        for token in wanted - known.keys():
            known[token] = float(log_probs[number, token])
        for token, chance in known.items():
            if not math.isinf(chance):
                yield hope.say(token, hope.score + chance, number)


def _share(candidates: list[_Hope], width: int) -> list[_Hope]:
    """The best of each bank in turn, those first that owe least."""
    banks: dict[int, list[_Hope]] = {}
    for one in sorted(candidates, key=lambda one: -one.score):
        banks.setdefault(one.owed, []).append(one)
    rounds = zip_longest(*(banks[owed] for owed in sorted(banks)))
    return [one for one in chain.from_iterable(rounds) if one is not None][:width]


def _without(phrases: Phrases, phrase: tuple[int, ...]) -> Phrases:
    if phrase not in phrases:
        return phrases
    place = phrases.index(phrase)
    return phrases[:place] + phrases[place + 1 :]
