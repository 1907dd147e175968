"""Reads stories with questions, in the format of the bAbI tasks; says what is wrong and where.

    1 Mary moved to the bathroom.
    2 John went to the hallway.
    3 Where is Mary?<tab>bathroom<tab>1

Lines are numbered, and number 1 begins a new story. A question has its answer and the numbers of the sentences that
support it behind tabs; the answer may be several words (`apple,football`) and is taken as one.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from regard.errors import CorpusError
from regard.text.given import STDIN, read_stdin
from regard.text.lines import read_lines

SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
NO_ANSWER = (
    "unknown"  # what an answerer says where the story has no answer; the same word among your answers means that
)
NUMBERED = re.compile(r"\s*(\d+)\s+(.*)")


@dataclass(frozen=True)
class Story:
    """A question, the sentences before it, and its answer."""

    sentences: tuple[str, ...]
    question: str
    answer: str
    support: tuple[int, ...] = ()  # which sentences the answer follows from, counted from 0; not used in training
    tale: tuple[int, int] = (0, 0)  # which tale it belongs to (file, line): several questions may be asked about one


def read_stories(paths: Iterable[Path]) -> list[Story]:
    """Every question of these files with the sentences before it."""
    return list(_each_story(paths))


def verify_stories(paths: Iterable[Path]) -> None:
    """Reads all stories and keeps none; raises what `read_stories` would."""
    for _ in _each_story(paths):
        pass


def look_like_stories(paths: Iterable[Path]) -> bool:
    """Whether all of these files begin as stories do: numbered lines from 1, soon one with a tab."""
    return all(_begins_as_story(path) for path in paths)


def _begins_as_story(path: Path) -> bool:
    try:
        lines = [line for line in islice(read_lines(path), 50) if line.strip()]
    except CorpusError:
        return False
    found = [NUMBERED.fullmatch(line) for line in lines]
    return all(found) and bool(found) and found[0][1] == "1" and any("\t" in line for line in lines)  # type: ignore[index]


def _each_story(paths: Iterable[Path]) -> Iterator[Story]:
    for number, path in enumerate(paths):
        story = None
        for story in _read_file(path, number):
            yield story
        if story is None:
            raise CorpusError(f"{path} has no question; a question is a line with its answer behind a tab")


def read_sentences(path: Path | None) -> list[str]:
    """The sentences of a story: one a line or several, with numbers or without; questions with answers are left out."""
    lines = read_stdin("a story").split("\n") if path is None else list(read_lines(path))
    plain = [line for line in lines if line.strip() and "\t" not in line]
    numbered = [NUMBERED.fullmatch(line) for line in plain]
    texts = [found[2] for found in numbered if found] if all(numbered) else plain
    if found := [sentence for text in texts for sentence in split_sentences(text)]:
        return found
    raise CorpusError(f"{path or STDIN} has no sentence in it; a story has one a line, or several")


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, each with its end; a line end is one too."""
    return [sentence for line in text.split("\n") for sentence in SENTENCE_END.split(line.strip()) if sentence]


def hold_out_stories(stories: list[Story], count: int, seed: int) -> tuple[list[Story], list[Story]]:
    """Splits off about `count` questions; all questions about one tale stay on one side."""
    sizes = Counter(story.tale for story in stories)
    tales = sorted(sizes)
    if len(tales) < 2:
        raise CorpusError(f"there is only {len(tales)} story; at least 2 are needed, one of them to validate on")
    random.Random(seed).shuffle(tales)
    chosen: set[tuple[int, int]] = set()
    held = 0
    for tale in tales[:-1]:  # one at least is left to learn from
        if held >= count:
            break
        chosen.add(tale)
        held += sizes[tale]
    return [s for s in stories if s.tale not in chosen], [s for s in stories if s.tale in chosen]


def write_stories(stories: Iterable[Story]) -> str:
    """The same in bAbI format, one tale a question."""
    lines = []
    for story in stories:
        facts = [f"{number} {sentence}" for number, sentence in enumerate(story.sentences, start=1)]
        support = " ".join(str(place + 1) for place in story.support)
        lines += [*facts, f"{len(facts) + 1} {story.question}\t{story.answer}\t{support}"]
    return "".join(line + "\n" for line in lines)


def _read_file(path: Path, file: int) -> Iterator[Story]:
    sentences: list[str] = []
    places: dict[int, int] = {}  # number of a line -> place among the sentences
    tale = before = 0
    for line_number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        where = f"{path} line {line_number}"
        found = NUMBERED.fullmatch(line)
        if not found:
            raise CorpusError(f"{where} does not begin with a number: {line[:40]!r}; each line of a story is "
                              f"numbered, and 1 begins a new one")  # fmt: skip
        number, text = int(found[1]), found[2]
        if number == 1:
            sentences, places, tale = [], {}, line_number
        elif number <= before or not tale:
            raise CorpusError(f"{where} has the number {number} after {before}; numbers grow, or 1 begins a new story")
        before = number
        if "\t" not in text:
            places[number] = len(sentences)
            sentences.append(text.strip())
            continue
        question, answer, *rest = (part.strip() for part in text.split("\t"))
        if not question or not answer:
            raise CorpusError(f"{where} is a question without its answer; it must be question, tab, answer")
        support = tuple(places[int(n)] for n in (rest[0].split() if rest else []) if n.isdigit() and int(n) in places)
        yield Story(tuple(sentences), question, answer, support, (file, tale))


def most_sentences(positions: int) -> int:
    """How many sentences of a story are read, the newest; ages have room for empty ones between them."""
    return positions * 2 // 3


def answer_text(story: Story) -> str:
    """The answer as a model gives it."""
    return story.answer.lower()
