"""`regard …`: each command turns words into calls of the library. Nothing heavy is imported before it is needed."""

import inspect
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from regard import __version__
from regard.cli.check import check
from regard.cli.convert import export_model, import_model
from regard.cli.family import FamilyGroup, help_of, list_families
from regard.cli.look import look
from regard.cli.output import handle_errors, print_data, print_status, visible
from regard.cli.serve import serve_models
from regard.cli.settings import applying
from regard.cli.train import train_app
from regard.errors import ConfigError, FolderError
from regard.families import all_families, import_part
from regard.families.options import Columns, Json, Keys, Model, choose_columns

app = typer.Typer(
    name="regard",
    cls=FamilyGroup,
    help="Train a Transformer on your own text, run it on the machine you have, and see why it generated what it did.",
    epilog="\b\nExample:\n  regard demo\n  regard train translate train.en train.de --to models/en-de\n"
    '  regard translate models/en-de --text "The dog sleeps."',
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
list_families(app)
app.add_typer(train_app, name="train")
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
    as_json: Json = False,
) -> None:
    """Evaluate a model on held-out text: BLEU and chrF, perplexity, or accuracy.

    Example:
      regard evaluate models/en-de test.en test.de --against models/en-de-small
    """
    from regard.load import load

    if reverse and not gold:
        raise ConfigError("--reverse is to align with; give the links to compare with too, by --gold")
    options = {
        "against": against, "tokenize": tokenize, "beam": beam, "stride": stride, "gold": gold, "reverse": reverse,
        **choose_columns(columns, keys),
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


def info(model: Model, as_json: Json = False) -> None:
    """Show what a model is and how it was trained.

    Example:
      regard info models/en-de --json
    """
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


def demo(
    task: Annotated[
        str | None, typer.Argument(help=f"Family: {', '.join(DEMOS)}; default: {next(iter(DEMOS))}.")
    ] = None,
    direction: Annotated[
        str | None, typer.Option(help="Translation: language pair of en, de and fr; default en-fr.")
    ] = None,
    to: Annotated[Path, typer.Option(help="Folder for the text and the model.")] = Path("models/demo"),
) -> None:
    """Train a small model in a few minutes on text that comes along, and show what it learned.

    Example:
      regard demo translate --direction en-de
    """
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


COMMANDS: dict[str, Callable[..., None]] = {
    "import": import_model, "export": export_model, "check": check, "look": look, "serve": serve_models,
    "evaluate": evaluate, "info": info, "demo": demo,
}  # fmt: skip
for _name, _command in COMMANDS.items():
    app.command(_name, **help_of(_command))(handle_errors(_command))
