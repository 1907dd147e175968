"""Reads JSON Lines: one object a line, its texts under keys; of objects within it, `translation.de`."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from regard.errors import CorpusError
from regard.text.readers.rows import Choice, Lines, Row, Table


def open_jsonl(path: Path, lines: Lines, wanted: Choice | None) -> Table:
    """Keys are those of the first object."""
    first: dict[str, Any] = next((entry for _, entry in each_object(path, lines())), {})
    if not first:
        raise CorpusError(f'{path} has no JSON object with texts in it, as {{"de": …, "en": …}}; each line must be one')
    names = [name for key, value in first.items() for name in _names(key, value)]

    def rows(places: Sequence[int]) -> Iterator[Row]:
        keys = [names[place] for place in places]
        for number, entry in each_object(path, lines()):
            yield number, [_text(path, number, entry, key) for key in keys]

    return Table(path, names, rows, word="keys")


def each_object(path: Path, lines: Iterator[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Every object with its line."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError) as problem:
            remedy = f" (jq -c '.[]' {path.name} > {path.stem}.jsonl makes that of a list)" * line.startswith("[")
            rule = "a .jsonl file has one object per line"
            raise CorpusError(f"{path} line {number} is not JSON ({problem}); {rule}{remedy}") from None
        if not isinstance(entry, dict):
            raise CorpusError(f'{path} line {number} is not a JSON object as {{"de": …, "en": …}}; each line must be')
        yield number, entry


def _names(key: str, value: Any) -> list[str]:
    return [f"{key}.{inner}" for inner in value] if isinstance(value, dict) else [key]


def text_under(entry: dict[str, Any], key: str) -> Any:
    """What is under a key, or under one of an object within; nothing where it is null; 0 where there is no such key."""
    if key not in entry and "." in key:
        outer, _, key = key.partition(".")
        entry = entry[outer] if isinstance(entry.get(outer), dict) else {}
    text = entry.get(key, 0)
    return "" if text is None else text


def _text(path: Path, number: int, entry: dict[str, Any], key: str) -> str:
    text = text_under(entry, key)
    if not isinstance(text, str):
        raise CorpusError(f"{path} line {number} has no text under the key {key!r}; it has {', '.join(entry)}")
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise CorpusError(f"{path} line {number} has an escape that is not text (NUL or half a character); fix it")
    return text
