"""What people say every day, word for word in three languages: what no grammar makes.

There is one "you" (du, tu), as everywhere in the phrasebook, and no sentence has two translations in any direction.
"""

# English | German | French. A greeting is said alone, or before what is told or asked.
_GREETINGS = """
Hello        | Hallo       | Bonjour
Good evening | Guten Abend | Bonsoir
My friend    | Mein Freund | Mon ami
"""
_SENTENCES = """
I love you.            | Ich liebe dich.       | Je t'aime.
I miss you.            | Ich vermisse dich.    | Tu me manques.
I understand.          | Ich verstehe.         | Je comprends.
I do not understand.   | Ich verstehe nicht.   | Je ne comprends pas.
I do not know.         | Ich weiß es nicht.    | Je ne sais pas.
I am hungry.           | Ich habe Hunger.      | J'ai faim.
I am thirsty.          | Ich habe Durst.       | J'ai soif.
I am cold.             | Mir ist kalt.         | J'ai froid.
I am here.             | Ich bin hier.         | Je suis ici.
I need help.           | Ich brauche Hilfe.    | J'ai besoin d'aide.
I like that.           | Das gefällt mir.      | Ça me plaît.
That is true.          | Das ist wahr.         | C'est vrai.
It is late.            | Es ist spät.          | Il est tard.
It is raining.         | Es regnet.            | Il pleut.
Everything is fine.    | Alles ist gut.        | Tout va bien.
Help me.               | Hilf mir.             | Aide-moi.
Come here.             | Komm her.             | Viens ici.
Wait a moment.         | Warte einen Moment.   | Attends un moment.
Take care of yourself. | Pass auf dich auf.    | Prends soin de toi.
How are you?           | Wie geht es dir?      | Comment vas-tu ?
What is your name?     | Wie heißt du?         | Comment t'appelles-tu ?
Where are you?         | Wo bist du?           | Où es-tu ?
Where do you live?     | Wo wohnst du?         | Où habites-tu ?
What are you doing?    | Was machst du?        | Que fais-tu ?
What time is it?       | Wie spät ist es?      | Quelle heure est-il ?
How much does it cost? | Wie viel kostet das?  | Combien ça coûte ?
Do you speak English?  | Sprichst du Englisch? | Parles-tu anglais ?
Do you love me?        | Liebst du mich?       | M'aimes-tu ?
Can you help me?       | Kannst du mir helfen? | Peux-tu m'aider ?
"""
_ALONE = """
Yes.               | Ja.                          | Oui.
No.                | Nein.                        | Non.
Thank you.         | Danke.                       | Merci.
Of course.         | Natürlich.                   | Bien sûr.
No problem.        | Kein Problem.                | Pas de problème.
Goodbye.           | Auf Wiedersehen.             | Au revoir.
Good night.        | Gute Nacht.                  | Bonne nuit.
Sleep well.        | Schlaf gut.                  | Dors bien.
See you soon.      | Bis bald.                    | À bientôt.
See you tomorrow.  | Bis morgen.                  | À demain.
Welcome.           | Willkommen.                  | Bienvenue.
Congratulations.   | Herzlichen Glückwunsch.      | Félicitations.
Happy birthday.    | Alles Gute zum Geburtstag.   | Bon anniversaire.
Enjoy your meal.   | Guten Appetit.               | Bon appétit.
Have a good trip.  | Gute Reise.                  | Bon voyage.
Good luck.         | Viel Glück.                  | Bonne chance.
"""


def everyday_sentences() -> list[tuple[str, str, str]]:
    """All of them, in English, German and French."""
    greetings, sentences, alone = (_rows(table) for table in (_GREETINGS, _SENTENCES, _ALONE))
    greeted = [
        (f"{english}, {_inside(told[0])}", f"{german}, {_inside(told[1])}", f"{french}, {_inside(told[2])}")
        for english, german, french in greetings
        for told in sentences
    ]
    return [*((f"{one}.", f"{two}.", f"{three}.") for one, two, three in greetings[:2]), *sentences, *alone, *greeted]


def _inside(sentence: str) -> str:
    """With a small first letter, as after a comma; English writes "I" large."""
    return sentence if sentence.startswith("I ") else sentence[0].lower() + sentence[1:]


def _rows(table: str) -> list[tuple[str, str, str]]:
    found = [[cell.strip() for cell in line.split("|")] for line in table.strip().splitlines()]
    return [(english, german, french) for english, german, french in found]
