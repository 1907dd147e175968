"""Reads running text: whole files, each one document."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from regard.errors import CorpusError
from regard.text.corpus import HEAD, LONGEST_RUNNING, UTF16_MARKS, read_lines, read_whole
from regard.text.readers.documents import find_document
from regard.text.readers.packed import open_unpacked

SHARE = 20  # one part in this many is held out when no text to validate on is given


@dataclass(frozen=True)
class TextFiles:
    """Where running text is."""

    paths: tuple[Path, ...]
    skipped: tuple[tuple[Path, str], ...] = ()  # what is left out of the given folders, and why

    @classmethod
    def of(cls, files: str | Path | list[str | Path] | tuple[str | Path, ...]) -> TextFiles:
        """The same from names, one or several; of a folder, every file of text in it and below it, in order. Text
        with a NUL or a line in another encoding is text too: its reader names the line."""
        names = [files] if isinstance(files, str | Path) else list(files)
        if not names:
            raise CorpusError("no file of text was given; name at least one")
        paths: list[Path] = []
        skipped: list[tuple[Path, str]] = []
        for name in map(Path, names):
            found = sorted(_below(name)) if name.is_dir() else [name]
            reasons = {path: _why_not(path, name) if name.is_dir() else None for path in found}
            if all(reasons.values()):
                raise CorpusError(f"{name} is a folder without a file of text in it or below it; name another")
            paths += [path for path, reason in reasons.items() if not reason]
            skipped += [(path, reason) for path, reason in reasons.items() if reason]
        return cls(tuple(paths), tuple(skipped))


def _below(folder: Path) -> Iterator[Path]:
    """Every file in a folder and below it, and every link, which is not followed."""

    def refuse(problem: OSError) -> None:
        raise CorpusError(f"{problem.filename} cannot be read: {problem.strerror}")

    for place, folders, names in os.walk(folder, onerror=refuse):
        yield from (Path(place) / name for name in names)
        yield from (path for path in (Path(place) / name for name in folders) if path.is_symlink())


def _why_not(path: Path, folder: Path) -> str | None:
    """Why a file in a folder is left out, if it is: only what is surely not text that people write."""
    if any(part.startswith(".") for part in path.relative_to(folder).parts):
        return "hidden"
    if path.is_symlink() or not path.is_file():
        return "a link, pipe or device"
    try:
        with open_unpacked(path) as file:
            head = file.read(HEAD)
    except CorpusError as problem:
        return str(problem).removeprefix(f"{path} ")
    except (OSError, EOFError) as problem:
        return f"cannot be read: {getattr(problem, 'strerror', None) or problem}"
    return _why_no_text(path, head)


def _why_no_text(path: Path, head: bytes) -> str | None:
    if document := find_document(path, head):
        return document[0]
    if head.startswith(UTF16_MARKS):
        return None  # it is refused with the remedy when it is read
    if not head.strip() and len(head) < HEAD:
        return "empty"
    return "binary" if _is_binary(head) else None


def _is_binary(head: bytes) -> bool:
    """Whether the beginning of a file is full of control characters, as text with a damaged line is not."""
    controls = sum(byte < 9 or 13 < byte < 27 or 27 < byte < 32 for byte in head)
    is_utf8 = "\ufffd" not in head[:-4].decode("utf-8", errors="replace") and b"\0" not in head
    return not is_utf8 and controls > max(2, len(head) // 100)


def read_documents(files: TextFiles) -> list[str]:
    """The text of each file; files without any text are left out, unless all are."""
    texts = [read_whole(path) for path in files.paths]
    found = [text for text in texts if text.strip()]
    if not found:
        raise _nothing_in(files)
    return found


def verify_documents(files: TextFiles) -> None:
    """Reads all files and keeps none; raises what `read_documents` would."""
    lines = (line for path in files.paths for line in read_lines(path, keeps_ends=True, longest=LONGEST_RUNNING))
    if not sum(bool(line.strip()) for line in lines):
        raise _nothing_in(files)


def _nothing_in(files: TextFiles) -> CorpusError:
    return CorpusError(f"{', '.join(map(str, files.paths[:3]))}: there is no text in it; nothing to learn from")


def split_lines(text: str) -> list[str]:
    """The lines of a text with their ends, which are `\\n` and nothing else."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def hold_out_documents(texts: list[str], seed: int) -> tuple[list[str], list[str]]:
    """Splits off one part in twenty: whole documents if there are many, else the end of each one."""
    if len(texts) >= SHARE:
        order = list(range(len(texts)))
        random.Random(seed).shuffle(order)
        chosen = set(order[: len(texts) // SHARE])
        return [t for i, t in enumerate(texts) if i not in chosen], [t for i, t in enumerate(texts) if i in chosen]
    train, valid = [], []
    for text in texts:
        cut = len(text) - max(1, len(text) // SHARE)
        line_end = text.rfind("\n", len(text) // 2, cut)
        cut = line_end + 1 if line_end > 0 else cut
        train.append(text[:cut])
        valid.append(text[cut:])
    return [text for text in train if text], [text for text in valid if text]


@contextmanager
def named(paths: Iterable[Path]) -> Iterator[None]:
    """Errors about examples name the files they came from."""
    try:
        yield
    except CorpusError as problem:
        raise CorpusError(f"{', '.join(map(str, list(paths)[:3]))}: {problem}") from None
