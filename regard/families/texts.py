"""What families of plain text files share: which files, and how they are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from regard.errors import ConfigError
from regard.text.corpus import LeftOut, fingerprint, refuse_unread
from regard.text.readers import find_kind
from regard.text.readers.rows import Choice
from regard.text.running import TextFiles, named
from regard.training.recipe import Corpus, name_files

Paths = str | Path | list[str | Path]
Splitter = Callable[[list[Any]], tuple[list[Any], list[Any]]]  # examples -> (to learn from, held out)


def gather_texts(
    files: Paths, valid: Paths | None, columns: Choice | str | None = None, keys: Choice | str | None = None,
    glob: str | Sequence[str] = (),
) -> tuple[TextFiles, TextFiles | None]:  # fmt: skip
    """The files to learn from, and to validate on if they are given; of files of rows, one column or key is read."""
    columns, keys = (((one,) if isinstance(one, str | int) else one) for one in (columns, keys))
    patterns = [glob] if isinstance(glob, str) else [*glob]
    train = TextFiles.of(files, keys or columns, patterns)
    held_out = TextFiles.of(valid, keys or columns) if valid else None
    found = [find_kind(path) for one in (train, held_out) if one for path in one.tables]
    refuse_unread(columns, keys, *filter(None, found))
    for name, given in (("columns", columns), ("keys", keys)):
        if given and len(given) > 1:
            raise ConfigError(f"--{name} {','.join(map(str, given))}: one is wanted, that of the text")
    return train, held_out


def read_corpus(
    role: str, files: TextFiles, valid_files: TextFiles | None, read: Callable[[TextFiles], list[Any]], split: Splitter
) -> Corpus:
    """All examples; without files to validate on, some are held out, the same ones every time."""
    examples = read(files)
    roles = {f"{role}_{number}": path for number, path in enumerate(files.paths, start=1)}
    if valid_files is not None:
        valid = read(valid_files)
        roles |= {f"valid_{number}": path for number, path in enumerate(valid_files.paths, start=1)}
    else:
        with named(files.paths):
            examples, valid = split(examples)
    skipped: dict[str, list[Path]] = {}
    for path, reason in (one for text in (files, valid_files) if text for one in text.skipped):
        skipped.setdefault(reason, []).append(path)
    left_out = [LeftOut(reason, len(paths), _some(paths), "files") for reason, paths in skipped.items()]
    prints = {role: fingerprint(path) for role, path in roles.items()}
    return Corpus(examples, valid, left_out, prints, name_files(roles), reading=files.reading)


def _some(paths: list[Path]) -> str:
    return ", ".join(str(path) for path in paths[:3]) + (", …" if len(paths) > 3 else "")
