"""Lines of files as bytes, whatever is in them: for a check that reports damage instead of stopping at it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from regard.errors import CorpusError
from regard.text.corpus import PairFiles, each_pair, kind_of, open_rows
from regard.text.lines import LONGEST_LINE, limited_lines, open_text
from regard.text.readers.jsonl import text_under
from regard.text.readers.rows import Choice

Raws = tuple[bytes | None, bytes | None]


def raw_lines(path: Path, longest: int = LONGEST_LINE) -> Iterator[bytes]:
    """Lines with their ends; also of a packed file."""
    try:
        with open_text(path) as file:
            yield from limited_lines(file, path, longest)
    except (OSError, EOFError) as problem:
        raise CorpusError(f"{path} cannot be read: {problem}") from None


def raw_pieces(path: Path) -> Iterator[tuple[int, bytes]]:
    """The number of each line and its bytes with their end; a line without end comes in pieces of whole characters."""
    number, rest = 1, b""
    try:
        with open_text(path) as file:
            while piece := rest + file.readline(LONGEST_LINE):
                if len(piece) == len(rest):  # the file ends within a character
                    yield number, piece
                    return
                rest = b"" if piece.endswith(b"\n") else _cut_character(piece)
                yield number, piece.removesuffix(rest) if rest else piece
                number += piece.endswith(b"\n")
    except (OSError, EOFError) as problem:
        raise CorpusError(f"{path} cannot be read: {problem}") from None


def _cut_character(piece: bytes) -> bytes:
    """The bytes at the end that are the beginning of a character."""
    for back in range(1, min(4, len(piece))):
        if piece[-back] >= 0xC0:
            size = 2 + (piece[-back] >= 0xE0) + (piece[-back] >= 0xF0)
            return piece[-back:] if size > back else b""
    return b""


def raw_pairs(files: PairFiles, note: Callable[[str, int, str], None]) -> Iterator[tuple[int, Raws]]:
    """Both sides of each line, numbered from 1. Of two files, None for one that has ended before the other, once; a
    line of one file that is not two texts is noted, with the kind of problem."""
    if files.target is not None:
        yield from _side_by_side(raw_lines(files.source), raw_lines(files.target))
        return
    split = {"tsv": _cells, "jsonl": _entries}.get(kind_of(files).name)
    if split is None or files.parts:
        with suppress(CorpusError):  # training's own reader names what is wrong
            for pair in each_pair(files):
                if pair.is_second:
                    note("second", pair.line, pair.source or pair.target)
                else:
                    yield pair.line, (pair.source.encode(), pair.target.encode())
        return
    chosen, header = _choose(files)
    for number, raw in enumerate(raw_lines(files.source), start=1):
        if header and number == 1:
            continue
        if (found := split(chosen, raw.removesuffix(b"\n"))) is not None:
            yield number, found
        elif raw.strip() or split is _cells:
            note("columns", number, raw.decode(errors="replace").rstrip("\r\n"))


def _choose(files: PairFiles) -> tuple[Choice | None, str | None]:
    """Which columns or keys are read, and the header; of a file that cannot be opened as a table, what was chosen."""
    try:
        table = open_rows(files.source, files.wanted)
        places = table.choose(files.wanted, 2)
    except CorpusError:
        return files.wanted, None
    return tuple(table.names[place] if table.word == "keys" else place + 1 for place in places), table.header


def _side_by_side(left: Iterator[bytes], right: Iterator[bytes]) -> Iterator[tuple[int, Raws]]:
    number = 0
    while True:
        number += 1
        raws = next(left, None), next(right, None)
        if raws != (None, None):
            yield number, raws
        if None in raws:
            return


def _cells(columns: Choice | None, line: bytes) -> Raws | None:
    end = b"\r" * line.endswith(b"\r")  # counted for the pair
    cells = line.removesuffix(b"\r").split(b"\t")
    first, second = [one for one in columns or () if isinstance(one, int)] or (1, 2)
    return (cells[first - 1], cells[second - 1] + end) if len(cells) >= max(first, second) else None


def _entries(keys: Choice | None, line: bytes) -> Raws | None:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entry, dict):
        return None
    texts = [text_under(entry, str(key)) for key in keys or list(entry)[:2]]
    raws = [text.encode("utf-8", "surrogatepass") for text in texts if isinstance(text, str)]
    return (raws[0], raws[1] + b"\r" * line.endswith(b"\r")) if len(raws) == 2 else None
