"""Meanings in words, and sentences a teacher has checked, for the tests of the phrasebook."""

from collections.abc import Mapping

from regard.text.phrasebook.frames import TIMES
from regard.text.phrasebook.meaning import Clause, Nominal, Sentence
from regard.text.phrasebook.say import say
from regard.text.phrasebook.vocabulary import ADJECTIVES, NAMES, NOUNS, PRONOUNS, VERBS

NOUN_BY_NAME = {noun.english[0]: noun for noun in (*NOUNS, *NAMES, *PRONOUNS)}
ADJECTIVE_BY_NAME = {adjective.english: adjective for adjective in ADJECTIVES}
TIME_BY_NAME = {" ".join(word for word, _ in time.english): time for time in TIMES}
THAT, BECAUSE, IF = "that", "because", "if"


def nominal(words: str) -> Nominal:
    """From a determiner ("-" for none, a star for the plural), adjectives and a noun: "the* old car", "Anna"."""
    *front, noun = words.split()
    determiner, *names = front or [""]
    adjectives = [ADJECTIVE_BY_NAME[name] for name in names]
    before = next((adjective for adjective in adjectives if adjective.is_before), None)
    after = next((adjective for adjective in adjectives if not adjective.is_before), None)
    return Nominal(NOUN_BY_NAME[noun], determiner.strip("-*"), determiner.endswith("*"), before, after)


def clause(subject: str, verb: str, thing: str = "", to: str = "", at: str = "", **more: object) -> Clause:
    """From words: clause("the man", "buy", "a red hat", time="yesterday", tense="past")."""
    parts = {"subject": subject, "thing": thing, "recipient": to, "place": at}
    tables: dict[str, Mapping[str, object]] = {"time": TIME_BY_NAME, "modal": VERBS, "state": ADJECTIVE_BY_NAME}
    known = {name: nominal(words) for name, words in parts.items() if words}
    chosen = {name: tables[name][str(value)] if name in tables else value for name, value in more.items()}
    return Clause(VERBS[verb], **known, **chosen)  # type: ignore[arg-type]


def past(subject: str, verb: str, thing: str = "", **more: object) -> Clause:
    return clause(subject, verb, thing, tense="past", **more)  # type: ignore[arg-type]


def text(sentence: Sentence, language: str) -> str:
    return " ".join([word for word, _ in say(sentence, language)])


HAND_CHECKED = [
    (
        Sentence(past("the old man", "buy", "a red hat", time="yesterday", is_time_first=True)),
        "Yesterday, the old man bought a red hat.",
        "Gestern hat der alte Mann einen roten Hut gekauft.",
        "Hier, le vieil homme a acheté un chapeau rouge.",
    ),
    (
        Sentence(clause("the woman", "call", "the young doctor")),
        "The woman calls the young doctor.",
        "Die Frau ruft den jungen Arzt an.",
        "La femme appelle le jeune médecin.",
    ),
    (
        Sentence(clause("she", "say"), THAT, past("this girl", "call", "my* clever neighbour")),
        "She says that this girl called my clever neighbours.",
        "Sie sagt, dass dieses Mädchen meine klugen Nachbarinnen angerufen hat.",
        "Elle dit que cette fille a appelé mes voisines intelligentes.",
    ),
    (
        Sentence(clause("I", "believe"), THAT, clause("Anna", "close", "the window")),
        "I believe that Anna closes the window.",
        "Ich glaube, dass Anna das Fenster zumacht.",
        "Je crois qu'Anna ferme la fenêtre.",
    ),
    (
        Sentence(clause("the mother", "call", "the doctor"), IF, clause("the child", "be", state="sick"), True),
        "If the child is sick, the mother calls the doctor.",
        "Wenn das Kind krank ist, ruft die Mutter den Arzt an.",
        "Si l'enfant est malade, la mère appelle le médecin.",
    ),
    (
        Sentence(clause("Anna", "sing"), IF, clause("he", "be", state="sad")),
        "Anna sings if he is sad.",
        "Anna singt, wenn er traurig ist.",
        "Anna chante s'il est triste.",
    ),
    (
        Sentence(clause("we", "help", "the farmer", modal="must"), BECAUSE, clause("he", "be", state="tired")),
        "We must help the farmer because he is tired.",
        "Wir müssen dem Bauern helfen, weil er müde ist.",
        "Nous devons aider le fermier parce qu'il est fatigué.",
    ),
    (
        Sentence(clause("the baker", "sell", "- fresh bread", at="the market", time="every day")),
        "The baker sells fresh bread at the market every day.",
        "Der Bäcker verkauft jeden Tag auf dem Markt frisches Brot.",
        "Le boulanger vend du pain frais au marché tous les jours.",
    ),
    (
        Sentence(clause("the* girl", "drink", "- cold water", at="our big garden", time="often")),
        "The girls often drink cold water in our big garden.",
        "Die Mädchen trinken oft in unserem großen Garten kaltes Wasser.",
        "Les filles boivent souvent de l'eau froide dans notre grand jardin.",
    ),
    (
        Sentence(clause("the nurse", "drink", "- coffee", time="never")),
        "The nurse never drinks coffee.",
        "Die Krankenschwester trinkt nie Kaffee.",
        "L'infirmière ne boit jamais de café.",
    ),
    (
        Sentence(clause("the teacher", "read", "the newspaper", is_negated=True)),
        "The teacher does not read the newspaper.",
        "Die Lehrerin liest die Zeitung nicht.",
        "L'enseignante ne lit pas le journal.",
    ),
    (
        Sentence(clause("I", "buy", "a egg", is_negated=True)),
        "I do not buy an egg.",
        "Ich kaufe kein Ei.",
        "Je n'achète pas d'œuf.",
    ),
    (
        Sentence(past("you", "eat", "-* small apple", is_negated=True)),
        "You did not eat small apples.",
        "Du hast keine kleinen Äpfel gegessen.",
        "Tu n'as pas mangé de petites pommes.",
    ),
    (
        Sentence(past("Thomas", "find", "-* old key")),
        "Thomas found old keys.",
        "Thomas hat alte Schlüssel gefunden.",
        "Thomas a trouvé de vieilles clés.",
    ),
    (
        Sentence(past("the* sick student", "arrive", time="last week")),
        "The sick students arrived last week.",
        "Die kranken Studenten sind letzte Woche angekommen.",
        "Les étudiants malades sont arrivés la semaine dernière.",
    ),
    (
        Sentence(past("my aunt", "leave", is_negated=True, time="yesterday evening")),
        "My aunt did not leave yesterday evening.",
        "Meine Tante ist gestern Abend nicht weggegangen.",
        "Ma tante n'est pas partie hier soir.",
    ),
    (
        Sentence(clause("the uncle", "show", "a beautiful white horse", to="the* child")),
        "The uncle shows the children a beautiful white horse.",
        "Der Onkel zeigt den Kindern ein schönes weißes Pferd.",
        "L'oncle montre un beau cheval blanc aux enfants.",
    ),
    (
        Sentence(past("the brother", "give", "the letter", to="a happy boy", time="today")),
        "The brother gave a happy boy the letter today.",
        "Der Bruder hat den Brief heute einem glücklichen Jungen gegeben.",
        "Le frère a donné la lettre à un garçon heureux aujourd'hui.",
    ),
    (
        Sentence(clause("this student", "wait for", "the teacher", at="the station", asks="yes")),
        "Does this student wait for the teacher at the station?",
        "Wartet dieser Student am Bahnhof auf die Lehrerin?",
        "Est-ce que cet étudiant attend l'enseignante à la gare ?",
    ),
    (
        Sentence(past("", "open", "the* heavy suitcase", asks="who")),
        "Who opened the heavy suitcases?",
        "Wer hat die schweren Koffer aufgemacht?",
        "Qui a ouvert les valises lourdes ?",
    ),
    (
        Sentence(clause("you", "talk to", asks="whom", modal="want to", time="tomorrow")),
        "Who do you want to talk to tomorrow?",
        "Mit wem willst du morgen reden?",
        "À qui est-ce que tu veux parler demain ?",
    ),
    (
        Sentence(past("the singer", "listen to", asks="whom")),
        "Who did the singer listen to?",
        "Wem hat die Sängerin zugehört?",
        "Qui est-ce que la chanteuse a écouté ?",
    ),
    (
        Sentence(clause("he", "throw away", asks="what")),
        "What does he throw away?",
        "Was wirft er weg?",
        "Qu'est-ce qu'il jette ?",
    ),
    (
        Sentence(past("the nice friend", "meet", "Emma", asks="where")),
        "Where did the nice friend meet Emma?",
        "Wo hat der nette Freund Emma getroffen?",
        "Où est-ce que l'ami sympathique a rencontré Emma ?",
    ),
    (
        Sentence(clause("the* cat", "be", asks="yes", state="white")),
        "Are the cats white?",
        "Sind die Katzen weiß?",
        "Est-ce que les chats sont blancs ?",
    ),
    (
        Sentence(clause("the new house", "be", is_negated=True, state="expensive", is_very=True)),
        "The new house is not very expensive.",
        "Das neue Haus ist nicht sehr teuer.",
        "La nouvelle maison n'est pas très chère.",
    ),
    (
        Sentence(clause("our sister", "wait for", "the famous singer", modal="can", is_negated=True, time="today")),
        "Our sister cannot wait for the famous singer today.",
        "Unsere Schwester kann heute nicht auf die berühmte Sängerin warten.",
        "Notre sœur ne peut pas attendre la chanteuse célèbre aujourd'hui.",
    ),
    (
        Sentence(clause("three* old black dog", "follow", "a tired man", at="the park")),
        "Three old black dogs follow a tired man in the park.",
        "Drei alte schwarze Hunde folgen im Park einem müden Mann.",
        "Trois vieux chiens noirs suivent un homme fatigué dans le parc.",
    ),
    (
        Sentence(past("she", "sleep", at="the new hotel", time="on Monday", is_time_first=True)),
        "On Monday, she slept at the new hotel.",
        "Am Montag hat sie im neuen Hotel geschlafen.",
        "Lundi, elle a dormi au nouvel hôtel.",
    ),
    (
        Sentence(clause("the mother", "tidy", "the big kitchen", modal="must", time="next week", is_time_first=True)),
        "Next week, the mother must tidy the big kitchen.",
        "Nächste Woche muss die Mutter die große Küche aufräumen.",
        "La semaine prochaine, la mère doit ranger la grande cuisine.",
    ),
]
