"""Reads running text: whole files, each one document."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from pathlib import Path

from regard.errors import CorpusError
from regard.text.corpus import read_whole

SHARE = 20  # one part in this many is held out when no text to validate on is given


@dataclass(frozen=True)
class TextFiles:
    """Where running text is."""

    paths: tuple[Path, ...]

    @classmethod
    def of(cls, files: str | Path | list[str | Path] | tuple[str | Path, ...]) -> TextFiles:
        """The same from names: one or several."""
        names = [files] if isinstance(files, str | Path) else list(files)
        if not names:
            raise CorpusError("no file of text was given; name at least one")
        return cls(tuple(Path(name) for name in names))


def read_documents(files: TextFiles) -> list[str]:
    """The text of each file; files without any text are left out, unless all are."""
    texts = [read_whole(path) for path in files.paths]
    found = [text for text in texts if text.strip()]
    if not found:
        raise CorpusError(f"{', '.join(map(str, files.paths[:3]))}: there is no text in it; nothing to learn from")
    return found


def split_lines(text: str) -> list[str]:
    """The lines of a text with their ends, which are `\\n` and nothing else."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def hold_out_documents(texts: list[str], seed: int) -> tuple[list[str], list[str]]:
    """Splits off one part in twenty: whole documents if there are many, else the end of each one."""
    if len(texts) >= SHARE:
        order = list(range(len(texts)))
        random.Random(seed).shuffle(order)
        chosen = set(order[: len(texts) // SHARE])
        return [t for i, t in enumerate(texts) if i not in chosen], [t for i, t in enumerate(texts) if i in chosen]
    train, valid = [], []
    for text in texts:
        cut = len(text) - max(1, len(text) // SHARE)
        line_end = text.rfind("\n", len(text) // 2, cut)
        cut = line_end + 1 if line_end > 0 else cut
        train.append(text[:cut])
        valid.append(text[cut:])
    return [text for text in train if text], [text for text in valid if text]
