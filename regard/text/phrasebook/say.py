"""Says a whole sentence in one of the languages: its clauses, what links them, capitals and marks.

It knows how clauses are joined; it does not know how a clause is said.
"""

from regard.text.phrasebook import english, french, german
from regard.text.phrasebook import pieces as piece
from regard.text.phrasebook.meaning import Sentence
from regard.text.phrasebook.pieces import move, with_mark
from regard.text.phrasebook.tables import Words


def say(sentence: Sentence, language: str) -> Words:
    """The words of the sentence, and the pieces each one carries."""
    main, link, second, is_second_first = sentence
    if language == "de":
        words = german.say_clause(main, verb="first" if is_second_first else "second")
        dependent = german.say_clause(second, verb="last") if second else []
    else:
        clause_in = english.say_clause if language == "en" else french.say_clause
        words = clause_in(main)
        dependent = clause_in(second) if second else []
    if dependent:
        dependent = [(word, piece.LINK) for word in _LINKS[link][language].split()] + move(dependent, piece.SECOND)
        first, last = (dependent, words) if is_second_first else (words, dependent)
        words = (with_mark(first, ",") if is_second_first or language == "de" else first) + last
    if language == "fr":
        words = french.elide(words)
    beginning, pieces = words[0]
    words[0] = (beginning[0].upper() + beginning[1:], pieces)
    if main.asks and language == "fr":
        return [*words, ("?", 0)]
    return with_mark(words, "?" if main.asks else ".")


_LINKS = {
    "that": {"en": "that", "de": "dass", "fr": "que"},
    "because": {"en": "because", "de": "weil", "fr": "parce que"},
    "if": {"en": "if", "de": "wenn", "fr": "si"},
}
