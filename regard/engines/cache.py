"""The converted model of the fast engine: a folder `ctranslate2` in the model's own, made from the weights.

CTranslate2 trusts its files, so a converted model is run only if each of them is, byte for byte, what we would write.
That is checked once, and cached outside the folder. It is written atomically. Only files we write are read; a
converted model with other files beside it is never replaced.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.cache import Numbers, keep, recall
from regard.engines.layout import Layout, this_machine
from regard.files import (
    MARK,
    hash_file,
    is_marked,
    locked,
    make_own,
    parse_json,
    read_regular,
    refuse_others,
    remove_own,
)
from regard.folder import ABOUT, CONFIG, TOKENIZER, ModelFolder
from regard.formats.generation import FILE as GENERATION
from regard.formats.tokenizers import CONFIG as TOKENIZING
from regard.text.sentencepieces import SentencePieces
from regard.text.tokenizer import ROLES_FILE

if TYPE_CHECKING:
    from regard.formats.records import Described

NAME = "ctranslate2"
LEFT = re.compile(rf"\.{NAME}\.[0-9a-f]{{8}}\.(new|old)")  # while one is made
WEIGHTS = "model.bin"
SHORTLIST, THEIR_SHORTLIST = "shortlist.txt", "vmap.txt"
MOST_SHORTLIST_BYTES = 64 * 2**20
OURS = (WEIGHTS, "config.json", "shared_vocabulary.json", "vocabulary.json", THEIR_SHORTLIST)  # all that is read there
MOST_ABOUT_BYTES = 2**20  # of the description of an older copy
FORMAT = 4  # of the copy; older ones are made again
Hashes = dict[str, str]


class CTranslate2Cache:
    """The converted model in a model's folder, if there is one."""

    def __init__(self, folder: ModelFolder) -> None:
        self._folder = folder
        self.path = folder.folder / NAME
        self.facts: Numbers = {}  # what is to be known of it
        self._hashes: Hashes = {}

    def is_known(self) -> bool:
        """Whether these very files were verified before, or written here."""
        self._hashes = self._hash_files()
        self.facts = recall("copy", self._key) or {}
        if not self._hashes or not self.facts:
            return False
        most = sum((self.path / name).stat().st_size for name in self._hashes)  # every row takes a byte at least
        return all(number <= most for numbers in self.facts.values() for number in numbers)

    def check(self, described: Described, facts: Numbers) -> bool:
        """Whether it is what we would write; the result is cached."""
        shortlist = self._shortlist()
        expected = described.hashes()
        if shortlist is not None:
            expected[THEIR_SHORTLIST] = hashlib.sha256(shortlist).hexdigest()
        if self._hashes != expected:
            return False
        self.facts = facts
        keep(facts, "copy", self._key)
        return True

    def make(self, described: Described, facts: Numbers) -> None:
        """Makes it anew. Raises OSError where nothing can be written, or something lies there that is not ours."""
        if os.path.lexists(self.path):
            self._refuse_others()
        remove_left_copies(self.path.parent)
        name = f".{NAME}.{secrets.token_hex(4)}"
        new, old = (self.path.with_name(f"{name}.{age}") for age in ("new", "old"))
        lock = None
        try:
            make_own(new)
            lock = locked(new / MARK)  # as long as this process lives
            described.save(new)
            if (shortlist := self._shortlist()) is not None:
                (new / THEIR_SHORTLIST).write_bytes(shortlist)
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
                with suppress(OSError):
                    remove_own(folder, (*OURS, ABOUT) if _was_described(folder) else OURS)
            if lock is not None:
                os.close(lock)
        self._hashes = self._hash_files()
        if not self.check(described, facts):
            raise OSError(errno.EIO, "what was written is not what is there", str(self.path))

    def files(self) -> list[Path]:
        """CTranslate2's files."""
        return [self.path / name for name in self._hashes]

    @property
    def has_shortlist(self) -> bool:
        """Whether it has a shortlist of each source token's likely translations."""
        return THEIR_SHORTLIST in self._hashes

    def layouts(self, precision: str) -> dict[str, Layout] | None:
        """What was measured on this machine in this precision, if it was."""
        kept = recall("layouts", self._key, this_machine(), precision)
        if not kept or not all(len(pair) == 2 and min(pair) > 0 and max(pair) < 2**12 for pair in kept.values()):
            return None
        return {name: Layout(*numbers) for name, numbers in kept.items()}

    def keep_layouts(self, precision: str, layouts: dict[str, Layout]) -> None:
        """Remembers what was measured on this machine."""
        numbers = {name: [layout.workers, layout.threads] for name, layout in layouts.items()}
        keep(numbers, "layouts", self._key, this_machine(), precision)

    @property
    def _key(self) -> str:
        """A hash of the model and of the converted files."""
        inputs = (CONFIG, TOKENIZER, *SentencePieces.FILES, GENERATION, TOKENIZING, ROLES_FILE, SHORTLIST)
        source_hashes = {name: hash_file(self._folder.file(name)) for name in inputs if self._folder.has(name)}
        inputs_and_files: list[Any] = [FORMAT, self._folder.info.to_dict(), source_hashes, self._hashes]
        return hashlib.sha256(json.dumps(inputs_and_files, sort_keys=True).encode()).hexdigest()

    def _hash_files(self) -> Hashes:
        """Of all that CTranslate2 would read there; nothing if not all of it is files."""
        with suppress(OSError):
            if not self.path.is_symlink():
                return {name: hash_file(self.path / name) for name in OURS if os.path.lexists(self.path / name)}
        return {}

    def _refuse_others(self) -> None:
        """What is replaced must be ours: a folder with our mark or our older description, and only files we write."""
        was_described = _was_described(self.path)
        if not is_marked(self.path) and not was_described:
            raise OSError(errno.EEXIST, f"its folder {NAME} was not made by regard: move it away", str(self.path))
        try:
            refuse_others(self.path, (*OURS, ABOUT) if was_described else OURS)
        except OSError as problem:
            name = f"{NAME}/{Path(problem.filename).name}"
            what = f"its folder {NAME} is to be made again, and {name} was not made by regard: move it away"
            raise OSError(errno.EEXIST, what, problem.filename) from None

    def _shortlist(self) -> bytes | None:
        """The model's shortlist, if it is one: CTranslate2 trusts what it is given, and falls over an empty one."""
        if not self._folder.has(SHORTLIST):
            return None
        content = self._folder.read(SHORTLIST, MOST_SHORTLIST_BYTES)
        with suppress(UnicodeDecodeError):
            lines = content.decode().rstrip("\n").split("\n")
            if lines[0].startswith("\t") and lines[0].strip() and all("\t" in line for line in lines):
                return content
        return None


def remove_left_copies(folder: Path) -> None:
    """Removes copies that were being made when a process was killed; one that is being made is locked."""
    for path in folder.iterdir():
        with suppress(OSError):
            if LEFT.fullmatch(path.name) and is_marked(path) and (lock := locked(path / MARK)) is not None:
                try:
                    remove_own(path, (*OURS, ABOUT) if _was_described(path) else OURS)
                finally:
                    os.close(lock)


def _was_described(folder: Path) -> bool:
    """Whether it is a copy as once made, with a description instead of a mark."""
    with suppress(OSError, ValueError):
        if not folder.is_symlink() and not (folder / ABOUT).is_symlink():
            about = parse_json(read_regular(folder / ABOUT, MOST_ABOUT_BYTES))
            return isinstance(about, dict) and all(isinstance(about.get(key), dict) for key in ("made_of", "sha256"))
    return False


def open_cache(folder: ModelFolder, describe: Callable[[], tuple[Described, Numbers]]) -> CTranslate2Cache:
    """The copy of a model, checked, or made if it is not there or not right."""
    copy = CTranslate2Cache(folder)
    if not copy.is_known():
        described, facts = describe()
        if not copy.check(described, facts):
            copy.make(described, facts)
    return copy
