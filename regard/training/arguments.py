"""Arguments of a training run, checked before anything is read: unknown names, options that would be ignored."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.config import RunConfig, Settings, merge, nearest, resolve, suggest
from regard.errors import ConfigError
from regard.training.recipe import Check, Recipe
from regard.training.settings import refuse_unused


@dataclass(frozen=True)
class Teacher:
    """A model whose output a student learns from."""

    about: dict[str, Any]  # for regard.json
    generate: Callable[[Path, Check], Iterator[Any]]  # writes what is missing of it into the folder of the run: events


@dataclass(frozen=True)
class Request:
    """The requested settings and files."""

    recipe: Recipe
    wanted: Settings  # what was set, and no more
    config: RunConfig  # the same with everything else as it is by default
    train_files: Any
    valid_files: Any
    teacher: Teacher | None = None


def check_request(recipe: Recipe, settings: Settings | None, files: dict[str, Any]) -> Request:
    """The request, validated."""
    wanted = merge(settings or {}, {"task": recipe.name})
    config = resolve(wanted, recipe.config)
    for name in ("device", "workers"):
        if wanted.get(name) in ("auto", None):
            wanted.pop(name, None)  # the same as unset: what an earlier session chose is kept
    refuse_unknown(recipe, files)
    refuse_unused(recipe, wanted)
    train_files, valid_files = recipe.gather(**files)
    if valid_files is not None and config.train.held_out:
        raise ConfigError(f"train.held_out={config.train.held_out} splits off text to validate on, and text to "
                          f"validate on was given; leave one of them out")  # fmt: skip
    return Request(recipe, wanted, config, train_files, valid_files)


def refuse_unknown(recipe: Recipe, files: dict[str, Any]) -> None:
    """An error for an argument that is none, with the one that was meant; and for one that is missing."""
    known = inspect.signature(recipe.gather).parameters
    for name in files.keys() - known.keys():
        hint = suggest(name, recipe.config)
        if hint.startswith("; did you mean ") and nearest(name, list(known)).startswith("; known"):
            section, _, key = hint.removeprefix("; did you mean ").removesuffix("?").rpartition(".")
            value = f'{{"{section}": {{"{key}": {files[name]!r}}}}}' if section else f'{{"{key}": {files[name]!r}}}'
            hint = f"; settings are given as settings={value}"
        else:
            hint = nearest(name, list(known))
        raise ConfigError(f"a training to {recipe.name} takes no argument {name}{hint}")
    missing = [name for name, one in known.items() if one.default is one.empty and name not in files]
    if missing:
        raise ConfigError(f"a training to {recipe.name} needs {' and '.join(missing)}: a file, or several")
