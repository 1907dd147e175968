"""Reads Parquet files and the Arrow files of Hugging Face `datasets`, with `pyarrow` alone (extra `parquet`).

A few bytes of such a file may stand for any amount of text. Sizes are read from the file and checked before anything is
unpacked, and what is read is counted, as of any packed file.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from regard.errors import CorpusError
from regard.files import open_regular
from regard.text.readers.extra import import_extra
from regard.text.readers.packed import PACKED_FROM, PACKED_MOST
from regard.text.readers.pages import check_pages
from regard.text.readers.rows import Choice, Lines, Row, Table

BATCH, SMALL_BATCH = 256, 32  # rows that are decoded at a time; fewer where texts share beginnings
GROUP_ROWS, GROUP_BYTES = 2**15, 2**26  # of a group of rows that is written, at least one of them
LARGEST_FOOTER = 2**23  # bytes; more would take hundreds of megabytes to parse
LONG = 2**16  # bytes from which on texts of a batch are taken one by one
LONGEST = 2**27  # bytes of a text

Batches = Callable[
    [list[str]], Iterator[tuple[Any, int]]
]  # of columns: a batch, and the bytes of the file before its end


def open_parquet(path: Path, lines: Lines, wanted: Choice | None) -> Table:
    """Columns of text, also of structs: `translation.de`."""
    parquet = import_extra("pyarrow.parquet", "parquet", f"{path} is a Parquet file")
    arrow = import_extra("pyarrow", "parquet", f"{path} is a Parquet file")
    _check_footer(path)

    def batches(names: list[str]) -> Iterator[tuple[Any, int]]:
        with open_regular(path) as raw, parquet.ParquetFile(path) as plain:
            metadata = plain.metadata
            leaves = {metadata.schema.column(place).path: place for place in range(metadata.num_columns)}
            read = 0
            for group in range(metadata.num_row_groups):
                chunks = {name: metadata.row_group(group).column(leaves[name]) for name in names}
                found = {name: check_pages(path, raw, chunk) for name, chunk in chunks.items()}
                repeated = [name for name, (has_dictionary, _) in found.items() if has_dictionary]
                size = SMALL_BATCH if any(has_shared for _, has_shared in found.values()) else BATCH
                read += sum(chunk.total_compressed_size for chunk in chunks.values())
                with parquet.ParquetFile(
                    path, metadata=metadata, read_dictionary=repeated, buffer_size=2**20, pre_buffer=False
                ) as file:  # a text that comes often is held once
                    for batch in file.iter_batches(size, row_groups=[group], columns=names, use_threads=False):
                        yield batch, read

    with _named(path, arrow), parquet.ParquetFile(path) as file:
        schema = file.schema_arrow
    return _table(path, arrow, schema, batches)


def refuse_column(path: Path, column: str) -> None:
    """An error if a Parquet file has a column of that name already."""
    parquet = import_extra("pyarrow.parquet", "parquet", f"{path} is a Parquet file")
    arrow = import_extra("pyarrow", "parquet", f"{path} is a Parquet file")
    _check_footer(path)
    with _named(path, arrow), parquet.ParquetFile(path) as file:
        if column in file.schema_arrow.names:
            raise CorpusError(f"{path} has a column {column!r}, which is the name of the one to be added; rename it")


def copy_parquet(path: Path, to: Path, column: str, texts: Iterator[str]) -> None:
    """Writes a Parquet file again, with one column more, which has a text for each row."""
    parquet = import_extra("pyarrow.parquet", "parquet", f"{path} is a Parquet file")
    arrow = import_extra("pyarrow", "parquet", f"{path} is a Parquet file")
    with _named(path, arrow), open_regular(path) as raw, parquet.ParquetFile(path) as file:
        metadata, added = file.metadata, arrow.field(column, arrow.string())
        for group in range(metadata.num_row_groups):
            for place in range(metadata.num_columns):
                check_pages(path, raw, metadata.row_group(group).column(place))
        with parquet.ParquetWriter(to, file.schema_arrow.append(added)) as writer:
            held: list[Any] = []
            for batch in file.iter_batches(BATCH, use_threads=False):
                more = arrow.array(islice(texts, len(batch)), arrow.string())
                held.append(arrow.Table.from_batches([batch]).append_column(added, more))
                if sum(map(len, held)) >= GROUP_ROWS or sum(one.nbytes for one in held) >= GROUP_BYTES:
                    writer.write_table(arrow.concat_tables(held))
                    held = []
            writer.write_table(arrow.concat_tables(held)) if held else None


def open_arrow(path: Path, lines: Lines, wanted: Choice | None) -> Table:
    """The stream format, as `datasets` writes it: nothing in it is packed, and it is mapped, not read."""
    arrow = import_extra("pyarrow", "parquet", f"{path} is an Arrow file")
    ipc = import_extra("pyarrow.ipc", "parquet", f"{path} is an Arrow file")

    def batches(names: list[str]) -> Iterator[tuple[Any, int]]:
        with arrow.memory_map(str(path)) as file:
            messages = ipc.MessageReader.open_stream(file)
            schema = ipc.read_schema(messages.read_next_message())
            for message in messages:
                if message.type != "record batch" or is_compressed(message.metadata):
                    raise CorpusError(f"{path} has a part that is packed or a dictionary, which datasets does not "
                                      f"write; write it as .parquet, which is read")  # fmt: skip
                yield ipc.read_record_batch(message, schema), file.tell()

    with _named(path, arrow), arrow.memory_map(str(path)) as file:
        schema = ipc.open_stream(file).schema
    return _table(path, arrow, schema, batches)


def _table(path: Path, arrow: Any, schema: Any, batches: Batches) -> Table:
    names = [name for field in schema for name in _texts_in(arrow, field)]

    def rows(places: Sequence[int]) -> Iterator[Row]:
        chosen = [names[place] for place in places]
        number = letters = 0
        with _named(path, arrow):
            for batch, read in batches(chosen):
                columns = [_texts(path, arrow, _column(batch, name)) for name in chosen]
                for texts in zip(*columns, strict=True):
                    number += 1
                    found = [text or "" for text in texts]
                    letters += 1 + sum(map(len, found))
                    if letters > max(PACKED_FROM, PACKED_MOST * read):
                        raise CorpusError(
                            f"{path} holds more than {PACKED_MOST} times its size in text up to row {number}, as no "
                            f"corpus does; write it anew if it is to be read"
                        )
                    yield number, found

    twice = next((name for name in schema.names if schema.names.count(name) > 1), None)
    if twice is not None:
        raise CorpusError(f"{path} has two columns of the name {twice!r}; rename one of them")
    if not names:
        raise CorpusError(f"{path} has no column of text; it has {', '.join(map(str, schema.names[:30]))}")
    return Table(path, names, rows)


def _texts_in(arrow: Any, field: Any) -> list[str]:
    """The names of a field's columns of text: its own, or those within a struct."""
    if arrow.types.is_struct(field.type):
        inner = (field.type.field(place) for place in range(field.type.num_fields))
        return [f"{field.name}.{one.name}" for one in inner if _is_text(arrow, one.type)]
    return [field.name] if _is_text(arrow, field.type) else []


def _is_text(arrow: Any, kind: Any) -> bool:
    kind = kind.value_type if arrow.types.is_dictionary(kind) else kind
    return bool(arrow.types.is_string(kind) or arrow.types.is_large_string(kind))


def _column(batch: Any, name: str) -> Any:
    if name in batch.schema.names:
        return batch.column(name)
    outer, _, inner = name.rpartition(".")
    return batch.column(outer).field(inner)


def _texts(path: Path, arrow: Any, column: Any) -> Iterator[str | None]:
    """The texts of a column; many long ones are not held at the same time."""
    column.validate(full=True)  # else offsets could lead anywhere
    compute = import_extra("pyarrow.compute", "parquet", f"{path} is read by it")
    held = column.dictionary if arrow.types.is_dictionary(column.type) else column
    longest = compute.max(compute.binary_length(held)).as_py() or 0
    if longest > LONGEST:
        raise CorpusError(f"{path} has a text of more than {LONGEST // 2**20} MB; split it")
    return iter(column.to_pylist()) if longest <= LONG else (value.as_py() for value in column)


def _check_footer(path: Path) -> None:
    """Refuses a file whose list of parts alone would fill the memory."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(max(0, size - 8))
        end = file.read(8)
    footer = int.from_bytes(end[:4], "little")
    if size < 12 or end[4:] != b"PAR1" or footer > size - 12:
        raise CorpusError(f"{path} is not a whole Parquet file; fetch or write it again")
    if footer > LARGEST_FOOTER:
        raise CorpusError(f"{path} lists its parts in {footer} bytes, and at most {LARGEST_FOOTER} are read; write it "
                          f"anew with fewer columns or larger row groups")  # fmt: skip


def is_compressed(metadata: Any) -> bool:
    """Whether the buffers of a record batch are packed: field 3 of the table RecordBatch (FlatBuffers), which is field
    2 of the table Message."""
    raw = bytes(metadata)

    def field(table: int, number: int) -> int:
        entries = table - int.from_bytes(raw[table : table + 4], "little", signed=True)
        size = int.from_bytes(raw[entries : entries + 2], "little")
        slot = 4 + 2 * number
        offset = int.from_bytes(raw[entries + slot : entries + slot + 2], "little") if slot < size else 0
        return table + offset if offset else 0

    def follow(place: int) -> int:
        return place + int.from_bytes(raw[place : place + 4], "little")

    batch = field(follow(0), 2)
    return bool(batch) and bool(field(follow(batch), 3))


@contextmanager
def _named(path: Path, arrow: Any) -> Iterator[None]:
    """Errors of pyarrow name the file."""
    try:
        yield
    except (arrow.ArrowException, OSError, MemoryError, UnicodeDecodeError) as problem:
        what = str(problem).partition("\n")[0] or type(problem).__name__
        raise CorpusError(f"{path} cannot be read ({what[:300]}); fetch or write it again") from None
