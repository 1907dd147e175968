"""Cuts a text that is too long for a model into parts that fit, so that the parts make up the text.

Cuts at sentence ends where that is enough, else at clauses, else between words, else anywhere. Nothing is lost.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, chain

from regard.text.sentences import Span, sentences

# Where a cut may be inside a sentence, best places first; each pattern matches the blank between two parts.
PLACES = (re.compile(r"(?<=[,;:–—])\s+|(?<=[，、；：])"), re.compile(r"\s+"))

Encode = Callable[[list[str]], list[list[int]]]


def split_to_fit(
    text: str, ids: list[int], encode: Encode, most: int, ends: Sequence[int] | None = None
) -> tuple[list[str], list[list[int]]]:
    """Parts of `text` of up to `most` tokens each, in order, as few cuts as the best places allow; and their ids.

    ids: of the text; encode: what each of several texts has; ends: where in the text each of its ids ends, else they
    are taken to have equally many bytes. One character is the smallest part there is. However long the text is, it is
    encoded a few times in all: its own tokens say where to cut, and only then the parts are tried, all at once.
    """
    if len(ids) <= most or len(text) < 2:
        return [text], [ids]
    middle = len(text) // 2
    sample = text[middle - 1 : middle + 1]
    known = dict(zip(["", sample], encode(["", sample]), strict=True)) | {text: ids}
    closing = len(known[""])
    room, parts, added = max(1, most - closing), [text], 0  # added: tokens that a cut in a word adds
    while long := [part for part in dict.fromkeys(parts) if len(known[part]) > most and len(part) > 1]:
        cuts: dict[str, list[str]] = {}
        for part in long:
            before = _tokens_before(part, len(known[part]) - closing, ends)
            if part is text:
                added = len(known[sample]) - closing - (before[middle + 1] - before[middle - 1])
            in_word = room - added if 0 < added < room else room
            cuts[part] = [part[first:last] for first, last in _cut(part, before, room, in_word)]
        new = [piece for piece in dict.fromkeys(chain.from_iterable(cuts.values())) if piece not in known]
        known.update(zip(new, encode(new), strict=True))
        parts = [piece for part in parts for piece in cuts.get(part, [part])]
        ends = None
    return parts, [known[part] for part in parts]


def has_place(text: str) -> bool:
    """Whether there is a place to cut at, other than between any two characters."""
    return any(place.search(text) for place in PLACES) or len(sentences(text)) > 1


def _tokens_before(text: str, count: int, ends: Sequence[int] | None) -> list[int]:
    """How many tokens end at or before each place of a text."""
    if ends is None:
        sizes = [1 + (letter > "\x7f") + (letter > "\u07ff") + (letter > "\uffff") for letter in text]  # bytes of UTF-8
        most = sum(sizes)
        return [total * count // most for total in accumulate(sizes, initial=0)]
    ended = Counter(ends)
    return list(accumulate(ended[place] for place in range(len(text) + 1)))


def _cut(text: str, before: list[int], room: int, room_in_word: int) -> Iterator[Span]:
    """Spans of a text with up to so many tokens, as `before` counts them; where a word is cut, with so many."""

    def cut(first: int, last: int, level: int) -> Iterator[Span]:
        if before[last] - before[first] <= room:
            yield first, last
        elif level > len(PLACES):
            yield from anywhere(first, last)
        else:
            spans = list(_between(text, first, last, PLACES[level - 1])) if level else sentences(text)
            number = 0
            while number < len(spans):
                start, end = spans[number]
                number += 1
                is_alone = True
                while number < len(spans) and before[spans[number][1]] - before[start] <= room:
                    end, number, is_alone = spans[number][1], number + 1, False
                yield from cut(start, end, level + 1) if is_alone else [(start, end)]

    def anywhere(first: int, last: int) -> Iterator[Span]:
        while first < last:
            end = first + 1
            while end < last and before[end + 1] - before[first] <= room_in_word:
                end += 1
            yield first, end
            first = end

    return cut(0, len(text), 0)


def _between(text: str, first: int, last: int, place: re.Pattern[str]) -> Iterator[Span]:
    """What is between the places where a cut may be."""
    for found in place.finditer(text, first, last):
        if found.start() > first:
            yield first, found.start()
        first = found.end()
    if first < last:
        yield first, last
