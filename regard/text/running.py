"""Reads running text: whole files, each one document, or files of rows with a document in each."""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from regard.errors import ConfigError, CorpusError
from regard.text.corpus import open_rows
from regard.text.lines import HEAD, LONGEST_RUNNING, UTF16_MARKS, read_lines, read_whole
from regard.text.readers import find_kind
from regard.text.readers.documents import find_document
from regard.text.readers.folders import files_below, find_shards, is_dataset, is_hidden, nothing_matches, refuse_splits
from regard.text.readers.packed import open_unpacked, without_packing
from regard.text.readers.rows import Choice, one_line
from regard.text.stream import SAMPLE, Examples, Thinned

SHARE = 20  # one part in this many is held out when no text to validate on is given
MOST_HELD_OUT = 2_000_000  # characters of a document
CHUNK_CHARACTERS = 4_000_000


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
        tables = frozenset(
            path for path in named if find_kind(path) and (wanted or without_packing(path).suffix != ".json")
        )
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

    def by_lines(self) -> Iterator[Iterator[list[str]]]:
        """Their documents, each as its lines with their ends, thousands at a time."""
        for path in self.paths:
            if path in self.tables:
                yield from (_some(split_lines(text)) for _, text in self.rows(path))
            else:
                yield _some(read_lines(path, keeps_ends=True, longest=LONGEST_RUNNING))

    def lines(self) -> Iterator[str]:
        """All lines of their texts."""
        for path in self.paths:
            if path in self.tables:
                yield from (line for _, text in self.rows(path) for line in text.split("\n"))
            else:
                yield from read_lines(path, longest=LONGEST_RUNNING)

    def texts(self) -> Iterator[str]:
        """A text for each line, or for each row of a table, whose line ends become blanks."""
        for path in self.paths:
            if path in self.tables:
                yield from (one_line(text) for _, text in self.rows(path))
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
    if is_hidden(path, folder):
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


class RunningExamples(Examples):
    """Documents of any length: chunks of their lines, with None before the first document and after each.

    Without text to validate on, one part in twenty is held out: whole documents if there are many, else their ends.
    """

    def __init__(
        self, files: TextFiles, seed: int, valid: list[str] | None = None, *, with_letters: bool = False
    ) -> None:
        """with_letters: the sample ends with a line of all letters of the text."""
        super().__init__(valid)
        self._letters: set[str] | None = set() if with_letters else None
        self._files, self._seed, self._has_valid = files, seed, valid is not None
        self._lines = 0
        self._shares: list[int] = []  # of few documents: characters of each that are learned from
        self._held_until = 0  # of many documents: one in twenty is held out, up to this one

    @property
    def items(self) -> int:
        """Lines, about."""
        return self._lines

    def survey(self) -> Iterator[int]:
        """Reads all of it; yields how many lines were read so far."""
        sample, characters, held = Thinned(SAMPLE), 0, 0
        is_many = sum(1 for _ in islice(self._files.by_lines(), SHARE)) == SHARE
        for number, document in enumerate(self._files.by_lines()):
            is_held = is_many and not self._has_valid and held < MOST_HELD_OUT and self._is_chosen(number)
            length, tail = 0, _Tail()
            for lines in document:
                length, self._lines = length + sum(map(len, lines)), self._lines + len(lines)
                tail.add(lines)
                if not is_held:
                    sample.add(lines)
                    if self._letters is not None:
                        self._letters.update(*lines)
                yield self._lines
            if is_held:
                self.valid += ["".join(tail.lines)] * tail.has_text
                held, self._held_until = held + length, number + 1
            elif is_many or self._has_valid or not tail.has_text:
                share = length * tail.has_text
            else:
                ending = tail.last(max(1, min(length // SHARE, MOST_HELD_OUT)), longest=length // 2)
                self.valid.append(ending)
                share = length - len(ending)
            self._shares += [] if is_many else [share]
            characters += 0 if is_held else share
            self.count += not is_held and share > 0
        if not self.count:
            raise _nothing_in(self._files)
        self.sample, taken = sample.kept, sum(map(len, sample.kept))
        self.words = round(sum(max(len(line.split()), len(line) // 6) for line in sample.kept) * characters / taken)
        if self._letters:
            self.sample = [*self.sample, "".join(sorted(self._letters))]

    def _is_chosen(self, number: int) -> bool:
        """One document of every twenty, at random."""
        return zlib.crc32(f"{self._seed} {number // SHARE}".encode()) % SHARE == number % SHARE

    def _share(self, number: int) -> float:
        """How many characters of a document are learned from."""
        if self._shares:
            return self._shares[number]
        return 0 if number < self._held_until and self._is_chosen(number) else math.inf

    def chunks(self, first: int = 0) -> Iterator[list[str | None]]:
        """The text to learn from, beginning with this chunk."""
        return islice(self._chunks(), first, None)

    def _chunks(self) -> Iterator[list[str | None]]:
        chunk: list[str | None] = [None]
        size = 0
        for number, document in enumerate(self._files.by_lines()):
            left, has_text = self._share(number), False
            for lines in document if left else ():
                for line in lines:
                    if left > 0:
                        chunk.append(line if left >= len(line) else line[: int(left)])
                        left, size, has_text = left - len(line), size + len(line), True
                if size >= CHUNK_CHARACTERS:
                    yield chunk
                    chunk, size = [], 0
            if has_text:
                chunk.append(None)
        yield chunk

    def state(self) -> dict[str, Any]:
        """What the survey found, but for the sample: as JSON."""
        return super().state() | {"shares": self._shares, "held_until": self._held_until, "lines": self._lines}

    def restore(self, state: dict[str, Any]) -> None:
        """As after the survey whose state this is."""
        super().restore(state)
        self._shares, self._held_until, self._lines = state["shares"], state["held_until"], state["lines"]


class _Tail:
    """The last lines of a document, as many as may be held out; and whether it has any text."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.has_text = False
        self._size = 0

    def add(self, lines: list[str]) -> None:
        """The lines that come next."""
        self.has_text = self.has_text or any(line.strip() for line in lines)
        self.lines += lines
        self._size += sum(map(len, lines))
        while self._size - len(self.lines[0]) > 2 * MOST_HELD_OUT:
            self._size -= len(self.lines.pop(0))

    def last(self, size: int, longest: int) -> str:
        """The end of at least this size, beginning with a line if that keeps it below `longest`."""
        held = ""
        for line in reversed(self.lines):
            if len(held) >= size:
                return held
            if len(held) + len(line) > longest:
                return (line + held)[-size:]
            held = line + held
        return held[-size:] if len(held) > longest else held


def _some(lines: Iterable[str]) -> Iterator[list[str]]:
    """Lines, thousands at a time."""
    every = iter(lines)
    while some := list(islice(every, 10_000)):
        yield some


@contextmanager
def named(paths: Iterable[Path]) -> Iterator[None]:
    """Errors about examples name the files they came from, where they do not yet."""
    paths = list(paths)
    try:
        yield
    except CorpusError as problem:
        if any(str(path) in str(problem) for path in paths):
            raise
        raise CorpusError(f"{', '.join(map(str, list(paths)[:3]))}: {problem}") from None
