"""Adjectives in three languages, each with the kinds of noun it may stand with."""

from dataclasses import dataclass

from regard.text.phrasebook.tables import Cells, Forms, rows


@dataclass(frozen=True, eq=False)
class Adjective:
    """A quality; in French it stands before its noun or after it."""

    english: str
    german: str
    german_stem: str  # what the endings are added to: müd-e, teur-e
    french: Forms  # masculine, feminine, masculine before a vowel
    is_before: bool
    kinds: frozenset[str]


_ADJECTIVES = """
young       | jung         | before jeune jeune                 | adult animal
old         | alt          | before vieux vieille vieil         | adult animal item text building
big         | groß         | before grand grande                | animal item place flower
small       | klein        | before petit petite                | small animal item place flower piece
new         | neu          | before nouveau nouvelle nouvel     | item text building
beautiful   | schön        | before beau belle bel              | animal item prose place flower
good        | gut          | before bon bonne                   | good food drink
long        | lang         | before long longue                 | long
nice        | nett         | after sympathique sympathique      | person
clever      | klug         | after intelligent intelligente     | person
famous      | berühmt      | after célèbre célèbre              | adult
brave       | mutig        | after courageux courageuse         | person
curious     | neugierig    | after curieux curieuse             | person animal
happy       | glücklich    | after heureux heureuse             | person
sad         | traurig      | after triste triste                | person
tired       | müde müd     | after fatigué fatiguée             | person animal
sick        | krank        | after malade malade                | person animal
red         | rot          | after rouge rouge                  | colour flower
blue        | blau         | after bleu bleue                   | colour flower
green       | grün         | after vert verte                   | colour
yellow      | gelb         | after jaune jaune                  | colour flower
white       | weiß         | after blanc blanche                | colour animal flower
black       | schwarz      | after noir noire                   | colour animal
heavy       | schwer       | after lourd lourde                 | load
expensive   | teuer teur   | after cher chère                   | price
interesting | interessant  | after intéressant intéressante     | text
fresh       | frisch       | after frais fraîche                | fresh
hot         | heiß         | after chaud chaude                 | warm
cold        | kalt         | after froid froide                 | warm
"""


def _adjective(row: Cells) -> Adjective:
    english, german, (position, *french), kinds = row
    forms = (french[0], french[1], french[-1] if len(french) > 2 else french[0])
    return Adjective(english[0], german[0], german[-1], forms, position == "before", frozenset(kinds))


ADJECTIVES = tuple(_adjective(row) for row in rows(_ADJECTIVES))
