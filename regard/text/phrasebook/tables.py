"""How the word tables are read, and the regular endings that need not be written in them.

It knows cells and endings; it does not know what a cell means.
"""

Forms = tuple[str, ...]
Cells = list[list[str]]


def rows(table: str) -> list[Cells]:
    """Lines of cells of words; "-" stands for no word."""
    lines = table.strip().splitlines()
    return [[[word for word in cell.split() if word != "-"] for cell in line.split("|")] for line in lines]


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
