"""The families: what each is called and where its parts are, to be imported when they are first needed.

A package of its own can bring one more, by an entry point of the group `regard.families` that names its record.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from pkgutil import resolve_name
from typing import Any

from regard.errors import ConfigError

GROUP = "regard.families"
PLAIN = "regard.families.surface:PLAIN"
TRANSFORMER = ("layers", "width", "heads", "norm", "positions", "vocab_size")
MEMORY_NETWORK = ("width", "hops", "restarts", "vocab_size")
LABEL_ATTENTION = ("width", "buckets", "vocab_size")


@dataclass(frozen=True)
class Family:
    """One family. Its parts are named as module:object."""

    name: str
    pipeline: str  # a class that is opened from a folder: text in, text out
    recipe: str | None = None  # how it is trained; None where it is a part of another family's model
    surface: str | None = None  # its command, its route and its page; None: text in, text out
    help: str | None = None  # what its command does, in a line; None where it has no command
    demo: str | None = None  # what `regard demo` shows of it
    shape: tuple[str, ...] = TRANSFORMER  # settings of the network that are shown
    distill: str | None = None  # how one of it teaches another; None where that is not possible


def _ours(name: str, pipeline: str, help: str | None = None, **more: Any) -> Family:
    """One of ours: its parts are in its folder, and named after it."""
    here, upper = f"regard.families.{name}", name.upper()
    parts = f"{here}.pipeline:{pipeline}", f"{here}.recipe:{upper}", f"{here}.surface:{upper}"
    return Family(name, *parts, help, f"regard.cli.demo:show_{name}", **more)


_OURS = [
    _ours("translate", "Translator", "Translate a file or standard input, line by line.",
          distill="regard.families.translate.distill:distilling"),
    _ours("write", "Writer", "Generate text from a prompt."),
    _ours("fill", "Filler", "Predict the masked words of a text."),
    _ours("answer", "Answerer", "Answer a question about a story.",
          shape=MEMORY_NETWORK),
    _ours("classify", "Classifier", "Classify texts: a label for each line.", shape=LABEL_ATTENTION),
    Family("encode", "regard.families.encode.pipeline:Encoder", surface="regard.families.encode.surface:ENCODE"),
    Family("decode", "regard.families.encode.decoder:Decoder", surface="regard.families.encode.surface:DECODE"),
]  # fmt: skip
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
        from regard.config import nearest

        known = [one.name for one in all_families().values() if one.recipe]
        raise ConfigError(f"there is no task {name}{nearest(name, known)}")
    return resolve_name(family.recipe)


def find_surface(name: str) -> Any:
    """How the family of this name is used from outside; the plain way where it does not say."""
    family = find_family(name)
    return resolve_name(family.surface if family and family.surface else PLAIN)
