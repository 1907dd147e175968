"""Lines in, lines out: as many, in the same order, nothing cut silently."""

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from regard.errors import CorpusError


def translate_lines(
    translator: Any,
    file: Path | None,
    *,
    n_best: int,
    as_json: bool,
    put: Callable[[str], None],
    say: Callable[[str], None],
    **search: Any,
) -> None:
    """Translates a file or standard input and writes each translation as soon as its window is done."""
    lines = _lines(file, say)
    is_typed = file is None and sys.stdin.isatty()
    window = {"window": 1} if is_typed else {}
    for number, answer in enumerate(translator.translate_all(lines, n_best=n_best, **window, **search)):
        for note in answer.notes:
            say(f"line {number + 1}: {note}")
        if as_json:
            put(json.dumps({"line": number, **asdict(answer)}, ensure_ascii=False))
        elif n_best > 1:
            for one in (answer, *answer.alternatives):
                put(f"{number} ||| {_on_one_line(one.text)} ||| {one.score:.4f}")
        else:
            put(_on_one_line(answer.text))
        if is_typed:
            sys.stdout.flush()


def _lines(file: Path | None, say: Callable[[str], None]) -> Iterator[str]:
    if file is None:
        yield from _decode(sys.stdin.buffer, say)
        return
    try:
        with file.open("rb") as opened:
            yield from _decode(opened, say)
    except OSError as problem:
        raise CorpusError(f"{file} cannot be read: {problem.strerror}") from None


def _decode(file: IO[bytes], say: Callable[[str], None]) -> Iterator[str]:
    for number, raw in enumerate(file, start=1):
        try:
            yield raw.decode("utf-8").removeprefix("\ufeff") if number == 1 else raw.decode("utf-8")
        except UnicodeDecodeError as problem:
            say(f"line {number}: byte {problem.start + 1} is not UTF-8; it was read as \ufffd")
            yield raw.decode("utf-8", errors="replace")


def _on_one_line(text: str) -> str:
    """A line end inside a translation would make two lines of one."""
    return text.replace("\n", " ")
