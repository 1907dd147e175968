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


Encode = Callable[[list[str]], list[list[int]]]
Sizes = Callable[[list[str]], list[int]]


def split_to_fit(text: str, ids: list[int], encode: Encode, most: int) -> tuple[list[str], list[list[int]]]:
    """Parts of `text` of up to `most` tokens each, in order, as few cuts as the best places allow; and their ids.

    ids: of the text; encode: what each of several texts has. One character is the smallest part there is.
    """
    known = {text: ids}  # each text is encoded once: parts repeat, and joined ones are checked again

    def sizes(texts: list[str]) -> list[int]:
        if new := [one for one in dict.fromkeys(texts) if one not in known]:
            known.update(zip(new, encode(new), strict=True))
        return [len(known[one]) for one in texts]

    parts = _split(text, sizes, most)
    return parts, [known[part] for part in parts]


def _split(text: str, sizes: Sizes, most: int) -> list[str]:
    size = sizes([text])[0]
    if size <= most or len(text) < 2:
        return [text]
    for place in PLACES:
        parts = [part for part in place.split(text) if part]
        if len(parts) > 1:
            joined = _join_while_fitting(parts, sizes, most)
            return [whole for part in joined for whole in _split(part, sizes, most)]
    closing = sizes([""])[0]
    step = max(1, len(text) * (most - closing) // (size - closing))
    pieces = [text[start : start + step] for start in range(0, len(text), step)]
    sizes(pieces)  # all at once
    return [whole for piece in pieces for whole in _split(piece, sizes, most)]


def _join_while_fitting(parts: list[str], sizes: Sizes, most: int) -> list[str]:
    """As many parts together as fit: how many is guessed from their sizes, and then tried."""
    closing, *each = sizes(["", *parts])
    joined: list[str] = []
    start = 0
    while start < len(parts):
        end, total = start + 1, each[start]
        while end < len(parts) and total + each[end] - closing <= most:
            total += each[end] - closing
            end += 1
        while end > start + 1 and (size := sizes([" ".join(parts[start:end])])[0]) > most:
            end = start + max(1, (end - start) * most // size)
        while end < len(parts) and sizes([" ".join(parts[start : end + 1])])[0] <= most:
            end += 1
        joined.append(" ".join(parts[start:end]))
        start = end
    return joined
