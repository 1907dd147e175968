"""What a run has read: the examples themselves decide whether a run may be resumed, the options say what differs.

Knows no family: examples are whatever the family read, as JSON.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from regard.training.recipe import Corpus

CHUNK = 1000  # examples that are hashed at a time


def describe_reading(corpus: Corpus) -> dict[str, Any]:
    """What run.json keeps of the text: its files, how they were read, and the hash of what came of it."""
    return {
        "fingerprints": corpus.fingerprints,
        "files": corpus.files,
        "reading": corpus.reading,
        "facts": corpus.facts,
        "examples": {"train": hash_examples(corpus.train), "valid": hash_examples(corpus.valid)},
    }


def hash_examples(examples: list[Any]) -> str:
    """SHA-256 of the examples in their order."""
    found = hashlib.sha256()
    for start in range(0, len(examples), CHUNK):
        found.update(json.dumps(examples[start : start + CHUNK], default=asdict).encode())
    return found.hexdigest()


def other_text(record: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """`what: old -> new` for all that is read otherwise; nothing if all examples are the same."""
    if record["examples"] == now["examples"]:
        return []
    changed = [*_other_files(record, now), *_other_options(record["reading"], now["reading"])]
    return changed or ["it is read otherwise, by another version of regard or with options that were not recorded"]


def other_facts(record: dict[str, Any], corpus: Corpus) -> dict[str, Any]:
    """Settings that followed from the files when the run began, and would now be others, such as a language."""
    before, config = record["facts"], record["config"]
    return {
        name: value
        for name, value in corpus.facts.items()
        if value is not None and before.get(name) not in {None, value} and config.get(name) == before[name]
    }


def _other_files(record: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    before, after = record["fingerprints"], now["fingerprints"]
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
