"""Words that carry pieces of the meaning, and the alignment that follows.

It knows bits and lists of words; it does not know any language's grammar.

Every word carries, as bits of an integer, the pieces of the meaning that it expresses, and two words are aligned when
they share a piece. "Does" carries the question, or else the negation; "did" carries the past, as "hat" and "a" do; the
finite verb of a German question carries the question, since its place is what asks. A French "?" belongs to the word
that has it elsewhere; a "de", "du", "des" or "à" to which nothing corresponds is aligned with nothing.
"""

from functools import lru_cache

from regard.text.phrasebook.meaning import Clause
from regard.text.phrasebook.tables import Words

# The four pieces of a nominal, and how far they are moved for the part it plays.
DETERMINER, BEFORE, NOUN, AFTER = 1, 2, 4, 8
SUBJECT, THING, RECIPIENT, PLACE = 0, 4, 8, 12
# The pieces of a clause, and how far all are moved for the second clause.
TIME = 16  # where the pieces of a time begin: they are 1 and 2
PREPOSITION, VERB, PAST, MODAL, QUESTION, NEGATION, STATE, VERY, ASKED, LINK = (1 << n for n in range(18, 28))
SECOND = 28


@lru_cache(maxsize=1 << 14)  # of 40,000 sentences, seven in ten are built like an earlier one
def align(source: tuple[int, ...], target: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Which words share a piece, by the pieces of each: (source word, target word), sorted."""
    others = list(enumerate(target))
    return tuple([(i, j) for i, here in enumerate(source) for j, there in others if here & there])


def move(words: Words, places: int) -> Words:
    """Their pieces as those of another part, so that the noun of the subject is not that of the place."""
    return [(word, pieces << places) for word, pieces in words]


def with_mark(words: Words, mark: str) -> Words:
    """A comma, a full stop or a question mark, joined to the last word."""
    return [*words[:-1], (words[-1][0] + mark, words[-1][1])]


def place_time(clause: Clause, time: Words) -> tuple[Words, Words, Words]:
    """The words of time where English and French want them: first, next to the verb, or last."""
    if clause.is_time_first:
        return time, [], []
    return ([], time, []) if clause.time and "inside" in clause.time.marks else ([], [], time)
