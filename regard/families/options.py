"""Options of the command line that several commands share, and what their words mean. No torch."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from regard.errors import ConfigError

Model = Annotated[Path, typer.Argument(help="Folder of a trained model.", show_default=False)]
Columns = Annotated[
    str | None,
    typer.Option(help="Columns of a table, by number from 1 or by name: source,target, or one of running text."),
]
Keys = Annotated[str | None, typer.Option(help="Keys of a .jsonl file or languages of a .tmx file, such as de,en.")]
Glob = Annotated[
    list[str], typer.Option(help="Of a folder, only files that match, such as '*.py'; repeatable.", show_default=False)
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, one object per line.")]
Engine = Annotated[
    Literal["torch", "ctranslate2"] | None,
    typer.Option(help="Inference engine; default: the fastest.", show_default=False),
]
Precision = Annotated[
    Literal["float32", "int8"] | None,
    typer.Option(help="Of the weights; int8 is smaller and slightly less accurate.", show_default=False),
]
Separator = Annotated[
    str | None, typer.Option(help="Classification: between the labels of a text that has several, such as ','.")
]
Valid = Annotated[list[Path], typer.Option(help="Validation text; repeatable. Default: part of the text is held out.")]


def choose_columns(columns: str | None, keys: str | None) -> dict[str, Any]:
    """Which columns or keys of a file are read, where they are given: `2,1`, `de,en` or `text`."""
    numbered = tuple(int(name) if name.isdigit() else name for name in split_names(columns)) if columns else None
    return {"columns": numbered, "keys": split_names(keys) if keys else None}


def split_names(text: str) -> tuple[str, ...]:
    """One or two names."""
    words = tuple(word.strip() for word in text.split(","))
    if len(words) > 2 or not all(words):
        raise typer.BadParameter(f"{text!r} is not one name, or two with a comma between them, as in de,en or 2,1")
    return words


def refuse_together(**options: Any) -> None:
    """An error if more than one of these was given."""
    given = [f"--{name.replace('_', '-')}" if name != "file" else "a file" for name, value in options.items() if value]
    if len(given) > 1:
        raise ConfigError(f"{' and '.join(given)} cannot go together; give one of them")
