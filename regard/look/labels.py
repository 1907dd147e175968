"""Labels of maps as a terminal shows them: on one line, nothing that it would obey, as wide as there is room."""

import re
import unicodedata


def readable(label: str) -> str:
    """A label on one line, with nothing a terminal would obey; the space before a word is shown by the gap."""
    text = re.sub("^ (?=[^ ])", "", label)
    shown = re.sub(" {2,}|^ | $", lambda run: f"␣×{len(run[0])}" if len(run[0]) > 1 else "␣", text) or "∅"
    shown = shown.replace("\r\n", "⏎").replace("\n", "⏎").replace("\t", "⇥")
    return "".join(
        "�" if unicodedata.category(letter)[0] == "C" or letter in "\u2028\u2029" else letter for letter in shown
    )


def width(label: str) -> int:
    """Columns a label takes on a terminal."""
    return sum(_width_of(letter) for letter in label)


def cut(label: str, most: int) -> str:
    """A label in at most so many columns, with an ellipsis where there was more."""
    if width(label) <= most:
        return label
    while label and width(label) > most - 1:
        label = label[:-1]
    return f"{label}…"


def pad(label: str, columns: int, *, is_right: bool = False) -> str:
    """A label with spaces after it, or before it, to so many columns."""
    spaces = " " * (columns - width(label))
    return spaces + label if is_right else label + spaces


def _width_of(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1
