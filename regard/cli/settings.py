"""Words of the command line to settings."""

import inspect
from pathlib import Path
from typing import Any

from regard.config import merge, parse_assignment, read_toml
from regard.errors import ConfigError


def collect(config: Path | None, assignments: list[str], **flags: Any) -> dict[str, Any]:
    """All settings given: a TOML file, above it each --set, above them the flags."""
    settings = read_toml(config) if config else {}
    for assignment in assignments:
        settings = merge(settings, parse_assignment(assignment))
    return merge(settings, _given(flags))


def _given(flags: dict[str, Any]) -> dict[str, Any]:
    """Only what is not None, all the way down."""
    nested = {name: _given(value) if isinstance(value, dict) else value for name, value in flags.items()}
    return {name: value for name, value in nested.items() if value is not None and value != {}}


def applying(opened: Any, method: Any, options: dict[str, Any]) -> dict[str, Any]:
    """The options that were given; one this kind of model has not is an error."""
    given = {name: value for name, value in options.items() if value is not None}
    for name in given.keys() - inspect.signature(method).parameters.keys():
        raise ConfigError(f"--{name.replace('_', '-')} is not for a model to {opened.info.task}; leave it out")
    return given
