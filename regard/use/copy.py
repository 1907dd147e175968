"""The fast engine's copy of a model: a folder `ctranslate2` in the model's own, made from the weights.

It tells what it was made of, and counts only as long as that is still so. Written whole or not at all.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from regard.engine.layout import Layout, this_machine
from regard.files import hash_file, write_whole
from regard.folder import ABOUT, CONFIG, TOKENIZER, ModelFolder
from regard.interop.generation import FILE as GENERATION
from regard.interop.tokenizers import CONFIG as TOKENIZING
from regard.text.sentencepieces import SentencePieces

NAME = "ctranslate2"
WEIGHTS = "model.bin"
SHORTLIST, THEIR_SHORTLIST = "shortlist.txt", "vmap.txt"
FORMAT = 3  # of the copy; older ones are made again


class Copy:
    """The copy in a model's folder, if there is one."""

    def __init__(self, folder: ModelFolder) -> None:
        self._folder = folder
        self.path = folder.folder / NAME
        self._about: dict[str, Any] = {}

    def is_good(self) -> bool:
        """Whether it is whole, and of these weights, this config and this tokenizer."""
        try:
            self._about = json.loads((self.path / ABOUT).read_bytes())
            return bool(self._about["made_of"] == self._made_of() and self._about["sha256"] == _hashes(self.path))
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return False

    def make(self, fill: Callable[[Path], dict[str, Any]]) -> None:
        """Makes it anew; `fill` writes CTranslate2's files into a folder and answers with what is to be known of them.

        Raises OSError where nothing can be written.
        """
        new, old = (self._folder.folder / f".{NAME}.{os.getpid()}.{age}" for age in ("new", "old"))
        try:
            new.mkdir()
            facts = fill(new)
            shortlist = self._folder.path / SHORTLIST
            if _is_shortlist(shortlist):
                shutil.copyfile(shortlist, new / THEIR_SHORTLIST)
            self._about = {"made_of": self._made_of(), "sha256": _hashes(new), "facts": facts}
            self._tell(new)
            with suppress(FileNotFoundError):
                self.path.rename(old)
            try:
                new.rename(self.path)
            except OSError as problem:
                if problem.errno not in {errno.EEXIST, errno.ENOTEMPTY}:
                    raise
                # Another process was sooner, and made the same.
        finally:
            for folder in (new, old):
                shutil.rmtree(folder, ignore_errors=True)

    @property
    def facts(self) -> dict[str, Any]:
        """What whoever filled it told."""
        return dict(self._about["facts"])

    @property
    def has_shortlist(self) -> bool:
        """Whether it knows the likely words of each source word."""
        return (self.path / THEIR_SHORTLIST).is_file()

    def layouts(self, precision: str) -> dict[str, Layout] | None:
        """What was measured on this machine in this precision, if it was."""
        kept = self._about.get("layouts", {}).get(f"{this_machine()}, {precision}")
        return {name: Layout(*numbers) for name, numbers in kept.items()} if kept else None

    def keep_layouts(self, precision: str, layouts: dict[str, Layout]) -> None:
        """Remembers what was measured on this machine, where that can be written."""
        numbers = {name: [layout.workers, layout.threads] for name, layout in layouts.items()}
        self._about["layouts"] = self._about.get("layouts", {}) | {f"{this_machine()}, {precision}": numbers}
        with suppress(OSError):
            self._tell(self.path)

    def _tell(self, folder: Path) -> None:
        write_whole(folder / ABOUT, json.dumps(self._about, indent=2) + "\n")

    def _made_of(self) -> dict[str, Any]:
        split_by = [name for name in (TOKENIZER, *SentencePieces.FILES, GENERATION, TOKENIZING)
                    if (self._folder.path / name).is_file()]  # fmt: skip
        files = {name: hash_file(self._folder.file(name)) for name in (CONFIG, *split_by)}
        shortlist = self._folder.path / SHORTLIST
        return {
            "format": FORMAT,
            "weights": self._folder.about.get("weights_sha256"),
            **files,
            SHORTLIST: hash_file(shortlist) if shortlist.is_file() else None,
        }


def _hashes(folder: Path) -> dict[str, str]:
    """Of every file of a copy but its own description."""
    return {path.name: hash_file(path) for path in sorted(folder.iterdir()) if path.is_file() and path.name != ABOUT}


def _is_shortlist(path: Path) -> bool:
    """Whether a file is a shortlist at all: CTranslate2 trusts what it is given, and falls over an empty one."""
    try:
        lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
    except (OSError, ValueError):
        return False
    return lines[0].startswith("\t") and bool(lines[0].strip()) and all("\t" in line for line in lines)
