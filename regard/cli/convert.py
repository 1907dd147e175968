"""`regard import` and `regard export`: models from and for other programs."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from regard.cli.output import print_status


def import_model(
    source: Annotated[str, typer.Argument(help="A local Hugging Face folder, or the name of a model on the hub.")],
    to: Annotated[Path, typer.Option(help="Folder for the model.", show_default=False)],
    part: Annotated[
        Literal["encoder", "generation-encoder", "decoder"] | None,
        typer.Option("--as", help="Import a plain BERT as this part of a model."),
    ] = None,
) -> None:
    """Import a Hugging Face model: BERT, GPT-2, Llama, Marian (opus-mt) and others.

    Example:
      regard import Helsinki-NLP/opus-mt-en-de --to models/opus-en-de
    """
    from regard.convert import import_model

    info = import_model(source, to, part)
    for what, names in (("Dropped", info.dropped), ("New, with fresh weights", info.new)):
        if names:
            print_status(f"{what}: {', '.join(names)}")
    print_status(f"{source}, now a {info.foreign}, is a model to {info.task} in {to}")


def export_model(
    model: Annotated[Path, typer.Argument(help="Folder of a trained model.", show_default=False)],
    kind: Annotated[Literal["huggingface", "ctranslate2", "page"], typer.Option("--as", help="Format.")],
    to: Annotated[Path, typer.Option(help="New folder for the copy; of a page, its file.", show_default=False)],
    precision: Annotated[
        Literal["float32", "float16", "int8"] | None, typer.Option(help="Weights of a page; default float16.")
    ] = None,
) -> None:
    """Export a model for transformers or CTranslate2, or as a page that runs it.

    A copy for another program is tested there before it is kept.

    Example:
      regard export models/en-de --as huggingface --to exported/en-de
      regard export models/en-de --as page --to en-de.html
    """
    from regard.convert import export_model

    print_status(f"Wrote {to}: {export_model(model, kind, to, precision)}")
