"""Options of the command line that several commands share, and what their words mean. No torch."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from regard.errors import ConfigError

Model = Annotated[Path, typer.Argument(help="Folder of a trained model.", show_default=False)]
Columns = Annotated[
    str | None, typer.Option(help="Source and target column of a .tsv file, counted from 1; default: 1,2.")
]
Keys = Annotated[str | None, typer.Option(help="Source and target key of a .jsonl file, such as de,en.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, one object per line.")]
Engine = Annotated[
    Literal["torch", "ctranslate2"] | None,
    typer.Option(help="Inference engine; default: the fastest.", show_default=False),
]
Precision = Annotated[
    Literal["float32", "int8"] | None,
    typer.Option(help="Of the weights; int8 is smaller and slightly less accurate.", show_default=False),
]
Valid = Annotated[list[Path], typer.Option(help="Validation text; repeatable. Default: part of the text is held out.")]


def choose_pair(columns: str | None, keys: str | None) -> dict[str, Any]:
    """Which columns or keys of a file are source and target, where they are given."""
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


def refuse_together(**options: Any) -> None:
    """An error if more than one of these was given."""
    given = [f"--{name.replace('_', '-')}" if name != "file" else "a file" for name, value in options.items() if value]
    if len(given) > 1:
        raise ConfigError(f"{' and '.join(given)} cannot go together; give one of them")
