"""Many lists of ids in one flat array: two bytes a token where the vocabulary is small, however many lists there are.

Of the places where lists begin only one in many is kept, so that the lists of a corpus of any size can stay in a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

STRIDE = 64  # lists from one anchor to the next
Array = NDArray[Any]


@dataclass(frozen=True)
class TokenLists:
    """Lists of ids, one after another."""

    flat: Array  # (all tokens,)
    sizes: Array  # (all lists,)
    anchors: Array  # (all lists / STRIDE,) where each of these lists begins
    first: int = 0  # of the lists that are meant: this one,
    every: int = 1  # and then one in so many

    @classmethod
    def of(cls, lists: Iterable[list[int]]) -> TokenLists:
        """Packs the lists into arrays."""
        flat, sizes = pack(list(lists), 2**31)
        return cls(flat, sizes, find_anchors(sizes))

    @classmethod
    def named(cls, name: str, arrays: Mapping[str, Array]) -> TokenLists:
        """The lists that were kept under this name."""
        return cls(arrays[f"{name}.flat"], arrays[f"{name}.sizes"], arrays[f"{name}.anchors"])

    @property
    def lengths(self) -> Array:
        """Tokens of each list, (lists,)."""
        return self.sizes[self.first :: self.every]

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: int) -> Array:
        start = int(self.starts(np.array([index]))[0])
        return self.flat[start : start + int(self.lengths[index])].astype(np.int64)

    def starts(self, indexes: Array) -> Array:
        """Where these lists begin, (B,)."""
        lists = indexes * self.every + self.first  # (B,)
        anchors = lists // STRIDE  # (B,)
        before = anchors[:, None] * STRIDE + np.arange(STRIDE)  # (B, STRIDE)
        sizes = self.sizes[np.minimum(before, len(self.sizes) - 1)].astype(np.int64)
        return self.anchors[anchors] + (sizes * (before < lists[:, None])).sum(1)

    def whole(self) -> tuple[Array, Array]:
        """All ids of these lists, and where each list begins in them; for lists that fit in memory."""
        is_mine = np.arange(len(self.sizes)) % self.every == self.first
        lengths = self.lengths.astype(np.int64)
        return self.flat[np.repeat(is_mine, self.sizes)].astype(np.int64), lengths.cumsum() - lengths

    def pad(self, indexes: Tensor, pad_id: int) -> Tensor:
        """The lists at these indexes as rows, filled up with `pad_id`: (B, longest)."""
        chosen = indexes.numpy()
        lengths = self.lengths[chosen].astype(np.int64)  # (B,)
        places = np.arange(lengths.max())  # (L,)
        is_real = places < lengths[:, None]  # (B, L)
        rows = np.full(is_real.shape, pad_id, dtype=np.int64)  # (B, L)
        rows[is_real] = self.flat[(self.starts(chosen)[:, None] + places)[is_real]]
        return torch.from_numpy(rows)


def pack(lists: list[list[int]], vocab_size: int, longest: int = 2**31) -> tuple[Array, Array]:
    """Lists as one array of ids and one of sizes, in as few bytes as fit any of them."""
    sizes = np.fromiter(map(len, lists), dtype=smallest(longest), count=len(lists))
    total = int(sizes.sum(dtype=np.int64))
    return np.fromiter(chain.from_iterable(lists), dtype=smallest(vocab_size - 1), count=total), sizes


def smallest(most: int) -> Any:
    """The type of number with the fewest bytes that holds this many."""
    return next(kind for kind in (np.uint8, np.uint16, np.uint32, np.uint64) if most <= np.iinfo(kind).max)


def find_anchors(sizes: Array) -> Array:
    """Where one list in STRIDE begins, (lists / STRIDE,)."""
    total = np.add.reduceat(sizes, np.arange(0, len(sizes), STRIDE), dtype=np.int64) if len(sizes) else np.zeros(0)
    return np.concatenate([[0], total.cumsum()[:-1]]).astype(np.int64)


@dataclass(frozen=True)
class EncodedPairs:
    """Texts and their translations as ids."""

    sources: TokenLists
    targets: TokenLists

    @classmethod
    def named(cls, name: str, arrays: Mapping[str, Array]) -> EncodedPairs:
        """As they were kept: each source with its target after it."""
        both = TokenLists.named(name, arrays)
        return cls(replace(both, every=2), replace(both, first=1, every=2))

    def sample(self, most: int) -> EncodedPairs:
        """These pairs, or so many at equal intervals."""
        if len(self) <= most:
            return self
        chosen = [number * len(self) // most for number in range(most)]
        return EncodedPairs(*(TokenLists.of(side[i].tolist() for i in chosen) for side in (self.sources, self.targets)))

    def __len__(self) -> int:
        return len(self.sources)


@dataclass(frozen=True)
class EncodedStories:
    """Stories as ids; each different sentence is kept once."""

    table: Tensor  # (different sentences + 1, L) words, padded; the first sentence is empty
    tales: TokenLists  # of each question, the numbers of its sentences, oldest first
    questions: TokenLists
    answers: Tensor  # (questions,)

    @classmethod
    def of(cls, arrays: Mapping[str, Array]) -> EncodedStories:
        """From the arrays they were kept as."""
        tales, questions = (TokenLists.named(name, arrays) for name in ("tale", "question"))
        table, answers = (torch.from_numpy(np.array(arrays[name])) for name in ("table", "answers"))
        return cls(table, tales, questions, answers)

    def kept(self) -> dict[str, Array]:
        """As named arrays."""
        lists = {"tale": self.tales, "question": self.questions}
        named = {f"{name}.{part}": getattr(one, part) for name, one in lists.items() for part in ("flat", "sizes")}
        return named | {"table": self.table.numpy(), "answers": self.answers.numpy()}

    def __len__(self) -> int:
        return len(self.answers)
