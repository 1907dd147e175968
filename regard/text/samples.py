"""The embedded default: a phrasebook that says the same thing in English, German and French.

It knows how sentences are collected and which are held out; `regard.text.phrasebook` knows the grammar.

Nothing is ambiguous: in every direction a sentence has exactly one translation. There is one "you" ("du", "tu"), no
"they", one past, and nobody is given a gender that the sentence does not tell. More than six billion sentences say no
more than who did what; other tenses, times, places, questions and second clauses come on top.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from random import Random

from regard.errors import ConfigError
from regard.text.phrasebook.meaning import Sentence
from regard.text.phrasebook.pieces import align
from regard.text.phrasebook.say import say
from regard.text.phrasebook.think import think

LANGUAGES = ("en", "de", "fr")


@dataclass(frozen=True, slots=True)
class Phrase:
    """A sentence, its translation, and which word says what; words are what spaces separate."""

    source: str
    target: str
    alignment: tuple[tuple[int, int], ...]  # (source word, target word), sorted


def phrasebook(source: str, target: str, count: int, *, seed: int = 0, held_out: bool = False) -> list[Phrase]:
    """`count` different sentences and their translations; the `held_out` ones are never among the others.

    A held-out sentence has a noun, an adjective and a verb together in one clause that never meet in the others.
    """
    for language in (source, target):
        if language not in LANGUAGES:
            raise ConfigError(f"the phrasebook has no language {language!r}; choose from {', '.join(LANGUAGES)}")
    if source == target:
        raise ConfigError(f"source and target are both {source!r}; choose two different ones of {', '.join(LANGUAGES)}")
    random = Random(seed)
    phrases: dict[str, Phrase] = {}
    while len(phrases) < count:
        sentence = think(random)
        if is_held_out(sentence) == held_out:
            phrase = translate(sentence, source, target)
            phrases.setdefault(phrase.source, phrase)
    return list(phrases.values())


def translate(sentence: Sentence, source: str, target: str) -> Phrase:
    """Say it in two languages, and see which words share a piece of the meaning."""
    words, pieces = zip(*say(sentence, source), strict=True)
    other_words, other_pieces = zip(*say(sentence, target), strict=True)
    alignment = align(pieces, other_pieces)
    if (words[-1] == "?") != (other_words[-1] == "?"):  # written apart in French, with the last word elsewhere
        alignment = (*alignment, (len(words) - 1, len(other_words) - 1))
    return Phrase(" ".join(words), " ".join(other_words), alignment)


def is_held_out(sentence: Sentence) -> bool:
    """Whether the sentence has a noun, an adjective and a verb that never meet in training."""
    return any(_is_rare(*triple) for triple in triples(sentence))


def triples(sentence: Sentence) -> Iterator[tuple[str, str, str]]:
    """Every noun, adjective and verb that meet in one clause, by their English names."""
    for clause in (sentence.main, sentence.second):
        if clause:
            nominals = [n for n in (clause.subject, clause.thing, clause.recipient, clause.place) if n]
            adjectives = [a for n in nominals for a in (n.before, n.after) if a]
            if clause.state:
                adjectives.append(clause.state)
            nouns = [n.noun for n in nominals if "name" not in n.noun.kinds] if adjectives else []
            yield from ((n.english[0], a.english, clause.verb.name) for n in nouns for a in adjectives)


@cache
def _is_rare(noun: str, adjective: str, verb: str) -> bool:
    return hashlib.sha256(f"{noun} {adjective} {verb}".encode()).digest()[0] < 13  # 13 / 256: 5 % of the triples
