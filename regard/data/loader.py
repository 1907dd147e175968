"""Which examples make up which batch. Position is one integer: the number of batches taken so far.

order = f(seed, epoch), and any position of it is reached in constant time and memory, however many examples there are:
an epoch is a pseudo-random order of all examples, taken a window at a time. The examples of a window are sorted by
length, cut into batches within a budget of tokens, and these are shuffled. Every window has the same number of batches,
so a position is a window and a place in it by division.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from regard.data.permutation import Numbers, Permutation
from regard.device import derive_seed

GRAIN = 2  # granularity of the shorter side's length, so that neighbours differ between epochs
WINDOW = 2**17  # examples that are sorted by length together, at most
SPARE = 1.02  # batches of a window, for each that the first one needs: windows differ a little


class Order(ABC):
    """Batches of numbers, epoch after epoch without end."""

    @abstractmethod
    def __len__(self) -> int:
        """Batches per epoch."""

    @abstractmethod
    def at(self, position: int) -> Tensor:
        """The batch at this position, (B,)."""

    def epoch(self, number: int) -> list[Tensor]:
        """All batches of an epoch."""
        return [self.at(number * len(self) + place) for place in range(len(self))]


class Loader(Order):
    """Batches of indexes, filled up to a budget of tokens with examples of like length."""

    def __init__(
        self, lengths: Sequence[ArrayLike], tokens_per_batch: int, seed: int, weights: Sequence[tuple[int, float]] = ()
    ) -> None:
        """lengths: per side of an example, (n,), which may be mapped from a file. weights: of the corpora that the
        examples come from, one after another: how many each has, and how often an epoch takes each of them.
        """
        self._lengths = [np.asarray(side) for side in lengths]
        self._budget, self._seed = tokens_per_batch, seed
        self._mixture = Mixture(weights or [(len(self._lengths[0]), 1.0)], seed)
        self._windows = math.ceil(len(self._mixture) / WINDOW)
        self._batches = self._count_batches()
        self._window: tuple[int, int, list[Numbers]] | None = None  # epoch, window: the one asked for last

    def __len__(self) -> int:
        """Batches per epoch."""
        return self._windows * self._batches

    def at(self, position: int) -> Tensor:
        """The batch at this position, indexes (B,)."""
        epoch, place = divmod(position, len(self))
        window, place = divmod(place, self._batches)
        if self._window is None or self._window[:2] != (epoch, window):
            self._window = epoch, window, self._cut_window(epoch, window)
        return torch.from_numpy(self._window[2][place])

    def _count_batches(self) -> int:
        """Batches of a window, from the first one; where there is no other, all epochs have the same."""
        count = len(self._cuts(self._sort(self._draw(0, 0))[1], self._budget)) - 1
        return count if self._windows == 1 else min(math.ceil(SPARE * count), len(self._mixture) // self._windows)

    def _cut_window(self, epoch: int, window: int) -> list[Numbers]:
        order, room = self._sort(self._draw(epoch, window))
        budget = self._budget
        while len(cuts := self._cuts(room, budget)) - 1 > self._batches:
            budget += max(1, self._budget // 100)
        batches = _split_largest(np.split(order, cuts[1:-1]), self._batches)
        shuffled = np.random.default_rng(derive_seed(self._seed, "batches", epoch, window)).permutation(len(batches))
        return [batches[number] for number in shuffled]

    def _draw(self, epoch: int, window: int) -> Numbers:
        """The examples of a window, in random order."""
        total = len(self._mixture)
        places = np.arange(total * window // self._windows, total * (window + 1) // self._windows)
        return self._mixture.at(Permutation(total, self._seed, "epoch", epoch)(places), epoch)

    def _sort(self, indexes: Numbers) -> tuple[Numbers, Numbers]:
        """Examples by length, in random order among equals: (n,); and the room of each side that any of its equals
        may need: (sides, n).
        """
        sides = np.stack([side[indexes].astype(np.int64) for side in self._lengths])  # (sides, n)
        longest, shortest = sides.max(0), sides.min(0) // GRAIN  # (n,)
        key = (longest * (int(longest.max()) + 1) + shortest) * len(sides) + sides.argmax(0)
        order = np.argsort(key, kind="stable")
        room = np.minimum(longest, shortest * GRAIN + GRAIN - 1)  # (n,) of the shorter side
        return indexes[order], np.where(sides == longest, sides, room)[:, order]

    @staticmethod
    def _cuts(room: Numbers, budget: int) -> list[int]:
        """Where batches begin in sorted examples, so that rows x longest of each side fits the budget; and the end."""
        cuts, count = [0], room.shape[1]
        while (start := cuts[-1]) < count:
            most = max(1, budget // max(1, int(room[:, start].sum())))  # rows, if none were longer
            widths = np.maximum.accumulate(room[:, start : start + most], axis=1).sum(0)  # (rows,)
            fits = np.searchsorted(widths * np.arange(1, len(widths) + 1), budget, side="right")
            cuts.append(start + max(1, int(fits)))
        return cuts


class RowLoader(Loader):
    """Batches of the same number of examples each, which are of like length."""

    @staticmethod
    def _cuts(room: Numbers, budget: int) -> list[int]:
        """Where batches begin; the budget is the number of examples."""
        return [*range(0, room.shape[1], budget), room.shape[1]]


class Mixture:
    """Examples of several corpora, each as often as its weight says: of one with 0.3, an epoch takes the next 30 %."""

    def __init__(self, corpora: Sequence[tuple[int, float]], seed: int) -> None:
        """corpora: how many examples each has, and its weight."""
        self._counts = [count for count, _ in corpora]
        self._firsts = np.cumsum([0, *self._counts])
        self._taken = [max(1, round(count * weight)) for count, weight in corpora]
        self._ends = np.cumsum(self._taken)
        self._orders = [Permutation(count, seed, "corpus", number) for number, count in enumerate(self._counts)]

    def __len__(self) -> int:
        """Examples that an epoch takes."""
        return int(self._ends[-1])

    def at(self, places: Numbers, epoch: int) -> Numbers:
        """The examples at these places of an epoch."""
        if self._taken == self._counts:
            return places
        corpora = np.searchsorted(self._ends, places, side="right")
        found = np.empty_like(places)
        for number, (count, taken) in enumerate(zip(self._counts, self._taken, strict=True)):
            is_of = corpora == number
            turn = places[is_of] - (self._ends[number] - taken) + epoch * taken
            found[is_of] = self._firsts[number] + self._orders[number](turn % count)
        return found


class Blocks(Order):
    """Blocks of one stream of tokens: each epoch cuts it at other places, and takes the blocks in another order."""

    def __init__(self, tokens: int, length: int, rows: int, seed: int) -> None:
        """tokens: of the stream; length: of a block, which must fit once with the token after it."""
        assert tokens > length, "the stream is shorter than a block"
        self._length, self._rows, self._seed = length, rows, seed
        self._slack = min(length, tokens - length)  # how far the first cut may move, so that a block is left
        self._count = (tokens - self._slack) // length  # blocks that fit wherever the first cut is

    def __len__(self) -> int:
        """Batches per epoch."""
        return math.ceil(self._count / self._rows)

    def at(self, position: int) -> Tensor:
        """The batch at this position, starts (B,)."""
        epoch, place = divmod(position, len(self))
        first = derive_seed(self._seed, "first", epoch) % self._slack
        places = np.arange(place * self._rows, min((place + 1) * self._rows, self._count))
        return torch.from_numpy(first + self._length * Permutation(self._count, self._seed, "blocks", epoch)(places))


def _split_largest(batches: list[Numbers], count: int) -> list[Numbers]:
    """The same examples in exactly this many batches: those with the most rows are halved."""
    while missing := count - len(batches):
        rows = [len(batch) for batch in batches]
        halved = set(sorted(range(len(rows)), key=lambda number: -rows[number])[:missing])
        parts = [np.array_split(one, 2 if number in halved else 1) for number, one in enumerate(batches)]
        batches = [part for split in parts for part in split if len(part)]
    return batches
