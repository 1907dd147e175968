"""Files as rows of texts, one small reader for each format. Knows nothing of pairs, and of no model.

A reader opens a file as a `Table`, whose columns are chosen and whose rows are then read as a stream.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from regard.text.readers.arrow import open_arrow, open_parquet
from regard.text.readers.delimited import open_csv, open_tsv
from regard.text.readers.jsonl import open_jsonl
from regard.text.readers.packed import without_packing
from regard.text.readers.rows import Choice, Lines, Table
from regard.text.readers.tmx import open_tmx


class Kind(NamedTuple):
    """A format of rows."""

    name: str
    open: Callable[[Path, Lines, Choice | None], Table]
    options: tuple[str, ...]  # by which columns are chosen
    unit: str = "line"  # what its rows are counted in


TSV = Kind("tsv", open_tsv, ("columns", "keys"))
JSONL = Kind("jsonl", open_jsonl, ("keys",))
KINDS = {
    ".tsv": TSV,
    ".tab": TSV,
    ".csv": Kind("csv", open_csv, ("columns", "keys")),
    ".jsonl": JSONL,
    ".ndjson": JSONL,
    ".json": JSONL,
    ".tmx": Kind("tmx", open_tmx, ("keys",)),
    ".parquet": Kind("parquet", open_parquet, ("columns", "keys"), "row"),
    ".arrow": Kind("arrow", open_arrow, ("columns", "keys"), "row"),
}


def find_kind(path: Path) -> Kind | None:
    """The format of a file by its name; None if it is lines of text."""
    return KINDS.get(without_packing(path).suffix.lower())
