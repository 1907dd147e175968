"""`regard embed` and `regard search`: vectors of texts, and look-up in one's own text."""

import json
import os
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any

import typer

from regard.cli.output import hint_at_typing, print_data, print_status
from regard.errors import ConfigError
from regard.families.encode.embedding import Embeds
from regard.families.encode.index import make_index, read_index, refuse_file_of_others
from regard.families.options import Columns, Json, Keys, Model, choose_columns
from regard.files import write_whole
from regard.load import load
from regard.text.given import given_texts, stdin_lines

BLOCK = 256  # lines that are read before their vectors are made
NPY_HEADER = 128  # bytes

Lines = Annotated[Path, typer.Argument(help="File of lines to search; also packed, a table or a folder.")]


def embed(
    model: Model,
    file: Annotated[Path | None, typer.Argument(help="File of texts, one a line; default: standard input.")] = None,
    to: Annotated[
        Path | None, typer.Option(help="Write here, .npy or .jsonl; default: JSON on standard output.")
    ] = None,
    columns: Columns = None,
    keys: Keys = None,
) -> None:
    """Make a vector of each line of text.

    Example:
      regard embed models/all-MiniLM-L6-v2 questions.txt --to questions.npy
    """
    if to and to.suffix not in (".npy", ".jsonl"):
        raise ConfigError(f"--to {to} must end in .npy (an array of NumPy) or .jsonl (an object per line)")
    if to and os.path.lexists(to):
        raise ConfigError(f"{to} is there already; move it away, or choose another name")
    opened = open_embedding(model)
    blocks = _vectors(opened, _lines(file, columns, keys) if file else stdin_lines(print_status))
    if to is None:
        hint_at_typing("Type a line; Ctrl-D ends.") if file is None else None
        for line in _objects(blocks):
            print_data(line)
    elif to.suffix == ".npy":
        write_whole(to, lambda path: _write_npy(path, blocks))
    else:
        write_whole(to, lambda path: _write_lines(path, _objects(blocks)))


def search(
    model: Model,
    lines: Lines,
    query: Annotated[
        str | None, typer.Argument(help="A text to look for; default: each line of standard input.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Lines to show for each query.")] = 5,
    index: Annotated[
        Path | None, typer.Option(help="File that keeps the vectors of the lines; made again if model or lines change.")
    ] = None,
    as_json: Json = False,
    columns: Columns = None,
    keys: Keys = None,
) -> None:
    """Search lines of text by meaning.

    The nearest lines to a query, with score and line number.

    Example:
      regard search models/all-MiniLM-L6-v2 manual.txt "how do I resume a run?" --top 3 --index manual.index
    """
    if index:
        refuse_file_of_others(index)
    opened = open_embedding(model)
    texts = list(_lines(lines, columns, keys))
    found = read_index(opened, texts, index) if index else None
    if found is None:
        found = make_index(opened, texts, lambda done: None)
        if index:
            found.save(index)
    hint_at_typing("Type a query; Ctrl-D ends.") if query is None else None
    for one in [query] if query is not None else stdin_lines(print_status):
        matches = found.search(one, top=top) if one.strip() or query is not None else []
        if as_json:
            rows = [{"line": match.line, "score": round(match.score, 6), "text": match.text} for match in matches]
            print_data(json.dumps({"query": one, "matches": rows}, ensure_ascii=False))
            continue
        for match in matches:
            print_data(f"{match.score:.4f}\t{match.line}\t{match.text}")


def open_embedding(folder: Path) -> Embeds:
    """A model that makes vectors of texts."""
    opened = load(folder)
    if not isinstance(opened, Embeds):
        raise ConfigError(f"{folder} is a model to {opened.info.task}, which makes no vectors of texts; use an "
                          f"encoder, a filler or a classifier")  # fmt: skip
    return opened


def _lines(file: Path, columns: str | None, keys: str | None) -> Iterator[str]:
    chosen = choose_columns(columns, keys)
    return given_texts([file], chosen["keys"] or chosen["columns"]).texts()


def _vectors(opened: Embeds, lines: Iterator[str]) -> Iterator[Any]:
    """Blocks of vectors, (n, D) float32 each."""
    while block := list(islice(lines, BLOCK)):
        yield opened.vectors(block).astype("<f4", copy=False)


def _objects(blocks: Iterator[Any]) -> Iterator[str]:
    rows = chain.from_iterable(blocks)
    return (json.dumps({"line": number, "vector": row.tolist()}) for number, row in enumerate(rows, start=1))


def _write_lines(path: Path, lines: Iterator[str]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


def _write_npy(path: Path, blocks: Iterator[Any]) -> None:
    """Rows as they come; how many there are is written into the header at the end."""
    with path.open("wb") as file:
        file.write(bytes(NPY_HEADER))
        rows = width = 0
        for block in blocks:
            file.write(block.tobytes())
            rows, width = rows + len(block), block.shape[1]
        shape = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {width}), }}"
        room = NPY_HEADER - 10
        file.seek(0)
        file.write(b"\x93NUMPY\x01\x00" + room.to_bytes(2, "little") + f"{shape:<{room - 1}}\n".encode())
