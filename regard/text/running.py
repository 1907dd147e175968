"""Reads running text: whole files, each one document."""

from __future__ import annotations

import os
import random
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from regard.errors import CorpusError
from regard.text.corpus import LONGEST_RUNNING, read_head, read_lines, read_whole

SHARE = 20  # one part in this many is held out when no text to validate on is given


@dataclass(frozen=True)
class TextFiles:
    """Where running text is."""

    paths: tuple[Path, ...]
    skipped: tuple[Path, ...] = ()  # files of the given folders that are hidden or not text

    @classmethod
    def of(cls, files: str | Path | list[str | Path] | tuple[str | Path, ...]) -> TextFiles:
        """The same from names, one or several; of a folder, every file of text in it and below it, in order."""
        names = [files] if isinstance(files, str | Path) else list(files)
        if not names:
            raise CorpusError("no file of text was given; name at least one")
        paths: list[Path] = []
        skipped: list[Path] = []
        for name in map(Path, names):
            found = sorted(_below(name)) if name.is_dir() else [name]
            chosen = {path for path in found if not name.is_dir() or _is_text(path, name)}
            if not chosen:
                raise CorpusError(f"{name} is a folder without a file of text in it or below it; name another")
            paths += [path for path in found if path in chosen]
            skipped += [path for path in found if path not in chosen]
        return cls(tuple(paths), tuple(skipped))


def _below(folder: Path) -> Iterator[Path]:
    """Every file in a folder and below it; links are not followed."""
    for place, _, names in os.walk(folder):
        yield from (Path(place) / name for name in names)


def _is_text(path: Path, folder: Path) -> bool:
    """Whether a file in a folder is one that people write: not hidden, no link, and its beginning is UTF-8 text."""
    if path.is_symlink() or not path.is_file() or any(part.startswith(".") for part in path.relative_to(folder).parts):
        return False
    try:
        head = read_head(path)
        head.decode("utf-8")
    except UnicodeDecodeError as problem:
        return problem.start >= len(head) - 4 and b"\0" not in head  # a letter that the end of the head cut
    except (OSError, EOFError, zlib.error, CorpusError):
        return False
    return bool(head.strip()) and b"\0" not in head


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
