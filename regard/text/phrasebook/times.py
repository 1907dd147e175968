"""Expressions of time in three languages: when, and how often."""

from dataclasses import dataclass

from regard.text.phrasebook.tables import Cells, rows


@dataclass(frozen=True, eq=False)
class Time:
    """When, or how often; each word with the piece of the meaning (1, 2) that it carries."""

    english: tuple[tuple[str, int], ...]
    german: tuple[tuple[str, int], ...]
    french: tuple[tuple[str, int], ...]
    marks: frozenset[str]  # the tenses it goes with (present, past, modal); inside; never


# Each word with the piece of the meaning it carries. "inside" stands next to the verb and never first.
_TIMES = """
every1 day2         | jeden1 Tag2      | tous1 les1 jours2         | present
every1 morning2     | jeden1 Morgen2   | tous1 les1 matins2        | present
every1 evening2     | jeden1 Abend2    | tous1 les1 soirs2         | present
on1 Sundays1        | sonntags1        | le1 dimanche1             | present
often1              | oft1             | souvent1                  | present inside
always1             | immer1           | toujours1                 | present inside
sometimes1          | manchmal1        | parfois1                  | present inside
never1              | nie1             | jamais1                   | present inside never
yesterday1          | gestern1         | hier1                     | past
yesterday1 evening2 | gestern1 Abend2  | hier1 soir2               | past
this1 morning2      | heute1 Morgen2   | ce1 matin2                | past
last1 week2         | letzte1 Woche2   | la2 semaine2 dernière1    | past
on1 Monday1         | am1 Montag1      | lundi1                    | past modal
today1              | heute1           | aujourd'hui1              | past modal
tomorrow1           | morgen1          | demain1                   | modal
next1 week2         | nächste1 Woche2  | la2 semaine2 prochaine1   | modal
"""


def _time(row: Cells) -> Time:
    english, german, french = (tuple((word[:-1], int(word[-1])) for word in cell) for cell in row[:3])
    return Time(english, german, french, frozenset(row[3]))


TIMES = tuple(_time(row) for row in rows(_TIMES))
