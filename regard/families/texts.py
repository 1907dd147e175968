"""What families of plain text files share: which files, and how they are read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from regard.errors import ConfigError
from regard.text.corpus import LeftOut, headers_in, refuse_unread
from regard.text.readers import find_kind
from regard.text.readers.rows import Choice
from regard.text.running import TextFiles
from regard.text.stream import Examples
from regard.training.recipe import Corpus

Paths = str | Path | list[str | Path]


def gather_texts(
    text: Paths, *, valid: Paths | None = None, columns: Choice | str | None = None, keys: Choice | str | None = None,
    glob: str | Sequence[str] = (),
) -> tuple[TextFiles, TextFiles | None]:  # fmt: skip
    """The files to learn from, and to validate on if they are given; of files of rows, one column or key is read."""
    columns, keys = (((one,) if isinstance(one, str | int) else one) for one in (columns, keys))
    patterns = [glob] if isinstance(glob, str) else [*glob]
    train = TextFiles.of(text, keys or columns, patterns)
    held_out = TextFiles.of(valid, keys or columns) if valid else None
    found = [find_kind(path) for one in (train, held_out) if one for path in one.tables]
    refuse_unread(columns, keys, *filter(None, found))
    for name, given in (("columns", columns), ("keys", keys)):
        if given and len(given) > 1:
            raise ConfigError(f"--{name} {','.join(map(str, given))}: one is wanted, that of the text")
    return train, held_out


def corpus_of(role: str, files: TextFiles, valid_files: TextFiles | None, examples: Examples) -> Corpus:
    """Examples of plain text files, and where they are from."""
    paths = {f"{role}_{number}": path for number, path in enumerate(files.paths, start=1)}
    if valid_files is not None:
        paths |= {f"valid_{number}": path for number, path in enumerate(valid_files.paths, start=1)}
    skipped: dict[str, list[Path]] = {}
    for path, reason in (one for text in (files, valid_files) if text for one in text.skipped):
        skipped.setdefault(reason, []).append(path)
    left_out = [LeftOut(reason, len(paths), _some(paths), "files") for reason, paths in skipped.items()]
    headers = headers_in([path for path in files.paths if path in files.tables], files.wanted)
    return Corpus(examples, paths, [*left_out, *headers], reading=files.reading)


def _some(paths: list[Path]) -> str:
    return ", ".join(str(path) for path in paths[:3]) + (", …" if len(paths) > 3 else "")
