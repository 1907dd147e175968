"""English: how a clause is said, and what each word of it means.

It knows articles, "do" and word order; it does not know how clauses become a sentence.
"""

from regard.text.phrasebook import pieces as piece
from regard.text.phrasebook.meaning import Clause, Nominal, person_of
from regard.text.phrasebook.pieces import move, place_time, with_mark
from regard.text.phrasebook.tables import Word, Words
from regard.text.phrasebook.vocabulary import PREPOSITIONS, VERBS


def _nominal(nominal: Nominal | None, part: int) -> Words:
    if nominal is None:
        return []
    noun, determiner, is_plural, before, after = nominal
    words = [(noun.english[is_plural], piece.NOUN)]
    if after:
        words.insert(0, (after.english, piece.AFTER))
    if before:
        words.insert(0, (before.english, piece.BEFORE))
    if determiner == "a" and words[0][0][0] in "aeiou":
        determiner = "an"
    elif determiner == "this" and is_plural:
        determiner = "these"
    return move([(determiner, piece.DETERMINER), *words] if determiner else words, part)


def _verbs(clause: Clause) -> tuple[Word, Words]:
    """The finite verb, and what follows it: "does", "not want to buy"."""
    verb, modal, person = clause.verb, clause.modal, person_of(clause.subject)
    is_asked = clause.asks not in ("", "who")
    lead, lead_piece = (modal, piece.MODAL) if modal else (verb, piece.VERB)
    rest = [("not", piece.NEGATION)] if clause.is_negated else []
    question = piece.QUESTION if is_asked else 0
    if verb is VERBS["be"]:
        finite = ("is" if person == 2 else "are", piece.VERB | question)
    elif modal in (VERBS["can"], VERBS["must"]):
        finite, rest = (modal.english[0], piece.MODAL | question), []
        if clause.is_negated:
            finite = ("cannot", piece.MODAL | piece.NEGATION)
    elif is_asked or clause.is_negated:
        do, done = "does" if person == 2 else "do", question or piece.NEGATION
        finite = ("did", piece.PAST | question) if clause.tense == "past" else (do, done)
        rest.append((lead.english[0], lead_piece))
    elif clause.tense == "past":
        finite = (verb.english[2], piece.VERB | piece.PAST)
    else:
        finite = (lead.english[person == 2], lead_piece)
    if modal:
        rest += [("to", piece.MODAL)] if modal.english_tail else []
        rest.append((verb.english[0], piece.VERB))
    return finite, rest + ([(verb.english_tail, piece.VERB)] if verb.english_tail else [])


def _place(place: Nominal | None) -> Words:
    if place is None:
        return []
    return [(PREPOSITIONS[place.noun.english[0]].english, piece.PREPOSITION), *_nominal(place, piece.PLACE)]


def say_clause(clause: Clause) -> Words:
    """The clause in words, without capital and final mark."""
    finite, rest = _verbs(clause)
    time = move(clause.time.english, piece.TIME) if clause.time else []
    first, inside, last = place_time(clause, time)
    subject = _nominal(clause.subject, piece.SUBJECT)
    asked = [("who" if clause.asks == "whom" else clause.asks, piece.ASKED)] if clause.asks not in ("", "yes") else []
    is_asked = clause.asks not in ("", "who")
    return [
        *(with_mark(first, ",") if first else []),
        *asked,
        *([finite, *subject, *inside] if is_asked else [*subject, *inside, finite]),
        *rest,
        *([("very", piece.VERY)] if clause.is_very else []),
        *([(clause.state.english, piece.STATE)] if clause.state else []),
        *_nominal(clause.recipient, piece.RECIPIENT),
        *_nominal(clause.thing, piece.THING),
        *_place(clause.place),
        *last,
    ]
