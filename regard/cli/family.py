"""Commands that families declare: `regard NAME …` and `regard train NAME …`, made from their surfaces when needed."""

import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from regard.cli.output import handle_errors, hint_at_typing, print_data, print_status, stream
from regard.errors import ConfigError
from regard.families import all_families, find_family, find_surface


class Terminal:
    """What a family's command is handed: how to open a model of its family, and where to write."""

    data, status, hint = staticmethod(print_data), staticmethod(print_status), staticmethod(hint_at_typing)

    def __init__(self, task: str) -> None:
        self.task = task

    def stream(self, text: str) -> None:
        """A part of a line, shown at once."""
        stream(text)
        sys.stdout.flush()

    def open(self, folder: Path, engine: str | None = None, precision: str | None = None) -> Any:
        """The model in a folder, which must be of the command's family."""
        from regard.load import load

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", RuntimeWarning)
            opened = load(folder, engine=engine, precision=precision)
        for warning in caught:
            print_status(f"{str(warning.message)[:1].upper()}{str(warning.message)[1:]}")
        if (other := opened.about["task"]) != self.task:
            found = find_family(other)
            remedy = f"use regard {other}" if found and found.help else "use it from Python, with regard.load"
            raise ConfigError(f"{folder} is a model to {other}; {remedy}")
        return opened


class FamilyGroup(TyperGroup):
    """The commands of all families among others; to list them imports none of their surfaces."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command, made from its family's surface if it has one."""
        found = find_family(cmd_name)
        if found is None or found.help is None:
            return super().get_command(ctx, cmd_name)
        return make_command(cmd_name, handed_over(find_surface(cmd_name).command, out=Terminal(cmd_name)))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The list of commands in a help text."""
        limit = formatter.width - 6 - max(map(len, self.commands))
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.get_short_help_str(limit)) for name, one in self.commands.items()])


def list_families(app: typer.Typer) -> None:
    """Puts a name and a line of help for each family's command into a list of commands."""
    for family in all_families().values():
        if family.help is not None:
            app.command(family.name, help=family.help)(lambda: None)


def handed_over(function: Callable[..., Any], **handed: Any) -> Callable[..., Any]:
    """The function without the parameters that are handed to it here."""
    parameters = {name: one for name, one in inspect.signature(function).parameters.items() if name not in handed}
    return with_parameters(functools.partial(function, **handed), function, parameters)


def with_parameters(
    work: Callable[..., Any], like: Callable[..., Any], parameters: Mapping[str, inspect.Parameter]
) -> Callable[..., Any]:
    """A function that typer reads these parameters of, with the name and the help of another."""

    @functools.wraps(like)
    def command(**given: Any) -> Any:
        return work(**given)

    keywords = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters.values()]
    command.__signature__ = inspect.Signature(keywords)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in keywords}
    return command


def help_of(function: Callable[..., Any], more: str = "") -> dict[str, Any]:
    """The help of a command from its docstring, with `more`; its epilog is the example at the docstring's end."""
    text, _, example = (inspect.getdoc(function) or "").partition("\n\nExample:\n")
    text = f"{text}\n\n{more}" if more else text
    return {"help": text} | ({"epilog": f"\b\nExample:\n{example}"} if example else {})


def make_command(name: str, function: Callable[..., None], more: str = "") -> Any:
    """A command of this name for a group; more: a paragraph for its help."""
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    alone.command(name, **help_of(function, more))(handle_errors(function))
    return typer.main.get_command(alone)
