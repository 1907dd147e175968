"""Lines in, lines out: as many, in the same order, nothing cut silently."""

import json
import os
import select
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from typing import IO, Any

from regard.alignment.links import to_pharaoh
from regard.errors import CorpusError
from regard.families.bulk import Answer, LineProgress
from regard.families.surface import Terminal
from regard.text.given import decode_line

FIRST, MOST = 128, 2048  # lines that are sorted and translated together: few at first, so that soon something is seen
BLOCK = 2**16  # bytes read at a time
LONGEST = 2**20  # bytes of a line; what has no line end is no text


def translate_lines(
    translator: Any,
    file: Path | None,
    text: str | None = None,
    *,
    as_json: bool,
    out: Terminal,
    **options: Any,
) -> None:
    """Translates a file, a text or standard input; fed line by line, it prints each answer before the next line.

    Lines are counted from 1, in the output and in messages.
    """
    with ExitStack() as stack:
        source = _Source(BytesIO(text.encode())) if text is not None else _open(file, stack, out)
        windows = _windows(source, out.status, stack.enter_context(LineProgress(source.shows_progress)))
        for number, answer in enumerate(translator.translate_windows(windows, **options), start=1):
            for note in answer.notes:
                out.status(f"line {number}: {note}")
            if as_json:
                out.data(json.dumps({"line": number, **asdict(answer)}, ensure_ascii=False))
                continue
            for one in (answer, *answer.alternatives):
                fields = [_on_one_line(one.text)]
                if options["n_best"] > 1:
                    fields = [str(number), *fields, f"{one.score:.4f}"]
                if options["alignments"]:
                    fields.append(to_pharaoh(one.alignment))
                out.data(" ||| ".join(fields))


def translate_plainly(translator: Any, windows: Iterator[list[str]], **options: Any) -> Iterator[Answer]:
    """A line for each text of each window, and notes on it."""
    for one in translator.translate_windows(windows, **options):
        yield _on_one_line(one.text), one.notes


def _windows(source: "_Source", print_status: Callable[[str], None], progress: LineProgress) -> Iterator[list[str]]:
    """Lines as many at a time as are there; an empty list whenever nothing more is there for the moment."""
    number, size = 0, FIRST
    rest = b""
    is_open = True
    while is_open:
        lines: list[bytes] = []
        while len(lines) < size:
            if not source.is_ready():
                if lines:
                    break
                sys.stdout.flush()
                yield []
                sys.stdout.flush()
            block = source.read()
            *whole, rest = (rest + block).split(b"\n")
            lines += whole
            if len(rest) > LONGEST:
                break
            if not block:
                is_open = False
                lines += [rest] if rest else []
                break
        decoded = [decode_line(line, number + place, print_status) for place, line in enumerate(lines, start=1)]
        number += len(lines)
        while decoded:
            yield decoded[:size]
            decoded, size = decoded[size:], min(2 * size, MOST)
            progress.show(number - len(decoded))
        if len(rest) > LONGEST:
            yield []  # so that all lines before it come out first
            raise CorpusError(
                f"line {number + 1} has more than {LONGEST // 2**20} MB; a line of text is shorter. "
                f"The lines before it were translated"
            )


class _Source:
    """Bytes of a file or of standard input, as they come."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        try:
            self._number: int | None = file.fileno()
        except OSError:  # no file of the system's
            self._number = None
        self.is_typed = self._number is not None and os.isatty(self._number)
        self.shows_progress = sys.stderr.isatty() and not (self.is_typed or sys.stdout.isatty())

    def read(self) -> bytes:
        """What is there, at most a block; waits if there is nothing yet. Nothing at the end."""
        return os.read(self._number, BLOCK) if self._number is not None else self._file.read(BLOCK)

    def is_ready(self) -> bool:
        """Whether reading would not wait."""
        if self._number is None:
            return True
        try:
            return bool(select.select([self._number], [], [], 0)[0])
        except (OSError, ValueError):  # a system that can ask this of sockets only
            return not self.is_typed


def _open(file: Path | None, stack: ExitStack, out: Terminal) -> _Source:
    if file is None:
        out.hint("Type a line to translate it; Ctrl-D ends.")
        return _Source(sys.stdin.buffer)
    try:
        return _Source(stack.enter_context(file.open("rb")))
    except OSError as problem:
        remedy = "name a file, or add --to FOLDER" if file.exists() else 'pipe a text in, or give it with --text "…"'
        raise CorpusError(f"{file} cannot be read: {problem.strerror}; {remedy}") from None


def _on_one_line(text: str) -> str:
    """A line end inside a translation would make two lines of one."""
    return text.replace("\n", " ")
