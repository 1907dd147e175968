"""A lexicon as saved in a model's folder: translation probabilities of tokens, and jumps. Imports no torch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from regard.alignment.hmm import WIDEST, Array, follow
from regard.errors import FolderError

FILE = "lexicon.safetensors"
MOST_BYTES = 2**30  # a larger file is not one of ours
RAREST = 1e-3  # entries less likely in both directions are dropped
NEVER = 1e-6  # the probability of a dropped entry
UNKNOWN = 1e-3  # the least probability returned
LIKELY = 0.05  # the least probability, in either direction, of a likely translation


class _Likely(dict[int, frozenset[int]]):
    """The likely translations of each source token, looked up on demand."""

    def __init__(self, sources: Array, targets: Array, tables: tuple[Array, Array]) -> None:
        super().__init__()
        self._sources, self._targets, self._tables = sources, targets, tables

    def __missing__(self, number: int) -> frozenset[int]:
        first, last = np.searchsorted(self._sources, [number, number + 1])
        is_likely = np.maximum(*(table[first:last] for table in self._tables)) >= LIKELY
        self[number] = found = frozenset(self._targets[first:last][is_likely].tolist())
        return found


class LexicalTable:
    """Translation probabilities of tokens in both directions, and the jump probabilities of the HMM."""

    def __init__(
        self, sources: Array, targets: Array, probabilities: Array, back: Array, jumps: Sequence[Array]
    ) -> None:
        """Each (N,), of entries in ascending order of source and target; jumps in the source and in the target."""
        self._sources, self._targets, self._tables = sources, targets, (probabilities, back)
        self._size = 1 + int(targets.max(initial=0))
        self._keys = sources.astype(np.int64) * self._size + targets
        self._both = np.stack(self._tables).astype(np.float32)  # (2, N)
        self._jumps = tuple(jumps)

    @classmethod
    def read(cls, content: bytes) -> LexicalTable:
        """The lexicon in a file of these bytes."""
        try:
            kept = load(content)
            jumps = kept["jumps"]
            sources, targets, probabilities, back = (kept[name] for name in ("sources", "targets", "chances", "back"))
            if (
                jumps.shape != (2, 2 * WIDEST + 1)
                or len({len(one) for one in (sources, targets, probabilities, back)}) > 1
            ):
                raise ValueError(
                    f"{jumps.shape} jumps, columns of {[len(sources), len(targets), len(probabilities), len(back)]}"
                )
            kinds = [one.dtype.kind + str(one.ndim) for one in (sources, targets, probabilities, back)]
            if kinds != ["i1", "i1", "f1", "f1"] or min(sources.min(initial=0), targets.min(initial=0)) < 0:
                raise ValueError(f"columns of the kinds {kinds}, or ids below 0")
            return cls(sources, targets, probabilities, back, list(jumps))
        except (SafetensorError, OSError, KeyError, ValueError, TypeError) as problem:
            raise FolderError(f"{FILE} is not a lexicon we can read: {problem}") from None

    def pack(self) -> bytes:
        """As a file."""
        rows = {"sources": self._sources.astype(np.int32), "targets": self._targets.astype(np.int32)}
        tables = dict(zip(("chances", "back"), self._tables, strict=True))
        return bytes(save(rows | tables | {"jumps": np.stack(self._jumps)}))

    @cached_property
    def sources(self) -> frozenset[int]:
        """Source tokens with an entry."""
        return frozenset(self._sources.tolist())

    def uncovered(self, sources: Sequence[int], targets: Sequence[int]) -> float:
        """Share of the source tokens none of whose likely translations is among the target tokens."""
        there, likely = frozenset(targets), self._likely
        known = [found for number in sources if (found := likely[number])]
        return sum(map(there.isdisjoint, known)) / len(known) if known else 0.0

    @cached_property
    def _likely(self) -> _Likely:
        return _Likely(self._sources, self._targets, self._tables)

    def of(self, sources: Sequence[int], targets: Sequence[int]) -> Array:
        """The probability that each target token comes from each source token, (T, S): the mean of both directions' HMM
        posteriors.
        """
        return self.of_all([(sources, targets)])[0]

    def of_all(self, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> list[Array]:
        """The same of each pair of sources and targets; pairs of equal length are computed together."""
        found = [np.zeros((len(targets), len(sources)), np.float32) for sources, targets in pairs]
        entries = {number: self._entries(*pair) for number, pair in enumerate(pairs) if len(self._keys) and all(pair)}
        for side, jumps in enumerate(self._jumps):
            alike: defaultdict[int, list[int]] = defaultdict(list)  # pairs by the number of places to come from
            for number, entry in entries.items():
                alike[entry.shape[2 - side]].append(number)
            for places, numbers in alike.items():
                sides = [entries[number][side].T if side else entries[number][side] for number in numbers]
                lengths = np.array([len(one) for one in sides])
                likely = np.ones((len(sides), lengths.max(), places), np.float32)  # (B, T, S), or the other way round
                for row, one in zip(likely, sides, strict=True):
                    row[: len(one)] = one
                for number, length, after in zip(numbers, lengths, follow(likely, lengths, jumps)[0], strict=True):
                    found[number] += after[:length].T if side else after[:length]
        return [np.maximum(one / 2, UNKNOWN) for one in found]

    def _entries(self, sources: Sequence[int], targets: Sequence[int]) -> Array:
        """What the table has for each target token and each source token, in both directions: (2, T, S)."""
        wanted = np.array(targets)[:, None] + np.array(sources, np.int64)[None] * self._size  # (T, S)
        wanted[np.array(targets) >= self._size] = -1
        places = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)  # (T, S)
        return np.where(self._keys[places] == wanted, np.maximum(self._both[:, places], NEVER), np.float32(NEVER))
