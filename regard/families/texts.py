"""What families of plain text files share: which files, and how they are read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from regard.text.corpus import LeftOut, fingerprint
from regard.text.running import TextFiles, named
from regard.training.recipe import Corpus, name_files

Paths = str | Path | list[str | Path]
Splitter = Callable[[list[Any]], tuple[list[Any], list[Any]]]  # examples -> (to learn from, held out)


def gather_texts(files: Paths, valid: Paths | None) -> tuple[TextFiles, TextFiles | None]:
    """The files to learn from, and to validate on if they are given."""
    return TextFiles.of(files), TextFiles.of(valid) if valid else None


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
    return Corpus(
        examples, valid, left_out, {role: fingerprint(path) for role, path in roles.items()}, name_files(roles)
    )


def _some(paths: list[Path]) -> str:
    return ", ".join(str(path) for path in paths[:3]) + (", …" if len(paths) > 3 else "")
