"""Reads running text: whole files, each one document, or files of rows with a document in each."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from regard.errors import ConfigError, CorpusError
from regard.text.corpus import HEAD, LONGEST_RUNNING, UTF16_MARKS, open_rows, read_lines, read_whole
from regard.text.readers import find_kind
from regard.text.readers.documents import find_document
from regard.text.readers.folders import files_below, find_shards, is_dataset, nothing_matches, refuse_splits
from regard.text.readers.packed import open_unpacked, without_packing
from regard.text.readers.rows import Choice

SHARE = 20  # one part in this many is held out when no text to validate on is given


@dataclass(frozen=True)
class TextFiles:
    """Where running text is: files that are one document each, or files of rows with a document in each."""

    paths: tuple[Path, ...]
    skipped: tuple[tuple[Path, str], ...] = ()  # what is left out of the given folders, and why
    tables: frozenset[Path] = frozenset()  # those of the files that are read by rows
    wanted: Choice | None = None  # the column or key of these
    glob: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, files: str | Path | Sequence[str | Path], wanted: Choice | str | None = None, glob: Sequence[str] = ()
    ) -> TextFiles:
        """The same from names, one or several; of a folder, every file of text in it and below it, in order, or those
        that match. Text with a NUL or a line in another encoding is text too: its reader names the line."""
        names = [files] if isinstance(files, str | Path) else list(files)
        wanted = (wanted,) if isinstance(wanted, str) else wanted
        if not names:
            raise CorpusError("no file of text was given; name at least one")
        if glob and not any(Path(name).is_dir() for name in names):
            raise ConfigError(f"--glob {glob[0]} chooses files of a folder, and none was given; leave it out")
        paths: list[Path] = []
        skipped: list[tuple[Path, str]] = []
        for name in map(Path, names):
            reasons = _below(name, glob) if name.is_dir() else {name: None}
            if all(reasons.values()):
                raise CorpusError(f"{name} is a folder without a file of text in it or below it; name another")
            paths += [path for path, reason in reasons.items() if not reason]
            skipped += [(path, reason) for path, reason in reasons.items() if reason]
        named = {path for path in paths if glob or path in map(Path, names) or path.suffix in (".parquet", ".arrow")}
        tables = frozenset(path for path in named if find_kind(path) and without_packing(path).suffix != ".json")
        return cls(tuple(paths), tuple(skipped), tables, wanted, tuple(glob))

    @property
    def reading(self) -> dict[str, str]:
        """How the files were chosen and read, where that was asked for."""
        found = {"columns": ",".join(map(str, self.wanted or ())), "glob": " ".join(self.glob)}
        return {name: value for name, value in found.items() if value}

    def documents(self) -> Iterator[str]:
        """Their texts, one after another."""
        for path in self.paths:
            if path in self.tables:
                yield from (text for _, text in self.rows(path))
            else:
                yield read_whole(path)

    def lines(self) -> Iterator[str]:
        """All lines of their texts."""
        for path in self.paths:
            if path in self.tables:
                yield from (line for _, text in self.rows(path) for line in text.split("\n"))
            else:
                yield from read_lines(path, longest=LONGEST_RUNNING)

    def rows(self, path: Path) -> Iterator[tuple[int, str]]:
        """The line and the text of every row of a file of rows."""
        table = open_rows(path, self.wanted, LONGEST_RUNNING)
        for number, (text,) in table.rows(table.choose(self.wanted, 1)):
            yield number, text


def _below(folder: Path, glob: Sequence[str]) -> dict[Path, str | None]:
    """The files of a folder, and why each is left out, if it is."""
    if is_dataset(folder):
        return dict.fromkeys(find_shards(folder))
    found = sorted(files_below(folder, glob))
    if glob and not found:
        raise nothing_matches(folder, glob)
    refuse_splits(folder, found)
    return {path: _why_not(path, folder) for path in found}


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
        return None if path.suffix == ".parquet" else document[0]
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
    """Every document with text in it."""
    found = [text for text in files.documents() if text.strip()]
    if not found:
        raise _nothing_in(files)
    return found


def verify_documents(files: TextFiles) -> None:
    """Reads all files and keeps none; raises what `read_documents` would."""
    if not sum(bool(line.strip()) for line in files.lines()):
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
