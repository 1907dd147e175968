"""A line in the parts that a translator reads one after another: sentences, and less of one that is too long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from regard.text.segments import has_place, split_to_fit
from regard.text.sentences import Span, group_sentences, sentences
from regard.text.terms import Terms, term_spans
from regard.text.tokenizer import LONG


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
    spans = [how.spans(text) for text in texts]
    pieces = [text[start:end] for text, found in zip(texts, spans, strict=True) for start, end in found]
    encoded = iter(tokenizer.encode_all(["" if len(piece) > LONG else piece for piece in pieces]))
    nothing, lines = tokenizer.encode(""), []
    for text, found in zip(texts, spans, strict=True):
        parts: list[Part] = []
        for start, end in found:
            cut = list(_fit(tokenizer, text[start:end], next(encoded), longest))
            parts += [
                Part(part, ids, text[start + place - 1 : start + place].isspace() or not parts, len(cut) > 1)
                for place, part, ids in cut
                if ids != nothing
            ]
        lines.append(parts)
    return lines


def _fit(tokenizer: Any, text: str, ids: list[int], longest: int) -> Iterator[tuple[int, str, list[int]]]:
    """The text, or what of it is short enough for a part: where, which text, and its ids. ids: none of a long text."""
    ends = None
    if (len(ids) > longest or len(text) > LONG) and has_place(text):
        ids, ends = tokenizer.encode_ends(text)
    elif len(text) > LONG:
        ids = tokenizer.encode(text)
    reached = 0
    for part, found in zip(*split_to_fit(text, ids, tokenizer.encode_all, longest, ends), strict=True):
        start = text.index(part, reached)
        yield start, part, found
        reached = start + len(part)


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
