"""Labelled texts as bags of n-grams: encoded, weighted, and in batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from regard.data.batch import LabelBatch
from regard.data.tokens import Array, TokenLists, find_anchors
from regard.data.tokens import pack as pack_lists
from regard.text.labels import Labelled
from regard.text.ngrams import BLOCKS, count_ngrams, split_words, weigh

TOGETHER = 256  # texts that are encoded together
NO_LABEL = -1
DOUBT = 1.0  # what is added to every count before label ratios are taken of it


@dataclass(frozen=True)
class EncodedTexts:
    """Texts as n-grams with their counts, and the numbers of their labels."""

    ngrams: tuple[TokenLists, ...]  # of each block
    counts: tuple[Array, ...]  # of each block, (all n-grams,)
    labels: TokenLists

    @classmethod
    def of(cls, arrays: Mapping[str, Array]) -> EncodedTexts:
        """From the arrays they were kept as."""
        ngrams = tuple(TokenLists.named(name, arrays) for name in BLOCKS)
        counts = tuple(arrays[f"{name}.counts"] for name in BLOCKS)
        return cls(ngrams, counts, TokenLists.named("labels", arrays))

    @classmethod
    def of_examples(cls, examples: Sequence[Labelled], labels: Sequence[str], buckets: int) -> EncodedTexts:
        """Of texts that fit into memory."""
        return cls.of(_with_anchors(encode_labelled(examples, labels, buckets)))

    def batch(self, first: int, last: int, weights: Array) -> LabelBatch:
        """The texts from `first` until before `last`; weights: of each row of the table, (buckets,)."""
        chosen = np.arange(first, last)
        found = []
        for block, (lists, counts) in enumerate(zip(self.ngrams, self.counts, strict=True)):
            sizes = lists.lengths[chosen].astype(np.int64)  # (B,)
            start = int(lists.starts(chosen[:1])[0])
            part = slice(start, start + int(sizes.sum()))
            rows = lists.flat[part].astype(np.int64)
            found.append((sizes, rows, weigh(block, sizes, rows, counts[part], weights)))
        every, numbers, counted = zip(*found, strict=True)
        labels = self.labels.pad(torch.from_numpy(chosen), NO_LABEL)  # (B, most labels of a text)
        labels = torch.nn.functional.pad(labels, (0, max(0, 1 - labels.shape[1])), value=NO_LABEL)
        flat = torch.from_numpy(np.concatenate(numbers))
        return LabelBatch(len(flat), flat, torch.from_numpy(np.concatenate(counted)),
                          torch.from_numpy(np.stack(every)), labels)  # fmt: skip

    def find_weights(self, labels: int, buckets: int) -> Array:
        """What each row of the table weighs, (buckets,): the rarer it is in these texts, and the more the texts that
        have it lean to a label, the more.

        Inverse document frequency times the root of the largest log-count ratio of a label (Wang and Manning 2012).
        """
        numbers, of = self.labels.flat.astype(np.int64), np.repeat(np.arange(len(self)), self.labels.sizes)
        order = np.argsort(numbers, kind="stable")
        texts = np.split(of[order], np.bincount(numbers, minlength=labels).cumsum()[:-1])  # of each label
        seen = sum(np.bincount(lists.flat, minlength=buckets) for lists in self.ngrams)  # (buckets,)
        here = [self._count(mine) for mine in texts]  # of each label its rows, and how many of its texts have each
        every = np.full(buckets, labels * DOUBT)  # (buckets,)
        for rows, counts in here:
            every[rows] += counts
        sizes = np.array([counts.sum() for _, counts in here]) + buckets * DOUBT  # (labels,)
        shift = np.log(every.sum() - sizes) - np.log(sizes)  # (labels,)
        most = _most_without([rows for rows, _ in here], shift, np.log(every - DOUBT))
        for (rows, counts), by in zip(here, shift, strict=True):
            ratio = np.abs(np.log(counts + DOUBT) - np.log(every[rows] - counts - DOUBT) + by)
            most[rows] = np.maximum(most[rows], ratio)
        rarity = np.log((1 + len(self)) / (1 + np.minimum(seen, len(self)))) + 1
        return (rarity * np.sqrt(most)).astype(np.float32)

    def _count(self, texts: Array) -> tuple[Array, Array]:
        """The rows that these texts have, and how many have each; of a row in several blocks, in all of them."""
        found = []
        for lists in self.ngrams:
            mine = lists.lengths[texts].astype(np.int64)
            places = np.repeat(lists.starts(texts) - (mine.cumsum() - mine), mine) + np.arange(mine.sum())
            found.append(lists.flat[places])
        return np.unique(np.concatenate(found), return_counts=True)

    def __len__(self) -> int:
        return len(self.labels)


def _most_without(rows: list[Array], shift: Array, others: Array) -> Array:
    """Of each row of the table the largest |shift - others| of a label without it, (buckets,); 0 where all have it.

    rows: that each label has. The largest is that of the label with the least or the largest shift, and few labels need
    be asked: of thousands, nearly every row is missing in the first.
    """
    found = np.zeros(len(others))
    has = np.zeros(len(others), bool)
    for order in (np.argsort(shift), np.argsort(-shift)):
        waiting = np.arange(len(others))
        for label in order:
            has[rows[label]] = True
            left = waiting[~has[waiting]]
            found[left] = np.maximum(found[left], np.abs(shift[label] - others[left]))
            waiting = waiting[has[waiting]]
            has[rows[label]] = False
            if not len(waiting):
                break
    return found


def encode_labelled(examples: Sequence[Labelled], labels: Sequence[str], buckets: int) -> dict[str, Array]:
    """As named arrays; labels: all there are, in their order. Others are left out."""
    number = {label: place for place, label in enumerate(labels)}
    numbers = [[number[label] for label in one.labels if label in number] for one in examples]
    return _encode([split_words(one.text) for one in examples], numbers, buckets)


def _encode(texts: Sequence[list[str]], numbers: list[list[int]], buckets: int) -> dict[str, Array]:
    flat, sizes = pack_lists(numbers, 2**31)
    arrays = {"labels.flat": flat, "labels.sizes": sizes}
    parts = [count_ngrams(texts[first : first + TOGETHER], buckets) for first in range(0, len(texts), TOGETHER)]
    for name, blocks in zip(BLOCKS, zip(*parts, strict=True), strict=True):
        found, rows, counts = (np.concatenate(column) for column in zip(*blocks, strict=True))
        arrays |= {f"{name}.flat": rows.astype(np.uint32), f"{name}.sizes": found.astype(np.uint32),
                   f"{name}.counts": counts}  # fmt: skip
    return arrays


def label_batches(examples: Sequence[Labelled], labels: Sequence[str], weights: Array) -> Iterator[LabelBatch]:
    """These texts in their order, some at a time; weights: of each row of the table, (buckets,)."""
    for first in range(0, len(examples), TOGETHER):
        yield _batch(encode_labelled(examples[first : first + TOGETHER], labels, len(weights)), weights)


def word_batch(texts: Sequence[list[str]], weights: Array) -> LabelBatch:
    """The same of texts that are split into words, and without labels."""
    return _batch(_encode(texts, [[] for _ in texts], len(weights)), weights)


def _with_anchors(arrays: dict[str, Array]) -> dict[str, Array]:
    sizes = {name: array for name, array in arrays.items() if name.endswith(".sizes")}
    return arrays | {name.replace(".sizes", ".anchors"): find_anchors(array) for name, array in sizes.items()}


def _batch(arrays: dict[str, Array], weights: Array) -> LabelBatch:
    texts = EncodedTexts.of(_with_anchors(arrays))
    return texts.batch(0, len(texts), weights)
