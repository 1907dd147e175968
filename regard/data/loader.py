"""Which examples make up which batch. Position is one integer: the number of batches taken so far.

The batches of an epoch are cut once from the lengths, in order of length, so every epoch has the same number of them
and the same shapes. An epoch then decides, by its own seed, which of the examples of equal length go where and in
which order the batches come: order = f(seed, epoch).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor

from regard.device import derive_seed

GRAIN = 2  # granularity of the shorter side's length, so that neighbours differ between epochs
CHUNK = 100_000  # examples whose lengths are Python numbers at one time


class Order(ABC):
    """Batches of numbers, epoch after epoch without end."""

    def __init__(self) -> None:
        self._epoch: tuple[int, list[Tensor]] | None = None  # the one asked for last

    @abstractmethod
    def __len__(self) -> int:
        """Batches per epoch."""

    @abstractmethod
    def epoch(self, number: int) -> list[Tensor]:
        """All batches of an epoch, each a tensor (B,)."""

    def at(self, position: int) -> Tensor:
        """The batch at this position, (B,)."""
        number, place = divmod(position, len(self))
        if self._epoch is None or self._epoch[0] != number:
            self._epoch = number, self.epoch(number)
        return self._epoch[1][place]


class Loader(Order):
    """Batches of indexes, filled up to a budget of tokens with examples of like length."""

    def __init__(self, lengths: Sequence[Tensor], tokens_per_batch: int, seed: int) -> None:
        """lengths: per side of an example, (n,)."""
        super().__init__()
        sides = torch.stack(list(lengths))  # (sides, n)
        longest, shortest = sides.amax(0), sides.amin(0) // GRAIN  # (n,)
        base = int(longest.max()) + 1
        self._key = (longest * base + shortest) * len(sides) + sides.argmax(0)  # (n,) those of one key may swap places
        self._seed = seed
        order = torch.argsort(self._key, stable=True)
        room = torch.minimum(longest, shortest * GRAIN + GRAIN - 1)  # (n,) of the shorter side, for any of its key
        room = torch.where(sides == longest, sides, room)  # (sides, n)
        self._cuts = _cut(room[:, order], tokens_per_batch)

    def __len__(self) -> int:
        """Batches per epoch."""
        return len(self._cuts) - 1

    def epoch(self, number: int) -> list[Tensor]:
        """All batches of an epoch, each a tensor of indexes (B,)."""
        generator = torch.Generator().manual_seed(derive_seed(self._seed, "epoch", number))
        shuffled = torch.randperm(len(self._key), generator=generator)
        order = shuffled[torch.argsort(self._key[shuffled], stable=True)]  # by length, random among equals
        batches = [order[start:end] for start, end in zip(self._cuts, self._cuts[1:], strict=False)]
        return [batches[i] for i in torch.randperm(len(batches), generator=generator).tolist()]


class Blocks(Order):
    """Blocks of one stream of tokens: each epoch cuts it at other places, and takes the blocks in another order."""

    def __init__(self, tokens: int, length: int, rows: int, seed: int) -> None:
        """tokens: of the stream; length: of a block, which must fit once with the token after it."""
        super().__init__()
        assert tokens > length, "the stream is shorter than a block"
        self._tokens, self._length, self._rows, self._seed = tokens, length, rows, seed
        self._slack = min(length, tokens - length)  # how far the first cut may move, so that a block is left
        self._count = (tokens - self._slack) // length  # blocks that fit wherever the first cut is

    def __len__(self) -> int:
        """Batches per epoch."""
        return math.ceil(self._count / self._rows)

    def epoch(self, number: int) -> list[Tensor]:
        """All batches of an epoch, each a tensor of starts (B,)."""
        generator = torch.Generator().manual_seed(derive_seed(self._seed, "epoch", number))
        first = int(torch.randint(self._slack, (1,), generator=generator))
        starts = first + self._length * torch.randperm(self._count, generator=generator)
        return list(starts.split(self._rows))


def _cut(sides: Tensor, tokens_per_batch: int) -> list[int]:
    """Where batches begin in examples sorted by length, so that rows x longest of each side fits the budget."""
    cuts, widths, index = [0], [0] * len(sides), 0
    for chunk in sides.T.split(CHUNK):
        for lengths in chunk.tolist():
            widths = [max(pair) for pair in zip(widths, lengths, strict=True)]
            if index > cuts[-1] and (index + 1 - cuts[-1]) * sum(widths) > tokens_per_batch:
                cuts.append(index)
                widths = lengths
            index += 1
    return [*cuts, sides.shape[1]]
