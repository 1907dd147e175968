"""Who can do what, to what, to whom, and where: a verb with the nouns that fit it."""

from dataclasses import dataclass

from regard.text.phrasebook.nouns import NOUNS, Noun
from regard.text.phrasebook.tables import Cells, rows
from regard.text.phrasebook.verbs import VERBS, Verb


@dataclass(frozen=True, eq=False)
class Frame:
    """Who can do what to what, to whom, and where."""

    verb: Verb
    subjects: tuple[Noun, ...]
    objects: tuple[Noun, ...]
    recipients: tuple[Noun, ...]
    places: tuple[Noun, ...]
    marks: frozenset[str]  # new, once, making, chance, unwilled: see the table


# verbs | who | what | to whom | where | marks. As a habit it is done to a "new" object every day, or it is done "once";
# in the "making" nothing is old; what happens by "chance" has no reason, and nobody wants to do what is "unwilled".
_FRAMES = """
buy, sell                         | person | ware               | -      | shop  | new
buy, sell                         | adult  | estate             | -      | -     | once
read                              | person | text               | -      | site  | -
write                             | person | prose              | -      | site  | new making
eat                               | person | food               | -      | site  | new
drink                             | person | drink              | -      | site  | new
drink                             | animal | water              | -      | open  | new
see, hear                         | person | person animal      | -      | open  | chance
look at                           | person | person animal view | -      | open  | -
draw                              | person | animal flower      | -      | open  | -
look for                          | person | loose              | -      | site  | once
look for                          | person | animal             | -      | open  | once
find                              | person | loose              | -      | site  | once chance
lose                              | person | loose              | -      | site  | once unwilled
open, close                       | person | opening            | -      | -     | -
repair                            | person | machine            | -      | -     | new
wash                              | person | wash               | -      | -     | -
tidy                              | person | tidy               | -      | -     | -
throw away                        | person | waste              | -      | -     | new
prepare                           | person | dish               | -      | stove | new
bring                             | person | ware               | -      | -     | new
carry                             | person | load               | -      | -     | -
call, invite, help, thank, answer | person | person             | -      | -     | -
meet                              | person | person             | -      | site  | chance
listen to, wait for, talk to      | person | person             | -      | site  | -
follow                            | animal | person             | -      | open  | -
give                              | person | treat post         | person | -     | new
show                              | person | text view animal   | person | -     | -
send                              | person | post               | person | -     | new
tell                              | person | tale               | person | -     | new
offer                             | person | treat              | person | -     | new
sleep                             | person | -                  | -      | rest  | -
work                              | person | -                  | -      | job   | -
sing, dance, laugh, cry           | person | -                  | -      | site  | -
play                              | small  | -                  | -      | site  | -
sleep, play                       | animal | -                  | -      | open  | -
arrive                            | person | -                  | -      | stop  | unwilled
go out, leave                     | person | -                  | -      | -     | -
"""


def _frames(row: Cells) -> list[Frame]:
    """One frame for each of the verbs that share a line."""
    verbs, subjects, things, recipients, places, marks = row
    names = " ".join(verbs).split(", ")
    chosen = (_of_kinds(subjects), _of_kinds(things), _of_kinds(recipients), _of_kinds(places))
    return [Frame(VERBS[name], *chosen, frozenset(marks)) for name in names]


def _of_kinds(kinds: list[str]) -> tuple[Noun, ...]:
    return tuple(noun for noun in NOUNS if not noun.kinds.isdisjoint(kinds))


FRAMES = tuple(frame for row in rows(_FRAMES) for frame in _frames(row))
