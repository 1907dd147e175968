"""Reads tables of text: CSV (with its quotes, and whatever delimiter it has) and TSV (without); finds their header."""

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from regard.errors import CorpusError
from regard.text.readers.header import find_header
from regard.text.readers.rows import Choice, Lines, Row, Table

DELIMITERS = ",;\t|"
SAMPLE_LINES, SAMPLE_LETTERS = 100, 2**16  # of the beginning, by which delimiter and header are found
MOST_COLUMNS = 10_000
LONGEST_RECORD = 2**24  # letters of a row: a quote that is never closed would take in the whole file

Records = Callable[[], Iterator[tuple[int, list[str]]]]  # the line and the cells of each row


def open_tsv(path: Path, lines: Lines, wanted: Choice | None) -> Table:
    """A row a line, with tabs between the cells."""

    def records() -> Iterator[tuple[int, list[str]]]:
        number = 0
        for line in lines():
            for row in line.split("\r") if "\r" in line else [line]:  # an end of line in files of old Macs
                number += 1
                if row.count("\t") >= MOST_COLUMNS:
                    raise CorpusError(
                        f"{path} line {number} has more than {MOST_COLUMNS} columns; is it a table of text?"
                    )
                yield number, row.split("\t")

    rule = "columns are separated by tabs and chosen with --columns source,target"
    return _open(path, records, wanted, rule, "remove the tab that is in a text, or give all rows the same columns")


def open_csv(path: Path, lines: Lines, wanted: Choice | None) -> Table:
    """A row may have several lines, where they are within quotes."""
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_RECORD))
    sample = _beginning(lines)
    stated = re.fullmatch(r"sep=(.)\s*", sample[0]) if sample else None  # as Excel has it
    delimiter = stated[1] if stated else _find_delimiter(sample)
    rule = f"columns are separated by {delimiter!r} here, and chosen with --columns source,target"
    quoting = f"columns are separated by {delimiter!r} here: put a text that has it in double quotes"
    return _open(path, lambda: _records(path, lines, delimiter, 1 if stated else 0), wanted, rule, quoting)


def _open(path: Path, records: Records, wanted: Choice | None, rule: str, quoting: str) -> Table:
    sample = _sample(records)
    header, is_certain = find_header([cells for _, cells in sample], wanted)
    first = sample[0][1] if sample else []
    skipped = sample[0][0] if header and is_certain else 0
    width = len(first) if skipped else max((len(cells) for _, cells in sample), default=0)
    names = first if skipped else [str(place + 1) for place in range(width)]

    def rows(places: Sequence[int]) -> Iterator[Row]:
        need = max(places) + 1
        for number, cells in records():
            if number == skipped:
                continue
            if len(cells) < need:
                found = "1 column" if len(cells) == 1 else f"{len(cells)} columns"
                raise CorpusError(f"{path} line {number} has {found}, and column {need} is wanted; {rule}")
            if len(cells) > len(first) and any(cells[len(first) :]):
                what = "header" if skipped else "first row"
                raise CorpusError(f"{path} line {number} has {len(cells)} columns, and the {what} has {len(first)}, so "
                                  f"a part of a text may be taken for a column; {quoting}")  # fmt: skip
            yield number, [cells[place] for place in places]

    shown = ", ".join(first)
    return Table(
        path, names, rows, header=shown if skipped else None,
        may_be_header=shown if header and not is_certain else None, usual=0 if skipped else 2,
    )  # fmt: skip


def _sample(records: Records) -> list[tuple[int, list[str]]]:
    found, letters = [], 0
    for number, cells in islice(records(), SAMPLE_LINES):
        found.append((number, cells))
        letters += sum(map(len, cells))
        if letters > SAMPLE_LETTERS:
            break
    return found


def _beginning(lines: Lines) -> list[str]:
    found: list[str] = []
    for line in islice(lines(keeps_ends=True), SAMPLE_LINES):
        found.append(line)
        if sum(map(len, found)) > SAMPLE_LETTERS:
            break
    return found


def _find_delimiter(sample: list[str]) -> str:
    """The one by which most rows have as many cells as the first one, and more than one; of several, that which is
    least often followed by a blank, as a comma within a text is.
    """
    text = "".join(sample)

    def fit(delimiter: str) -> tuple[float, float]:
        try:
            widths = [len(cells) for cells in csv.reader(sample, delimiter=delimiter) if cells]
        except csv.Error:
            return 0, 0
        share = widths.count(widths[0]) / len(widths) if widths and widths[0] > 1 else 0
        return share, -text.count(f"{delimiter} ") / max(1, text.count(delimiter))

    return max(DELIMITERS, key=fit)


def _records(path: Path, lines: Lines, delimiter: str, skip: int) -> Iterator[tuple[int, list[str]]]:
    number = start = letters = 0

    def feed() -> Iterator[str]:
        nonlocal number, letters
        for line in lines(keeps_ends=True):
            number += 1
            letters += len(line)
            if number <= skip:
                continue
            if letters > LONGEST_RECORD:
                raise CorpusError(f"{path} line {start + 1} has a row of more than {LONGEST_RECORD // 2**20} MB; "
                                  f"close the quote that is open there, or double it if it is text")  # fmt: skip
            if "\r" in line:  # an end of line in files of old Macs, and of those that were put together
                yield from re.findall(r"[^\r\n]*[\r\n]|[^\r\n]+", line)
            else:
                yield line

    reader = csv.reader(feed(), delimiter=delimiter, strict=True)
    start = skip
    try:
        for cells in reader:
            if cells:
                yield start + 1, cells
            start, letters = number, 0
    except csv.Error as problem:
        raise CorpusError(f"{path} line {start + 1} is not a row of CSV ({problem}); a quote within a text in quotes "
                          f"is doubled, and a text that begins with one is in quotes") from None  # fmt: skip
