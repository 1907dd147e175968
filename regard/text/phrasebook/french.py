"""French: how a clause is said, and what each word of it means.

It knows agreement, negation and elision; it does not know how clauses become a sentence.
"""

from regard.text.phrasebook import pieces as piece
from regard.text.phrasebook.meaning import Clause, Nominal, is_known, person_of
from regard.text.phrasebook.pieces import move, place_time, with_mark
from regard.text.phrasebook.tables import Word, Words, french_plural
from regard.text.phrasebook.vocabulary import PREPOSITIONS

_AVOIR = ("ai", "as", "a", "avons", "ont")
_ETRE = ("suis", "es", "est", "sommes", "sont")

# masculine, feminine, plural, and before a vowel: masculine, feminine
_ARTICLES = {
    "the": ("le", "la", "les", "le", "la"),
    "this": ("ce", "cette", "ces", "cet", "cette"),
    "a": ("un", "une", "-", "un", "une"),
    "my": ("mon", "ma", "mes", "mon", "mon"),
    "our": ("notre", "notre", "nos", "notre", "notre"),
    "two": ("deux",) * 5,
    "three": ("trois",) * 5,
}


def _nominal(nominal: Nominal | None, part: int, *, is_denied: bool = False) -> Words:
    if nominal is None:
        return []
    noun, determiner, is_plural, before, after = nominal
    words = [(noun.french[is_plural], piece.NOUN)]
    if "name" in noun.kinds:
        return move(words, part)
    if before:
        form = 1 if noun.is_feminine else 2 if _is_vowel(words[0]) and not is_plural else 0
        words.insert(0, (_agree(before.french[form], is_plural=is_plural), piece.BEFORE))
    if after:
        words.append((_agree(after.french[noun.is_feminine], is_plural=is_plural), piece.AFTER))
    is_de = is_plural and before is not None and not determiner  # de petites pommes
    if is_de or (is_denied and not is_known(nominal)):
        articles = ["de"]
    elif not determiner:
        articles = ["des"] if is_plural else ["de", "la" if noun.is_feminine else "le"]
    else:
        column = 2 if is_plural else noun.is_feminine + (3 if _is_vowel(words[0]) else 0)
        articles = [_ARTICLES[determiner][column]]
    return move([*((article, piece.DETERMINER) for article in articles), *words], part)


def _agree(form: str, *, is_plural: bool) -> str:
    return french_plural(form) if is_plural else form


def _is_vowel(word: Word) -> bool:
    return word[0][0] in "aeiouhàâéèêîôûœAEIOU"  # every h of ours is mute


def _verbs(clause: Clause) -> tuple[Word, Words]:
    """The finite verb, and what follows it: "est", "arrivée"."""
    verb, subject, person = clause.verb, clause.subject, person_of(clause.subject)
    if clause.modal:
        return (clause.modal.french[person], piece.MODAL), [(verb.french_infinitive, piece.VERB)]
    if clause.tense != "past":
        return (verb.french[person], piece.VERB), []
    participle = verb.french_participle
    if verb.is_with_etre and subject:
        participle = _agree(participle + ("e" if subject.noun.is_feminine else ""), is_plural=subject.is_plural)
    return ((_ETRE if verb.is_with_etre else _AVOIR)[person], piece.PAST), [(participle, piece.VERB)]


def _place(place: Nominal | None) -> Words:
    if place is None:
        return []
    return [(PREPOSITIONS[place.noun.english[0]].french, piece.PREPOSITION), *_nominal(place, piece.PLACE)]


def say_clause(clause: Clause) -> Words:
    """The clause before elision: le homme."""
    finite, rest = _verbs(clause)
    time = move(clause.time.french, piece.TIME) if clause.time else []
    first, inside, last = place_time(clause, time)
    preposition = [(clause.verb.french_preposition, piece.VERB)] if clause.verb.french_preposition else []
    is_never = clause.time is not None and "never" in clause.time.marks
    thing = _nominal(clause.thing, piece.THING, is_denied=clause.is_negated or is_never)
    recipient = _nominal(clause.recipient, piece.RECIPIENT)
    is_feminine = clause.subject is not None and clause.subject.noun.is_feminine
    is_plural = clause.subject is not None and clause.subject.is_plural
    return [
        *(with_mark(first, ",") if first else []),
        *_asked(clause, preposition),
        *_nominal(clause.subject, piece.SUBJECT),
        *([("ne", piece.NEGATION)] if clause.is_negated else [("ne", inside[0][1])] if is_never else []),
        finite,
        *([("pas", piece.NEGATION)] if clause.is_negated else []),
        *inside,
        *rest,
        *([("très", piece.VERY)] if clause.is_very else []),
        *([(_agree(clause.state.french[is_feminine], is_plural=is_plural), piece.STATE)] if clause.state else []),
        *(preposition + thing if thing else []),
        *([("à", 0), *recipient] if recipient else []),
        *_place(clause.place),
        *last,
    ]


def _asked(clause: Clause, preposition: Words) -> Words:
    """Est-ce que; où est-ce que; qu'est-ce que."""
    if clause.asks in ("", "who"):
        return [("qui", piece.ASKED)] if clause.asks else []
    if clause.asks == "what":
        return [("qu'est-ce", piece.ASKED | piece.QUESTION), ("que", piece.QUESTION)]
    asked: Words = []
    if clause.asks == "whom":
        asked = [*preposition, ("qui", piece.ASKED)]
    elif clause.asks != "yes":
        asked = [({"where": "où", "when": "quand", "why": "pourquoi"}[clause.asks], piece.ASKED)]
    return [*asked, ("est-ce", piece.QUESTION), ("que", piece.QUESTION)]


def elide(words: Words) -> Words:
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
