"""What a command prints: data on stdout, everything else on stderr, errors of ours as one line."""

import functools
import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import ParamSpec

import typer

from regard.errors import RegardError

P = ParamSpec("P")
STEERING = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069]")


def handle_errors(function: Callable[P, None]) -> Callable[P, None]:
    """Our errors become one line and exit code 1, Ctrl-C becomes 130; a traceback only with --debug."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show_notes(warnings.showwarning)
                warnings.simplefilter("default", RuntimeWarning)
                function(*args, **kwargs)
            sys.stdout.flush()
        except RegardError as problem:
            if os.environ.get("REGARD_DEBUG"):
                traceback.print_exc()
            print_status(f"Error: {problem}")
            raise typer.Exit(1) from None
        except BrokenPipeError:  # the reader of our output closed it
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except OSError as problem:
            if os.environ.get("REGARD_DEBUG"):
                traceback.print_exc()
            place = problem.filename2 or problem.filename or "a file"  # of a copy, the new one
            print_status(f"Error: {place} cannot be used: {problem.strerror or problem}")
            raise typer.Exit(1) from None
        except KeyboardInterrupt:
            print_status("Interrupted.")
            raise typer.Exit(130) from None

    return run


def _show_notes(show: Callable[..., None]) -> Callable[..., None]:
    """Our own warnings are notes, without the place in the code that they come from; others are shown as before."""

    def shown(message: Warning | str, category: type[Warning], *place: object, **more: object) -> None:
        if issubclass(category, RuntimeWarning):
            print_status(f"Note: {message}")
        else:
            show(message, category, *place, **more)

    return shown


def print_status(message: str) -> None:
    """A line for the person at the terminal; stdout is for data."""
    print(visible(message), file=sys.stderr, flush=True)  # noqa: T201


def print_data(line: str) -> None:
    """A line of data."""
    stream(line + "\n")


def stream(text: str) -> None:
    """A part of the data; into a file or a pipe just as it is."""
    sys.stdout.write(visible(text, "\n\t") if sys.stdout.isatty() else text)


def visible(text: str, kept: str = "") -> str:
    """Text that cannot steer a terminal: names of files and words of models may hold escape sequences, line ends and
    marks that turn the direction of writing. Those but the kept ones are shown as Python would write them.
    """
    return STEERING.sub(lambda found: found[0] if found[0] in kept else ascii(found[0])[1:-1], text)


def hint_at_typing(hint: str) -> None:
    """On a terminal, says what input is expected."""
    if sys.stdin.isatty():
        print_status(hint)
