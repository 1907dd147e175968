"""The families: what each is called and where its parts are, to be imported when they are first needed.

A package of its own can bring one more, by an entry point of the group `regard.families` that names its record.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from regard.config import nearest
from regard.errors import ConfigError

GROUP = "regard.families"
TRANSFORMER = ("layers", "width", "heads", "norm", "positions", "vocab_size")
MEMORY_NETWORK = ("width", "hops", "restarts", "vocab_size")


@dataclass(frozen=True)
class Family:
    """One family. Its parts are named as module:object."""

    name: str
    pipeline: str  # a class that is opened from a folder: text in, text out
    recipe: str | None = None  # how it is trained; None where it is a part of another family's model
    shape: tuple[str, ...] = TRANSFORMER  # settings of the network that are shown


_OURS = [
    Family("translate", "regard.families.translate.pipeline:Translator", "regard.families.translate.recipe:TRANSLATE"),
    Family("write", "regard.families.write.pipeline:Writer", "regard.families.write.recipe:WRITE"),
    Family("fill", "regard.families.fill.pipeline:Filler", "regard.families.fill.recipe:FILL"),
    Family(
        "answer", "regard.families.answer.pipeline:Answerer", "regard.families.answer.recipe:ANSWER", MEMORY_NETWORK
    ),
    Family("encode", "regard.families.encode.pipeline:Encoder"),
    Family("decode", "regard.families.encode.decoder:Decoder"),
]
FAMILIES: dict[str, Family] = {family.name: family for family in _OURS}


@cache
def _installed() -> dict[str, Family]:
    found = [point.load() for point in entry_points(group=GROUP)]
    return {family.name: family for family in found if isinstance(family, Family)}


def all_families() -> dict[str, Family]:
    """Ours, and those of installed packages; none of them can take the place of one of ours."""
    return _installed() | FAMILIES


def find_family(name: str) -> Family | None:
    """The family of this name; other packages are asked only if it is none of ours."""
    return FAMILIES.get(name) or _installed().get(name)


def find_recipe(name: str) -> Any:
    """How the family of this name is trained."""
    family = find_family(name)
    if family is None or family.recipe is None:
        known = [one.name for one in all_families().values() if one.recipe]
        raise ConfigError(f"there is no task {name}{nearest(name, known)}")
    return import_part(family.recipe)


def import_part(where: str) -> Any:
    """The object at module:object."""
    module, _, name = where.partition(":")
    return getattr(import_module(module), name)
