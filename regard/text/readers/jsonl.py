"""Reads JSON Lines: one object a line, its texts under keys; of objects within it, `translation.de`."""

import json
from collections import Counter
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
        for number, entry in each_object(path, lines(), keys):
            yield number, [_text(path, number, entry, key) for key in keys]

    return Table(path, names, rows, word="keys")


class _Doubled(dict[str, Any]):
    """An object that has a key twice: of what is under it, only the last is here."""

    def __init__(self, members: list[tuple[str, Any]]) -> None:
        super().__init__(members)
        counts = Counter(key for key, _ in members)
        self.doubled = {key for key, count in counts.items() if count > 1}


def _as_object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    return found if len(found) == len(members) else _Doubled(members)


DECODER = json.JSONDecoder(object_pairs_hook=_as_object)


def each_object(path: Path, lines: Iterator[str], keys: Sequence[str] = ()) -> Iterator[tuple[int, dict[str, Any]]]:
    """Every object with its line; an error where one of these keys is there twice."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            entry = DECODER.decode(line)
        except (ValueError, RecursionError) as problem:
            remedy = f" (jq -c '.[]' {path.name} > {path.stem}.jsonl makes that of a list)" * line.startswith("[")
            rule = "a .jsonl file has one object per line"
            raise CorpusError(f"{path} line {number} is not JSON ({problem}); {rule}{remedy}") from None
        if not isinstance(entry, dict):
            raise CorpusError(f'{path} line {number} is not a JSON object as {{"de": …, "en": …}}; each line must be')
        for key in keys:
            if _is_doubled(entry, key):
                raise CorpusError(f"{path} line {number} has the key {key!r} twice, and an object has one text under a "
                                  f"key; make two lines of it, or remove one")  # fmt: skip
        yield number, entry


def _is_doubled(entry: dict[str, Any], key: str) -> bool:
    """Whether a key, or the object within that it is in, is there twice."""
    outer, _, inner = (key, "", "") if key in entry else key.partition(".")
    if isinstance(entry, _Doubled) and outer in entry.doubled:
        return True
    return bool(inner) and isinstance(entry.get(outer), dict) and _is_doubled(entry[outer], inner)


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
