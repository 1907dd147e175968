"""Measurements of this machine, cached per user outside every model's folder: numbers only, under a hash.

Nothing depends on it: where it cannot be read or written, things are measured again.
"""

import hashlib
import json
import os
import stat
from contextlib import suppress
from pathlib import Path

from regard.files import parse_json, read_regular, write_whole

Numbers = dict[str, list[int]]

PLACE = "REGARD_CACHE"  # the variable that names another place
MOST_BYTES = 10_000
MOST = 10**9  # a larger number is not one of ours


def recall(*about: str) -> Numbers | None:
    """What was cached under these keys, if anything."""
    with suppress(OSError, ValueError, RuntimeError):
        folder = _place()
        if not _is_ours(folder) or (folder / _name(about)).is_symlink():
            return None
        found = parse_json(read_regular(folder / _name(about), MOST_BYTES))
        if isinstance(found, dict) and all(_are_numbers(value) for value in found.values()):
            return found
    return None


def keep(numbers: Numbers, *about: str) -> None:
    """Caches numbers under these keys, of which only the hash is stored."""
    with suppress(OSError, RuntimeError):
        folder = _place()
        if not folder.is_symlink():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _is_ours(folder):
            write_whole(folder / _name(about), json.dumps(numbers) + "\n")


def _place() -> Path:
    if named := os.environ.get(PLACE):
        return Path(named)
    base = Path(os.environ.get("XDG_CACHE_HOME") or "")
    return (base if base.is_absolute() else Path.home() / ".cache") / "regard"


def _is_ours(folder: Path) -> bool:
    """Only this user can write there, and it is no link."""
    found = folder.lstat()
    is_mine = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
    return stat.S_ISDIR(found.st_mode) and is_mine and not found.st_mode & 0o022


def _name(about: tuple[str, ...]) -> str:
    return hashlib.sha256("\0".join(about).encode()).hexdigest() + ".json"


def _are_numbers(value: object) -> bool:
    return isinstance(value, list) and all(type(number) is int and 0 <= number <= MOST for number in value)
