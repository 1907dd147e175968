"""A translation, how it is made of what a search found, and one of a line from those of its parts. Knows no model."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from regard.alignment.links import Links
from regard.decoding.found import Hypothesis
from regard.decoding.repetition import cut_repetition
from regard.text.given import name_unknown

if TYPE_CHECKING:
    from regard.families.translate.aligner import Aligner
    from regard.families.translate.parts import Part

Found = tuple[int, list[Hypothesis]]  # a row, and its hypotheses
MOST_TOGETHER = 2**17  # weights of attention, of rows whose words are aligned at a time
SHOWN = 80  # letters of what was lost, in a note
WITHOUT_SPACES = {"zh", "ja", "th", "lo", "km", "my"}  # languages whose sentences are joined without a space


@dataclass(frozen=True)
class Translation:
    """A translation and how sure the model was of it."""

    text: str
    score: float  # sum of log-probabilities, the end included; NaN if not requested
    tokens: list[str]
    source_tokens: list[str]
    alignment: Links = field(default_factory=list)  # (word of the source, word of the text), on request
    notes: list[str] = field(default_factory=list)  # what had to be done to it, or may be wrong with it
    # Words of the source without a counterpart in the text, where they are so many that part of it may be lost.
    unaligned: list[int] = field(default_factory=list)
    alternatives: list[Translation] = field(default_factory=list)  # the next best, best first

    @property
    def words(self) -> list[str]:
        """The text as its alignment counts it."""
        return self.text.split()

    @property
    def source_words(self) -> list[str]:
        """What was translated, as the alignment counts it."""
        return "".join(self.source_tokens).split()


def notes_on(tokenizer: Any, line: str, sources: list[list[int]]) -> list[str]:
    """What of a line was not known; sources: the ids of its parts."""
    is_odd = not sources or any(tokenizer.may_lack(ids) for ids in sources)
    unknown = tokenizer.unknown(line.strip()) if is_odd else []
    return [name_unknown(list(dict.fromkeys(unknown)))] if unknown else []


def in_chunks(found: Iterable[Found]) -> Iterator[list[Found]]:
    """What is put into words together: each row as soon as it is found, or several of those whose words are aligned."""
    chunk: list[Found] = []
    size = 0
    for row, hypotheses in found:
        chunk.append((row, hypotheses))
        size += sum(len(one.attention) * len(one.attention[0]) for one in hypotheses if one.attention)
        if not hypotheses[0].attention or size > MOST_TOGETHER:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def put_in_words(
    tokenizer: Any, aligner: Aligner, rows: Sequence[tuple[list[int], list[Hypothesis]]]
) -> list[Translation]:
    """Ids back to text, of each source: the best, and the others. rows: a source and what was found."""
    kept = [(source, [_cut(one) for one in found]) for source, found in rows]
    links = iter(aligner.align_all([(source, one) for source, found in kept for one in found]))
    made = []
    for source, found in kept:
        read = tokenizer.tokens(source[:-1])
        best, *others = [
            Translation(tokenizer.decode(one.ids), one.score, tokenizer.tokens(one.ids), read, next(links),
                        list(one.notes))
            for one in found
        ]  # fmt: skip
        made.append(replace(best, alternatives=others) if others else best)
    return made


def _cut(found: Hypothesis) -> Hypothesis:
    """A hypothesis that found no end, without the repetition at it, and with a note."""
    if found.is_finished:
        return found
    ids = cut_repetition(found.ids)
    note = ("a repetition at the end was cut" if len(ids) < len(found.ids)
            else f"the translation found no end and was cut at {len(ids)} tokens")  # fmt: skip
    return replace(found, ids=ids, notes=(*found.notes, note))


def note_unaligned(made: Translation, unaligned: list[int]) -> Translation:
    """A translation that lacks these words of its source."""
    words = made.source_words
    lost = " ".join(words[place] for place in unaligned)
    note = (
        f"{len(unaligned)} of {len(words)} words have no counterpart in the translation, which may lack a part of the "
        f"source: {lost[:SHOWN]}{'…' if len(lost) > SHOWN else ''}"
    )
    return replace(made, notes=[*made.notes, note], unaligned=unaligned)


def join(made: list[Translation], parts: list[Part], language: str | None) -> Translation:
    """One translation of a line from those of its parts, and as many alternatives as one of them has."""
    if len(made) == 1:
        return made[0]
    best, *others = [
        _join([[one, *one.alternatives][choice.get(place, 0)] for place, one in enumerate(made)], parts, language)
        for choice in _choices(made)
    ]
    is_cut = any(part.is_cut for part in parts)
    note = f"the line is longer than any the model has seen; it was translated in {len(parts)} parts"
    return replace(best, notes=[note, *best.notes] if is_cut else best.notes, alternatives=others)


def _choices(made: list[Translation]) -> list[dict[int, int]]:
    """Which alternative to take of which part, best first: those that cost least in mean log-probability.

    Every combination costs at least what each of its choices does alone, so that only the cheapest choices matter.
    """
    count = 1 + max((len(one.alternatives) for one in made), default=0)
    costs = [
        (_rank(one) - _rank(other), place, number)
        for place, one in enumerate(made)
        for number, other in enumerate(one.alternatives, start=1)
    ]
    found: list[tuple[float, dict[int, int]]] = [(-math.inf, {})]
    for cost, place, number in heapq.nsmallest(count - 1, costs):
        found += [
            (max(before, 0.0) + cost, choice | {place: number}) for before, choice in found if place not in choice
        ]
        found = heapq.nsmallest(count, found, key=lambda one: one[0])
    return [choice for _, choice in found]


def _rank(made: Translation) -> float:
    return made.score / (len(made.tokens) + 1)


def _join(made: list[Translation], parts: list[Part], language: str | None) -> Translation:
    """One translation of a line from one of each part."""
    blank = "" if (language or "")[:2] in WITHOUT_SPACES else " "
    tokens = [
        _spaced(one.source_tokens, part.follows_blank) if number else one.source_tokens
        for number, (one, part) in enumerate(zip(made, parts, strict=True))
    ]
    read = _first_words(["".join(some) for some in tokens])
    written = _first_words([f"{blank if number else ''}{one.text}" for number, one in enumerate(made)])
    shifts = list(zip(made, read, written, strict=True))
    return Translation(
        text=blank.join(one.text for one in made),
        score=sum(one.score for one in made),
        tokens=[token for one in made for token in one.tokens],
        source_tokens=[token for some in tokens for token in some],
        alignment=[(mine + before, theirs + after) for one, before, after in shifts for mine, theirs in one.alignment],
        notes=[note for one in made for note in one.notes],
        unaligned=[place + before for one, before, _ in shifts for place in one.unaligned],
    )


def _spaced(tokens: list[str], follows_blank: bool) -> list[str]:
    """The tokens of a part as they are in its line: a tokenizer may begin every text with a blank, or none."""
    return [(" " if follows_blank else "") + tokens[0].lstrip(), *tokens[1:]] if tokens else []


def _first_words(texts: list[str]) -> list[int]:
    """The word of the whole text that each of its parts begins in: a word may continue over the end of a part."""
    found, words, last = [], 0, " "
    for text in texts:
        goes_on = bool(text) and not last.isspace() and not text[0].isspace()
        found.append(words - goes_on)
        words += len(text.split()) - goes_on
        last = text[-1] if text else last
    return found
