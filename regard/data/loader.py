"""Which examples make up which batch. Position is one integer: the number of batches taken so far.

The batches of an epoch are cut once from the lengths, in order of length, so every epoch has the same number of them
and the same shapes. An epoch then decides, by its own seed, which of the examples of equal length go where and in
which order the batches come: order = f(seed, epoch).
"""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from regard.device import derive_seed

GRAIN = 2  # lengths of the shorter side are told apart this coarsely, so that neighbours can change


class Loader:
    """Batches of indexes, filled up to a budget of tokens with examples of like length."""

    def __init__(self, lengths: Sequence[Tensor], tokens_per_batch: int, seed: int) -> None:
        """lengths: per side of an example, (n,)."""
        sides = torch.stack(list(lengths))  # (sides, n)
        longest, shortest = sides.amax(0), sides.amin(0) // GRAIN * GRAIN
        self._key = longest * (int(longest.max()) + 1) + shortest  # (n,) examples of one key may swap places
        self._seed = seed
        order = torch.argsort(self._key, stable=True)
        self._cuts = _cut(sides[:, order], tokens_per_batch)

    def __len__(self) -> int:
        """Batches per epoch."""
        return len(self._cuts) - 1

    def epoch(self, number: int) -> list[Tensor]:
        """All batches of an epoch, each a tensor of indexes (B,)."""
        generator = torch.Generator().manual_seed(derive_seed(self._seed, "epoch", number))
        shuffled = torch.randperm(len(self._key), generator=generator)
        order = shuffled[torch.argsort(self._key[shuffled], stable=True)]  # by length, by chance among equals
        batches = [order[start:end] for start, end in zip(self._cuts, self._cuts[1:], strict=False)]
        return [batches[i] for i in torch.randperm(len(batches), generator=generator).tolist()]

    def batches(self, position: int) -> Iterator[Tensor]:
        """Batches without end, from this position on."""
        number, skip = divmod(position, len(self))
        while True:
            yield from self.epoch(number)[skip:]
            number, skip = number + 1, 0


def _cut(sides: Tensor, tokens_per_batch: int) -> list[int]:
    """Where batches begin in examples sorted by length, so that rows x longest of each side fits the budget."""
    cuts, widths = [0], [0] * len(sides)
    for index, lengths in enumerate(sides.T.tolist()):
        widths = [max(pair) for pair in zip(widths, lengths, strict=True)]
        if index > cuts[-1] and (index + 1 - cuts[-1]) * sum(widths) > tokens_per_batch:
            cuts.append(index)
            widths = lengths
    return [*cuts, sides.shape[1]]
