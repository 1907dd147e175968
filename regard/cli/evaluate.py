"""`regard evaluate`: a model's scores on held-out text."""

import inspect
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from regard.cli.output import print_data
from regard.cli.settings import applying
from regard.errors import ConfigError
from regard.families.options import Columns, Json, Keys, Model, Separator, choose_columns
from regard.load import load
from regard.text.classes import draw_confusion


def evaluate(
    model: Model,
    files: Annotated[list[Path], typer.Argument(help="Held-out text, in the format of the training text.")],
    against: Annotated[
        Path | None, typer.Option(help="Another model to compare with, by a paired bootstrap test.")
    ] = None,
    tokenize: Annotated[
        str | None, typer.Option(help="sacrebleu's tokenizer: 13a (default), none, intl, zh, …")
    ] = None,
    columns: Columns = None,
    keys: Keys = None,
    beam: Annotated[int | None, typer.Option(min=1, help="Translation: beam width; default 4.")] = None,
    stride: Annotated[
        int | None, typer.Option(help="Text generation: tokens that the context window moves by.")
    ] = None,
    gold: Annotated[
        Path | None, typer.Option(help="Translation: gold word alignments (0-0 1-2), to report the AER.")
    ] = None,
    reverse: Annotated[
        Path | None, typer.Option(help="Translation: a model of the reverse direction, to symmetrize.")
    ] = None,
    separator: Separator = None,
    as_json: Json = False,
) -> None:
    """Evaluate a model on held-out text: BLEU and chrF, perplexity, or accuracy.

    Example:
      regard evaluate models/en-de test.en test.de --against models/en-de-small
    """
    if reverse and not gold:
        raise ConfigError("--reverse is to align with; give the links to compare with too, by --gold")
    options = {
        "against": against, "tokenize": tokenize, "beam": beam, "stride": stride, "gold": gold, "reverse": reverse,
        "separator": separator,
        **choose_columns(columns, keys),
    }  # fmt: skip
    opened = load(model)
    if not hasattr(opened, "evaluate"):
        raise ConfigError(f"{model} is a model to {opened.info.task}, which has no score here")
    chosen = applying(opened, opened.evaluate, options)
    chosen |= {name: load(chosen[name]) for name in ("against", "reverse") if name in chosen}
    report = opened.evaluate(*_fitting(opened.evaluate, files), **chosen)
    if as_json:
        print_data(json.dumps(report))
        return
    tables = [report.pop(name) for name in [*report] if isinstance(report[name], dict)]
    width = max(map(len, report)) + 2
    for name, value in report.items():
        print_data(f"{name:{width}}{value:.4f}" if isinstance(value, float) else f"{name:{width}}{value}")
    for table in tables:
        print_data(f"\n{draw_confusion(table)}")


def _fitting(method: Any, files: list[Path]) -> list[Path]:
    """The files, if the model takes that many."""
    places = [p.kind for p in inspect.signature(method).parameters.values()]
    most = len(files) if inspect.Parameter.VAR_POSITIONAL in places else places.count(
        inspect.Parameter.POSITIONAL_OR_KEYWORD
    )  # fmt: skip
    if len(files) > most:
        raise typer.BadParameter(f"{len(files)} files were given, and this model is scored on at most {most}")
    return files
