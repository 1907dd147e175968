"""Labelled texts as bags of n-grams: encoded, weighted, and in batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from regard.data.batch import LabelBatch
from regard.data.tokens import Array, TokenLists, find_anchors
from regard.data.tokens import pack as pack_lists
from regard.text.labels import Labelled
from regard.text.ngrams import BLOCKS, count_ngrams, inverse_frequency, split_words

TOGETHER = 256  # texts that are encoded together
MOST_NGRAMS = 2**19  # of texts that are classified together, padding included
NO_LABEL = -1


@dataclass(frozen=True)
class EncodedTexts:
    """Texts as n-grams with their counts, and the numbers of their labels."""

    ngrams: tuple[TokenLists, ...]  # of each block
    counts: tuple[Array, ...]  # of each block, (all n-grams,)
    labels: TokenLists
    rarity: Array  # (buckets,) what each row weighs

    @classmethod
    def of(cls, arrays: Mapping[str, Array], rarity: Array | None = None, buckets: int = 0) -> EncodedTexts:
        """From the arrays they were kept as; rarity: of the texts that were learned from, if these are others."""
        ngrams = tuple(TokenLists.named(name, arrays) for name in BLOCKS)
        if rarity is None:
            seen = np.sum([np.bincount(block.flat, minlength=buckets) for block in ngrams], axis=0)
            rarity = inverse_frequency(seen, len(ngrams[0]))
        return cls(
            ngrams, tuple(arrays[f"{name}.counts"] for name in BLOCKS), TokenLists.named("labels", arrays), rarity
        )

    def batch(self, indexes: Tensor) -> LabelBatch:
        """The texts at these indexes; rows are filled up with n-grams of no weight, and with no label."""
        found = [self._block(*block, indexes.numpy()) for block in zip(self.ngrams, self.counts, strict=True)]
        rows, weights = (torch.from_numpy(np.concatenate(parts, axis=1)) for parts in zip(*found, strict=True))
        labels = self.labels.pad(indexes, NO_LABEL)  # (B, most labels of a text)
        labels = torch.nn.functional.pad(labels, (0, max(0, 1 - labels.shape[1])), value=NO_LABEL)
        return LabelBatch(int((weights > 0).sum()), rows, weights, labels)

    def _block(self, ngrams: TokenLists, counts: Array, chosen: Array) -> tuple[Array, Array]:
        """Rows (B, N), and weights (B, N) that have a length of 1 in each text."""
        lengths = ngrams.lengths[chosen].astype(np.int64)  # (B,)
        places = np.arange(max(1, lengths.max()))  # (N,)
        is_real = places < lengths[:, None]  # (B, N)
        where = (ngrams.starts(chosen)[:, None] + places)[is_real]
        rows, weights = np.zeros(is_real.shape, np.int64), np.zeros(is_real.shape, np.float32)
        rows[is_real] = ngrams.flat[where]
        weights[is_real] = counts[where] * self.rarity[rows[is_real]]
        return rows, weights / np.maximum(np.sqrt((weights**2).sum(1, keepdims=True)), 1e-9)

    def __len__(self) -> int:
        return len(self.labels)


def encode_labelled(examples: Sequence[Labelled], labels: Sequence[str], buckets: int) -> dict[str, Array]:
    """As named arrays; labels: all there are, in their order. Others are left out."""
    number = {label: place for place, label in enumerate(labels)}
    numbers = [[number[label] for label in one.labels if label in number] for one in examples]
    return _encode([split_words(one.text) for one in examples], numbers, buckets)


def _encode(texts: Sequence[list[str]], numbers: list[list[int]], buckets: int) -> dict[str, Array]:
    found = [count_ngrams(words, buckets) for words in texts]
    flat, sizes = pack_lists(numbers, 2**31)
    arrays = {"labels.flat": flat, "labels.sizes": sizes}
    for name, block in zip(BLOCKS, zip(*found, strict=True), strict=True):
        arrays |= {
            f"{name}.flat": np.concatenate([rows for rows, _ in block]).astype(np.uint32),
            f"{name}.sizes": np.array([len(rows) for rows, _ in block], dtype=np.uint32),
            f"{name}.counts": np.concatenate([counts for _, counts in block]),
        }
    return arrays


def label_batches(examples: Sequence[Labelled], labels: Sequence[str], rarity: Array) -> Iterator[LabelBatch]:
    """These texts in their order, some at a time; rarity: of the texts that were learned from, (buckets,)."""
    for first in range(0, len(examples), TOGETHER):
        yield from _batches(encode_labelled(examples[first : first + TOGETHER], labels, len(rarity)), rarity)


def word_batches(texts: Sequence[list[str]], rarity: Array) -> Iterator[LabelBatch]:
    """The same of texts that are split into words, and without labels."""
    return _batches(_encode(texts, [[] for _ in texts], len(rarity)), rarity)


def _batches(arrays: dict[str, Array], rarity: Array) -> Iterator[LabelBatch]:
    sizes = {name: array for name, array in arrays.items() if name.endswith(".sizes")}
    anchors = {name.replace(".sizes", ".anchors"): find_anchors(array) for name, array in sizes.items()}
    texts = EncodedTexts.of(arrays | anchors, rarity)
    longest = sum(int(arrays[f"{name}.sizes"].max()) for name in BLOCKS)
    rows = max(1, MOST_NGRAMS // max(1, longest))
    return (texts.batch(part) for part in torch.arange(len(texts)).split(rows))
