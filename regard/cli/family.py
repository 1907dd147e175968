"""The commands: those that families declare (`regard NAME …`, `regard train NAME …`) and ours, imported when needed."""

import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from regard.cli.output import handle_errors, hint_at_typing, print_data, print_status, stream
from regard.errors import ConfigError
from regard.families import all_families, find_family, find_surface
from regard.load import load

# Commands that belong to no family: where each is, and its line in the list, which its own help begins with.
COMMANDS = {
    "demo": ("commands:demo", "Train a small model on text that comes along, and show what it learned."),
    "learn": ("learn:learn", "Learn how attention works: a course of experiments on models of your own."),
    "check": ("check:check", "Find problems in a corpus."),
    "train": ("train:train_app", "Train a model on your own text."),
    "plan": ("plan:plan_app", "Show what a training would take and may reach, without training."),
    "distill": ("distill:distill", "Train a small translator on the translations of a large one."),
    "evaluate": ("evaluate:evaluate", "Evaluate a model on held-out text: BLEU and chrF, perplexity, or accuracy."),
    "look": ("look:look", "Show a model's attention, and what each word and head contributes."),
    "embed": ("search:embed", "Make a vector of each line of text."),
    "search": ("search:search", "Search lines of text by meaning."),
    "info": ("info:info", "Show what a model is and how it was trained."),
    "serve": ("serve:serve_models", "Serve models over HTTP: a web page, and the APIs of LibreTranslate and OpenAI."),
    "import": ("convert:import_model", "Import a Hugging Face model: BERT, GPT-2, Llama, Marian (opus-mt) and others."),
    "export": ("convert:export_model", "Export a model for transformers or CTranslate2, or as a page that runs it."),
}


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
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", RuntimeWarning)
            opened = load(folder, engine=engine, precision=precision)
        for warning in caught:
            print_status(f"{str(warning.message)[:1].upper()}{str(warning.message)[1:]}")
        if (other := opened.info.task) != self.task:
            found = find_family(other)
            remedy = f"use regard {other}" if found and found.help else "use it from Python, with regard.load"
            raise ConfigError(f"{folder} is a model to {other}; {remedy}")
        return opened


class ListedGroup(TyperGroup):
    """Commands whose first sentences are listed whole."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The list of commands in a help text."""
        names = self.list_commands(ctx)
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.commands[name].get_short_help_str(limit=200)) for name in names])


class CommandGroup(ListedGroup):
    """The commands of all families and of this room, each imported when it is asked for; to list them imports none."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command, made from its family's surface if it has one; other packages are asked if it is none of ours."""
        if cmd_name in COMMANDS:
            found = resolve_name(f"regard.cli.{COMMANDS[cmd_name][0]}")
            return typer.main.get_command(found) if isinstance(found, typer.Typer) else make_command(cmd_name, found)
        family = find_family(cmd_name)
        if family is not None and family.help is not None:
            return make_command(cmd_name, handed_over(find_surface(cmd_name).command, out=Terminal(cmd_name)))
        self.list_commands(ctx)  # to suggest one of them
        return None

    def list_commands(self, ctx: Any) -> list[str]:
        """All of them, each with its line of help: how one comes to a model, how it is used, and the rest."""
        families = {family.name: family.help for family in all_families().values() if family.help is not None}
        ours = {name: line for name, (_, line) in COMMANDS.items()}
        first = {name: ours.pop(name) for name in ("demo", "check", "plan", "train", "distill")}
        lines = first | families | ours
        self.commands = {name: TyperCommand(name, help=line) for name, line in lines.items()}
        return list(self.commands)


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
