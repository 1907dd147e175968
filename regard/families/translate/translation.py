"""A translation, how it is made of what a search found, and one of a line from those of its parts. Knows no model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from regard.alignment.links import Links
from regard.decoding.found import Hypothesis
from regard.decoding.repetition import cut_repetition
from regard.text.given import name_unknown

if TYPE_CHECKING:
    from regard.families.translate.aligner import Aligner

Found = tuple[int, list[Hypothesis]]  # a row, and its hypotheses
MOST_TOGETHER = 2**17  # weights of attention, of rows whose words are aligned at a time
WITHOUT_SPACES = {"zh", "ja", "th", "lo", "km", "my"}  # languages whose sentences are joined without a space


@dataclass(frozen=True)
class Translation:
    """A translation and how sure the model was of it."""

    text: str
    score: float  # sum of log-probabilities, the end included; NaN if not requested
    tokens: list[str]
    source_tokens: list[str]
    alignment: Links = field(default_factory=list)  # (word of the source, word of the text), on request
    notes: list[str] = field(default_factory=list)  # what had to be done to it: split, stopped
    alternatives: list[Translation] = field(default_factory=list)  # the next best, best first

    @property
    def words(self) -> list[str]:
        """The text as its alignment counts it."""
        return self.text.split()

    @property
    def source_words(self) -> list[str]:
        """What was translated, as the alignment counts it."""
        return "".join(self.source_tokens).split()


def notes_on(tokenizer: Any, lines: list[str], parts: list[int], sources: list[list[int]]) -> list[list[str]]:
    """Of each line, what of it was not known; parts: how many it has, sources: their ids."""
    notes, row = list[list[str]](), 0
    for line, count in zip(lines, parts, strict=True):
        is_odd = not count or any(tokenizer.may_lack(ids) for ids in sources[row : row + count])
        unknown = tokenizer.unknown(line.strip()) if is_odd else []
        notes.append([name_unknown(list(dict.fromkeys(unknown)))] if unknown else [])
        row += count
    return notes


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
    tokenizer: Any, aligner: Aligner, rows: Sequence[tuple[list[int], list[Hypothesis], int]]
) -> list[Translation]:
    """Ids back to text, of each source: the best, and the others if they are of a whole line, which has one part.

    rows: a source, what was found, and how many parts its line has.
    """
    kept = [(source, [_cut(one) for one in (found if parts == 1 else found[:1])]) for source, found, parts in rows]
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


def join(parts: list[Translation], language: str | None) -> Translation:
    """One translation of a line from those of its parts."""
    if len(parts) == 1:
        return parts[0]
    blank = "" if (language or "")[:2] in WITHOUT_SPACES else " "
    read = _first_words(["".join(part.source_tokens) for part in parts])
    written = _first_words([f"{blank if number else ''}{part.text}" for number, part in enumerate(parts)])
    links: Links = []
    for part, before, after in zip(parts, read, written, strict=True):
        links += [(source + before, target + after) for source, target in part.alignment]
    notes = (
        [f"the line is longer than any the model has seen; it was translated in {len(parts)} parts"] if parts else []
    )
    return Translation(
        text=blank.join(part.text for part in parts),
        score=sum(part.score for part in parts),
        tokens=[token for part in parts for token in part.tokens],
        source_tokens=[token for part in parts for token in part.source_tokens],
        alignment=links,
        notes=notes + [note for part in parts for note in part.notes],
    )


def _first_words(texts: list[str]) -> list[int]:
    """The word of the whole text that each of its parts begins in: a word may continue over the end of a part."""
    found, words, last = [], 0, " "
    for text in texts:
        goes_on = bool(text) and not last.isspace() and not text[0].isspace()
        found.append(words - goes_on)
        words += len(text.split()) - goes_on
        last = text[-1] if text else last
    return found
