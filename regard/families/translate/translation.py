"""A translation, how it is made of what a search found, and one of a line from those of its parts. Knows no model."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from regard.alignment.links import Links
from regard.decoding.found import Hypothesis
from regard.decoding.repetition import cut_repetition
from regard.text.given import name_unknown

if TYPE_CHECKING:
    from regard.families.translate.aligner import Aligner

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


def put_in_words(
    tokenizer: Any, aligner: Aligner, source: list[int], hypotheses: list[Hypothesis], parts: int
) -> Translation:
    """Ids back to text: the best, and the others if they are of a whole line, which has `parts`."""
    read = tokenizer.tokens(source[:-1])

    def in_words(found: Hypothesis, alternatives: list[Translation]) -> Translation:
        ids, notes = found.ids, list(found.notes)
        if not found.is_finished:
            ids = cut_repetition(found.ids)
            notes.append("a repetition at the end was cut" if len(ids) < len(found.ids)
                         else f"the translation found no end and was cut at {len(ids)} tokens")  # fmt: skip
        links = aligner.align(source, replace(found, ids=ids)) if found.attention else []
        return Translation(tokenizer.decode(ids), found.score, tokenizer.tokens(ids), read, links, notes, alternatives)

    best, *others = hypotheses if parts == 1 else hypotheses[:1]
    return in_words(best, [in_words(other, []) for other in others])


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
