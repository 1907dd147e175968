"""What a sentence means, before any language says it.

It knows who does what, where and when; it does not know word order, endings or chance.
"""

from typing import NamedTuple

from regard.text.phrasebook.frames import Time
from regard.text.phrasebook.vocabulary import Adjective, Noun, Verb


class Nominal(NamedTuple):
    """Someone or something: a noun, its determiner, and up to two adjectives, named by where French puts them."""

    noun: Noun
    determiner: str = ""
    is_plural: bool = False
    before: Adjective | None = None
    after: Adjective | None = None


class Clause(NamedTuple):
    """Who does what, to whom, where and when; or what is asked about it."""

    verb: Verb
    subject: Nominal | None = None  # none: "who"
    thing: Nominal | None = None
    recipient: Nominal | None = None
    place: Nominal | None = None
    time: Time | None = None
    is_time_first: bool = False
    tense: str = "present"  # past, modal
    modal: Verb | None = None
    is_negated: bool = False
    state: Adjective | None = None  # what the subject is, with the verb "be"
    is_very: bool = False
    asks: str = ""  # yes, who, whom, what, where, when, why


class Sentence(NamedTuple):
    """A clause, perhaps with a second one that depends on it."""

    main: Clause
    link: str = ""  # that, because, if
    second: Clause | None = None
    is_second_first: bool = False


def person_of(subject: Nominal | None) -> int:
    """Of the verb: 0 I, 1 you, 2 he, she or who, 3 we, 4 they."""
    return 2 if subject is None else 4 if subject.is_plural else subject.noun.person


def is_known(nominal: Nominal) -> bool:
    """Whether it is definite: its negation is "nicht", not "kein", and it comes early in a German sentence."""
    return nominal.determiner in ("the", "this", "my", "our") or "name" in nominal.noun.kinds
