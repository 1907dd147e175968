"""A corpus of any size, read twice and never held: first it is surveyed, then its examples come in chunks.

The survey counts, takes a sample to learn a vocabulary from, and holds out examples to validate on; each is a function
of text and seed alone. Memory is bounded by the sample.
"""

from __future__ import annotations

import json
import zlib
from abc import ABC, abstractmethod
from bisect import insort
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from regard.errors import CorpusError
from regard.text.corpus import LeftOut, add_up

CHUNK = 20_000  # examples
SAMPLE = 250_000  # examples; up to twice as many are held
MOST_GROUPS = 20_000  # examples with different keys that may be held out


class Examples(ABC):
    """What is learned from, and what is held out. What a survey finds can be kept, and restored without reading."""

    def __init__(self, valid: list[Any] | None) -> None:
        """valid: examples to validate on; if not given, the survey holds some out."""
        self.count, self.words = 0, 0  # of what is learned from; running words
        self.sample: list[Any] = []  # of it
        self.valid: list[Any] = valid or []
        self.left_out: list[LeftOut] = []

    @property
    def items(self) -> int:
        """What all chunks have together, about: the examples, if a chunk is made of them."""
        return self.count

    @abstractmethod
    def survey(self) -> Iterator[int]:
        """Reads all of it; yields how many examples were read so far."""

    @abstractmethod
    def chunks(self, first: int = 0) -> Iterator[list[Any]]:
        """The examples to learn from, after a survey, beginning with this chunk."""

    def listed(self) -> list[Any]:
        """Surveys, and gives all examples to learn from at once: for a corpus that fits in memory."""
        for _ in self.survey():
            pass
        return [example for chunk in self.chunks() for example in chunk]

    def release(self) -> None:
        """The vocabulary is learned: the sample is not needed any more. The little that is kept is made anew: scattered
        among the sample, it would hold on to the sample's memory.
        """
        self.sample = []
        self.restore(json.loads(json.dumps(self.state())))

    def state(self) -> dict[str, Any]:
        """What the survey found, but for the sample: as JSON."""
        left_out = [vars(entry) for entry in self.left_out]
        return {"count": self.count, "words": self.words, "left_out": left_out, "valid": self.valid}

    def restore(self, state: dict[str, Any]) -> None:
        """As after the survey whose state this is."""
        self.count, self.words = state["count"], state["words"]
        self.left_out = [LeftOut(**entry) for entry in state["left_out"]]
        self.valid = state["valid"]


class ListedExamples(Examples):
    """Examples that are few enough to be held in a list; one chunk."""

    def __init__(
        self, train: list[Any], valid: list[Any], words: int = 0, left_out: Iterable[LeftOut] = ()
    ) -> None:  # fmt: skip
        super().__init__(valid)
        self.count, self.words, self.sample, self.left_out = len(train), words, train, list(left_out)

    def survey(self) -> Iterator[int]:
        """Nothing more to read."""
        yield self.count

    def chunks(self, first: int = 0) -> Iterator[list[Any]]:
        """All of them, once."""
        if first == 0:
            yield self.sample

    def release(self) -> None:
        """They are all there is."""

    def state(self) -> dict[str, Any]:
        """They are read again when it is needed."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """They were read again."""


class StreamedExamples(Examples):
    """Examples that each stand alone, such as pairs or lines. Those held out are the ones whose keys have the lowest
    hashes, so equal keys stay on one side: nothing held out is learned from.
    """

    def __init__(
        self, read: Callable[[], Iterable[Any]], key: Callable[[Any], str], words: Callable[[Any], int],
        held_out: Callable[[int], int], seed: int, valid: list[Any] | None = None, *,
        is_usable: Callable[[Any], object] = lambda example: True, why_not: Callable[[Any], LeftOut] | None = None,
        make: Callable[[Any], Any] = lambda kept: kept,
        may_be_held_out: Callable[[Any], bool] = lambda example: True,
    ) -> None:  # fmt: skip
        """read: all examples, as often as it is called; words: of an example; held_out: how many, of so many.

        is_usable, why_not: what is not learned from, and why, for the first of these; make: an example, of its JSON;
        may_be_held_out: those that may come before those that may not.
        """
        super().__init__(valid)
        self._read, self._key, self._words, self._held_out, self._seed = read, key, words, held_out, seed
        self._is_usable, self._why_not, self._make = is_usable, why_not, make
        self._has_valid, self._may_be_held_out = valid is not None, may_be_held_out
        self._chosen: frozenset[int] = frozenset()  # hashes of the keys held out

    def survey(self) -> Iterator[int]:
        """Reads all of it; yields how many examples were read so far."""
        lowest, sample, every, usable, allowed = _Lowest(MOST_GROUPS), Thinned(SAMPLE), 0, 0, 0
        left_out: list[LeftOut] = []
        for chunk in _chunked(self._read()):
            kept = [example for example in chunk if self._is_usable(example)]
            if len(kept) < len(chunk) and self._why_not:
                unusable = [example for example in chunk if not self._is_usable(example)]
                left_out = add_up([*left_out, *map(self._why_not, unusable)])
            every, usable = every + len(chunk), usable + len(kept)
            sample.add(kept)
            if not self._has_valid:
                allowed += sum(map(self._may_be_held_out, kept))
                lowest.add((self._hash(one), one, self._may_be_held_out(one)) for one in kept)
            yield every
        self.left_out = left_out or self.left_out
        if not usable:
            which = "all" if len(left_out) == 1 else "some"
            why = "".join(f", {which} {one.reason} (such as {one.example})" for one in left_out)
            raise CorpusError(f"{every} examples{why}; there is nothing to learn from")
        held = [] if self._has_valid else lowest.take(self._held_out(allowed))
        self._chosen = frozenset(number for number, _ in held)
        self.valid = self.valid if self._has_valid else [example for _, group in held for example in group]
        self.count = usable - sum(lowest.counts[number] for number in self._chosen)
        self.sample = [example for example in sample.kept if self._hash(example) not in self._chosen]
        words = sum(map(self._words, self.sample))
        self.words = round(words * self.count / max(1, len(self.sample)))

    def chunks(self, first: int = 0) -> Iterator[list[Any]]:
        """The examples to learn from, beginning with this chunk."""
        for chunk in islice(_chunked(self._read()), first, None):
            kept = (example for example in chunk if self._is_usable(example))
            yield [example for example in kept if self._hash(example) not in self._chosen]

    def state(self) -> dict[str, Any]:
        """What the survey found, but for the sample: as JSON."""
        return super().state() | {"held_out": sorted(self._chosen)}

    def restore(self, state: dict[str, Any]) -> None:
        """As after the survey whose state this is."""
        super().restore(state)
        self.valid = [self._make(kept) for kept in state["valid"]]
        self._chosen = frozenset(state["held_out"])

    def _hash(self, example: Any) -> int:
        return zlib.crc32(self._key(example).encode(), self._seed)


class _Lowest:
    """Examples in groups of one hash: the groups with the lowest hashes, up to a number of them."""

    def __init__(self, most: int) -> None:
        self._most, self._order = most, list[int]()
        self._groups: dict[int, list[Any]] = {}
        self.counts: dict[int, int] = {}  # examples of a hash, copies included
        self._own: dict[int, int] = {}  # those of them that may be held out

    def add(self, examples: Iterable[tuple[int, Any, bool]]) -> None:
        """Examples with their hashes, and whether they may be held out; else they are only counted."""
        limit = self._limit()
        for number, example, may in examples:
            if number > limit:
                continue
            if not may:
                if number in self.counts:
                    self.counts[number] += 1
                continue
            if number not in self._groups:
                insort(self._order, number)
                self._groups[number], self.counts[number], self._own[number] = [], 0, 0
                if len(self._order) > self._most:
                    gone = self._order.pop()
                    del self._groups[gone], self.counts[gone], self._own[gone]
                limit = self._limit()
            if number in self._groups:
                self.counts[number] += 1
                self._own[number] += 1
                if example not in self._groups[number]:
                    self._groups[number].append(example)

    def take(self, count: int) -> list[tuple[int, list[Any]]]:
        """Groups that have this many examples together, lowest first; at least one group is left."""
        if len(self._order) < 2:
            raise CorpusError(f"there is only {len(self._order)} distinct text; at least 2 are needed, one of them to "
                              f"validate on")  # fmt: skip
        taken: list[tuple[int, list[Any]]] = []
        held = 0
        for number in self._order[:-1]:
            if held >= count:
                break
            taken.append((number, self._groups[number]))
            held += self._own[number]
        return taken

    def _limit(self) -> int:
        return self._order[-1] if len(self._order) == self._most else 2**32


class Thinned:
    """A sample at equal intervals of a stream whose end is not known: the intervals double when it grows too long."""

    def __init__(self, most: int) -> None:
        self._most, self._every, self._next = most, 1, 0  # next: how far into what comes the next one is
        self.kept: list[Any] = []

    def add(self, examples: list[Any]) -> None:
        """The examples that come next."""
        self.kept += examples[self._next :: self._every]
        self._next = (self._next - len(examples)) % self._every
        while len(self.kept) >= 2 * self._most:
            self._next += self._every * (len(self.kept) % 2)
            self.kept, self._every = self.kept[::2], 2 * self._every


def _chunked(examples: Iterable[Any]) -> Iterator[list[Any]]:
    every = iter(examples)
    while chunk := list(islice(every, CHUNK)):
        yield chunk
