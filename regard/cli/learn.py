"""`regard learn`: the course on attention, as a page to be opened in a browser."""

import sys
import webbrowser
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated

import typer

from regard.cli.output import print_data, print_status
from regard.course.models import PLACE, find_models, missing_models

FOLDER = Path("course")


def learn(
    models: Annotated[
        list[Path] | None,
        typer.Argument(help="Models of your own for its experiments; default: those of --prepare."),
    ] = None,
    to: Annotated[Path | None, typer.Option(help="Folder to write the course into; default: course.")] = None,
    prepare: Annotated[
        bool, typer.Option("--prepare", help="Train the small models of the course first; it takes some minutes.")
    ] = False,
) -> None:
    """Learn how attention works: a course of experiments on models of your own.

    It is written as a page that works offline.

    Example:
      regard learn --prepare
      regard learn models/en-fr --to course
    """
    if prepare:
        show_training = resolve_name("regard.cli.report:show_training")
        for family, folder, files, settings in missing_models(PLACE):
            print_status(f"$ regard train {family} {' '.join(map(str, files.values()))} --to {folder}")
            show_training(family, to=folder, settings=settings, **files)
    found = [*(models or []), *find_models(PLACE)]
    page = resolve_name("regard.course.page:write_course")(to or FOLDER, found)
    if not found:
        print_status("Some experiments need a model: train those of the course with regard learn --prepare")
    print_data(str(page))
    if to is None and sys.stdout.isatty():
        webbrowser.open(page.resolve().as_uri())
