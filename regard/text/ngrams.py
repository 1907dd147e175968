"""A text as bags of n-grams, each hashed to a row of a table: words in a row, parts of words, and openings. No torch.

Every text and every word has a mark before and after it, so that beginnings and endings are n-grams of their own. An
opening is the first word, or the first two, with any later one: what a question asks for, who a message is to.
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
SHORTEST, LONGEST = 3, 6  # letters of a part of a word, marks included
IN_A_ROW, OPENING = 2, 2  # words
BLOCKS = ("words", "parts", "openings")
Numbers = NDArray[Any]


def split_words(text: str) -> list[str]:
    """The words and signs of a text, in lower case."""
    return WORD.findall(text.lower())


def hash_ngrams(words: Sequence[str]) -> tuple[list[int], list[int], list[int]]:
    """The hashes of each block; each n-gram as often as it occurs."""
    marked = ["\1", *words, "\2"]
    rows = [_hash(word, 1) for word in words]
    for length in range(2, IN_A_ROW + 1):
        rows += [_hash(" ".join(marked[i : i + length]), length) for i in range(len(marked) - length + 1)]
    openings = []
    for length in range(1, OPENING + 1):
        first = " ".join(words[:length])
        openings += [_hash(f"{first}\3{word}", length) for word in words[length:]]
    return rows, list(chain.from_iterable(map(_hash_parts, words))), openings


def find_places(words: Sequence[str]) -> tuple[list[tuple[int, ...]], ...]:
    """Of each hash of `hash_ngrams`, the words it is of, by their places."""
    count = len(words)
    rows: list[tuple[int, ...]] = [(place,) for place in range(count)]
    for length in range(2, IN_A_ROW + 1):
        rows += [tuple(range(max(0, i - 1), min(count, i - 1 + length))) for i in range(count + 3 - length)]
    parts: list[tuple[int, ...]] = [(place,) for place, word in enumerate(words) for _ in _hash_parts(word)]
    lengths = range(1, OPENING + 1)
    return rows, parts, [(*range(length), place) for length in lengths for place in range(length, count)]


def _hash(text: str, seed: int) -> int:
    return zlib.crc32(text.encode(errors="replace"), seed)


@lru_cache(200_000)
def _hash_parts(word: str) -> tuple[int, ...]:
    marked = f" {word} "
    lengths = range(SHORTEST, min(LONGEST, len(marked)) + 1)
    return tuple(_hash(marked[i : i + length], 0) for length in lengths for i in range(len(marked) - length + 1))


def count_ngrams(words: Sequence[str], buckets: int) -> list[tuple[Numbers, Numbers]]:
    """Of each block, the rows of a table of so many that its n-grams have, each once, and 1 plus the logarithm of how
    often each occurs.
    """
    found = [np.unique(np.array(hashes, dtype=np.int64) % buckets, return_counts=True) for hashes in hash_ngrams(words)]
    return [(rows, (1 + np.log(counts)).astype(np.float32)) for rows, counts in found]


def inverse_frequency(counts: Numbers, texts: int) -> Numbers:
    """What a row weighs that this many of all texts have: the rarer, the more."""
    weights: Numbers = (np.log((1 + texts) / (1 + counts)) + 1).astype(np.float32)
    return weights
