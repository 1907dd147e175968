"""Checks of a model's input texts, and what of them is unknown to its tokenizer. Imports no torch."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from regard.errors import ConfigError
from regard.text.readers.rows import Choice
from regard.text.running import TextFiles

SHOWN = 10  # unknown parts that are named


def a_text(value: object, what: str = "a text") -> str:
    """The value, if it is a text."""
    if isinstance(value, str):
        return value
    remedy = "; decode it first, as in value.decode()" if isinstance(value, bytes | bytearray) else ""
    raise ConfigError(f"{value!r:.60} is not {what}: a str is wanted, not {type(value).__name__}{remedy}")


def several_texts(values: object, what: str = "texts") -> list[str]:
    """The values as a list, if each is a text: not a single text, which would be taken for its letters."""
    if isinstance(values, str | bytes | bytearray) or not isinstance(values, Iterable):
        raise ConfigError(f"{values!r:.60} is not a list of {what}; put it into one: [...]")
    return [a_text(value, f"one of several {what}") for value in values]


def given_texts(files: Iterable[str | Path], wanted: Choice | str | None = None) -> TextFiles:
    """Files of text, and every one in folders and below them; what is left out there is named in a warning."""
    found = TextFiles.of(list(files), wanted)
    for path, reason in found.skipped:
        warnings.warn(f"{path} is left out: {reason}", RuntimeWarning, stacklevel=3)
    return found


def unknown_parts(tokenizer: Any, texts: Iterable[str]) -> list[str]:
    """The parts of these texts that have no token, each once, in order."""
    return list(dict.fromkeys(part for text in texts for part in tokenizer.unknown(text)))


def name_unknown(parts: list[str]) -> str:
    """A note on them."""
    more = f" and {len(parts) - SHOWN} more" if len(parts) > SHOWN else ""
    return f"never seen in training, and read as unknown: {', '.join(parts[:SHOWN])}{more}"
