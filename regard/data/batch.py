"""Batches: what a model is trained on in one step."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any, Self

import torch
from torch import Tensor


@dataclass(frozen=True)
class Batch:
    """Rows of examples: every tensor has one row for each of them."""

    tokens: int  # that are not padding

    def to(self, device: torch.device) -> Self:
        """The same batch on a device."""
        return self._with_each(lambda tensor: tensor.to(device, non_blocking=True))

    def pinned(self) -> Self:
        """The same batch in pinned memory, for asynchronous copies to a GPU."""
        return self._with_each(lambda tensor: tensor.pin_memory())

    def split(self, parts: int) -> list[Self]:
        """The same rows in this many smaller batches, or one a row if there are fewer rows."""
        rows = len(next(iter(self._tensors().values())))
        parts = min(parts, rows)
        cuts = [rows * number // parts for number in range(parts + 1)]
        return [self._rows(slice(*cut), self.tokens * (cut[1] - cut[0]) // rows) for cut in pairwise(cuts)]

    def _rows(self, rows: slice, tokens: int) -> Self:
        return replace(self._with_each(lambda tensor: tensor[rows]), tokens=tokens)

    def _tensors(self) -> dict[str, Tensor]:
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in named.items() if isinstance(value, Tensor)}

    def _with_each(self, change: Callable[[Tensor], Tensor]) -> Self:
        changed: dict[str, Any] = {name: change(tensor) for name, tensor in self._tensors().items()}
        return replace(self, **changed)


@dataclass(frozen=True)
class PairBatch(Batch):
    """Texts and their translations, as rows of ids."""

    source: Tensor  # (B, S) padded
    target: Tensor  # (B, T) what the decoder reads: start, then all but the last token of `labels`
    labels: Tensor  # (B, T) the next token at each place, the end included; padded

    @property
    def sample(self) -> Tensor:
        """The ids of one text of it."""
        return self.source[0]


@dataclass(frozen=True)
class TextBatch(Batch):
    """Rows of text and their labels: the next token (write), or the masked tokens (fill)."""

    ids: Tensor  # (B, T) what the model reads; padded
    labels: Tensor  # (B, T) the tokens to predict
    is_label: Tensor | None  # (B, T) at which places; None: at all of them

    @property
    def sample(self) -> Tensor:
        """The ids of one text of it."""
        return self.ids[0]

    def label_places(self) -> tuple[Tensor, Tensor]:
        """The places with a label, (B, N), and which of them are real: rows have unequal numbers."""
        assert self.is_label is not None, "all places are meant"
        most = int(self.is_label.sum(dim=1).max())
        places = self.is_label.to(torch.uint8).argsort(dim=1, descending=True, stable=True)[:, :most]  # (B, N)
        return places, self.is_label.gather(1, places)


@dataclass(frozen=True)
class StoryBatch(Batch):
    """Stories, a question about each, and its answer."""

    sentences: Tensor  # (B, M, L) words, oldest sentence first; padded with rows of padding
    ages: Tensor  # (B, M) how many sentences ago; the newest has the smallest
    questions: Tensor  # (B, Q) padded
    answers: Tensor  # (B,)
    is_linear: bool = False  # whether attention runs without softmax

    @property
    def sample(self) -> Tensor:
        """The ids of one text of it."""
        return self.questions[0]


@dataclass(frozen=True)
class LabelledIds(Batch):
    """Texts as rows of ids, and their labels."""

    ids: Tensor  # (B, T) padded
    labels: Tensor  # (B, most labels of a text) numbers of labels; -1 at padding

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """What a classifier reads."""
        return (self.ids,)

    @property
    def sample(self) -> Tensor:
        """The ids of one text of it."""
        return self.ids[0]


@dataclass(frozen=True)
class LabelBatch(Batch):
    """Texts as n-grams, and their labels."""

    ngrams: Tensor  # (all n-grams,) rows of the table: of all texts those of the first block, then of the next
    weights: Tensor  # (all n-grams,) how much each counts
    sizes: Tensor  # (blocks, B) n-grams of each text
    labels: Tensor  # (B, most labels of a text) numbers of labels; -1 at padding

    def split(self, parts: int) -> list[Self]:
        """The same texts in this many smaller batches, or one a text if there are fewer."""
        rows = len(self.labels)
        parts = min(parts, rows)
        return [self._texts(rows * n // parts, rows * (n + 1) // parts) for n in range(parts)]

    def _texts(self, first: int, last: int) -> Self:
        ends = self.sizes.flatten().cumsum(0).view_as(self.sizes)  # (blocks, B)
        begins = ends - self.sizes
        mine = torch.cat([torch.arange(int(b[first]), int(e[last - 1])) for b, e in zip(begins, ends, strict=True)])
        return replace(self, tokens=len(mine), ngrams=self.ngrams[mine], weights=self.weights[mine],
                       sizes=self.sizes[:, first:last], labels=self.labels[first:last])  # fmt: skip

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """What a classifier reads."""
        return self.ngrams, self.weights, self.sizes

    @property
    def sample(self) -> Tensor:
        """No ids: n-grams are hashes."""
        return self.labels[0, :0]
