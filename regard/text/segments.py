"""Cuts texts that are too long for a model into parts that fit, so that the parts make up the text.

Cuts at sentence ends where that is enough, else at clauses, else between words, else anywhere. Nothing is lost.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, chain, pairwise

from regard.text.sentences import Span, sentences

# Where a cut may be inside a sentence, best places first; each pattern matches the blank between two parts.
PLACES = (re.compile(r"(?<=[,;:–—])\s+|(?<=[，、；：])"), re.compile(r"\s+"))
WINDOW = 2000  # letters that are split at once: whatever they are, that takes milliseconds
NEAR_END = 400  # letters of a window, its last ones, where the text may be cut
LETTERS = 4  # of a token, about: where a text has more of them, its tokens have to say where to cut it

Encode = Callable[[list[str]], list[list[int]]]
EncodeEnds = Callable[[list[str]], list[tuple[list[int], list[int]]]]


def find_windows(text: str, kept: Sequence[Span] = ()) -> list[Span]:
    """Where a text of any length is cut before it is split, without the blanks in between; not within what is kept."""
    spans, first = list[Span](), 0
    while len(text) - first > WINDOW:
        last = first + WINDOW
        end, after = next(_find_cuts(text, last - NEAR_END, last, kept), (last, last))
        spans.append((first, end))
        first = after
    pieces = [(start, text[start:end], end) for start, end in [*spans, (first, len(text))]]
    found = [(end - len(one.lstrip()), start + len(one.rstrip())) for start, one, end in pieces if one.strip()]
    return found or [(0, len(text))]


def _find_cuts(text: str, first: int, last: int, kept: Sequence[Span]) -> Iterator[Span]:
    """The blanks in some of a text where it may be cut, best places and last ones first."""
    near = text[first:last]
    blanks = [(one[1], other[0]) for one, other in pairwise(sentences(near))]
    for some in (blanks, *([found.span() for found in place.finditer(near)] for place in PLACES)):
        for start, end in reversed(some):
            if start > 0 and end < len(near) and not any(a < first + end and b > first + start for a, b in kept):
                yield first + start, first + end


def split_to_fit(
    texts: Sequence[str], encode: Encode, encode_ends: EncodeEnds, most: int
) -> list[list[tuple[str, list[int]]]]:
    """Parts of each text of up to `most` tokens each, in order, as few cuts as the best places allow; and their ids.

    encode: the ids of each of several texts; encode_ends: also where in the text each of them ends. One character is
    the smallest part there is. However many and long the texts are, they are encoded a few times in all: their own
    tokens say where to cut, and only then the parts are tried, all at once.
    """
    known: dict[str, list[int]] = {"": encode([""])[0]}
    ends: dict[str, list[int]] = {}

    def learn(some: list[str], placed: list[str]) -> None:
        for text, (ids, where) in zip(placed, encode_ends(placed) if placed else [], strict=True):
            known[text], ends[text] = ids, where
        new = [text for text in dict.fromkeys(some) if text not in known]
        known.update(zip(new, encode(new) if new else [], strict=True))

    learn(list(texts), [text for text in dict.fromkeys(texts) if len(text) > LETTERS * most and has_place(text)])
    long = [text for text in dict.fromkeys(texts) if len(known[text]) > most and len(text) > 1]
    middles = {text: text[len(text) // 2 - 1 : len(text) // 2 + 1] for text in long}
    learn(list(middles.values()), [text for text in long if text not in ends and has_place(text)])
    closing, cuts, added = len(known[""]), dict[str, list[str]](), dict[str, int]()
    room = max(1, most - closing)
    while long:
        for text in long:
            before = _tokens_before(text, len(known[text]) - closing, ends.get(text))
            if middle := middles.get(text):  # what a cut in a word adds; of parts, as of their text
                place = len(text) // 2
                added[text] = len(known[middle]) - closing - (before[place + 1] - before[place - 1])
            in_word = room - added[text] if 0 < added[text] < room else room
            cuts[text] = [text[first:last] for first, last in _cut(text, before, room, in_word)]
            added |= dict.fromkeys(cuts[text], added[text])
        pieces = list(dict.fromkeys(chain.from_iterable(cuts[text] for text in long)))
        learn(pieces, [])
        long = [text for text in pieces if len(known[text]) > most and len(text) > 1 and text not in cuts]
    return [[(part, known[part]) for part in _leaves(text, cuts)] for text in texts]


def _leaves(text: str, cuts: dict[str, list[str]]) -> Iterator[str]:
    """The parts of a text that were not cut again."""
    pieces = cuts.get(text, [text])
    return iter(pieces) if pieces == [text] else chain.from_iterable(_leaves(piece, cuts) for piece in pieces)


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
