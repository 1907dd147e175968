"""Lines of files as bytes, whatever is in them: for whoever wants to tell what is wrong, and not to stop there."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from regard.errors import CorpusError
from regard.text.corpus import GZIP_MAGIC, UTF16_MARKS, PairFiles, kind_of

Raws = tuple[bytes | None, bytes | None]


def raw_lines(path: Path) -> Iterator[bytes]:
    """Lines with their ends; also of a gzipped file."""
    try:
        with path.open("rb") as file:
            head = file.read(4)
        if head.startswith(UTF16_MARKS):
            raise CorpusError(
                f"{path} is UTF-16; text must be UTF-8 (iconv -f UTF-16 -t UTF-8 {path.name} converts it)"
            )
        with gzip.open(path) if head.startswith(GZIP_MAGIC) else path.open("rb") as file:
            yield from file
    except FileNotFoundError:
        raise CorpusError(f"{path} does not exist; check the name and the folder you are in") from None
    except (OSError, EOFError, zlib.error) as problem:
        raise CorpusError(f"{path} cannot be read: {problem}") from None


def raw_pairs(files: PairFiles, on_broken: Callable[[int, str], None]) -> Iterator[tuple[int, Raws]]:
    """Both sides of each line, numbered from 1. Of two files, None for one that has ended before the other, once; a
    line of one file that has not both sides goes to `on_broken`."""
    if files.target is not None:
        yield from _side_by_side(raw_lines(files.source), raw_lines(files.target))
        return
    split = _cells if kind_of(files) == "columns" else _entries
    for number, raw in enumerate(raw_lines(files.source), start=1):
        line = raw.removesuffix(b"\n").removesuffix(b"\r")
        if (found := split(files, line)) is not None:
            yield number, found
        elif line.strip():
            on_broken(number, line.decode(errors="replace"))


def _side_by_side(left: Iterator[bytes], right: Iterator[bytes]) -> Iterator[tuple[int, Raws]]:
    number = 0
    while True:
        number += 1
        raws = next(left, None), next(right, None)
        if raws != (None, None):
            yield number, raws
        if None in raws:
            return


def _cells(files: PairFiles, line: bytes) -> Raws | None:
    cells = line.split(b"\t")
    first, second = files.columns
    return (cells[first - 1], cells[second - 1]) if len(cells) >= max(first, second) else None


def _entries(files: PairFiles, line: bytes) -> Raws | None:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entry, dict):
        return None
    texts = [entry.get(key) for key in files.keys or list(entry)[:2]]
    raws = [text.encode("utf-8", "surrogatepass") for text in texts if isinstance(text, str)]
    return (raws[0], raws[1]) if len(raws) == 2 else None
