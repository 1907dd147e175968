"""Every key of another program's JSON file is used, known to change nothing, or refused by name; none is ignored.

A table per file and architecture; defaults are those of `transformers`. Imports no torch.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from regard.errors import FolderError


@dataclass(frozen=True)
class Keys:
    """The keys of one file, as `transformers` reads it for one architecture."""

    file: str
    reader: str  # the class of transformers that reads it
    used: Mapping[str, Any]  # key -> the value where it is absent
    only: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)  # key -> values that change nothing here
    idle: frozenset[str] = frozenset()  # known to change nothing, whatever the value
    names: Mapping[str, str] = field(default_factory=dict)  # other names of used keys


def words(text: str) -> frozenset[str]:
    """The words of a text, for a list of keys."""
    return frozenset(text.split())


def take(content: Mapping[str, Any], keys: Keys) -> dict[str, Any]:
    """The used keys with their values, defaults where they are absent; what cannot be honoured is refused by name."""
    found = dict(keys.used)
    unknown = []
    for given, value in sorted(content.items(), key=lambda item: item[0] in keys.names):  # another name counts more
        name = keys.names.get(given, given)
        if name in keys.used:
            found[name] = _checked(keys, given, value, keys.used[name])
        elif name in keys.only:
            refuse_others(keys.file, {given: value}, **{given: keys.only[name]})
        elif name not in keys.idle and not name.startswith("_"):
            unknown.append(given)
    _refuse_read_elsewhere(content, keys, unknown)
    return found


def refuse_others(file: str, content: Mapping[str, Any], **known: tuple[Any, ...]) -> None:
    """Refuses keys whose value is none of those that are supported."""
    for name, values in known.items():
        if not any(content[name] == value and isinstance(content[name], bool) == isinstance(value, bool)
                   for value in values):  # fmt: skip
            supported = " or ".join(repr(value) for value in values if value is not None) or "its absence"
            raise FolderError(f"{file} has {name}={content[name]!r:.80}, and only {supported} is supported")


def _checked(keys: Keys, name: str, value: Any, default: Any) -> Any:
    """The value, which must be of the kind of its default; null is allowed only where the default is None."""
    kinds: dict[type, tuple[tuple[type, ...], str]] = {
        bool: ((bool,), "true or false"), int: ((int,), "a whole number"), float: ((int, float), "a number"),
        str: ((str,), "a word"), dict: ((dict,), "an object"),
    }  # fmt: skip
    if type(default) not in kinds:
        return value
    wanted, what = kinds[type(default)]
    if not isinstance(value, wanted) or (isinstance(value, bool) and bool not in wanted):
        raise FolderError(f"{keys.file} has {name}={value!r:.80}, which is not {what}")
    return value


def _refuse_read_elsewhere(content: Mapping[str, Any], keys: Keys, unknown: list[str]) -> None:
    """Keys that are on no list: `transformers`, where it is installed, may know one that came after this table."""
    if not unknown:
        return
    defaults = _defaults_there(keys.reader)
    for name in unknown:
        if name in defaults and content[name] != defaults[name]:
            raise FolderError(f"{keys.file} has {name}={content[name]!r:.80}, which {keys.reader} of transformers "
                              f"reads (its default is {defaults[name]!r:.80}) and regard does not know")  # fmt: skip
    warnings.warn(f"{keys.file} has keys that regard does not know and ignores: {', '.join(sorted(unknown)[:10])}",
                  RuntimeWarning, stacklevel=2)  # fmt: skip


def _defaults_there(reader: str) -> dict[str, Any]:
    """Every key a class of transformers has, with its default; nothing where transformers is not installed."""
    if find_spec("transformers") is None:
        return {}
    import transformers

    return dict(vars(getattr(transformers, reader)())) if hasattr(transformers, reader) else {}
