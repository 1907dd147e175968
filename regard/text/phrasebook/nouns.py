"""Nouns, names and pronouns in three languages, and the preposition of each place.

A noun is one meaning with one word per language, so that nothing has to be guessed: "teacher" is always "Lehrerin" and
"enseignante". Its kinds say what it can do and suffer: adjectives and frames choose their nouns by kind.
"""

from dataclasses import dataclass
from typing import NamedTuple

from regard.text.phrasebook.tables import Cells, Forms, french_plural, rows, with_s


@dataclass(frozen=True, eq=False)
class Noun:
    """A person, an animal, a thing, a place; a name and a pronoun are nouns that never take a determiner."""

    english: Forms  # singular, plural
    german: Forms  # singular, plural, accusative and dative singular
    french: Forms  # singular, plural
    german_gender: int  # column of the German articles and endings: 0 der, 1 die, 2 das
    is_feminine: bool  # in French
    kinds: frozenset[str]
    person: int = 2  # of the verb, when singular: 0 I, 1 you, 2 he or she, 3 we (4 is they)


class Preposition(NamedTuple):
    """What stands before a place: "in", "at", "on"."""

    english: str
    german: str  # with the dative
    french: str


_NOUNS = """
man men        | der Mann Männer                        | un homme         | person adult
woman women    | die Frau Frauen                        | une femme        | person adult
child children | das Kind Kinder                        | un enfant        | person small own
boy            | der Junge Jungen Jungen                | un garçon        | person small
girl           | das Mädchen Mädchen                    | une fille        | person small
teacher        | die Lehrerin Lehrerinnen               | une enseignante  | person adult own
doctor         | der Arzt Ärzte                         | un médecin       | person adult own
student        | der Student Studenten Studenten        | un étudiant      | person adult
nurse          | die Krankenschwester Krankenschwestern | une infirmière   | person adult
baker          | der Bäcker Bäcker                      | un boulanger     | person adult own
singer         | die Sängerin Sängerinnen               | une chanteuse    | person adult
farmer         | der Bauer Bauern Bauern                | un fermier       | person adult
neighbour      | die Nachbarin Nachbarinnen             | une voisine      | person adult own
friend         | der Freund Freunde                     | un ami           | person adult own
mother         | die Mutter Mütter                      | une mère         | person adult kin
father         | der Vater Väter                        | un père          | person adult kin
sister         | die Schwester Schwestern               | une sœur         | person kin
brother        | der Bruder Brüder                      | un frère         | person kin
uncle          | der Onkel Onkel                        | un oncle         | person adult kin
aunt           | die Tante Tanten                       | une tante        | person adult kin
dog            | der Hund Hunde                         | un chien         | animal own wash
cat            | die Katze Katzen                       | un chat          | animal own
horse          | das Pferd Pferde                       | un cheval        | animal own wash
bird           | der Vogel Vögel                        | un oiseau        | animal
cow            | die Kuh Kühe                           | une vache        | animal
rabbit         | das Kaninchen Kaninchen                | un lapin         | animal own
duck           | die Ente Enten                         | un canard        | animal
book           | das Buch Bücher                        | un livre         | text prose good ware loose post own
letter         | der Brief Briefe                       | une lettre       | text prose long waste loose post
newspaper      | die Zeitung Zeitungen                  | un journal       | text ware waste
story          | die Geschichte Geschichten             | une histoire     | text prose long good tale
photo photos   | das Foto Fotos                         | une photo        | item view loose post
apple          | der Apfel Äpfel                        | une pomme        | food piece fresh ware treat
pear           | die Birne Birnen                       | une poire        | food piece fresh ware treat
tomato         | die Tomate Tomaten                     | une tomate       | food piece fresh ware
egg            | das Ei Eier                            | un œuf           | food piece fresh ware
cake           | der Kuchen Kuchen                      | un gâteau        | food piece ware treat
bread          | das Brot -                             | un pain          | food fresh ware mass
cheese         | der Käse -                             | un fromage       | food ware mass
soup           | die Suppe -                            | une soupe        | food warm treat dish mass
milk           | die Milch -                            | un lait          | drink fresh warm ware treat mass
water          | das Wasser -                           | une eau          | drink warm treat water mass
coffee         | der Kaffee -                           | un café          | drink warm ware treat dish mass
tea            | der Tee -                              | un thé           | drink warm ware treat dish mass
dress          | das Kleid Kleider                      | une robe         | item colour price ware wash
shirt          | das Hemd Hemden                        | une chemise      | item colour price ware wash
hat            | der Hut Hüte                           | un chapeau       | item colour price ware loose waste
coat           | der Mantel Mäntel                      | un manteau       | item colour price ware wash
car            | das Auto Autos                         | une voiture      | item colour price estate machine wash view
bicycle        | das Fahrrad Fahrräder                  | un vélo          | item colour price estate machine wash
key            | der Schlüssel Schlüssel                | une clé          | item loose
table          | der Tisch Tische                       | une table        | item price machine load
chair          | der Stuhl Stühle                       | une chaise       | item colour machine load
lamp           | die Lampe Lampen                       | une lampe        | item colour price ware machine
bag            | die Tasche Taschen                     | un sac           | item colour price ware loose load opening
umbrella       | der Regenschirm Regenschirme           | un parapluie     | item colour ware loose waste machine
suitcase       | der Koffer Koffer                      | une valise       | item colour ware load opening
door           | die Tür Türen                          | une porte        | item colour opening machine
window         | das Fenster Fenster                    | une fenêtre      | item opening machine
flower         | die Blume Blumen                       | une fleur        | flower ware post treat view
house          | das Haus Häuser                        | une maison       | place building price estate view rest own
garden         | der Garten Gärten                      | un jardin        | place building open site rest job own
kitchen        | die Küche Küchen                       | une cuisine      | place building site job tidy stove own
room           | das Zimmer Zimmer                      | une chambre      | place building site rest tidy own
office         | das Büro Büros                         | un bureau        | place building site job tidy own
park           | der Park Parks                         | un parc          | place building open site rest
school         | die Schule Schulen                     | une école        | place building site job stop
market         | der Markt Märkte                       | un marché        | place building site job stop shop
shop           | der Laden Läden                        | un magasin       | place building job shop
station        | der Bahnhof Bahnhöfe                   | une gare         | place building site job stop
restaurant     | das Restaurant Restaurants             | un restaurant    | place building site job stop
hotel          | das Hotel Hotels                       | un hôtel         | place building site job stop rest
library        | die Bibliothek Bibliotheken            | une bibliothèque | place building site job
hospital       | das Krankenhaus Krankenhäuser          | un hôpital       | place building job stop rest
beach          | der Strand Strände                     | une plage        | place open site rest
"""

# English, German and French preposition | places
_PLACES = """
in in dans | house garden kitchen room office park shop
at in à    | school restaurant hotel library hospital
at auf à   | market
at an à    | station
on an sur  | beach
"""


def _noun(row: Cells) -> Noun:
    english, (article, *german), (french_article, french), kinds = row
    return Noun(
        english=(english[0], english[-1] if len(english) > 1 else with_s(english[0])),
        german=(german[0], german[1] if len(german) > 1 else german[0], german[2] if len(german) > 2 else german[0]),
        french=(french, french_plural(french)),
        german_gender=("der", "die", "das").index(article),
        is_feminine=french_article == "une",
        kinds=frozenset(kinds),
    )


def _name(english: str, german: str, french: str, person: int, *, is_feminine: bool) -> Noun:
    kinds = frozenset(("person", "name"))
    return Noun((english, english), (german, german, german), (french, french), 0, is_feminine, kinds, person)


NOUNS = tuple(_noun(row) for row in rows(_NOUNS))
NAMES = tuple(_name(name, name, name, 2, is_feminine=True) for name in ("Anna", "Emma", "Clara")) + tuple(
    _name(name, name, name, 2, is_feminine=False) for name in ("David", "Martin", "Thomas")
)
HE = _name("he", "er", "il", 2, is_feminine=False)
SHE = _name("she", "sie", "elle", 2, is_feminine=True)
PRONOUNS = (
    _name("I", "ich", "je", 0, is_feminine=False),
    _name("you", "du", "tu", 1, is_feminine=False),
    HE,
    SHE,
    _name("we", "wir", "nous", 3, is_feminine=False),
)
PREPOSITIONS = {place: Preposition(*prepositions) for prepositions, places in rows(_PLACES) for place in places}
