"""A line in the parts that a translator reads one after another: sentences, and less of one that is too long."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

from regard.text.segments import WINDOW, find_windows, split_to_fit
from regard.text.sentences import Span, group_sentences, sentences
from regard.text.terms import Terms, term_spans


class Part(NamedTuple):
    """What is translated in one."""

    text: str
    ids: list[int]
    follows_blank: bool = True  # in the line
    is_cut: bool = False  # from a sentence that was too long


class Sentences(NamedTuple):
    """How many sentences of a line make a part."""

    most: int | None  # None: a line is split only if it is too long
    language: str | None = None
    terms: Terms | None = None  # that no cut may be in

    def windows(self, text: str) -> list[Span]:
        """Where the parts of a text are that are split for themselves, so that no text is too long to be split."""
        return find_windows(text, term_spans(text, self.terms) if self.terms and len(text) > WINDOW else ())

    def spans(self, text: str) -> list[Span]:
        """Where the parts of a text are."""
        if self.most is None:
            return [(0, len(text))]
        found = sentences(text, self.language)
        if len(found) <= self.most:
            return [(0, len(text))]
        return group_sentences(found, self.most, term_spans(text, self.terms or {}))


def split_lines(tokenizer: Any, texts: Sequence[str], longest: int, how: Sentences) -> list[list[Part]]:
    """The parts of each text. A part longer than any the model has seen in training is cut; a blank text, or one of
    which the tokenizer leaves nothing, has no part.
    """
    windows = [how.windows(text) for text in texts]
    spans = [
        [(first + start, first + end) for first, last in found for start, end in how.spans(text[first:last])]
        for text, found in zip(texts, windows, strict=True)
    ]
    pieces = [text[start:end] for text, found in zip(texts, spans, strict=True) for start, end in found]
    fitting = iter(split_to_fit(pieces, tokenizer.encode_all, tokenizer.encode_ends, longest))
    nothing, lines = tokenizer.encode(""), []
    for text, found in zip(texts, spans, strict=True):
        parts: list[Part] = []
        for start, _ in found:
            cut, place = next(fitting), start
            for part, ids in cut:
                place = text.index(part, place)
                if ids != nothing:
                    follows_blank = text[place - 1 : place].isspace() or not parts
                    parts.append(Part(part, ids, follows_blank, len(cut) > 1))
                place += len(part)
        lines.append(parts)
    return lines


def join_windows(text: str, windows: Sequence[Span], found: Sequence[list[Part]]) -> list[Part]:
    """The parts of a text, from those of each of its windows."""
    for (start, _), parts in zip(windows[1:], found[1:], strict=True):
        parts[:1] = [part._replace(follows_blank=text[start - 1].isspace()) for part in parts[:1]]
    return list(chain.from_iterable(found))


def share_prefix(prefix: str, language: str | None, counts: Sequence[int]) -> list[str]:
    """What each part of a line begins with, where the whole begins with the prefix; counts: sentences of each part.

    All parts before the last one that has a share are translated already: their shares are all there is to them.
    """
    spans, shares, taken = sentences(prefix, language), [], 0
    for number, count in enumerate(counts, start=1):
        last = len(spans) if number == len(counts) else min(taken + count, len(spans))
        shares.append(prefix[spans[taken][0] : spans[last - 1][1]] if taken < last else "")
        taken = last
    return shares
