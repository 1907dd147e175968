"""What a run has read: its files and how they are read decide whether it may be resumed, without reading them again.

A file is as it was if its size and time are; else its content is hashed, unpacked if it is packed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from typing_extensions import TypedDict  # pydantic needs it below Python 3.12

from regard.errors import CorpusError
from regard.text.corpus import fingerprint
from regard.text.lines import open_text
from regard.training.recipe import Corpus

BLOCK = 2**20  # bytes that are hashed at a time


class _File(TypedDict):
    size: int
    modified: int
    sha256: str
    content: str


class Reading(BaseModel):
    """What run.json keeps of the text."""

    fingerprints: dict[str, str]
    files: dict[str, str]
    text: dict[str, _File]
    reading: dict[str, str]
    facts: dict[str, Any]


def describe_reading(corpus: Corpus, before: dict[str, Any] | None = None) -> dict[str, Any]:
    """What run.json keeps of the text: its files, their content, and how they are read. before: what it has kept."""
    files = {role: _describe_file(path, before and before["text"].get(role)) for role, path in corpus.paths.items()}
    return {
        "fingerprints": {role: file["sha256"] for role, file in files.items()},
        "files": corpus.files,
        "text": files,
        "reading": corpus.reading,
        "facts": corpus.facts,
    }


Stamps = dict[Path, tuple[int, int, int]]


def stamp_files(corpus: Corpus) -> Stamps:
    """By what it shows whether a file was changed since: its number, size and time."""
    found = {path: path.stat() for path in corpus.paths.values() if path.exists()}
    return {path: (one.st_ino, one.st_size, one.st_mtime_ns) for path, one in found.items()}


def refuse_changed(corpus: Corpus, before: Stamps) -> None:
    """An error if a file is not the one that was there when it was first read."""
    now = stamp_files(corpus)
    changed = [path for path in before if now.get(path) != before[path]]
    if changed:
        raise CorpusError(f"{changed[0]} was changed while it was read, so what was read is of two texts; run the same "
                          f"command again once it is complete")  # fmt: skip


def _describe_file(path: Path, before: dict[str, Any] | None) -> dict[str, Any]:
    try:
        found = path.stat()
    except OSError as problem:
        raise CorpusError(f"{path} cannot be read: {problem.strerror}") from None
    stamp = {"size": found.st_size, "modified": found.st_mtime_ns}
    if before and stamp == {name: before[name] for name in stamp}:
        return before
    return stamp | {"sha256": fingerprint(path), "content": _hash_content(path)}


def _hash_content(path: Path) -> str:
    """SHA-256 of a file's text, unpacked."""
    found = hashlib.sha256()
    with open_text(path) as file:
        while block := file.read(BLOCK):
            found.update(block)
    return found.hexdigest()


def other_text(record: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """`what: old -> new` for all that is read otherwise."""
    return [*_other_files(record, now), *_other_options(record["reading"], now["reading"])]


def other_facts(record: dict[str, Any], corpus: Corpus) -> dict[str, Any]:
    """Settings that followed from the files when the run began, and would now be others, such as a language."""
    before, config = record["facts"], record["config"]
    return {
        name: value
        for name, value in corpus.facts.items()
        if value is not None and before.get(name) not in (None, value) and config.get(name) == before[name]
    }


def _other_files(record: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    before, after = ({role: file["content"] for role, file in one["text"].items()} for one in (record, now))
    old, new = record["files"], now["files"]
    if before != after and sorted(before) == sorted(after) and sorted(before.values()) == sorted(after.values()):
        yield f"order of the files: {', '.join(old.values())} -> {', '.join(new.values())}"
        return
    for role in {**before, **after}:
        if role not in before:
            yield f"{role}: none -> {new[role]}"
        elif role not in after:
            yield f"{role}: {old.get(role)} -> none"
        elif before[role] != after[role]:
            is_renamed = old.get(role) != new[role]
            yield f"{role}: {old.get(role)} -> {new[role]}" if is_renamed else f"{role}: {new[role]} was changed"


def _other_options(before: dict[str, str], after: dict[str, str]) -> Iterator[str]:
    for name in {**before, **after}:
        if before.get(name) != after.get(name):
            yield f"{name}: {before.get(name, 'not recorded')} -> {after.get(name, 'none')}"
