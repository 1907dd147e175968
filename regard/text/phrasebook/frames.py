"""Who can do what, to what, to whom, where and when: a verb with the nouns that fit it, and expressions of time."""

from dataclasses import dataclass

from regard.text.phrasebook.tables import Cells, Words, rows
from regard.text.phrasebook.vocabulary import NOUNS, VERBS, Noun, Verb


@dataclass(frozen=True, eq=False)
class Time:
    """When, or how often."""

    english: Words
    german: Words
    french: Words
    marks: frozenset[str]  # the tenses it goes with (present, past, modal); inside; never


@dataclass(frozen=True, eq=False)
class Frame:
    """Who can do what to what, to whom, and where."""

    verb: Verb
    subjects: tuple[Noun, ...]
    objects: tuple[Noun, ...]
    recipients: tuple[Noun, ...]
    places: tuple[Noun, ...]
    marks: frozenset[str]  # new, once, making, chance, unwilled: see the table


def _time(row: Cells) -> Time:
    english, german, french = ([(word[:-1], int(word[-1])) for word in cell] for cell in row[:3])
    return Time(english, german, french, frozenset(row[3]))


def _frames(row: Cells) -> list[Frame]:
    """One frame for each of the verbs that share a line."""
    verbs, subjects, things, recipients, places, marks = row
    chosen = (_of_kinds(subjects), _of_kinds(things), _of_kinds(recipients), _of_kinds(places))
    return [Frame(VERBS[name], *chosen, frozenset(marks)) for name in " ".join(verbs).split(", ")]


def _of_kinds(kinds: list[str]) -> tuple[Noun, ...]:
    return tuple(noun for noun in NOUNS if not noun.kinds.isdisjoint(kinds))


TIMES = tuple(map(_time, rows("times")))
FRAMES = tuple(frame for row in rows("frames") for frame in _frames(row))
