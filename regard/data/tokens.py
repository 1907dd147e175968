"""Many lists of ids in one flat tensor: four bytes a token, however many lists there are."""

from array import array
from collections.abc import Iterable, Mapping
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
        """Packs the lists into one tensor."""
        packer = Packer()
        for ids in lists:
            packer.add(ids)
        return packer.pack()

    @classmethod
    def named(cls, name: str, tensors: Mapping[str, Tensor]) -> "TokenLists":
        """The lists that were saved under this name."""
        return cls(tensors[f"{name}.flat"], tensors[f"{name}.starts"])

    def kept(self, name: str) -> dict[str, Tensor]:
        """Their tensors, by the names to save them under."""
        return {f"{name}.flat": self.flat, f"{name}.starts": self.starts}

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


class Packer:
    """Packs lists of ids one by one, as they come."""

    def __init__(self) -> None:
        self._flat, self._starts = array("i"), array("q", [0])

    def add(self, ids: list[int]) -> None:
        """One list more."""
        self._flat.extend(ids)
        self._starts.append(len(self._flat))

    def pack(self) -> TokenLists:
        """All that were added."""
        flat = torch.frombuffer(self._flat, dtype=torch.int32) if self._flat else torch.empty(0, dtype=torch.int32)
        return TokenLists(flat, torch.frombuffer(self._starts, dtype=torch.int64))


@dataclass(frozen=True)
class EncodedPairs:
    """Texts and their translations as ids."""

    sources: TokenLists
    targets: TokenLists

    @classmethod
    def of(cls, tensors: Mapping[str, Tensor]) -> "EncodedPairs":
        """From the tensors they were kept as."""
        return cls(TokenLists.named("source", tensors), TokenLists.named("target", tensors))

    def kept(self) -> dict[str, Tensor]:
        """As named tensors."""
        return self.sources.kept("source") | self.targets.kept("target")

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
    def of(cls, tensors: Mapping[str, Tensor]) -> "EncodedStories":
        """From the tensors they were kept as."""
        tales, questions = (TokenLists.named(name, tensors) for name in ("tale", "question"))
        return cls(tensors["table"], tales, questions, tensors["answers"])

    def kept(self) -> dict[str, Tensor]:
        """As named tensors."""
        lists = self.tales.kept("tale") | self.questions.kept("question")
        return lists | {"table": self.table, "answers": self.answers}

    def __len__(self) -> int:
        return len(self.answers)
