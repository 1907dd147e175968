"""How the word tables are read, and the regular endings that need not be written in them.

It knows cells and endings; it does not know what a cell means.
"""

from pathlib import Path

Cells = list[list[str]]
Word = tuple[str, int]  # with the pieces of the meaning that it carries, as bits
Words = list[Word]


def lines(name: str) -> list[list[str]]:
    """The lines of a table, each as its cells."""
    text = (Path(__file__).parent / "words" / f"{name}.txt").read_text(encoding="utf-8")
    return [[cell.strip() for cell in line.split("|")] for line in text.splitlines() if not line.startswith("#")]


def rows(name: str) -> list[Cells]:
    """The lines of a table, each cell as its words; "-" stands for no word."""
    return [[[word for word in cell.split() if word != "-"] for cell in line] for line in lines(name)]


def with_s(word: str) -> str:
    """The regular English plural, and the third person."""
    if word.endswith(("s", "ch", "sh", "o")):
        return word + "es"
    return word[:-1] + "ies" if word.endswith("y") and word[-2] not in "aeou" else word + "s"


def french_plural(word: str) -> str:
    """The regular French plural of a noun or an adjective."""
    if word.endswith(("s", "x")):
        return word
    return word.removesuffix("al") + "aux" if word.endswith("al") else word + ("x" if word.endswith("eau") else "s")


def german_verb(forms: list[str], prefix: str) -> list[str]:
    """Ich, du, er, wir, participle: of a strong verb without ich, or of a weak verb from its infinitive."""
    if len(forms) == 1:
        stem = forms[0].removesuffix("en")
        link = "e" if stem.endswith(("t", "d", "chn")) else ""  # du arbeit-e-st, du zeichn-e-st
        second = stem + ("t" if stem.endswith("z") else link + "st")
        forms = [second, stem + link + "t", forms[0], f"{prefix}ge{stem}{link}t"]
    return forms if len(forms) == 5 else [forms[2].removesuffix("n"), *forms]


def french_verb(forms: list[str]) -> list[str]:
    """Je, tu, il, nous, ils, participle, infinitive: of a verb without tu, or of a regular verb from its infinitive."""
    if len(forms) == 1:
        forms = [forms[0].removesuffix("er") + ending for ending in ("e", "e", "ons", "ent", "é")] + forms
    first = forms[0]
    return forms if len(forms) == 7 else [first, first if first.endswith(("s", "x")) else first + "s", *forms[1:]]
