"""German: how a clause is said, and what each word of it means.

It knows cases, endings and where the verb stands; it does not know how clauses become a sentence.
"""

from regard.text.phrasebook import pieces as piece
from regard.text.phrasebook.meaning import Clause, Nominal, is_known, person_of
from regard.text.phrasebook.pieces import move
from regard.text.phrasebook.tables import Word, Words
from regard.text.phrasebook.vocabulary import PREPOSITIONS

_HABEN = ("habe", "hast", "hat", "haben", "haben")
_SEIN = ("bin", "bist", "ist", "sind", "sind")
_NOMINATIVE, _ACCUSATIVE, _DATIVE = 0, 1, 2


def _cases(*lines: str) -> tuple[list[str], ...]:
    """Nominative, accusative, dative; in each masculine, feminine, neuter, plural."""
    return tuple(line.split() for line in lines)


_ARTICLES = {
    "the": _cases("der die das die", "den die das die", "dem der dem den"),
    "this": _cases("dieser diese dieses diese", "diesen diese dieses diese", "diesem dieser diesem diesen"),
    "a": _cases("ein eine ein -", "einen eine ein -", "einem einer einem -"),
    "no": _cases("kein keine kein keine", "keinen keine kein keine", "keinem keiner keinem keinen"),
    "my": _cases("mein meine mein meine", "meinen meine mein meine", "meinem meiner meinem meinen"),
    "our": _cases("unser unsere unser unsere", "unseren unsere unser unsere", "unserem unserer unserem unseren"),
    "two": _cases(*["- - - zwei"] * 3),
    "three": _cases(*["- - - drei"] * 3),
}
_WEAK = _cases("e e e en", "en e e en", "en en en en")
_MIXED = _cases("er e es en", "en e es en", "en en en en")
_STRONG = _cases("er e es e", "en e es e", "em er em en")
_ENDINGS = (
    dict.fromkeys(("the", "this"), _WEAK)
    | dict.fromkeys(("a", "no", "my", "our"), _MIXED)
    | dict.fromkeys(("", "two", "three"), _STRONG)
)


def _nominal(nominal: Nominal | None, part: int, case: int, *, is_denied: bool = False) -> Words:
    if nominal is None:
        return []
    noun, determiner, is_plural, before, after = nominal
    if "name" in noun.kinds:
        return [(noun.german[0], piece.NOUN << part)]
    is_kein = is_denied and not is_known(nominal)
    determiner = "no" if is_kein else determiner
    column = 3 if is_plural else noun.german_gender
    words = [(_ARTICLES[determiner][case][column], piece.DETERMINER)] if determiner else []
    ending = _ENDINGS[determiner][case][column]
    if before:
        words.append((before.german_stem + ending, piece.BEFORE))
    if after:
        words.append((after.german_stem + ending, piece.AFTER))
    form = noun.german[1] if is_plural else noun.german[0 if case == _NOMINATIVE else 2]
    if is_plural and case == _DATIVE and not form.endswith(("n", "s")):
        form += "n"
    words = move([*words, (form, piece.NOUN)], part)
    return [(words[0][0], words[0][1] | piece.NEGATION), *words[1:]] if is_kein else words


def _verbs(clause: Clause, *, is_last: bool) -> tuple[Word, Words]:
    """The finite verb, and what closes the clause: "ruft", "an"; "hat", "angerufen"."""
    verb, person = clause.verb, person_of(clause.subject)
    question = piece.QUESTION if clause.asks not in ("", "who") else 0
    if clause.modal:
        finite, pieces, end = clause.modal.german[person], piece.MODAL, verb.german_prefix + verb.german[3]
    elif clause.tense == "past":
        auxiliary = _SEIN if verb.is_with_sein else _HABEN
        finite, pieces, end = auxiliary[person], piece.PAST, verb.german_participle
    elif is_last:
        finite, pieces, end = verb.german_prefix + verb.german[person], piece.VERB, ""
    else:
        finite, pieces, end = verb.german[person], piece.VERB, verb.german_prefix
    return (finite, pieces | question), [(end, piece.VERB)] if end else []


def _place(place: Nominal | None) -> Words:
    """In dem Garten: im Garten."""
    if place is None:
        return []
    preposition, nominal = PREPOSITIONS[place.noun.english[0]].german, _nominal(place, piece.PLACE, _DATIVE)
    article, pieces = nominal[0]
    if article == "dem" and preposition in ("in", "an"):
        return [("im" if preposition == "in" else "am", piece.PREPOSITION | pieces), *nominal[1:]]
    return [(preposition, piece.PREPOSITION), *nominal]


def say_clause(clause: Clause, *, verb: str) -> Words:
    """The clause with its finite verb in first, second or last position."""
    finite, end = _verbs(clause, is_last=verb == "last")
    case = _DATIVE if clause.verb.is_dative else _ACCUSATIVE
    time = move(clause.time.german, piece.TIME) if clause.time else []
    subject = _nominal(clause.subject, piece.SUBJECT, _NOMINATIVE)
    thing = _nominal(clause.thing, piece.THING, case, is_denied=clause.is_negated)
    preposition = [(clause.verb.german_preposition, piece.VERB)] if clause.verb.german_preposition else []
    recipient = _nominal(clause.recipient, piece.RECIPIENT, _DATIVE)
    known: Words = []  # what is definite comes before the time, what is not after the place
    late: Words = []
    if clause.recipient:
        (known if is_known(clause.recipient) else late).extend(recipient)
    if clause.thing:
        (known if is_known(clause.thing) and not preposition else late).extend(preposition + thing)
    state = [("sehr", piece.VERY)] if clause.is_very else []
    state += [(clause.state.german, piece.STATE)] if clause.state else []
    place = _place(clause.place)
    if clause.asks not in ("", "yes"):
        first = _asked(clause)
    else:
        first = time if clause.is_time_first else [] if clause.asks or verb == "first" else subject
    time = [] if first is time else time
    subject = [] if first is subject else subject
    is_nicht = clause.is_negated and (clause.thing is None or is_known(clause.thing))
    middle = [*subject, *known, *time, *([("nicht", piece.NEGATION)] if is_nicht else []), *place, *late, *state]
    if verb == "last":
        return [*first, *middle, *end, finite]
    return [*first, finite, *middle, *end]


def _asked(clause: Clause) -> Words:
    if clause.asks == "whom":
        preposition = [(clause.verb.german_preposition, piece.VERB)] if clause.verb.german_preposition else []
        return [*preposition, ("wem" if clause.verb.is_dative else "wen", piece.ASKED)]
    return [({"who": "wer", "what": "was", "where": "wo", "when": "wann", "why": "warum"}[clause.asks], piece.ASKED)]
