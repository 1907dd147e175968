"""Verbs in three languages, conjugated: irregular forms from the table, all others by rule."""

from dataclasses import dataclass

from regard.text.phrasebook.tables import Cells, Forms, rows, with_s


@dataclass(frozen=True, eq=False)
class Verb:
    """Something done. Finite forms are counted by person: I, you, he or she, we, they."""

    name: str  # what a frame calls it: look for
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


_HABEN = ("habe", "hast", "hat", "haben", "haben")
_SEIN = ("bin", "bist", "ist", "sind", "sind")

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
        name=f"{infinitive} {tail}".strip(),
        english=(infinitive, with_s(infinitive), past),
        english_tail=tail,
        german=(*german_forms[:4], german_forms[3]),
        german_participle=german_forms[4],
        german_prefix=prefix,
        german_preposition=next((mark.split("+")[0] for mark in marks if mark in ("auf+acc", "mit+dat")), ""),
        is_dative=any(mark.endswith("+dat") for mark in marks),
        german_auxiliary=_SEIN if "+sein" in marks else _HABEN,
        french=tuple(french_forms[:5]),
        french_participle=french_forms[5],
        french_infinitive=french_forms[6],
        french_preposition="à" if "+à" in marks else "",
        is_with_etre="+être" in marks,
    )


VERBS = {verb.name: verb for verb in map(_verb, rows(_VERBS))}
