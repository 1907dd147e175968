"""The table of defaults: what suits a corpus of so many running words. In one place, each row with what backs it.

docs/notebook.md has the runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from regard.config import Settings, merge


@dataclass(frozen=True)
class Row:
    """What is taken for a corpus of fewer words than `below`."""

    below: float  # running words, of both sides if there are two
    size: str
    settings: Settings
    minutes: float = 0  # of two cores, until it is ahead of the row above it: who has less takes that one


ENDLESS = float("inf")
TABLE: dict[str, list[Row]] = {
    "translate": [
        Row(150_000, "tiny", {"model": {"dropout": 0.3}, "train": {"tokens_per_batch": 2048}}),
        Row(2_000_000, "tiny", {"model": {"dropout": 0.2}, "train": {"tokens_per_batch": 4096}}),
        Row(20_000_000, "small", {"model": {"dropout": 0.1}, "train": {"tokens_per_batch": 8192}}, minutes=45),
        Row(ENDLESS, "base", {"model": {"dropout": 0.1}, "train": {"tokens_per_batch": 16384}}, minutes=300),
    ],
    "write": [
        Row(500_000, "tiny", {"text": {"tokenizer": "char"}, "train": {"label_smoothing": 0.0}}),
        Row(17_000_000, "small", {"text": {"tokenizer": "bpe"}, "train": {"label_smoothing": 0.0}}),
        Row(ENDLESS, "base", {"text": {"tokenizer": "bpe"}, "train": {"label_smoothing": 0.0}}),
    ],
    "fill": [
        Row(5_000_000, "tiny", {"text": {"tokenizer": "wordpiece"}, "train": {"label_smoothing": 0.0}}),
        Row(200_000_000, "small", {"text": {"tokenizer": "wordpiece"}, "train": {"label_smoothing": 0.0}}),
        Row(ENDLESS, "base", {"text": {"tokenizer": "wordpiece"}, "train": {"label_smoothing": 0.0}}),
    ],
}


def choose(task: str, words: int, minutes: float | None = None) -> Settings:
    """The settings for a corpus of this many running words; minutes: that a CPU has for it, if it has not all the time.

    A large model that has seen little is worse than a small one that has seen much.
    """
    rows = [row for row in TABLE[task] if minutes is None or row.minutes <= minutes]
    row = next((row for row in rows if words < row.below), rows[-1])
    by_words: Settings = {"size": row.size, "text": {"vocab_size": choose_vocab_size(words)}}
    if task == "translate":
        by_words["stop"] = {"epochs": choose_epochs(words), "patience": 8}
    return merge(by_words, row.settings)


def choose_epochs(words: int) -> int:
    """How often a translator goes over this many running words: 30 times for 0.7 million, rarer with more text."""
    return int(min(100, max(4, round(30 * (700_000 / max(1, words)) ** 0.5))))


def choose_vocab_size(words: int) -> int:
    """A size for the vocabulary of this many running words: 6,000 for 0.75 million, 32,000 from 21 million on."""
    return int(min(32_000, max(600, round(7 * words**0.5 / 200) * 200)))


def count_words(texts: Iterable[str]) -> int:
    """Running words; where no spaces are written, six letters count as one."""
    return sum(max(len(text.split()), len(text) // 6) for text in texts)
