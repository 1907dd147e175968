"""`regard import` and `regard export`: models of other people's, and for their programs."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from regard.cli.output import print_status


def import_model(
    source: Annotated[str, typer.Argument(help="A folder of Hugging Face's, or the name of a model on its hub.")],
    to: Annotated[Path, typer.Option(help="Folder for the model.", show_default=False)],
    part: Annotated[
        Literal["encoder", "generation-encoder", "decoder"] | None,
        typer.Option("--as", help="What a plain BERT is to become."),
    ] = None,
) -> None:
    """Take over a model that others trained: BERT, GPT-2, Llama, opus-mt."""
    from regard.convert import import_model

    about = import_model(source, to, part)
    for what, names in (("Dropped", about.get("dropped")), ("New, with fresh weights", about.get("new"))):
        if names:
            print_status(f"{what}: {', '.join(names)}")
    print_status(f"{source}, now a {about['foreign']}, is a model to {about['task']} in {to}")


def export_model(
    model: Annotated[Path, typer.Argument(help="Folder of a trained model.", show_default=False)],
    kind: Annotated[Literal["huggingface", "ctranslate2"], typer.Option("--as", help="For which program.")],
    to: Annotated[Path, typer.Option(help="A new folder.", show_default=False)],
) -> None:
    """Write a copy for another program, after it was tried there."""
    from regard.convert import export_model

    print_status(f"Wrote {to}: {export_model(model, kind, to)}")
