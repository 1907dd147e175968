"""The words of the phrasebook in English, German and French, as tables.

It knows forms, genders and which word goes with which; it does not know how a sentence is built.

A noun, an adjective or a verb is one meaning with one word per language, so that nothing has to be guessed: "teacher"
is always "Lehrerin" and "enseignante", "friend" is always "Freund" and "ami". `kinds` says what a noun can do and
suffer: an adjective may stand with a noun that shares one of its kinds, and `FRAMES` says who does what, and where.
"""

from dataclasses import dataclass

Forms = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Noun:
    """A person, an animal, a thing, a place; a name and a pronoun are nouns that never take a determiner."""

    english: Forms  # singular, plural
    german: Forms  # singular, plural, accusative and dative singular
    french: Forms  # singular, plural
    german_gender: int  # column of the tables below: 0 der, 1 die, 2 das
    is_feminine: bool  # in French
    kinds: frozenset[str]
    person: int = 2  # of the verb, when singular: 0 I, 1 you, 2 he or she, 3 we (4 is they)


@dataclass(frozen=True, eq=False)
class Adjective:
    """A quality; in French it stands before its noun or after it."""

    english: str
    german: str
    german_stem: str  # what the endings are added to: müd-e, teur-e
    french: Forms  # masculine, feminine, masculine before a vowel
    is_before: bool
    kinds: frozenset[str]


@dataclass(frozen=True, eq=False)
class Verb:
    """Something done. Finite forms are counted by person: I, you, he or she, we, they."""

    english: Forms  # infinitive, third person, past
    english_tail: str  # look *for*
    german: Forms  # five present forms
    german_participle: str
    german_prefix: str  # *an*rufen
    german_preposition: str  # warten *auf*
    is_dative: bool
    german_auxiliary: Forms
    french: Forms  # five present forms
    french_participle: str
    french_infinitive: str
    french_preposition: str  # parler *à*
    is_with_etre: bool

    @property
    def name(self) -> str:
        """What `FRAMES` calls it."""
        return f"{self.english[0]} {self.english_tail}".strip()


@dataclass(frozen=True, eq=False)
class Time:
    """When, or how often; each word with the piece of the meaning (1, 2) that it carries."""

    english: tuple[tuple[str, int], ...]
    german: tuple[tuple[str, int], ...]
    french: tuple[tuple[str, int], ...]
    marks: frozenset[str]  # the tenses it goes with (present, past, modal); inside; never


@dataclass(frozen=True, eq=False)
class Frame:
    """Who can do what to what, to whom, and where."""

    verb: Verb
    subjects: tuple[Noun, ...]
    objects: tuple[Noun, ...]
    recipients: tuple[Noun, ...]
    places: tuple[Noun, ...]
    marks: frozenset[str]  # new, once, making, chance, unwilled: see the table


HABEN = ("habe", "hast", "hat", "haben", "haben")
SEIN = ("bin", "bist", "ist", "sind", "sind")
AVOIR = ("ai", "as", "a", "avons", "ont")
ETRE = ("suis", "es", "est", "sommes", "sont")

NOMINATIVE, ACCUSATIVE, DATIVE = 0, 1, 2


def _cases(*lines: str) -> tuple[list[str], ...]:
    """Nominative, accusative, dative; in each masculine, feminine, neuter, plural."""
    return tuple(line.split() for line in lines)


GERMAN_ARTICLES = {
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
GERMAN_ENDINGS = (
    dict.fromkeys(("the", "this"), _WEAK)
    | dict.fromkeys(("a", "no", "my", "our"), _MIXED)
    | dict.fromkeys(("", "two", "three"), _STRONG)
)

# masculine, feminine, plural, and before a vowel: masculine, feminine
FRENCH_ARTICLES = {
    "the": ("le", "la", "les", "le", "la"),
    "this": ("ce", "cette", "ces", "cet", "cette"),
    "a": ("un", "une", "-", "un", "une"),
    "my": ("mon", "ma", "mes", "mon", "mon"),
    "our": ("notre", "notre", "nos", "notre", "notre"),
    "two": ("deux",) * 5,
    "three": ("trois",) * 5,
}

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

# English infinitive and past; German du, er, wir, participle, or the infinitive of a weak verb; French je, il, nous,
# ils, participle, infinitive, or the infinitive of a regular verb. Other forms follow by rule, or all are written.
# "an-" is a prefix that leaves the verb, "+dat" and "auf+acc" say what the object looks like, "+sein" and "+être"
# make the perfect.
_VERBS = """
buy bought         | kaufen                                     | achète achète achetons achètent acheté acheter
sell sold          | verkaufst verkauft verkaufen verkauft      | vends vend vendons vendent vendu vendre
read read          | liest liest lesen gelesen                  | lis lit lisons lisent lu lire
write wrote        | schreibst schreibt schreiben geschrieben   | écris écrit écrivons écrivent écrit écrire
eat ate            | isst isst essen gegessen                   | mange mange mangeons mangent mangé manger
drink drank        | trinkst trinkt trinken getrunken           | bois boit buvons boivent bu boire
see saw            | siehst sieht sehen gesehen                 | vois voit voyons voient vu voir
look+for looked    | suchen                                     | chercher
find found         | findest findet finden gefunden             | trouver
open opened        | machen auf-                                | ouvre ouvre ouvrons ouvrent ouvert ouvrir
close closed       | machen zu-                                 | fermer
call called        | rufst ruft rufen angerufen an-             | appelle appelle appelons appellent appelé appeler
invite invited     | lädst lädt laden eingeladen ein-           | inviter
meet met           | triffst trifft treffen getroffen           | rencontrer
draw drew          | zeichnen                                   | dessiner
repair repaired    | reparierst repariert reparieren repariert  | réparer
wash washed        | wäschst wäscht waschen gewaschen           | laver
tidy tidied        | räumen auf-                                | range range rangeons rangent rangé ranger
throw+away threw   | wirfst wirft werfen weggeworfen weg-       | jette jette jetons jettent jeté jeter
prepare prepared   | bereitest bereitet bereiten zubereitet zu- | préparer
bring brought      | bringst bringt bringen mitgebracht mit-    | apporter
look+at looked     | siehst sieht sehen angesehen an-           | regarder
carry carried      | trägst trägt tragen getragen               | porter
lose lost          | verlierst verliert verlieren verloren      | perds perd perdons perdent perdu perdre
hear heard         | hören                                      | entends entend entendons entendent entendu entendre
listen+to listened | hören zu- +dat                             | écouter
help helped        | hilfst hilft helfen geholfen +dat          | aider
thank thanked      | danken +dat                                | remercier
answer answered    | antworten +dat                             | réponds répond répondons répondent répondu répondre +à
wait+for waited    | warten auf+acc                             | attends attend attendons attendent attendu attendre
talk+to talked     | reden mit+dat                              | parler +à
follow followed    | folgen +dat +sein                          | suis suit suivons suivent suivi suivre
give gave          | gibst gibt geben gegeben                   | donner
show showed        | zeigen                                     | montrer
send sent          | schicken                                   | envoie envoie envoyons envoient envoyé envoyer
tell told          | erzählst erzählt erzählen erzählt          | raconter
offer offered      | bietest bietet bieten angeboten an-        | offre offre offrons offrent offert offrir
sleep slept        | schläfst schläft schlafen geschlafen       | dors dort dormons dorment dormi dormir
work worked        | arbeiten                                   | travailler
sing sang          | singst singt singen gesungen               | chanter
dance danced       | tanzen                                     | danser
laugh laughed      | lachen                                     | ris rit rions rient ri rire
cry cried          | weinen                                     | pleurer
play played        | spielen                                    | jouer
arrive arrived     | kommst kommt kommen angekommen an- +sein   | arriver +être
go+out went        | gehst geht gehen ausgegangen aus- +sein    | sors sort sortons sortent sorti sortir +être
leave left         | gehst geht gehen weggegangen weg- +sein    | pars part partons partent parti partir +être
be was             | bin bist ist sind gewesen +sein            | suis es est sommes sont été être
say said           | sagen                                      | dis dit disons disent dit dire
know knew          | weiß weißt weiß wissen gewusst             | sais sait savons savent su savoir
believe believed   | glauben                                    | crois croit croyons croient cru croire
hope hoped         | hoffen                                     | espère espère espérons espèrent espéré espérer
can could          | kann kannst kann können gekonnt            | peux peut pouvons peuvent pu pouvoir
must must          | muss musst muss müssen gemusst             | dois doit devons doivent dû devoir
want+to wanted     | will willst will wollen gewollt            | veux veut voulons veulent voulu vouloir
"""

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

# preposition of English, German (always with the dative here) and French
_PLACES = """
in in dans | house garden kitchen room office park shop
at in à    | school restaurant hotel library hospital
at auf à   | market
at an à    | station
on an sur  | beach
"""

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

Cells = list[list[str]]


def _rows(table: str) -> list[Cells]:
    """Lines of cells of words; "-" stands for no word."""
    lines = table.strip().splitlines()
    return [[[word for word in cell.split() if word != "-"] for cell in line.split("|")] for line in lines]


def _with_s(word: str) -> str:
    """The regular English plural, and the third person."""
    if word.endswith(("s", "ch", "sh", "o")):
        return word + "es"
    return word[:-1] + "ies" if word.endswith("y") and word[-2] not in "aeou" else word + "s"


def french_plural(word: str) -> str:
    """The regular French plural of a noun or an adjective."""
    if word.endswith(("s", "x")):
        return word
    return word.removesuffix("al") + "aux" if word.endswith("al") else word + ("x" if word.endswith("eau") else "s")


def _noun(row: Cells) -> Noun:
    english, (article, *german), (french_article, french), kinds = row
    return Noun(
        english=(english[0], english[-1] if len(english) > 1 else _with_s(english[0])),
        german=(german[0], german[1] if len(german) > 1 else german[0], german[2] if len(german) > 2 else german[0]),
        french=(french, french_plural(french)),
        german_gender=("der", "die", "das").index(article),
        is_feminine=french_article == "une",
        kinds=frozenset(kinds),
    )


def _name(english: str, german: str, french: str, person: int, *, is_feminine: bool) -> Noun:
    kinds = frozenset(("person", "name"))
    return Noun((english, english), (german, german, german), (french, french), 0, is_feminine, kinds, person)


def _adjective(row: Cells) -> Adjective:
    english, german, (position, *french), kinds = row
    forms = (french[0], french[1], french[-1] if len(french) > 2 else french[0])
    return Adjective(english[0], german[0], german[-1], forms, position == "before", frozenset(kinds))


def _german_forms(forms: list[str], prefix: str) -> list[str]:
    """Ich, du, er, wir, participle: of a strong verb without ich, or of a weak verb from its infinitive."""
    if len(forms) == 1:
        stem = forms[0].removesuffix("en")
        link = "e" if stem.endswith(("t", "d", "chn")) else ""  # du arbeit-e-st, du zeichn-e-st
        second = stem + ("t" if stem.endswith("z") else link + "st")
        forms = [second, stem + link + "t", forms[0], f"{prefix}ge{stem}{link}t"]
    return forms if len(forms) == 5 else [forms[2].removesuffix("n"), *forms]


def _french_forms(forms: list[str]) -> list[str]:
    """Je, tu, il, nous, ils, participle, infinitive: of a verb without tu, or of a regular verb from its infinitive."""
    if len(forms) == 1:
        forms = [forms[0].removesuffix("er") + ending for ending in ("e", "e", "ons", "ent", "é")] + forms
    first = forms[0]
    return forms if len(forms) == 7 else [first, first if first.endswith(("s", "x")) else first + "s", *forms[1:]]


def _verb(row: Cells) -> Verb:
    (english, past), german, french = row
    infinitive, _, tail = english.partition("+")
    marks = [word for word in german + french if "+" in word or word.endswith("-")]
    prefix = next((mark.removesuffix("-") for mark in marks if mark.endswith("-")), "")
    german_forms = _german_forms([word for word in german if word not in marks], prefix)
    french_forms = _french_forms([word for word in french if word not in marks])
    return Verb(
        english=(infinitive, _with_s(infinitive), past),
        english_tail=tail,
        german=(*german_forms[:4], german_forms[3]),
        german_participle=german_forms[4],
        german_prefix=prefix,
        german_preposition=next((mark.split("+")[0] for mark in marks if mark in ("auf+acc", "mit+dat")), ""),
        is_dative=any(mark.endswith("+dat") for mark in marks),
        german_auxiliary=SEIN if "+sein" in marks else HABEN,
        french=tuple(french_forms[:5]),
        french_participle=french_forms[5],
        french_infinitive=french_forms[6],
        french_preposition="à" if "+à" in marks else "",
        is_with_etre="+être" in marks,
    )


def _time(row: Cells) -> Time:
    english, german, french = (tuple((word[:-1], int(word[-1])) for word in cell) for cell in row[:3])
    return Time(english, german, french, frozenset(row[3]))


def _frames(row: Cells) -> list[Frame]:
    """One frame for each of the verbs that share a line."""
    verbs, subjects, things, recipients, places, marks = row
    names = " ".join(verbs).split(", ")
    chosen = (_of_kinds(subjects), _of_kinds(things), _of_kinds(recipients), _of_kinds(places))
    return [Frame(VERBS[name], *chosen, frozenset(marks)) for name in names]


def _of_kinds(kinds: list[str]) -> tuple[Noun, ...]:
    return tuple(noun for noun in NOUNS if not noun.kinds.isdisjoint(kinds))


NOUNS = tuple(_noun(row) for row in _rows(_NOUNS))
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
ADJECTIVES = tuple(_adjective(row) for row in _rows(_ADJECTIVES))
VERBS = {verb.name: verb for verb in map(_verb, _rows(_VERBS))}
TIMES = tuple(_time(row) for row in _rows(_TIMES))
FRAMES = tuple(frame for row in _rows(_FRAMES) for frame in _frames(row))
PREPOSITIONS = {place: tuple(prepositions) for prepositions, places in _rows(_PLACES) for place in places}
