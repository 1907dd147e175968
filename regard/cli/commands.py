"""`regard …`: each command turns words into calls of the library. Nothing heavy is imported before it is needed."""

import inspect
import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from regard import __version__
from regard.cli.check import check
from regard.cli.convert import export_model, import_model
from regard.cli.family import FamilyGroup, list_families
from regard.cli.look import look
from regard.cli.output import handle_errors, print_data, print_status, visible
from regard.cli.serve import serve_models
from regard.cli.settings import applying
from regard.cli.train import train_app
from regard.errors import ConfigError, FolderError
from regard.families import all_families, import_part
from regard.families.options import Columns, Json, Keys, Model, choose_pair

app = typer.Typer(
    name="regard",
    cls=FamilyGroup,
    help="Train a Transformer on your own text, run it on the machine you have, and see why it generated what it did.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
list_families(app)
app.add_typer(train_app, name="train")
app.command("import")(handle_errors(import_model))
app.command("export")(handle_errors(export_model))
app.command()(handle_errors(check))
app.command()(handle_errors(look))
app.command("serve")(handle_errors(serve_models))


DEMOS = {name: family.demo for name, family in all_families().items() if family.demo}


def main() -> None:
    """The console script."""
    app()


def _show_version(wanted: bool) -> None:
    if wanted:
        print_data(f"regard {__version__}")
        raise typer.Exit


def _set_debug(wanted: bool) -> None:
    if wanted:
        os.environ["REGARD_DEBUG"] = "1"


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", callback=_set_debug, is_eager=True, help="Show tracebacks.")
    ] = False,
) -> None:
    pass


@app.command()
@handle_errors
def evaluate(
    model: Model,
    files: Annotated[list[Path], typer.Argument(help="Held-out text, in the form of the training's.")],
    against: Annotated[Path | None, typer.Option(help="Another model: is the difference more than chance?")] = None,
    tokenize: Annotated[
        str | None, typer.Option(help="sacrebleu's tokenizer: 13a (default), none, intl, zh, …")
    ] = None,
    columns: Columns = None,
    keys: Keys = None,
    beam: Annotated[int | None, typer.Option(min=1, help="Of a translator; 4 if not given.")] = None,
    stride: Annotated[int | None, typer.Option(help="Of a writer: tokens its window moves on by.")] = None,
    gold: Annotated[Path | None, typer.Option(help="Of a translator: a file of links, as in 0-0 1-2.")] = None,
    reverse: Annotated[Path | None, typer.Option(help="A translator the other way round, to align with.")] = None,
    as_json: Json = False,
) -> None:
    """Score a model on held-out text: translate BLEU and chrF, write perplexity, fill and answer accuracy."""
    from regard.load import load

    if reverse and not gold:
        raise ConfigError("--reverse is to align with; give the links to compare with too, by --gold")
    options = {
        "against": against, "tokenize": tokenize, "beam": beam, "stride": stride, "gold": gold, "reverse": reverse,
        **choose_pair(columns, keys),
    }  # fmt: skip
    opened = load(model)
    if not hasattr(opened, "evaluate"):
        raise ConfigError(f"{model} is a model to {opened.about['task']}, which has no score here")
    chosen = applying(opened, opened.evaluate, options)
    chosen |= {name: load(chosen[name]) for name in ("against", "reverse") if name in chosen}
    report = opened.evaluate(*_fitting(opened.evaluate, files), **chosen)
    if as_json:
        print_data(json.dumps(report))
        return
    width = max(map(len, report)) + 2
    for name, value in report.items():
        print_data(f"{name:{width}}{value:.4f}" if isinstance(value, float) else f"{name:{width}}{value}")


@app.command()
@handle_errors
def info(model: Model, as_json: Json = False) -> None:
    """Show what a model is and how it was trained."""
    from regard.folder import ABOUT, ModelFolder

    folder = ModelFolder(model)
    if as_json:
        print_data(json.dumps(folder.about))
        return
    from regard.cli.report import describe

    parameters = folder.about.get("parameters")
    if not isinstance(parameters, int):  # of a folder from elsewhere, or of an earlier version
        from regard.load import load
        from regard.model.size import count_parameters

        parameters = count_parameters(load(model, engine="torch").model)
    size = sum(path.stat().st_size for path in folder.weights())
    try:
        print_data(visible(describe(folder.about, parameters, size), "\n"))
    except (TypeError, ValueError, KeyError, AttributeError) as problem:
        raise FolderError(f"{model / ABOUT} is not what regard writes there ({problem!r:.100}); it was changed "
                          f"or damaged, copy or train it again") from None  # fmt: skip


@app.command()
@handle_errors
def demo(
    task: Annotated[str | None, typer.Argument(help=f"What to learn: {', '.join(DEMOS)}.")] = None,
    direction: Annotated[
        str | None, typer.Option(help="Of translate: from which language to which: en, de, fr; en-fr if not given.")
    ] = None,
    to: Annotated[Path, typer.Option(help="Folder for the text and the model.")] = Path("models/demo"),
) -> None:
    """Train on text that is at hand in a few minutes and show what was learned."""
    from regard.cli.demo import PAGE
    from regard.look.export import refuse_file_of_others

    name = task or next(iter(DEMOS))
    if name not in DEMOS:
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(DEMOS)}")
    show = import_part(DEMOS[name])
    if direction and "direction" not in inspect.signature(show).parameters:
        raise ConfigError(f"--direction {direction} is for translations; a demo of {name} has none, leave it out")
    refuse_file_of_others(to / PAGE)  # before anything is learned
    show(to, print_data, print_status, **({"direction": direction} if direction else {}))


def _fitting(method: Any, files: list[Path]) -> list[Path]:
    """The files, if the model takes that many."""
    places = [p.kind for p in inspect.signature(method).parameters.values()]
    most = len(files) if inspect.Parameter.VAR_POSITIONAL in places else places.count(
        inspect.Parameter.POSITIONAL_OR_KEYWORD
    )  # fmt: skip
    if len(files) > most:
        raise typer.BadParameter(f"{len(files)} files were given, and this model is scored on at most {most}")
    return files
