"""Thinks of something to say: a meaning chosen at random, so that its sentence has one translation only.

It knows what makes sense and what would be ambiguous; it does not know how anything is said.
"""

from random import Random

from regard.text.phrasebook.frames import FRAMES, TIMES, Frame, Time
from regard.text.phrasebook.meaning import Clause, Nominal, Sentence, person_of
from regard.text.phrasebook.vocabulary import ADJECTIVES, NAMES, NOUNS, PRONOUNS, VERBS, Adjective, Noun, Verb

_TENSES = ("present", "present", "present", "past", "past", "modal")
_CAN, _WANT, _MUST = VERBS["can"], VERBS["want to"], VERBS["must"]
_TIMES = {tense: tuple(time for time in TIMES if tense in time.marks) for tense in _TENSES}
_PERSONS = tuple(noun for noun in NOUNS if "person" in noun.kinds)
_THINGS = tuple(noun for noun in NOUNS if "person" not in noun.kinds)
_HE_OR_SHE = PRONOUNS[2:4]
_FITTING = {
    noun: tuple(adjective for adjective in ADJECTIVES if not adjective.kinds.isdisjoint(noun.kinds))
    for noun in (*NOUNS, *NAMES, *_HE_OR_SHE)
}
_COLOURS = {noun: tuple(a for a in fitting if "colour" in a.kinds) for noun, fitting in _FITTING.items()}
_STANDING_BEFORE = {noun: tuple(a for a in fitting if a.is_before) for noun, fitting in _FITTING.items()}
_STANDING_AFTER = {noun: tuple(a for a in fitting if not a.is_before) for noun, fitting in _FITTING.items()}
_MOODS = tuple(adjective for adjective in ADJECTIVES if adjective.english in ("happy", "sad", "tired", "sick"))


def think(random: Random) -> Sentence:
    """Something to say."""
    chance = random.random()
    if chance < 0.45:
        return Sentence(_action(random, random.choice(FRAMES), random.choice(_TENSES)))
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
    return _action(random, random.choice(_ASKABLE.get(asks, FRAMES)), random.choice(_TENSES), asks)


_ASKABLE = {
    "who": tuple(frame for frame in FRAMES if frame.subjects == _PERSONS),
    "what": tuple(frame for frame in FRAMES if frame.objects),
    "where": tuple(frame for frame in FRAMES if frame.places),
}


def _report(random: Random) -> Sentence:
    """Anna says that the boy bought a red hat."""
    who = _subject(random, _PERSONS, "subject", PRONOUNS)
    main = Clause(VERBS[random.choice(("say", "know", "believe", "hope"))], who)
    while True:
        if main.verb is not VERBS["hope"] and random.random() < 0.4:
            second = _being(random, random.choice((_PERSONS, _THINGS)))
        else:
            second = _action(random, random.choice(FRAMES), random.choice(_TENSES), is_part=True)
        is_rare = second.tense == "present" and person_of(second.subject) in (0, 1, 3)  # dass ich anrufe
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


_DELIBERATE = tuple(frame for frame in FRAMES if frame.marks.isdisjoint(("chance", "unwilled")))


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
    is_now_or_then = verb is VERBS["read"] and person_of(subject) != 2 and not asks and not is_negated
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
    return PRONOUNS[1:] if asks else PRONOUNS


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
        if other.noun is not subject.noun and ("name" not in other.noun.kinds or subject.noun in PRONOUNS):
            return other


def _nominal(random: Random, nouns: tuple[Noun, ...], role: str) -> Nominal:
    noun = random.choice(nouns)
    if "person" in noun.kinds and random.random() < 0.15:
        return Nominal(random.choice(NAMES))
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
_DETERMINERS = {(noun, role): determiners(noun, role) for noun in NOUNS for role in _ROLES}
