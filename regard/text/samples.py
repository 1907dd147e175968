"""The embedded default: a phrasebook that says the same thing in English, German and French.

It knows grammar and which word says what; it does not know files, tokens or tensors.

A sentence begins as a meaning (`Sentence`), which `_english`, `_german` and `_french` put into words. Every word
carries, as bits of an integer, the pieces of the meaning that it expresses, and two words are aligned when they share
a piece. "Does" carries the question, or else the negation; "did" carries the past, as "hat" and "a" do; the finite
verb of a German question carries the question, since its place is what asks. A French "?" belongs to the word that
has it elsewhere; a "de", "du", "des" or "à" to which nothing corresponds is aligned with nothing.

Nothing is ambiguous: in every direction a sentence has exactly one translation. There is one "you" ("du", "tu"), no
"they", one past, and nobody is given a gender that the sentence does not tell. More than six billion sentences say no
more than who did what; other tenses, times, places, questions and second clauses come on top.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import NamedTuple

from regard.errors import ConfigError
from regard.text import lexicon
from regard.text.lexicon import ACCUSATIVE, DATIVE, NOMINATIVE, VERBS, Adjective, Frame, Noun, Time, Verb

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


# ---- saying it: words, each with the pieces of the meaning it carries ----

Word = tuple[str, int]
Words = list[Word]

# The four pieces of a nominal, and how far they are moved for the part it plays.
_DETERMINER, _BEFORE, _NOUN, _AFTER = 1, 2, 4, 8
_SUBJECT, _THING, _RECIPIENT, _PLACE = 0, 4, 8, 12
# The pieces of a clause, and how far all are moved for the second clause.
_TIME = 16  # where the pieces of a time begin: they are 1 and 2
_PREPOSITION, _VERB, _PAST, _MODAL, _QUESTION, _NEGATION, _STATE, _VERY, _ASKED, _LINK = (1 << n for n in range(18, 28))
_SECOND = 28


def translate(sentence: Sentence, source: str, target: str) -> Phrase:
    """Say it in two languages, and see which words share a piece of the meaning."""
    words, pieces = zip(*say(sentence, source), strict=True)
    other_words, other_pieces = zip(*say(sentence, target), strict=True)
    others = list(enumerate(other_pieces))
    links = [(i, j) for i, here in enumerate(pieces) for j, there in others if here & there]
    if (words[-1] == "?") != (other_words[-1] == "?"):  # written apart in French, with the last word elsewhere
        links.append((len(words) - 1, len(other_words) - 1))
    return Phrase(" ".join(words), " ".join(other_words), tuple(links))


def say(sentence: Sentence, language: str) -> Words:
    """The words of the sentence, and the pieces each one carries."""
    main, link, second, is_second_first = sentence
    if language == "de":
        words = _german(main, verb="first" if is_second_first else "second")
        dependent = _german(second, verb="last") if second else []
    else:
        clause_in = _english if language == "en" else _french
        words = clause_in(main)
        dependent = clause_in(second) if second else []
    if dependent:
        dependent = [(word, _LINK) for word in _LINKS[link][language].split()] + _move(dependent, _SECOND)
        first, last = (dependent, words) if is_second_first else (words, dependent)
        words = (_with_mark(first, ",") if is_second_first or language == "de" else first) + last
    if language == "fr":
        words = _elide(words)
    beginning, pieces = words[0]
    words[0] = (beginning[0].upper() + beginning[1:], pieces)
    if main.asks and language == "fr":
        return [*words, ("?", 0)]
    return _with_mark(words, "?" if main.asks else ".")


_LINKS = {
    "that": {"en": "that", "de": "dass", "fr": "que"},
    "because": {"en": "because", "de": "weil", "fr": "parce que"},
    "if": {"en": "if", "de": "wenn", "fr": "si"},
}


def _move(words: Words, places: int) -> Words:
    return [(word, pieces << places) for word, pieces in words]


def _with_mark(words: Words, mark: str) -> Words:
    return [*words[:-1], (words[-1][0] + mark, words[-1][1])]


def _person(subject: Nominal | None) -> int:
    return 2 if subject is None else 4 if subject.is_plural else subject.noun.person


def _english_nominal(nominal: Nominal | None, part: int) -> Words:
    if nominal is None:
        return []
    noun, determiner, is_plural, before, after = nominal
    words = [(noun.english[is_plural], _NOUN)]
    if after:
        words.insert(0, (after.english, _AFTER))
    if before:
        words.insert(0, (before.english, _BEFORE))
    if determiner == "a" and words[0][0][0] in "aeiou":
        determiner = "an"
    elif determiner == "this" and is_plural:
        determiner = "these"
    return _move([(determiner, _DETERMINER), *words] if determiner else words, part)


def _english_verbs(clause: Clause) -> tuple[Word, Words]:
    """The finite verb, and what follows it: "does", "not want to buy"."""
    verb, modal, person = clause.verb, clause.modal, _person(clause.subject)
    is_asked = clause.asks not in ("", "who")
    lead, piece = (modal, _MODAL) if modal else (verb, _VERB)
    rest = [("not", _NEGATION)] if clause.is_negated else []
    question = _QUESTION if is_asked else 0
    if verb is VERBS["be"]:
        finite = ("is" if person == 2 else "are", _VERB | question)
    elif modal in (VERBS["can"], VERBS["must"]):
        finite = ("cannot", _MODAL | _NEGATION) if clause.is_negated else (modal.english[0], _MODAL | question)
        rest = []
    elif is_asked or clause.is_negated:
        do, done = "does" if person == 2 else "do", question or _NEGATION
        finite = ("did", _PAST | question) if clause.tense == "past" else (do, done)
        rest.append((lead.english[0], piece))
    elif clause.tense == "past":
        finite = (verb.english[2], _VERB | _PAST)
    else:
        finite = (lead.english[person == 2], piece)
    if modal:
        rest += [("to", _MODAL)] if modal.english_tail else []
        rest.append((verb.english[0], _VERB))
    return finite, rest + ([(verb.english_tail, _VERB)] if verb.english_tail else [])


def _english(clause: Clause) -> Words:
    finite, rest = _english_verbs(clause)
    time = _move(list(clause.time.english), _TIME) if clause.time else []
    first, inside, last = _by_place(clause, time)
    subject = _english_nominal(clause.subject, _SUBJECT)
    asked = [("who" if clause.asks == "whom" else clause.asks, _ASKED)] if clause.asks not in ("", "yes") else []
    is_asked = clause.asks not in ("", "who")
    return [
        *(_with_mark(first, ",") if first else []),
        *asked,
        *([finite, *subject, *inside] if is_asked else [*subject, *inside, finite]),
        *rest,
        *([("very", _VERY)] if clause.is_very else []),
        *([(clause.state.english, _STATE)] if clause.state else []),
        *_english_nominal(clause.recipient, _RECIPIENT),
        *_english_nominal(clause.thing, _THING),
        *_at(clause.place, 0, _english_nominal(clause.place, _PLACE)),
        *last,
    ]


def _by_place(clause: Clause, time: Words) -> tuple[Words, Words, Words]:
    """The words of time where they belong: first, next to the verb, or last."""
    if clause.is_time_first:
        return time, [], []
    return ([], time, []) if clause.time and "inside" in clause.time.marks else ([], [], time)


def _at(place: Nominal | None, language: int, words: Words) -> Words:
    return [(lexicon.PREPOSITIONS[place.noun.english[0]][language], _PREPOSITION), *words] if place else []


def _german_nominal(nominal: Nominal | None, part: int, case: int, *, is_denied: bool = False) -> Words:
    if nominal is None:
        return []
    noun, determiner, is_plural, before, after = nominal
    if "name" in noun.kinds:
        return [(noun.german[0], _NOUN << part)]
    is_kein = is_denied and not is_known(nominal)
    determiner = "no" if is_kein else determiner
    column = 3 if is_plural else noun.german_gender
    words = [(lexicon.GERMAN_ARTICLES[determiner][case][column], _DETERMINER)] if determiner else []
    ending = lexicon.GERMAN_ENDINGS[determiner][case][column]
    if before:
        words.append((before.german_stem + ending, _BEFORE))
    if after:
        words.append((after.german_stem + ending, _AFTER))
    form = noun.german[1] if is_plural else noun.german[0 if case == NOMINATIVE else 2]
    if is_plural and case == DATIVE and not form.endswith(("n", "s")):
        form += "n"
    words = _move([*words, (form, _NOUN)], part)
    return [(words[0][0], words[0][1] | _NEGATION), *words[1:]] if is_kein else words


def is_known(nominal: Nominal) -> bool:
    """Whether it is definite: its negation is "nicht", not "kein", and it comes early in a German sentence."""
    return nominal.determiner in ("the", "this", "my", "our") or "name" in nominal.noun.kinds


def _german_verbs(clause: Clause, *, is_last: bool) -> tuple[Word, Words]:
    """The finite verb, and what closes the clause: "ruft", "an"; "hat", "angerufen"."""
    verb, person = clause.verb, _person(clause.subject)
    question = _QUESTION if clause.asks not in ("", "who") else 0
    if clause.modal:
        return (clause.modal.german[person], _MODAL | question), [(verb.german_prefix + verb.german[3], _VERB)]
    if clause.tense == "past":
        return (verb.german_auxiliary[person], _PAST | question), [(verb.german_participle, _VERB)]
    if is_last:
        return (verb.german_prefix + verb.german[person], _VERB), []
    return (verb.german[person], _VERB | question), [(verb.german_prefix, _VERB)] if verb.german_prefix else []


def _german(clause: Clause, *, verb: str) -> Words:
    """The clause with its finite verb in first, second or last position."""
    finite, end = _german_verbs(clause, is_last=verb == "last")
    case = DATIVE if clause.verb.is_dative else ACCUSATIVE
    time = _move(list(clause.time.german), _TIME) if clause.time else []
    subject = _german_nominal(clause.subject, _SUBJECT, NOMINATIVE)
    thing = _german_nominal(clause.thing, _THING, case, is_denied=clause.is_negated)
    preposition = [(clause.verb.german_preposition, _VERB)] if clause.verb.german_preposition else []
    recipient = _german_nominal(clause.recipient, _RECIPIENT, DATIVE)
    known: Words = []  # what is definite comes before the time, what is not after the place
    late: Words = []
    if clause.recipient:
        (known if is_known(clause.recipient) else late).extend(recipient)
    if clause.thing:
        (known if is_known(clause.thing) and not preposition else late).extend(preposition + thing)
    state = [("sehr", _VERY)] if clause.is_very else []
    state += [(clause.state.german, _STATE)] if clause.state else []
    place = _contract(_at(clause.place, 1, _german_nominal(clause.place, _PLACE, DATIVE)))
    if clause.asks not in ("", "yes"):
        first = _german_asked(clause)
    else:
        first = time if clause.is_time_first else [] if clause.asks or verb == "first" else subject
    time = [] if first is time else time
    subject = [] if first is subject else subject
    is_nicht = clause.is_negated and (clause.thing is None or is_known(clause.thing))
    middle = [*subject, *known, *time, *([("nicht", _NEGATION)] if is_nicht else []), *place, *late, *state]
    if verb == "last":
        return [*first, *middle, *end, finite]
    return [*first, finite, *middle, *end]


def _german_asked(clause: Clause) -> Words:
    if clause.asks == "whom":
        preposition = [(clause.verb.german_preposition, _VERB)] if clause.verb.german_preposition else []
        return [*preposition, ("wem" if clause.verb.is_dative else "wen", _ASKED)]
    return [({"who": "wer", "what": "was", "where": "wo", "when": "wann", "why": "warum"}[clause.asks], _ASKED)]


def _contract(words: Words) -> Words:
    """In dem Garten: im Garten."""
    if len(words) > 1 and words[1][0] == "dem" and words[0][0] in ("in", "an"):
        return [("im" if words[0][0] == "in" else "am", words[0][1] | words[1][1]), *words[2:]]
    return words


def _french_nominal(nominal: Nominal | None, part: int, *, is_denied: bool = False) -> Words:
    if nominal is None:
        return []
    noun, determiner, is_plural, before, after = nominal
    words = [(noun.french[is_plural], _NOUN)]
    if "name" in noun.kinds:
        return _move(words, part)
    if before:
        form = 1 if noun.is_feminine else 2 if _is_vowel(words[0]) and not is_plural else 0
        words.insert(0, (_agree(before.french[form], is_plural=is_plural), _BEFORE))
    if after:
        words.append((_agree(after.french[noun.is_feminine], is_plural=is_plural), _AFTER))
    is_de = is_plural and before is not None and not determiner  # de petites pommes
    if is_de or (is_denied and not is_known(nominal)):
        articles = ["de"]
    elif not determiner:
        articles = ["des"] if is_plural else ["de", "la" if noun.is_feminine else "le"]
    else:
        column = 2 if is_plural else noun.is_feminine + (3 if _is_vowel(words[0]) else 0)
        articles = [lexicon.FRENCH_ARTICLES[determiner][column]]
    return _move([*((article, _DETERMINER) for article in articles), *words], part)


def _agree(form: str, *, is_plural: bool) -> str:
    return lexicon.french_plural(form) if is_plural else form


def _is_vowel(word: Word) -> bool:
    return word[0][0] in "aeiouhàâéèêîôûœAEIOU"  # every h of ours is mute


def _french_verbs(clause: Clause) -> tuple[Word, Words]:
    """The finite verb, and what follows it: "est", "arrivée"."""
    verb, subject, person = clause.verb, clause.subject, _person(clause.subject)
    if clause.modal:
        return (clause.modal.french[person], _MODAL), [(verb.french_infinitive, _VERB)]
    if clause.tense != "past":
        return (verb.french[person], _VERB), []
    participle = verb.french_participle
    if verb.is_with_etre and subject:
        participle = _agree(participle + ("e" if subject.noun.is_feminine else ""), is_plural=subject.is_plural)
    return ((lexicon.ETRE if verb.is_with_etre else lexicon.AVOIR)[person], _PAST), [(participle, _VERB)]


def _french(clause: Clause) -> Words:
    """The clause before elision: le homme."""
    finite, rest = _french_verbs(clause)
    time = _move(list(clause.time.french), _TIME) if clause.time else []
    first, inside, last = _by_place(clause, time)
    preposition = [(clause.verb.french_preposition, _VERB)] if clause.verb.french_preposition else []
    is_never = clause.time is not None and "never" in clause.time.marks
    thing = _french_nominal(clause.thing, _THING, is_denied=clause.is_negated or is_never)
    recipient = _french_nominal(clause.recipient, _RECIPIENT)
    is_feminine = clause.subject is not None and clause.subject.noun.is_feminine
    is_plural = clause.subject is not None and clause.subject.is_plural
    return [
        *(_with_mark(first, ",") if first else []),
        *_french_asked(clause, preposition),
        *_french_nominal(clause.subject, _SUBJECT),
        *([("ne", _NEGATION)] if clause.is_negated else [("ne", inside[0][1])] if is_never else []),
        finite,
        *([("pas", _NEGATION)] if clause.is_negated else []),
        *inside,
        *rest,
        *([("très", _VERY)] if clause.is_very else []),
        *([(_agree(clause.state.french[is_feminine], is_plural=is_plural), _STATE)] if clause.state else []),
        *(preposition + thing if thing else []),
        *([("à", 0), *recipient] if recipient else []),
        *_at(clause.place, 2, _french_nominal(clause.place, _PLACE)),
        *last,
    ]


def _french_asked(clause: Clause, preposition: Words) -> Words:
    """Est-ce que; où est-ce que; qu'est-ce que."""
    if clause.asks in ("", "who"):
        return [("qui", _ASKED)] if clause.asks else []
    if clause.asks == "what":
        return [("qu'est-ce", _ASKED | _QUESTION), ("que", _QUESTION)]
    asked: Words = []
    if clause.asks == "whom":
        asked = [*preposition, ("qui", _ASKED)]
    elif clause.asks != "yes":
        asked = [({"where": "où", "when": "quand", "why": "pourquoi"}[clause.asks], _ASKED)]
    return [*asked, ("est-ce", _QUESTION), ("que", _QUESTION)]


def _elide(words: Words) -> Words:
    """Le homme: l'homme; à le jardin: au jardin. From the end, so that à le homme becomes à l'homme."""
    spoken = [words[-1]]
    for word in reversed(words[:-1]):
        if word[0] in _CLINGING:
            following, pieces = spoken[-1][0], word[1] | spoken[-1][1]
            if (word[0], following) in _CONTRACTED:
                spoken[-1] = (_CONTRACTED[word[0], following], pieces)
                continue
            if word[0] not in ("à", "si") and _is_vowel(spoken[-1]):
                spoken[-1] = (f"{word[0][:-1]}'{following}", pieces)
                continue
        spoken.append(word)
    return spoken[::-1]


_CONTRACTED = {("à", "le"): "au", ("à", "les"): "aux", ("de", "le"): "du", ("si", "il"): "s'il"}
_CLINGING = frozenset(("le", "la", "de", "je", "ne", "que", "à", "si"))


# ---- thinking of something to say ----

_TENSES = ("present", "present", "present", "past", "past", "modal")
_CAN, _WANT, _MUST = VERBS["can"], VERBS["want to"], VERBS["must"]
_TIMES = {tense: tuple(time for time in lexicon.TIMES if tense in time.marks) for tense in _TENSES}
_PERSONS = tuple(noun for noun in lexicon.NOUNS if "person" in noun.kinds)
_THINGS = tuple(noun for noun in lexicon.NOUNS if "person" not in noun.kinds)
_HE_OR_SHE = (lexicon.HE, lexicon.SHE)
_FITTING = {
    noun: tuple(adjective for adjective in lexicon.ADJECTIVES if not adjective.kinds.isdisjoint(noun.kinds))
    for noun in (*lexicon.NOUNS, *lexicon.NAMES, *_HE_OR_SHE)
}
_COLOURS = {noun: tuple(a for a in fitting if "colour" in a.kinds) for noun, fitting in _FITTING.items()}
_STANDING_BEFORE = {noun: tuple(a for a in fitting if a.is_before) for noun, fitting in _FITTING.items()}
_STANDING_AFTER = {noun: tuple(a for a in fitting if not a.is_before) for noun, fitting in _FITTING.items()}
_MOODS = tuple(adjective for adjective in lexicon.ADJECTIVES if adjective.english in ("happy", "sad", "tired", "sick"))


def think(random: Random) -> Sentence:
    """Something to say."""
    chance = random.random()
    if chance < 0.45:
        return Sentence(_action(random, random.choice(lexicon.FRAMES), random.choice(_TENSES)))
    if chance < 0.56:
        return Sentence(_being(random, random.choice((_PERSONS, _THINGS))))
    if chance < 0.78:
        return Sentence(_question(random))
    if chance < 0.89:
        return _report(random)
    return _reason(random)


def _question(random: Random) -> Clause:
    asks = random.choice(("yes", "yes", "yes", "being", "who", "what", "what", "where", "when", "why"))
    if asks == "being":
        return _being(random, random.choice((_PERSONS, _THINGS)), asks="yes")
    return _action(random, random.choice(_ASKABLE.get(asks, lexicon.FRAMES)), random.choice(_TENSES), asks)


_ASKABLE = {
    "who": tuple(frame for frame in lexicon.FRAMES if frame.subjects == _PERSONS),
    "what": tuple(frame for frame in lexicon.FRAMES if frame.objects),
    "where": tuple(frame for frame in lexicon.FRAMES if frame.places),
}


def _report(random: Random) -> Sentence:
    """Anna says that the boy bought a red hat."""
    who = _subject(random, _PERSONS, "subject", lexicon.PRONOUNS)
    main = Clause(VERBS[random.choice(("say", "know", "believe", "hope"))], who)
    while True:
        if main.verb is not VERBS["hope"] and random.random() < 0.4:
            second = _being(random, random.choice((_PERSONS, _THINGS)))
        else:
            second = _action(random, random.choice(lexicon.FRAMES), random.choice(_TENSES), is_part=True)
        is_rare = second.tense == "present" and _person(second.subject) in (0, 1, 3)  # dass ich anrufe
        if not is_rare and _are_apart(main, second):
            return Sentence(main, "that", second)


def _reason(random: Random) -> Sentence:
    """The mother calls the doctor because, or if, the child is sick."""
    link = random.choice(("because", "if"))
    main = _action(random, random.choice(_DELIBERATE), random.choice(("present", "modal")), is_part=True)
    if link == "because" and main.modal is _CAN:
        main = main._replace(modal=_WANT)
    while not _are_apart(main, second := _being(random, _PERSONS, _MOODS)):
        pass
    return Sentence(main, link, second, is_second_first=link == "if" and random.random() < 0.5)


_DELIBERATE = tuple(frame for frame in lexicon.FRAMES if frame.marks.isdisjoint(("chance", "unwilled")))


def _are_apart(main: Clause, second: Clause) -> bool:
    """Whether nobody is named twice, and "he" or "she" could only be a man or a woman: not a child, a cat or a pear."""
    first, *others, last = [n.noun for n in (main.subject, main.thing, main.recipient, second.subject) if n]
    if last in _HE_OR_SHE:
        return first is not last and all(_is_he_or_she(noun) for noun in (first, *others))
    return first is not last and (first not in _HE_OR_SHE or _is_he_or_she(last) or "person" not in last.kinds)


def _is_he_or_she(noun: Noun) -> bool:
    """In all three languages; das Kind and das Mädchen are not."""
    return "person" in noun.kinds and noun.german_gender != 2


def _action(random: Random, frame: Frame, tense: str, asks: str = "", *, is_part: bool = False) -> Clause:
    """Somebody does something; as a part of a longer sentence at no particular time and place."""
    verb = frame.verb
    tense = "present" if tense == "modal" and "unwilled" in frame.marks else tense
    is_negated = not asks and random.random() < 0.2
    modal = random.choice((_CAN, _WANT) if asks or is_negated else (_CAN, _WANT, _MUST)) if tense == "modal" else None
    time = None
    if not is_part and asks != "when" and random.random() < 0.5:
        time = _time(random, frame, tense, is_negated=is_negated, is_asked=bool(asks))
    is_denied = is_negated or (time is not None and "never" in time.marks)
    subject = _subject(
        random, frame.subjects, "known" if is_denied or asks else "subject", _pronouns(verb, tense, asks)
    )
    thing = recipient = place = None
    if frame.objects:
        role = "any"
        if is_denied:
            role = "known" if verb.is_dative or verb.german_preposition else "unsure"
        if time and tense == "present" and "new" in frame.marks:
            role = "new"
        thing = _other(random, frame.objects, role, subject)
        if "making" in frame.marks and thing.before and thing.before.english == "old":
            thing = thing._replace(before=None)
    if frame.recipients:
        recipient = _other(random, frame.recipients, "known" if is_denied else "unsure", subject)
    if frame.places and not is_part and asks != "where" and not (is_denied and thing) and random.random() < 0.35:
        place = _nominal(random, frame.places, "place")
    if asks == "what" and thing:
        asks, thing = "whom" if "person" in thing.noun.kinds else "what", None
    is_now_or_then = verb is VERBS["read"] and _person(subject) != 2 and not asks and not is_negated
    if is_now_or_then and tense == "past" and (time is None or "modal" in time.marks):
        tense, time = "present", None  # "I read the book" is now, unless it says when
    is_first = time is not None and not asks and "inside" not in time.marks and random.random() < 0.4
    who = None if asks == "who" else subject
    return Clause(verb, who, thing, recipient, place, time, is_first, tense, modal, is_negated, asks=asks)


def _being(random: Random, nouns: tuple[Noun, ...], states: tuple[Adjective, ...] = (), *, asks: str = "") -> Clause:
    """Somebody is tired, something is red."""
    subject = _subject(random, nouns, "known", _HE_OR_SHE)
    noun, determiner, is_plural, *_ = subject
    before = None
    standing_before, standing_after = _STANDING_BEFORE[noun], _STANDING_AFTER[noun]
    if determiner and standing_before and standing_after and random.random() < 0.3:
        before = random.choice(standing_before)
        state = random.choice(states or standing_after)  # the old car is red, not: the old car is new
    else:
        state = random.choice(states or _FITTING[noun])
    if state.english == "new":  # of a thing that is not there yet, French says "neuf"
        state = random.choice(standing_after or standing_before[:2])
    is_very = not states and "colour" not in state.kinds and random.random() < 0.3
    is_negated = not asks and not states and random.random() < 0.2
    nominal = Nominal(noun, determiner, is_plural, before)
    return Clause(VERBS["be"], nominal, state=state, is_very=is_very, is_negated=is_negated, asks=asks)


def _pronouns(verb: Verb, tense: str, asks: str) -> tuple[Noun, ...]:
    """Who may be "I" or "you": not those of whom French would want to know the gender, "je suis parti(e)"."""
    if verb.is_with_etre and tense == "past":
        return _HE_OR_SHE
    return lexicon.PRONOUNS[1:] if asks else lexicon.PRONOUNS


def _time(random: Random, frame: Frame, tense: str, *, is_negated: bool, is_asked: bool) -> Time | None:
    """When; or in the present how often, unless it is denied: "not every day" is not "every day not"."""
    if tense == "present" and (is_negated or "once" in frame.marks):
        return None
    time = random.choice(_TIMES[tense])
    return None if is_asked and "never" in time.marks else time


def _subject(random: Random, nouns: tuple[Noun, ...], role: str, pronouns: tuple[Noun, ...]) -> Nominal:
    if "person" in nouns[0].kinds and random.random() < 0.35:
        return Nominal(random.choice(pronouns))
    return _nominal(random, nouns, role)


def _other(random: Random, nouns: tuple[Noun, ...], role: str, subject: Nominal) -> Nominal:
    """Not the subject again; and a name only beside a pronoun, lest "hilft die Lehrerin Anna" be misread."""
    while True:
        other = _nominal(random, nouns, role)
        if other.noun is not subject.noun and ("name" not in other.noun.kinds or subject.noun in lexicon.PRONOUNS):
            return other


def _nominal(random: Random, nouns: tuple[Noun, ...], role: str) -> Nominal:
    noun = random.choice(nouns)
    if "person" in noun.kinds and random.random() < 0.15:
        return Nominal(random.choice(lexicon.NAMES))
    determiner, is_plural = random.choice(_DETERMINERS[noun, role])
    chance = random.random()
    before = after = None
    if chance < 0.1 and _COLOURS[noun]:
        before, after = random.choice(_STANDING_BEFORE[noun]), random.choice(_COLOURS[noun])
    elif chance < 0.4:
        adjective = random.choice(_FITTING[noun])
        before, after = (adjective, None) if adjective.is_before else (None, adjective)
    return Nominal(noun, determiner, is_plural, before, after)


def determiners(noun: Noun, role: str) -> tuple[tuple[str, bool], ...]:
    """Determiner and whether plural, the likely ones more than once.

    known: definite · new: indefinite · unsure: either · any: also counted · subject: but never bare · place: where
    """
    own = [("my", False), ("our", False)] if noun.kinds & {"own", "item", "kin"} else []
    known, new, counted = [("the", False)] * 4 + own, [("a", False)] * 4, [("two", True), ("three", True)]
    if role == "place":
        return tuple(known)
    if "mass" in noun.kinds:
        new, counted = [("", False)] * 4, []
    elif "kin" in noun.kinds:
        new, counted = [], []
    else:
        known += [("the", True)] * 2 + [("this", False), ("this", True)] + ([("my", True)] if own else [])
        new += [("", True)] * 2 if "person" not in noun.kinds and role != "subject" else []
    return tuple({"known": known, "new": new, "unsure": known + new}.get(role, known + new + counted))


_ROLES = ("known", "new", "unsure", "any", "subject", "place")
_DETERMINERS = {(noun, role): determiners(noun, role) for noun in lexicon.NOUNS for role in _ROLES}
