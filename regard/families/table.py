"""What suits a corpus of so many running words, by the rows of each family's settings.py (docs/notebook.md)."""

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


def choose(rows: list[Row], words: int, minutes: float | None = None) -> Settings:
    """The settings for a corpus of this many running words; minutes: that a CPU has for it, if it has not all the time.

    A large model that has seen little is worse than a small one that has seen much.
    """
    rows = [row for row in rows if minutes is None or row.minutes <= minutes]
    row = next((row for row in rows if words < row.below), rows[-1])
    return merge({"size": row.size, "text": {"vocab_size": choose_vocab_size(words)}}, row.settings)


def choose_vocab_size(words: int) -> int:
    """A size for the vocabulary of this many running words: 6,000 for 0.75 million, 32,000 from 21 million on."""
    return int(min(32_000, max(600, round(7 * words**0.5 / 200) * 200)))


def count_words(texts: Iterable[str]) -> int:
    """Running words; where no spaces are written, six letters count as one."""
    return sum(max(len(text.split()), len(text) // 6) for text in texts)
