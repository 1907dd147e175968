"""English: how a clause is said, and what each word of it means.

It knows articles, "do" and word order; it does not know how clauses become a sentence.
"""

from regard.text.phrasebook.meaning import Clause, Nominal, person_of
from regard.text.phrasebook.nouns import PREPOSITIONS
from regard.text.phrasebook.pieces import (
    AFTER,
    ASKED,
    BEFORE,
    DETERMINER,
    MODAL,
    NEGATION,
    NOUN,
    PAST,
    PLACE,
    PREPOSITION,
    QUESTION,
    RECIPIENT,
    STATE,
    SUBJECT,
    THING,
    TIME,
    VERB,
    VERY,
    Word,
    Words,
    move,
    place_time,
    with_mark,
)
from regard.text.phrasebook.verbs import VERBS


def _nominal(nominal: Nominal | None, part: int) -> Words:
    if nominal is None:
        return []
    noun, determiner, is_plural, before, after = nominal
    words = [(noun.english[is_plural], NOUN)]
    if after:
        words.insert(0, (after.english, AFTER))
    if before:
        words.insert(0, (before.english, BEFORE))
    if determiner == "a" and words[0][0][0] in "aeiou":
        determiner = "an"
    elif determiner == "this" and is_plural:
        determiner = "these"
    return move([(determiner, DETERMINER), *words] if determiner else words, part)


def _verbs(clause: Clause) -> tuple[Word, Words]:
    """The finite verb, and what follows it: "does", "not want to buy"."""
    verb, modal, person = clause.verb, clause.modal, person_of(clause.subject)
    is_asked = clause.asks not in ("", "who")
    lead, piece = (modal, MODAL) if modal else (verb, VERB)
    rest = [("not", NEGATION)] if clause.is_negated else []
    question = QUESTION if is_asked else 0
    if verb is VERBS["be"]:
        finite = ("is" if person == 2 else "are", VERB | question)
    elif modal in (VERBS["can"], VERBS["must"]):
        finite = ("cannot", MODAL | NEGATION) if clause.is_negated else (modal.english[0], MODAL | question)
        rest = []
    elif is_asked or clause.is_negated:
        do, done = "does" if person == 2 else "do", question or NEGATION
        finite = ("did", PAST | question) if clause.tense == "past" else (do, done)
        rest.append((lead.english[0], piece))
    elif clause.tense == "past":
        finite = (verb.english[2], VERB | PAST)
    else:
        finite = (lead.english[person == 2], piece)
    if modal:
        rest += [("to", MODAL)] if modal.english_tail else []
        rest.append((verb.english[0], VERB))
    return finite, rest + ([(verb.english_tail, VERB)] if verb.english_tail else [])


def _place(place: Nominal | None) -> Words:
    if place is None:
        return []
    return [(PREPOSITIONS[place.noun.english[0]].english, PREPOSITION), *_nominal(place, PLACE)]


def say_clause(clause: Clause) -> Words:
    """The clause in words, without capital and final mark."""
    finite, rest = _verbs(clause)
    time = move(list(clause.time.english), TIME) if clause.time else []
    first, inside, last = place_time(clause, time)
    subject = _nominal(clause.subject, SUBJECT)
    asked = [("who" if clause.asks == "whom" else clause.asks, ASKED)] if clause.asks not in ("", "yes") else []
    is_asked = clause.asks not in ("", "who")
    return [
        *(with_mark(first, ",") if first else []),
        *asked,
        *([finite, *subject, *inside] if is_asked else [*subject, *inside, finite]),
        *rest,
        *([("very", VERY)] if clause.is_very else []),
        *([(clause.state.english, STATE)] if clause.state else []),
        *_nominal(clause.recipient, RECIPIENT),
        *_nominal(clause.thing, THING),
        *_place(clause.place),
        *last,
    ]
