"""The embedded defaults: a phrasebook that says the same thing in English, German and French; stories; and source code.

It knows how sentences are collected and which are held out; `regard.text.phrasebook` knows the grammar.

Nothing is ambiguous: in every direction a sentence has exactly one translation. There is one "you" ("du", "tu"), no
"they", one past, and no gender that the sentence does not show. More than six billion sentences say no
more than who did what; other tenses, times, places, questions and second clauses come on top.
"""

import hashlib
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from regard.errors import ConfigError
from regard.text.phrasebook.meaning import Sentence
from regard.text.phrasebook.pieces import align
from regard.text.phrasebook.say import say
from regard.text.phrasebook.think import think
from regard.text.phrasebook.vocabulary import everyday_sentences
from regard.text.stories import Story

LANGUAGES = ("en", "de", "fr")
NAMES = ("Bernhard", "Brian", "Greg", "Julius", "Lily", "Maria", "Nora", "Oskar")
ANIMALS = ("frog", "lion", "mouse", "rhino", "sheep", "swan")
COLORS = ("blue", "gray", "green", "pink", "white", "yellow")


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
    _check_languages(source, target)
    random = Random(seed)
    phrases: dict[str, Phrase] = {}
    while len(phrases) < count:
        sentence = think(random)
        if is_held_out(sentence) == held_out:
            phrase = translate(sentence, source, target)
            phrases.setdefault(phrase.source, phrase)
    return list(phrases.values())


def everyday(source: str, target: str) -> list[Phrase]:
    """What people say every day ("Hello, I love you."), without its alignment: nothing of it is made word by word."""
    _check_languages(source, target)
    places = LANGUAGES.index(source), LANGUAGES.index(target)
    return [Phrase(texts[places[0]], texts[places[1]], ()) for texts in everyday_sentences()]


def _check_languages(source: str, target: str) -> None:
    for language in (source, target):
        if language not in LANGUAGES:
            raise ConfigError(f"the phrasebook has no language {language!r}; choose from {', '.join(LANGUAGES)}")
    if source == target:
        raise ConfigError(f"source and target are both {source!r}; choose two different ones of {', '.join(LANGUAGES)}")


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


def induction(count: int, *, seed: int = 0, held_out: bool = False) -> list[Story]:
    """`count` stories of animals: who is of the same kind has the same color ("What color is Greg?").

    The answer follows from three sentences: what Greg is, who else is one, and what color that one is. In a held-out
    story name, kind and color of the one asked about never meet in the others.
    """
    random = Random(seed)
    stories: dict[tuple[str, ...], Story] = {}
    while len(stories) < count:
        story = _induce(random)
        asked, *_, kind = story.sentences[story.support[0]].removesuffix(".").split()
        if _is_rare(asked, kind, story.answer) == held_out:
            stories.setdefault(story.sentences, story)
    return list(stories.values())


def _induce(random: Random) -> Story:
    """One story: two animals of a kind, one of them with its color; and others with incomplete facts."""
    others = random.randint(1, 4)
    names = random.sample(NAMES, others + 2)
    kinds = random.sample(ANIMALS, others + 1)
    colors = random.sample(COLORS, others + 1)
    asked, other, *rest = names
    needed = [f"{asked} is a {kinds[0]}.", f"{other} is a {kinds[0]}.", f"{other} is {colors[0]}."]
    sentences = list(needed)
    for name, kind, color in zip(rest, kinds[1:], colors[1:], strict=True):
        facts = [f"{name} is a {kind}.", f"{name} is {color}."]
        sentences += facts if random.random() < 0.6 else [random.choice(facts)]
    random.shuffle(sentences)
    support = tuple(sentences.index(sentence) for sentence in needed)
    return Story(tuple(sentences), f"What color is {asked}?", colors[0], support)


def standard_library(most: int = 5_000_000) -> list[Path]:
    """The source files of Python's own standard library, about `most` bytes of them: real text on every machine."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    files = sorted(path for path in folder.glob("*.py") if path.stat().st_size > 1000)
    chosen, size = [], 0
    for path in files:
        if size + path.stat().st_size <= most:
            chosen.append(path)
            size += path.stat().st_size
    return chosen


@cache
def _is_rare(noun: str, adjective: str, verb: str) -> bool:
    return hashlib.sha256(f"{noun} {adjective} {verb}".encode()).digest()[0] < 13  # 13 / 256: 5 % of the triples
