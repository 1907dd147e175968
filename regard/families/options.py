"""Options of the command line that several commands share, and what their words mean. No torch."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from regard.errors import ConfigError

Model = Annotated[Path, typer.Argument(help="Folder of a trained model.", show_default=False)]
Columns = Annotated[
    str | None, typer.Option(help="Columns of a .tsv file: source,target, counted from 1; 1,2 if not given.")
]
Keys = Annotated[str | None, typer.Option(help="Keys of a .jsonl file: source,target.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object (per line) for machines.")]
Engine = Annotated[
    Literal["torch", "ctranslate2"] | None,
    typer.Option(help="What runs the model; else the fastest.", show_default=False),
]
Precision = Annotated[
    Literal["float32", "int8"] | None, typer.Option(help="int8 is smaller and a little less exact.", show_default=False)
]
Valid = Annotated[list[Path], typer.Option(help="Text to validate on; repeatable. Else some of the text is held out.")]


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
