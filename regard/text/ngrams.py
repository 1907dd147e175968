"""Texts as bags of n-grams, each hashed to a row of a table: words in a row, characters, and openings. No torch.

How a text becomes numbers, exactly, so that it can be computed elsewhere:

1. Words: the matches of WORD in the text in lower case. Characters: the words with one blank before, between and after.
2. `mix` of numbers is FNV-1a over whole numbers of 32 bits: h = 2166136261; for each, h = (h ^ number) * 16777619; at
   last h ^= h >> 15, h *= 739982445, h ^= h >> 12, all modulo 2**32. A character is its code point; a word is the mix
   of its characters; a text begins with the word 1 and ends with the word 2.
3. N-grams: of the block "words", mix(1, word) and, marks included, mix(2, w, w) and mix(3, w, w, w); of "characters",
   mix(length, c, …) of 2 to 5 in a row; of "openings", mix(6, first, word) of each word after the first and
   mix(7, first, second, word) of each after the second: what a question asks for, who a message is to.
4. The row of an n-gram is its hash modulo the table's rows; it counts 1 + log(how often the text has that row in this
   block) times the weight of the row; all of a block are divided by the length of their vector, and times its SCALES.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

WORD = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")
SHORTEST, LONGEST = 2, 5  # characters in a row
IN_A_ROW, OPENING = 3, 2  # words
BLOCKS = ("words", "characters", "openings")
SCALES = (1.0, 1.0, 0.5)  # lengths of the blocks
SKETCH = 512  # dimensions of a dense vector
BEGIN, END = 1, 2  # the words before the first and after the last
MOST_REMEMBERED, LONGEST_REMEMBERED = 2**16, 32  # words whose numbers are, and their letters: some 20 MB at most
Numbers = NDArray[Any]


def split_words(text: str) -> list[str]:
    """The words and signs of a text, in lower case."""
    return WORD.findall(text.lower())


def mix(*columns: Numbers | int) -> Numbers:
    """A hash of the numbers at each place, as in point 2 of this file's first lines."""
    mixed: Any = np.uint32(2166136261)
    with np.errstate(over="ignore"):
        for column in columns:
            mixed = (mixed ^ np.asarray(column, np.uint32)) * np.uint32(16777619)
        mixed = (mixed ^ (mixed >> np.uint32(15))) * np.uint32(739982445)
        return np.atleast_1d(mixed ^ (mixed >> np.uint32(12)))


def hash_word(word: str) -> int:
    """The number of a word: `mix` of its characters. Long words are not remembered: a server's memory is bounded."""
    return _remembered(word) if len(word) <= LONGEST_REMEMBERED else _hash(word)


def _hash(word: str) -> int:
    """In plain whole numbers, which is faster for a few."""
    mixed = 2166136261
    for character in word:
        mixed = (mixed ^ ord(character)) * 16777619 % 2**32
    mixed = (mixed ^ mixed >> 15) * 739982445 % 2**32
    return mixed ^ mixed >> 12


_remembered = lru_cache(MOST_REMEMBERED)(_hash)


def _code_points(text: str) -> Numbers:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def hash_ngrams(texts: Sequence[Sequence[str]]) -> list[tuple[Numbers, Numbers]]:
    """Of each block: the hashes of all n-grams of these texts, which are lists of words, and the text of each."""
    marked = [[BEGIN, *map(hash_word, words), END] for words in texts]
    words, of = _joined([np.array(one, np.uint32) for one in marked])
    characters, owner = _joined([_code_points(f" {' '.join(one)} ") for one in texts])
    alone = (words != BEGIN) & (words != END)
    found = [(mix(1, words[alone]), of[alone])]
    found += [_in_a_row(words, of, length) for length in range(2, IN_A_ROW + 1)]
    parts = [_in_a_row(characters, owner, length) for length in range(SHORTEST, LONGEST + 1)]
    openings = [_openings(words, of, length) for length in range(1, OPENING + 1)]
    return [(np.concatenate(hashes), np.concatenate(owners))
            for hashes, owners in (zip(*block, strict=True) for block in (found, parts, openings))]  # fmt: skip


def _joined(lists: Sequence[Numbers]) -> tuple[Numbers, Numbers]:
    """One after another, and of which list each is."""
    return np.concatenate(lists), np.repeat(np.arange(len(lists)), [len(one) for one in lists])


def _in_a_row(numbers: Numbers, of: Numbers, length: int) -> tuple[Numbers, Numbers]:
    count = max(0, len(numbers) - length + 1)
    is_within = of[:count] == of[length - 1 :]
    return mix(length, *(numbers[i : i + count] for i in range(length)))[:count][is_within], of[:count][is_within]


def _openings(words: Numbers, of: Numbers, length: int) -> tuple[Numbers, Numbers]:
    """The first `length` words of a text with each later one; words have the mark BEGIN before them."""
    place = np.arange(len(words)) - np.searchsorted(of, of)  # of each word in its text
    later = np.flatnonzero((place > length) & (words != END))
    first = later - place[later]
    return mix(5 + length, *(words[first + 1 + i] for i in range(length)), words[later]), of[later]


def count_ngrams(texts: Sequence[Sequence[str]], buckets: int) -> list[tuple[Numbers, Numbers, Numbers]]:
    """Of each block: how many rows each of these texts has, (texts,), which ones, and 1 + log(how often) of each."""
    found = []
    for hashes, of in hash_ngrams(texts):
        keys = of.astype(np.uint64) << np.uint64(32) | (hashes % np.uint32(buckets))
        unique, counts = np.unique(keys, return_counts=True)
        sizes = np.bincount((unique >> np.uint64(32)).astype(np.int64), minlength=len(texts))
        rows = (unique & np.uint64(2**32 - 1)).astype(np.int64)
        found.append((sizes, rows, (1 + np.log(counts)).astype(np.float32)))
    return found


def sketch(texts: Sequence[Sequence[str]], weights: Numbers) -> Numbers:
    """Dense vectors of these texts, (texts, SKETCH), whose products are about those of their n-grams: every row of the
    table is added to, or taken from, the dimension that its hash names (Weinberger et al. 2009).

    weights: of each row of the table.
    """
    found = np.zeros((len(texts), SKETCH))
    for block, (sizes, rows, counts) in enumerate(count_ngrams(texts, len(weights))):
        counted = weigh(block, sizes, rows, counts, weights)
        hashes = mix(0, rows)
        signed = np.where(hashes >> np.uint32(31), counted, -counted)
        places = np.repeat(np.arange(len(texts)), sizes) * SKETCH + hashes % np.uint32(SKETCH)
        found += np.bincount(places.astype(np.int64), signed, minlength=found.size).reshape(found.shape)
    return found.astype(np.float32)


def weigh(block: int, sizes: Numbers, rows: Numbers, counts: Numbers, weights: Numbers) -> Numbers:
    """What each row of a block counts, so that the vector of each text has the length of the block. weights: of each
    row of the table; sizes: how many rows each text has.
    """
    counted = counts * weights[rows]
    of = np.repeat(np.arange(len(sizes)), sizes)
    length = np.sqrt(np.bincount(of, counted.astype(np.float64) ** 2, minlength=len(sizes)))
    return (SCALES[block] * counted / np.maximum(length, 1e-9)[of]).astype(np.float32)
