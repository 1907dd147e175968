"""`regard …`: each command turns words into calls of the library. Nothing heavy is imported before it is needed."""

import gc
import inspect
import os
import stat
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated

import typer

from regard import __version__
from regard.cli.family import CommandGroup
from regard.cli.output import print_data, print_status
from regard.errors import ConfigError
from regard.families import FAMILIES, all_families

app = typer.Typer(
    name="regard",
    cls=CommandGroup,
    help="Train a Transformer on your own text, run it on the machine you have, and see why it generated what it did.",
    epilog="\b\nExample:\n  regard demo\n  regard train translate train.en train.de --to models/en-de\n"
    '  regard translate models/en-de --text "The dog sleeps."',
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
DEMOS = [name for name, family in FAMILIES.items() if family.demo]  # of packages that are installed, more


def main() -> None:
    """The console script."""
    try:
        app()
    finally:
        gc.freeze()  # else the process ends by looking for cycles, which takes longer than to translate a line


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


def demo(
    task: Annotated[str | None, typer.Argument(help=f"Family: {', '.join(DEMOS)}; default: {DEMOS[0]}.")] = None,
    direction: Annotated[
        str | None, typer.Option(help="Translation: language pair of en, de and fr; default en-fr.")
    ] = None,
    to: Annotated[Path, typer.Option(help="Folder for the text and the model.")] = Path("models/demo"),
) -> None:
    """Train a small model on text that comes along, and show what it learned. It takes a few minutes.

    Example:
      regard demo translate --direction en-de
    """
    from regard.cli.demo import PAGE
    from regard.files import refuse_other_kind
    from regard.look.marks import refuse_file_of_others

    name = task or DEMOS[0]
    demos = {name: family.demo for name, family in all_families().items() if family.demo}
    if name not in demos:
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(demos)}")
    show = resolve_name(demos[name])
    if direction and "direction" not in inspect.signature(show).parameters:
        raise ConfigError(f"--direction {direction} is for translations; a demo of {name} has none, leave it out")
    refuse_other_kind(to, stat.S_IFDIR)  # before anything is learned
    refuse_file_of_others(to / PAGE)
    show(to, print_data, print_status, **({"direction": direction} if direction else {}))
