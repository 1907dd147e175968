"""`regard serve`: models behind HTTP, on one's own machine."""

import logging
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from regard.cli.output import print_status
from regard.errors import ConfigError
from regard.machine import stopped_by_signals
from regard.serve.limits import Limits


def serve_models(
    models: Annotated[list[Path], typer.Argument(help="Folders of trained models.", show_default=False)],
    host: Annotated[str, typer.Option(help="Address to bind to; other than loopback needs --api-key.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 picks a free one.")] = 8000,
    names: Annotated[
        list[str] | None,
        typer.Option("--name", help="A host name it answers to, such as the one behind a proxy; repeatable."),
    ] = None,
    api_key: Annotated[
        str | None, typer.Option(help="The key that clients must send as a bearer token.", envvar="REGARD_API_KEY")
    ] = None,
    without_key: Annotated[bool, typer.Option("--without-key", help="Serve other machines without a key.")] = False,
    share_weights: Annotated[
        bool, typer.Option("--share-weights", help="Send the models to the page, which runs them itself.")
    ] = False,
    queue: Annotated[int | None, typer.Option(min=1000, help="Most queued tokens; default 100000.")] = None,
    verbose: Annotated[
        bool, typer.Option("--log", help="Log each request as a line of JSON, without its text.")
    ] = False,
) -> None:
    """Serve models over HTTP: a web page, and the APIs of LibreTranslate and OpenAI.

    Example:
      regard serve models/en-de models/tales --port 8000
    """
    with stopped_by_signals(_end):  # nothing was begun, or all is done
        _serve(models, host, port, names or [], api_key, without_key, share_weights, queue, verbose)


GRACE = 5.0  # seconds for what is still computed, though its client is gone, to end by itself


def _end() -> None:
    """Ends the process while threads compute in native code, which must not see the interpreter go."""
    sys.stderr.flush()
    os._exit(0)


def _serve(
    models: list[Path], host: str, port: int, names: list[str], api_key: str | None, without_key: bool,
    share_weights: bool, queue: int | None, verbose: bool,
) -> None:  # fmt: skip
    try:
        from regard.serve.app import LOOPBACK, serve
        from regard.serve.registry import ModelRegistry
    except ModuleNotFoundError as problem:
        raise ConfigError(f"regard serve needs {problem.name}, which is not installed: "
                          f"pip install 'regard[serve]'") from None  # fmt: skip

    if host not in LOOPBACK and api_key is None and not without_key:
        raise ConfigError(f"--host {host} is reachable from other machines: give --api-key (or REGARD_API_KEY), or "
                          f"--without-key to serve without authentication")  # fmt: skip
    if api_key is not None and len(api_key) < 8:
        raise ConfigError("--api-key has fewer than 8 characters; take a longer one")
    if verbose:
        logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(message)s")
        logging.getLogger("regard.serve").setLevel(logging.INFO)
    limits = Limits() if queue is None else replace(Limits(), queued_tokens=queue)
    registry = ModelRegistry(models, limits, share_weights)
    shown = f"[{host}]" if ":" in host else host

    def ready(real: int) -> None:
        for model in registry.models.values():
            facts = list(map(str, model.surface.facts(model.opened).values()))
            print_status(f"{model.name}: {model.task}" + (f", {' to '.join(facts)}" if facts else ""))
        for name, why in registry.not_shared.items():
            print_status(f"Note: {name} is not sent to the page: {why}")
        print_status(f"http://{shown}:{real} (Ctrl-C stops)")

    serve(registry, host, port, names, api_key, ready)
    if not registry.is_ready or not registry.join(GRACE):
        _end()
