"""Files that are written whole or not at all, and survive a crash right after; and files that are files, not pipes.

Folders that we made carry a mark, and only in those is anything removed. Knows nothing of what is in them.
"""

import errno
import hashlib
import json
import math
import os
import re
import secrets
import stat
from collections.abc import Callable, Collection
from contextlib import suppress
from io import BufferedReader
from pathlib import Path
from typing import Any

UNFINISHED = ".unfinished"  # suffix of a file that is being written
LEFT_OVER = re.compile(rf"\..+\.[0-9a-f]{{8}}{re.escape(UNFINISHED)}")
MARK = ".regard"  # a file in every folder that we made for ourselves; may list the names of what we write there
MOST_MARK_BYTES = 2**16
LARGE = 64 * 2**20  # bytes of a file that is checked for holes
KINDS = {
    stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
}


def open_regular(path: Path) -> BufferedReader:
    """A regular file, opened for reading; a pipe, device or socket is an OSError at once instead of an endless wait.

    Links are followed: the hub's own cache is made of them. What they lead to must be a regular file.
    """
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))
    kind = stat.S_IFMT(os.fstat(handle).st_mode)
    if kind != stat.S_IFREG or _is_hollow(handle):
        os.close(handle)
        what = KINDS.get(kind, "a special file") if kind != stat.S_IFREG else "mostly holes (a sparse file)"
        raise OSError(errno.EINVAL, f"it is {what}, and only regular files are read", str(path))
    return os.fdopen(handle, "rb")


def _is_hollow(handle: int) -> bool:
    """Whether a file is large and most of it is on no disk: one of a few bytes may take hours to read."""
    found = os.fstat(handle)
    blocks = getattr(found, "st_blocks", None)
    if found.st_size <= LARGE or blocks is None or 512 * blocks > found.st_size // 2 or not hasattr(os, "SEEK_HOLE"):
        return False
    data = end = 0
    try:  # by SEEK_HOLE: blocks alone mislead on a compressing file system
        while end < found.st_size and data <= found.st_size // 2:
            start = os.lseek(handle, end, os.SEEK_DATA)
            end = os.lseek(handle, start, os.SEEK_HOLE)
            data += end - start
    except OSError as problem:
        if problem.errno != errno.ENXIO:  # nothing but a hole up to the end
            return False
    finally:
        os.lseek(handle, 0, os.SEEK_SET)
    return data <= found.st_size // 2


def read_regular(path: Path, most: int) -> bytes:
    """The bytes of a regular file; one that has more than `most` of them is an OSError before any is read."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise OSError(errno.EFBIG, f"it has {size} bytes, and such a file has at most {most}", str(path))
        return file.read(size)


def parse_json(content: bytes | str) -> Any:
    """What a JSON file holds; a ValueError of one line where readers could differ about it.

    Refused are keys that come twice, numbers that are none or not finite, half characters, and what is nested without
    end.
    """

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            seen: set[str] = set()
            twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
            raise ValueError(f"the key {twice[:80]!r} is there twice")
        return found

    def finite(number: str) -> float:
        if not math.isfinite(float(number)):
            raise ValueError(f"the number {number[:20]} is too large")
        return float(number)

    def refuse(number: str) -> None:
        raise ValueError(f"{number} is not a number")

    try:
        found = json.loads(content, object_pairs_hook=once, parse_float=finite, parse_constant=refuse)
        if (b"\\u" if isinstance(content, bytes) else "\\u") in content:  # type: ignore[operator]
            json.dumps(found, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    except UnicodeEncodeError:
        raise ValueError("it has half a character (a lone surrogate)") from None
    return found


def write_whole(path: Path, content: bytes | str | Callable[[Path], None]) -> None:
    """Makes `path` hold this content; after a crash it holds either the old content or the new.

    A link of that name is replaced, never followed, and so is one that lies where the new content is written first.
    Content may also be a function that writes the file it is given.
    """
    unfinished = unfinished_name(path)
    try:
        handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)  # never what was there before
        with os.fdopen(handle, "wb") as file:
            if not callable(content):
                file.write(content.encode() if isinstance(content, str) else content)
        if callable(content):
            mode = unfinished.stat().st_mode  # what this user's files usually allow; some writers make theirs private
            content(unfinished)
            unfinished.chmod(mode)
        sync(unfinished)
        unfinished.replace(path)
    except BaseException as problem:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)  # on a full disk it would be in the way of making room
        if "I/O error" in str(problem):  # as writers in Rust say it
            raise OSError(errno.EIO, str(problem).rpartition("I/O error: ")[2], str(path)) from None
        if isinstance(problem, OSError):
            if problem.filename in {None, str(unfinished)} and not problem.filename2:  # a full disk is of no file
                problem.filename = str(path)
            problem.filename = problem.filename2 or problem.filename
        raise
    sync(path.parent)


def unfinished_name(path: Path) -> Path:
    """Where a file is written before it takes its place: a random name that cannot have been prepared."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}{UNFINISHED}")


def append_line(path: Path, line: str) -> None:
    """Adds a line to a regular file, made if it is not there; a link or a special file is an OSError."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
    refuse_other_kind(path, stat.S_IFREG)
    handle = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0), 0o666)
    with os.fdopen(handle, "wb") as file:
        file.write(line.encode(errors="backslashreplace") + b"\n")  # a name may have half characters


def refuse_other_kind(path: Path, kind: int) -> bool:
    """Whether something is there; if it is not of this kind (a link never is), that is an OSError."""
    try:
        found = stat.S_IFMT(path.lstat().st_mode)
    except FileNotFoundError:
        return False
    if found != kind:
        rule = "regular files" if kind == stat.S_IFREG else "folders"
        what = KINDS.get(found, "a special file" if found != stat.S_IFREG else "a file")
        raise OSError(errno.EINVAL, f"it is {what}, and only {rule} are written here: move it away", str(path))
    return True


def is_marked(folder: Path) -> bool:
    """Whether we made this folder for ourselves; what a link leads to is never ours."""
    with suppress(FileNotFoundError, NotADirectoryError):
        return stat.S_ISDIR(folder.lstat().st_mode) and stat.S_ISREG((folder / MARK).lstat().st_mode)
    return False


def make_own(folder: Path) -> None:
    """Makes a folder of our own, or takes one that is ours or empty; a link or a folder of others is an OSError."""
    if refuse_other_kind(folder, stat.S_IFDIR) and not is_marked(folder) and any(folder.iterdir()):
        raise OSError(errno.EEXIST, "it holds files that were not made here: move it away", str(folder))
    folder.mkdir(exist_ok=True)
    with suppress(FileExistsError):
        os.close(os.open(folder / MARK, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))


def begin_own(folder: Path, names: Collection[str]) -> None:
    """Makes an empty folder of our own for files of these names, which its mark lists.

    What a crash left in it is removed by the list of before; anything else in it is an OSError.
    """
    make_own(folder)
    refuse_others(folder, listed(folder))
    _remove(folder, listed(folder))
    write_whole(folder / MARK, "".join(f"{name}\n" for name in names))


def listed(folder: Path) -> list[str]:
    """The names in the mark of a folder."""
    lines = read_regular(folder / MARK, MOST_MARK_BYTES).decode(errors="replace").splitlines()
    return [line for line in lines if line != MARK and Path(line).name == line]


def refuse_others(folder: Path, names: Collection[str]) -> None:
    """Anything in a folder that is no file of these names, no mark and nothing left over is an OSError."""
    for path in sorted(folder.iterdir()):
        is_named = path.name in names or path.name == MARK or LEFT_OVER.fullmatch(path.name)
        if not is_named or stat.S_ISDIR(path.lstat().st_mode):
            raise OSError(errno.EEXIST, "it was not made by regard: move it away", str(path))


def remove_own(folder: Path, names: Collection[str]) -> None:
    """Removes a folder of our own and its files of these names, the mark last; with anything else in it, it stays."""
    _remove(folder, names)
    if [path.name for path in folder.iterdir()] == [MARK]:
        (folder / MARK).unlink()
    if not any(folder.iterdir()):
        folder.rmdir()


def _remove(folder: Path, names: Collection[str]) -> None:
    remove_left_over(folder)
    for name in names:
        path = folder / name
        if os.path.lexists(path) and not stat.S_ISDIR(path.lstat().st_mode):
            path.unlink()


def remove_left_over(folder: Path) -> None:
    """Removes files that were being written when a process was killed; only for the one process that writes there."""
    for path in folder.iterdir():
        if LEFT_OVER.fullmatch(path.name) and stat.S_ISREG(path.lstat().st_mode):
            path.unlink()


def locked(path: Path) -> int | None:
    """A handle on a file that is locked through it; None where another process holds it, or nothing can be locked."""
    try:
        import fcntl
    except ImportError:
        return None
    handle = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


def sync(path: Path) -> None:
    """Waits until a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def has_hash(path: Path, expected: object) -> bool:
    """Whether it is a regular file of this SHA-256, and no link."""
    with suppress(OSError):
        return not path.is_symlink() and hash_file(path) == expected
    return False


def hash_file(path: Path) -> str:
    """SHA-256 of a regular file's bytes."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
