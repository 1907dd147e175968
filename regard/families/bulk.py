"""Files of texts -> files of the same names with an answer to each text. Knows no family, and not where it is computed.

A part is a block of texts. Its answers are written whole, under a name of their own, as soon as they are there, and
the parts of a file are joined when none is missing: whatever is interrupted, every text is answered once, in its place.
"""

import json
import os
import stat
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import count, islice
from pathlib import Path
from shutil import rmtree
from typing import Any, NamedTuple

from regard.errors import CorpusError, RunError
from regard.families.surface import Terminal
from regard.files import (
    MARK,
    append_line,
    locked,
    make_own,
    read_regular,
    refuse_other_kind,
    remove_left_over,
    write_whole,
)
from regard.text.byte_lines import raw_lines
from regard.text.corpus import open_rows
from regard.text.given import decode_line
from regard.text.readers import find_kind
from regard.text.readers.arrow import copy_parquet, refuse_column
from regard.text.readers.packed import packed_writer
from regard.text.readers.rows import Choice, one_line
from regard.text.running import TextFiles

PART = 2048  # texts
PARTS, RECORD, NOTES = ".parts", ".regard.json", ".notes.txt"
MOST_RECORD_BYTES = 2**28
PARQUET = ".parquet"
STATUS_SECONDS = 0.5  # between two status lines

Answer = tuple[str, list[str]]  # one line, and notes on it
Answers = Callable[..., Iterator[Answer]]  # of a model, blocks of texts and options: one for each text, in order


class Part(NamedTuple):
    """A block of texts of a file."""

    file: "BulkFile"
    number: int
    texts: list[str]
    notes: list[str]  # on how they were read

    def __str__(self) -> str:
        first = self.number * PART + 1
        return f"{self.file.path} lines {first} to {first + len(self.texts) - 1}"


class Work(NamedTuple):
    """What is done with every part."""

    opened: Any  # the model
    answers: Answers
    options: dict[str, Any]


Run = Callable[[Work, Iterator[Part]], Iterator[tuple[Part, list[Answer]]]]  # the parts may come in any order


def run_here(work: Work, parts: Iterator[Part]) -> Iterator[tuple[Part, list[Answer]]]:
    """Computes the parts one after another in this process."""
    begun: deque[Part] = deque()

    def texts() -> Iterator[list[str]]:
        for part in parts:
            begun.append(part)
            yield part.texts

    answers = work.answers(work.opened, texts(), **work.options)
    for first in answers:
        part = begun.popleft()
        yield part, [first, *islice(answers, len(part.texts) - 1)]


@dataclass
class BulkFile:
    """A file, and what of it is missing where its answers are written."""

    path: Path
    to: Path
    parts: Path  # the folder of those that are there, until all are
    column: str  # of a Parquet file, that is added
    wanted: Choice | None

    def __post_init__(self) -> None:
        self._stamp, self._running, self._count = self.stamp(), set[int](), -1

    def stamp(self) -> list[int]:
        """Changes with the file."""
        found = self.path.stat()
        return [found.st_size, found.st_mtime_ns]

    def missing(self) -> Iterator[Part]:
        """Its parts that are not there yet."""
        if not self.to.exists():
            self.parts.mkdir(parents=True, exist_ok=True)
            remove_left_over(self.parts)
            notes: list[str] = []
            texts = self._texts(notes.append)
            for number in count():
                if not (block := list(islice(texts, PART))):
                    break
                if not self._part(number).exists():
                    self._running.add(number)
                    yield Part(self, number, block, [*notes])
                notes.clear()
            self._count = number
            self._join()
        rmtree(self.parts, ignore_errors=True) if self.to.exists() else None

    def count_done(self, lines: int) -> int:
        """How many of its lines, of so many, have an answer already."""
        if self.to.exists():
            return lines
        numbers = range(-(-lines // PART))
        return sum(min(PART, lines - PART * number) for number in numbers if self._part(number).exists())

    def keep(self, part: Part, lines: list[str]) -> None:
        """Writes the answers of a part, and the file once all are there."""
        assert len(lines) == len(part.texts), part
        write_whole(self._part(part.number), "".join(f"{line}\n" for line in lines))
        self._running.discard(part.number)
        self._join()

    def _join(self) -> None:
        if self._running or self._count < 0:
            return
        if self.stamp() != self._stamp:
            raise RunError(f"{self.path} was changed while it was read; choose another folder with --to")
        self.to.parent.mkdir(parents=True, exist_ok=True)
        write_whole(self.to, self._write)
        rmtree(self.parts, ignore_errors=True)

    def _write(self, to: Path) -> None:
        contents = (self._part(number).read_bytes() for number in range(self._count))
        if self.path.suffix == PARQUET:
            lines = (line.decode() for content in contents for line in content.split(b"\n")[:-1])
            copy_parquet(self.path, to, self.column, lines)
            return
        with packed_writer(to, self.path.suffix) as file:
            for content in contents:
                file.write(content)

    def _part(self, number: int) -> Path:
        return self.parts / f"{number:06}"

    def _texts(self, note: Callable[[str], None]) -> Iterator[str]:
        if self.path.suffix == PARQUET:
            table = open_rows(self.path, self.wanted)
            yield from (one_line(text) for _, (text,) in table.rows(table.choose(self.wanted, 1)))
            return
        for number, raw in enumerate(raw_lines(self.path), start=1):
            yield decode_line(raw.removesuffix(b"\n"), number, note)


def run_bulk(
    work: Work, run: Run, source: Path, to: Path, column: str, wanted: Choice | None, glob: Sequence[str], out: Terminal
) -> None:
    """Answers all texts of a file or folder into another folder; those that are there already are not done again."""
    files = find_bulk(source, to, column, wanted, glob, out.status)
    began, lines, notes = time.monotonic(), 0, 0
    with owned(to, files), LineProgress(sys.stderr.isatty()) as progress:
        there = sum(file.to.exists() for file in files)
        keep_record(to, work, files, {"columns": wanted})
        if there:
            out.status(f"{there} of {len(files)} files are there already")
        for answered, noted in answer_parts(work, run, files, to):
            lines, notes = lines + answered, notes + noted
            progress.show(lines)
    if notes:
        out.status(f"{notes} notes on lines are in {to / NOTES}")
    seconds = time.monotonic() - began
    out.status(f"{lines} lines in {seconds:.1f} s ({lines / max(seconds, 1e-9):.0f} lines/s); {len(files)} files are "
               f"in {to}")  # fmt: skip


def answer_parts(work: Work, run: Run, files: list[BulkFile], to: Path) -> Iterator[tuple[int, int]]:
    """Answers the parts that are not there yet and keeps each; how many lines it has, and how many notes on them."""
    for part, answers in run(work, (part for file in files for part in file.missing())):
        part.file.keep(part, [line for line, _ in answers])
        yield len(answers), _keep_notes(to / NOTES, part, answers)
    rmtree(to / PARTS, ignore_errors=True)


def find_bulk(
    source: Path, to: Path, column: str, wanted: Choice | None, glob: Sequence[str], note: Callable[[str], None]
) -> list[BulkFile]:
    """The files of lines or of Parquet that are read, in order."""
    found = TextFiles.of(source, wanted, glob)
    empty = [path for path, reason in found.skipped if reason == "empty"]
    for path, reason in found.skipped:
        if reason != "empty":
            note(f"{path} is left out: {reason}")
    root = source if source.is_dir() else source.parent
    if to.resolve() == root.resolve() or (source.is_dir() and to.resolve().is_relative_to(root.resolve())):
        raise CorpusError(f"{to} is where the text is read from; choose another folder with --to")
    paths = sorted([*found.paths, *empty])
    for path in paths:
        if find_kind(path) and path.suffix != PARQUET:
            raise CorpusError(f"{path} is a file of rows; lines of text and .parquet are read here: take the texts out "
                              f"of it, or choose other files of the folder with --glob")  # fmt: skip
        if path.suffix == PARQUET:
            refuse_column(path, column)
    names = [path.relative_to(root) for path in paths]
    return [BulkFile(path, to / name, to / PARTS / name, column, wanted)
            for path, name in zip(paths, names, strict=True)]  # fmt: skip


def _keep_notes(path: Path, part: Part, answers: list[Answer]) -> int:
    """Adds the notes on a part to a file; how many there are."""
    first = part.number * PART + 1
    notes = [f"line {number}: {note}" for number, (_, found) in enumerate(answers, first) for note in found]
    for note in (*part.notes, *notes):
        append_line(path, f"{part.file.path} {note}")
    return len(part.notes) + len(notes)


@contextmanager
def owned(to: Path, files: list[BulkFile]) -> Iterator[None]:
    """The folder, for this process alone; one that holds files of others, or a link to a folder, is refused."""
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        make_own(to)
        for inside in {one for file in files for path in (file.to, file.parts / "0") for one in path.parents} - {to}:
            if inside.is_relative_to(to):
                refuse_other_kind(inside, stat.S_IFDIR)
    except OSError as problem:
        raise RunError(f"{problem.filename or to} cannot be written: {problem.strerror}, or choose another folder with "
                       f"--to") from None  # fmt: skip
    lock = locked(to / MARK)
    if lock is None and find_spec("fcntl"):
        raise RunError(f"another process is writing into {to}; wait for it, or choose another folder with --to")
    try:
        remove_left_over(to)
        yield
    finally:
        if lock is not None:
            os.close(lock)


def keep_record(
    to: Path,
    work: Work,
    files: list[BulkFile],
    reading: dict[str, Any],
    remedy: str = "choose another folder with --to",
) -> None:
    """Refuses to mix answers of other models, options or texts with those that are there. reading: how it is read."""
    about = {"model": work.opened.fingerprint(), "engine": repr(work.opened._running), "options": work.options,
             **reading, "part": PART}  # fmt: skip
    stamps = {str(file.to.relative_to(to)): file.stamp() for file in files}
    record = json.loads(json.dumps(about | {"files": stamps}))
    if (to / RECORD).exists():
        try:
            before = json.loads(read_regular(to / RECORD, MOST_RECORD_BYTES))
            changed = [name for name in about if before[name] != record[name]]
            changed += [name for name, stamp in before["files"].items() if record["files"].get(name, stamp) != stamp]
        except (OSError, ValueError, LookupError, TypeError) as problem:
            raise RunError(f"{to / RECORD} cannot be read ({problem}); {remedy}") from None
        if changed:
            shown = [f" ({found})" if (found := _difference(before.get(name), record.get(name))) else ""
                     for name in changed]  # fmt: skip
            named = " and ".join(name + how for name, how in zip(changed[:3], shown, strict=False))
            raise RunError(f"{to} was begun with other {named}; give the same to resume, or {remedy}")
        record["files"] = before["files"] | record["files"]
    write_whole(to / RECORD, json.dumps(record, indent=2) + "\n")


def _difference(before: Any, now: Any) -> str:
    """What differs, in a few words; nothing where these would not help."""
    if isinstance(before, dict) and isinstance(now, dict):
        names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
        return ", ".join(f"{name}: {before.get(name)} -> {now.get(name)}" for name in names)
    if isinstance(before, list) and isinstance(now, list):
        return f"{', '.join(map(str, before))} -> {', '.join(map(str, now))}"
    return ""


class LineProgress:
    """How many lines were read or written, and how many a second, for a terminal."""

    def __init__(self, is_shown: bool) -> None:
        self._is_shown = is_shown
        self._began = self._shown_at = time.monotonic()

    def __enter__(self) -> "LineProgress":
        return self

    def show(self, lines: int) -> None:
        """Says how far it got, now and then."""
        now = time.monotonic()
        if self._is_shown and now - self._shown_at > STATUS_SECONDS:
            self._shown_at = now
            sys.stderr.write(f"\r{lines} lines, {lines / (now - self._began):.0f} lines/s")
            sys.stderr.flush()

    def __exit__(self, *problem: object) -> None:
        if self._shown_at > self._began:
            sys.stderr.write("\n")
