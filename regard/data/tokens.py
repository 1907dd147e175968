"""Many lists of ids in one flat tensor: four bytes a token, however many lists there are."""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class TokenLists:
    """Lists of ids, one after another."""

    flat: Tensor  # (all tokens,) int32
    starts: Tensor  # (lists + 1,) int64

    @classmethod
    def of(cls, lists: Iterable[list[int]]) -> "TokenLists":
        """Packs the lists; what they were is only kept here."""
        flat, starts = array("i"), array("q", [0])
        for ids in lists:
            flat.extend(ids)
            starts.append(len(flat))
        packed = torch.frombuffer(flat, dtype=torch.int32) if flat else torch.empty(0, dtype=torch.int32)
        return cls(packed, torch.frombuffer(starts, dtype=torch.int64))

    @property
    def lengths(self) -> Tensor:
        """Tokens of each list, (lists,)."""
        return self.starts.diff()

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, index: int) -> Tensor:
        return self.flat[self.starts[index] : self.starts[index + 1]]

    def pad(self, indexes: Tensor, pad_id: int) -> Tensor:
        """The lists at these indexes as rows, filled up with `pad_id`: (B, longest)."""
        starts = self.starts[indexes]  # (B,)
        lengths = self.starts[indexes + 1] - starts  # (B,)
        places = torch.arange(int(lengths.max()))  # (L,)
        is_real = places < lengths[:, None]  # (B, L)
        rows = torch.full(is_real.shape, pad_id, dtype=torch.int64)  # (B, L)
        rows[is_real] = self.flat[(starts[:, None] + places)[is_real]].long()
        return rows


@dataclass(frozen=True)
class EncodedPairs:
    """Texts and their translations as ids, and as they were."""

    sources: TokenLists
    targets: TokenLists
    texts: list[tuple[str, str]]


@dataclass(frozen=True)
class EncodedStories:
    """Stories as ids; each different sentence is kept once."""

    table: Tensor  # (different sentences + 1, L) words, padded; the first sentence is empty
    tales: TokenLists  # of each question, the numbers of its sentences, oldest first
    questions: TokenLists
    answers: Tensor  # (questions,)

    def __len__(self) -> int:
        return len(self.answers)
