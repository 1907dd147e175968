"""Files that are written whole or not at all, and survive a crash right after. Knows nothing of what is in them."""

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

UNFINISHED = ".unfinished"  # suffix of a file that is being written; whoever finds one may delete it


def write_whole(path: Path, content: bytes | str | Callable[[Path], None]) -> None:
    """Makes `path` hold this content; after a crash it holds either the old content or the new.

    Content may also be a function that writes the file it is given.
    """
    unfinished = path.with_name(path.name + UNFINISHED)
    try:
        if callable(content):
            unfinished.touch()
            mode = unfinished.stat().st_mode  # what this user's files usually allow; some writers make theirs private
            content(unfinished)
            unfinished.chmod(mode)
        else:
            unfinished.write_bytes(content.encode() if isinstance(content, str) else content)
        sync(unfinished)
        unfinished.replace(path)
    except BaseException as problem:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)  # on a full disk it would be in the way of whoever makes room
        if "I/O error" in str(problem):  # as writers in Rust say it
            raise OSError(str(problem)) from None
        raise
    sync(path.parent)


def sync(path: Path) -> None:
    """Waits until a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def hash_file(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
