"""Imports packages that only some formats need, and names what to install where one is missing."""

import importlib
from typing import Any

from regard.errors import CorpusError


def import_extra(module: str, extra: str, what: str) -> Any:
    """A module of an optional package; without it, an error that says what needs it and how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.split(".", maxsplit=1)[0]
        raise CorpusError(
            f"{what}, which {package} reads, and it is not installed: pip install 'regard[{extra}]'"
        ) from None
