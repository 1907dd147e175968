"""A text as a bag of n-grams: words, pairs of words and parts of words, each hashed to a row of a table. No torch.

Every text and every word has a mark before and after it, so that beginnings and endings are n-grams of their own.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

WORD = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")
SHORTEST, LONGEST = 2, 5  # letters of a part of a word, marks included
IN_A_ROW = 2  # words
Numbers = NDArray[Any]


def split_words(text: str) -> list[str]:
    """The words and signs of a text, in lower case."""
    return WORD.findall(text.lower())


def hash_ngrams(words: Sequence[str]) -> tuple[list[int], list[int]]:
    """The hashes of the words in a row, and those of the parts of words; each n-gram as often as it occurs."""
    marked = ["\1", *words, "\2"]
    rows = [zlib.crc32(word.encode(errors="replace"), 1) for word in words]
    for length in range(2, IN_A_ROW + 1):
        starts = range(len(marked) - length + 1)
        rows += [zlib.crc32(" ".join(marked[i : i + length]).encode(errors="replace"), length) for i in starts]
    return rows, list(chain.from_iterable(map(_hash_parts, words)))


def find_spans(words: Sequence[str]) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Of each hash of `hash_ngrams`, the words it is of: the first, and one after the last."""
    rows = [(place, place + 1) for place in range(len(words))]
    for length in range(2, IN_A_ROW + 1):
        starts = range(len(words) + 2 - length + 1)
        rows += [(max(0, i - 1), min(len(words), i - 1 + length)) for i in starts]
    return rows, [(place, place + 1) for place, word in enumerate(words) for _ in _hash_parts(word)]


@lru_cache(200_000)
def _hash_parts(word: str) -> tuple[int, ...]:
    marked = f" {word} "
    lengths = range(SHORTEST, min(LONGEST, len(marked)) + 1)
    parts = (marked[i : i + length] for length in lengths for i in range(len(marked) - length + 1))
    return tuple(zlib.crc32(part.encode(errors="replace")) for part in parts)


def count_ngrams(words: Sequence[str], buckets: int) -> list[tuple[Numbers, Numbers]]:
    """Of the words in a row, and of the parts of words: the rows of a table of so many that they have, each once, and
    1 plus the logarithm of how often each occurs.
    """
    found = [np.unique(np.array(hashes, dtype=np.int64) % buckets, return_counts=True) for hashes in hash_ngrams(words)]
    return [(rows, (1 + np.log(counts)).astype(np.float32)) for rows, counts in found]


def inverse_frequency(counts: Numbers, texts: int) -> Numbers:
    """What a row weighs that this many of all texts have: the rarer, the more."""
    weights: Numbers = (np.log((1 + texts) / (1 + counts)) + 1).astype(np.float32)
    return weights
