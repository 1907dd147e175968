"""The words in three languages with all their forms, as words/*.txt have them.

A word is one meaning with one word per language, so that nothing has to be guessed: "teacher" is always "Lehrerin" and
"enseignante". A noun's kinds say what it can do and suffer: adjectives and frames choose their nouns by kind.
"""

from dataclasses import dataclass
from typing import NamedTuple

from regard.text.phrasebook.tables import Cells, french_plural, french_verb, german_verb, lines, rows, with_s

Forms = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Noun:
    """A person, an animal, a thing, a place; a name and a pronoun are nouns that never take a determiner."""

    english: Forms  # singular, plural
    german: Forms  # singular, plural, accusative and dative singular
    french: Forms  # singular, plural
    german_gender: int  # column of the German articles and endings: 0 der, 1 die, 2 das
    is_feminine: bool  # in French
    kinds: frozenset[str]
    person: int = 2  # of the verb, when singular: 0 I, 1 you, 2 he or she, 3 we (4 is they)


class Preposition(NamedTuple):
    """What stands before a place: "in", "at", "on"."""

    english: str
    german: str  # with the dative
    french: str


@dataclass(frozen=True, eq=False)
class Adjective:
    """A quality; in French it stands before its noun or after it."""

    english: str
    german: str
    german_stem: str  # what the endings are added to: müd-e, teur-e
    french: Forms  # masculine, feminine, masculine before a vowel
    is_before: bool
    kinds: frozenset[str]


@dataclass(frozen=True, eq=False)
class Verb:
    """Something done. Finite forms are counted by person: I, you, he or she, we, they."""

    name: str  # what a frame calls it: look for
    english: Forms  # infinitive, third person, past
    english_tail: str  # look *for*
    german: Forms  # five present forms
    german_participle: str
    german_prefix: str  # *an*rufen
    german_preposition: str  # warten *auf*
    is_dative: bool
    is_with_sein: bool
    french: Forms  # five present forms
    french_participle: str
    french_infinitive: str
    french_preposition: str  # parler *à*
    is_with_etre: bool


def _noun(row: Cells) -> Noun:
    english, (article, *german), (french_article, french), kinds = row
    return Noun(
        english=(english[0], english[-1] if len(english) > 1 else with_s(english[0])),
        german=(german[0], german[1] if len(german) > 1 else german[0], german[2] if len(german) > 2 else german[0]),
        french=(french, french_plural(french)),
        german_gender=("der", "die", "das").index(article),
        is_feminine=french_article == "une",
        kinds=frozenset(kinds),
    )


def _name(english: str, german: str, french: str, person: int = 2, *, is_feminine: bool = False) -> Noun:
    kinds = frozenset(("person", "name"))
    return Noun((english, english), (german, german, german), (french, french), 0, is_feminine, kinds, person)


def _adjective(row: Cells) -> Adjective:
    english, german, (position, *french), kinds = row
    forms = (french[0], french[1], french[-1] if len(french) > 2 else french[0])
    return Adjective(english[0], german[0], german[-1], forms, position == "before", frozenset(kinds))


def _verb(row: Cells) -> Verb:
    (english, past), german, french = row
    infinitive, _, tail = english.partition("+")
    marks = [word for word in german + french if "+" in word or word.endswith("-")]
    prefix = next((mark.removesuffix("-") for mark in marks if mark.endswith("-")), "")
    german_forms = german_verb([word for word in german if word not in marks], prefix)
    french_forms = french_verb([word for word in french if word not in marks])
    return Verb(
        name=f"{infinitive} {tail}".strip(),
        english=(infinitive, with_s(infinitive), past),
        english_tail=tail,
        german=(*german_forms[:4], german_forms[3]),
        german_participle=german_forms[4],
        german_prefix=prefix,
        german_preposition=next((mark.split("+")[0] for mark in marks if mark in ("auf+acc", "mit+dat")), ""),
        is_dative=any(mark.endswith("+dat") for mark in marks),
        is_with_sein="+sein" in marks,
        french=tuple(french_forms[:5]),
        french_participle=french_forms[5],
        french_infinitive=french_forms[6],
        french_preposition="à" if "+à" in marks else "",
        is_with_etre="+être" in marks,
    )


NOUNS = tuple(map(_noun, rows("nouns")))
NAMES = (
    *(_name(name, name, name, is_feminine=True) for name in ("Anna", "Emma", "Clara")),
    *(_name(name, name, name) for name in ("David", "Martin", "Thomas")),
)
PRONOUNS = (
    _name("I", "ich", "je", 0),
    _name("you", "du", "tu", 1),
    _name("he", "er", "il"),
    _name("she", "sie", "elle", is_feminine=True),
    _name("we", "wir", "nous", 3),
)
PREPOSITIONS = {place: Preposition(*prepositions) for prepositions, places in rows("places") for place in places}
ADJECTIVES = tuple(map(_adjective, rows("adjectives")))
VERBS = {verb.name: verb for verb in map(_verb, rows("verbs"))}


def everyday_sentences() -> list[list[str]]:
    """What no grammar makes, in English, German and French: greetings, sentences, both together, and what stands alone.

    There is one "you" (du, tu), as everywhere in the phrasebook, and no sentence has two translations in any direction.
    """
    greetings, sentences = lines("greetings"), lines("sentences")
    greeted = [
        [f"{hello}, {_inside(text)}" for hello, text in zip(greeting, sentence, strict=True)]
        for greeting in greetings
        for sentence in sentences
    ]
    return [*([f"{hello}." for hello in greeting] for greeting in greetings[:2]), *sentences, *lines("alone"), *greeted]


def _inside(sentence: str) -> str:
    """With a small first letter, as after a comma; English writes "I" large."""
    return sentence if sentence.startswith("I ") else sentence[0].lower() + sentence[1:]
