"""Words of the command line to settings."""

import inspect
from pathlib import Path
from typing import Annotated, Any

import typer

Model = Annotated[Path, typer.Argument(help="Folder of a trained model.", show_default=False)]
Columns = Annotated[
    str | None, typer.Option(help="Columns of a .tsv file: source,target, counted from 1; 1,2 if not given.")
]
Keys = Annotated[str | None, typer.Option(help="Keys of a .jsonl file: source,target.")]


def collect(config: Path | None, assignments: list[str], **flags: Any) -> dict[str, Any]:
    """All settings somebody gave: a TOML file, above it each --set, above them the flags."""
    from regard.config import merge, parse_assignment, read_toml

    settings = read_toml(config) if config else {}
    for assignment in assignments:
        settings = merge(settings, parse_assignment(assignment))
    return merge(settings, _given(flags))


def choose_pair(columns: str | None, keys: str | None) -> dict[str, Any]:
    """Which columns or keys of a file are source and target, as far as somebody said."""
    return {"columns": pair_of_numbers(columns) if columns else None, "keys": pair_of_words(keys) if keys else None}


def pair_of_words(text: str) -> tuple[str, str]:
    """`de,en` as a pair."""
    words = [word.strip() for word in text.split(",")]
    if len(words) != 2 or not all(words):
        raise typer.BadParameter(f"{text!r} is not two names with a comma between them, as in de,en")
    return words[0], words[1]


def pair_of_numbers(text: str) -> tuple[int, int]:
    """`2,1` as a pair."""
    first, second = pair_of_words(text)
    if not (first.isdigit() and second.isdigit()):
        raise typer.BadParameter(f"{text!r} is not two numbers with a comma between them, as in 2,1")
    return int(first), int(second)


def _given(flags: dict[str, Any]) -> dict[str, Any]:
    """Only what is not None, all the way down."""
    nested = {name: _given(value) if isinstance(value, dict) else value for name, value in flags.items()}
    return {name: value for name, value in nested.items() if value is not None and value != {}}


def applying(opened: Any, method: Any, options: dict[str, Any]) -> dict[str, Any]:
    """The options that were given; one this kind of model has not is an error."""
    from regard.errors import ConfigError

    given = {name: value for name, value in options.items() if value is not None}
    for name in given.keys() - inspect.signature(method).parameters.keys():
        raise ConfigError(f"--{name.replace('_', '-')} is not for a model to {opened.about['task']}; leave it out")
    return given


def refuse_together(**options: Any) -> None:
    """An error if more than one of these was given."""
    from regard.errors import ConfigError

    given = [f"--{name.replace('_', '-')}" if name != "file" else "a file" for name, value in options.items() if value]
    if len(given) > 1:
        raise ConfigError(f"{' and '.join(given)} cannot go together; give one of them")
