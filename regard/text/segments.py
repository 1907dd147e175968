"""Cuts a text that is too long for a model into parts that fit, so that the parts make up the text.

Cuts at sentence ends where that is enough, else at clauses, else between words, else anywhere. Nothing is lost.
"""

import re
from collections.abc import Callable

# Where a cut may be, best places first; each pattern matches the blank between two parts.
PLACES = (
    re.compile(r"(?<=[.!?…][\"'»”’)\]])\s+|(?<=[.!?…])\s+|(?<=[。！？])"),
    re.compile(r"(?<=[,;:–—])\s+|(?<=[，、；：])"),
    re.compile(r"\s+"),
)


def split_to_fit(text: str, fits: Callable[[str], bool]) -> list[str]:
    """Parts of `text` that each fit, in order, as few cuts as the best places allow."""
    if fits(text):
        return [text]
    for place in PLACES:
        parts = [part for part in place.split(text) if part]
        if len(parts) > 1:
            return [whole for part in _join_while_fitting(parts, fits) for whole in split_to_fit(part, fits)]
    if len(text) < 2:
        return [text]  # one character is the smallest part there is
    half = len(text) // 2
    return split_to_fit(text[:half], fits) + split_to_fit(text[half:], fits)


def _join_while_fitting(parts: list[str], fits: Callable[[str], bool]) -> list[str]:
    joined: list[str] = []
    for part in parts:
        together = f"{joined[-1]} {part}" if joined else part
        if joined and fits(together):
            joined[-1] = together
        else:
            joined.append(part)
    return joined
