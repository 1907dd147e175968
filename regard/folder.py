"""A trained model is a folder in Hugging Face layout, checked when it is read. How it is written is in `install.py`."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from regard.errors import FolderError
from regard.files import MARK, hash_file, open_regular, parse_json, read_regular
from regard.formats import detect as foreign
from regard.install import ABOUT, CARD, MOST_JSON_BYTES, WEIGHTS, Content, place_of, seal_of, write_model

__all__ = [
    "ABOUT",
    "CONFIG",
    "FORMAT",
    "RUN",
    "TOKENIZER",
    "TRIES",
    "WEIGHTS",
    "Content",
    "ModelFolder",
    "ModelInfo",
    "refuse_existing",
    "write_model",
]
Stamp = tuple[int, int, int]

TOKENIZER, CONFIG = "tokenizer.json", "config.json"
FORMAT = 1  # of a folder, as in regard.json
LANGUAGES = ("source_language", "target_language")  # in the settings
RUN = "run"  # training state; may be deleted
BLOCK = 2**20  # bytes that are copied at a time
TRIES = 10  # to open a model that is being replaced
OF_A_MODEL = {".json", ".safetensors", ".txt", ".spm"}  # endings of files that a folder of Hugging Face's is read from


class ModelInfo(BaseModel):
    """The metadata in regard.json, or its equivalent for a model of another program. Families may add to it."""

    model_config = ConfigDict(frozen=True, extra="allow")

    format: int = FORMAT  # of the folder
    regard: str | None = None  # the version that made it
    task: str = ""  # the name of its family
    settings: dict[str, Any] = {}  # of its run
    parameters: int | None = None
    base_models: list[dict[str, Any]] = []  # that it was fine-tuned from
    teacher: dict[str, Any] | None = None  # whose output it learned from
    monolingual: dict[str, Any] | None = None  # text in the target language, and whether it helped
    data: dict[str, Any] = {}  # what it was trained on
    scores: dict[str, int | float] = {}  # on held-out text
    scores_signature: str | None = None  # how they are measured
    step: int | None = None  # of the run, that its weights are from
    training: dict[str, int | float] = {}  # steps, tokens, seconds
    transformers: dict[str, Any] | None = None  # how it compares there
    alignment: dict[str, Any] | None = None  # the layer and the heads that align words
    head_roles: dict[str, list[list[dict[str, float]]]] | None = None  # of each kind, layer and head: role -> score
    imported_from: str | None = None
    license: str | None = None
    foreign: str | None = None  # its architecture, of a model that others trained
    part: str | None = None  # what of it is used, of a plain BERT
    architecture: str | None = None  # of that part
    dropped: list[str] = []  # weights that had no place in that part
    new: list[str] = []  # weights of that part that are fresh
    encoder: dict[str, Any] | None = None  # how the vector of a text is made
    weights_sha256: str | None = None
    files_sha256: dict[str, str] | None = None  # of each file of the model

    @field_validator("settings")
    @classmethod
    def _languages_are_words(cls, settings: dict[str, Any]) -> dict[str, Any]:
        if not all(isinstance(settings.get(name), str | None) for name in LANGUAGES):
            raise ValueError("a language is not a word")
        return settings

    @property
    def languages(self) -> list[str]:
        """The codes of the source and the target language, as far as they are known."""
        return [code for name in LANGUAGES if (code := self.settings.get(name))]

    def to_dict(self) -> dict[str, Any]:
        """What regard.json holds."""
        return self.model_dump(exclude_unset=True)

    @classmethod
    def read(cls, content: dict[str, Any], path: Path) -> ModelInfo:
        """The same, checked; path: for the message where it is not what regard writes."""
        found = content.get("format", FORMAT)
        if isinstance(found, int) and found > FORMAT:
            maker = str(content.get("regard", "unknown"))[:20]
            raise FolderError(f"{path} has format {found}, and this version of regard reads formats up to {FORMAT}: "
                              f"the model was made by a newer one ({maker}); update regard")  # fmt: skip
        try:
            return cls.model_validate(content)
        except ValidationError as problem:
            first = problem.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise FolderError(f"{path} is not as regard writes it ({place}: {first['msg']}); it was "
                              f"changed or damaged, copy or train it again") from None  # fmt: skip


class ModelFolder:
    """A folder that holds a whole model; opening it checks that it does.

    What is read through it belongs to the model that was there when it was opened, or is an error. Callers that read
    its files by path call `refuse_changed` afterwards.
    """

    def __init__(self, folder: Path, part: str | None = None) -> None:
        """part: what a plain BERT is opened as, as for `regard.load`."""
        if not folder.exists():
            raise FolderError(f"{folder} does not exist; a model is a folder made by `regard train … --to {folder}`")
        if not folder.is_dir():
            raise FolderError(f"{folder} is a file; a model is a folder" + _about_pickles(folder))
        self.folder = folder
        for left in reversed(range(TRIES)):
            self.path = place_of(folder)
            self.is_foreign = self.path == folder and not (folder / ABOUT).exists()
            self._stamps = self._stamp(self.path)
            self._hashes: dict[str, str] = {}
            self._checked: Stamp | None = None  # of the weights whose hash is right
            try:
                self.info, self.config = self._read()
                break
            except FolderError:
                if not left or not self.has_changed():
                    raise
        if part:
            self.info = self.info.model_copy(update=foreign.take_part(self.config, part))

    def _read(self) -> tuple[ModelInfo, dict[str, Any]]:
        """regard.json and config.json; of the other files but the weights, whether they belong to them."""
        if self.is_foreign:
            if not (self.path / CONFIG).exists():
                raise FolderError(f"{self.folder} has no {ABOUT}: {_what_is_there(self.folder)}")
            config = self.json(CONFIG)
            return ModelInfo(**foreign.describe(self.folder, config)), config
        content = self.json(ABOUT)
        info = ModelInfo.read(content, self.path / ABOUT)
        self._hashes = seal_of(content) | {WEIGHTS: str(info.weights_sha256)}
        for name in self._hashes.keys() - {CARD, WEIGHTS}:
            self._refuse_other(self.file(name), hash_file)
        return info, self.json(CONFIG)

    def json(self, name: str) -> dict[str, Any]:
        """The object in a JSON file of the folder."""
        try:
            content = parse_json(self.read(name))
        except ValueError as problem:
            raise FolderError(f"{self.path / name} is not a JSON file we can read: {problem}") from None
        if not isinstance(content, dict):
            raise FolderError(f"{self.path / name} is not a JSON object; it was changed or damaged")
        return content

    def has(self, name: str) -> bool:
        """Whether the model has such a file; one added by the user, or left by an older model, does not count."""
        return name in self._hashes if self.info.files_sha256 is not None else (self.path / name).exists()

    def read(self, name: str, most: int = MOST_JSON_BYTES) -> bytes:
        """The bytes of a file that must be there, of at most so many."""
        path = self.file(name)
        content = b""

        def read_and_hash(path: Path) -> str:
            nonlocal content
            content = read_regular(path, most)
            return hashlib.sha256(content).hexdigest()

        self._refuse_other(path, read_and_hash)
        return content

    def file(self, name: str) -> Path:
        """The path of a file that must be there."""
        path = self.path / name
        try:
            open_regular(path).close()
        except FileNotFoundError:
            self.refuse_changed()
            raise FolderError(f"{self.folder} has no {name}; the folder is not whole, copy or train it again") from None
        except OSError as problem:
            raise FolderError(f"{path} cannot be read: {problem.strerror or problem}") from None
        return path

    def weights(self) -> list[Path]:
        """The files of weights; of a model of ours the one, after its hash was checked."""
        if self.is_foreign:
            return self._foreign_weights()
        path = self.file(WEIGHTS)
        if (stamp := _stamp_of(path)) is None or stamp != self._checked:  # once: a large file takes seconds
            self._refuse_other(path, hash_file)
            self._checked = stamp
        return [path]

    def has_changed(self) -> bool:
        """Whether the model that was opened is no longer where it was."""
        return self._stamp(place_of(self.folder)) != self._stamps

    def refuse_changed(self) -> None:
        """What was read until now belongs together, or this is an error."""
        if self.has_changed():
            raise FolderError(f"{self.folder} no longer holds the model that was opened; open it again")

    def _refuse_other(self, path: Path, to_hash: Callable[[Path], str]) -> None:
        """A file must have the hash in regard.json; where there is none, the folder must not have changed."""
        try:
            found = to_hash(path)
        except OSError as problem:
            self.refuse_changed()
            raise FolderError(f"{path} cannot be read: {problem.strerror or problem}") from None
        if path.name not in self._hashes:
            self.refuse_changed()
        elif found != self._hashes[path.name]:
            self.refuse_changed()
            raise FolderError(f"{path} is not the file listed in {ABOUT} (its SHA-256 differs); it was changed or "
                              f"damaged, copy or train it again")  # fmt: skip

    def _stamp(self, place: Path) -> dict[Path, Stamp | None]:
        """What changes with every model that is written: regard.json; of others' folders, all that is read."""
        if not self.is_foreign:
            return {place: _stamp_of(place / ABOUT)}
        with suppress(OSError):
            return {path: _stamp_of(path) for path in place.iterdir() if path.suffix in OF_A_MODEL}
        return {}

    def _foreign_weights(self) -> list[Path]:
        if not (self.path / foreign.INDEX).exists():
            return [self.file(WEIGHTS)]
        names = self.json(foreign.INDEX).get("weight_map")
        if not isinstance(names, dict) or not all(isinstance(n, str) and Path(n).name == n for n in names.values()):
            raise FolderError(f"{self.path / foreign.INDEX} does not map weights to files")
        return [self.file(name) for name in sorted(set(names.values()))]

    def copy_to(self, other: Path) -> None:
        """A copy without the training state; it must not exist yet."""
        refuse_existing(other, "save")
        try:
            self.write_to(other, self.info)
        except FolderError:
            shutil.rmtree(other, ignore_errors=True)  # it was not there before
            raise

    def write_to(self, other: Path, info: ModelInfo, more: Mapping[str, Content] | None = None) -> None:
        """Makes a folder hold this model, with other metadata and with more files, or others."""
        place = self.path.resolve()  # links that lead out of the folder are not copied
        there = [path for path in self.path.glob("*") if path.is_file() and path.resolve().parent == place]
        self.refuse_changed()
        names = [path.name for path in there if path.name not in {ABOUT, MARK}]
        if WEIGHTS not in names:
            raise FolderError(f"{self.folder} has its weights in several files, or as links out of it, which are not "
                              f"copied; `regard import {self.folder} --to {other}` makes one of them")  # fmt: skip
        contents: dict[str, Content] = {name: partial(self._copy, name) for name in names}
        write_model(other, info.to_dict(), contents | dict(more or {}))

    def _copy(self, name: str, to: Path) -> None:
        """Copies a file block by block, for weights may be larger than the memory; then the copy must have its hash."""
        path = self.file(name)
        with open_regular(path) as file, to.open("wb") as copied:
            shutil.copyfileobj(file, copied, BLOCK)
        self._refuse_other(path, lambda _: hash_file(to))


def refuse_existing(path: Path, verb: str, what: str = "folder") -> None:
    """A new folder is wanted, or file; a link that leads nowhere is something, too."""
    if os.path.lexists(path):
        raise FolderError(f"{path} exists already; {verb} to a new {what}")


def _stamp_of(path: Path) -> Stamp | None:
    """Changes whenever another file takes its place."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _about_pickles(path: Path) -> str:
    if path.suffix in {".pt", ".pth", ".bin", ".pkl", ".ckpt"}:
        return (
            ", and pickled weights can run any code when opened: they are never read here; convert them to safetensors"
        )
    return ""


def _what_is_there(folder: Path) -> str:
    if (folder / RUN).is_dir():
        return "training has not reached its first validation yet; resume it with the same command"
    pickled = next((path for path in folder.iterdir() if _about_pickles(path)), None)
    if pickled:
        return f"it holds {pickled.name}" + _about_pickles(pickled)
    models = sorted(path.parent.name for name in (ABOUT, CONFIG) for path in folder.glob(f"*/{name}"))
    if models:
        names = list(dict.fromkeys(models))
        return f"it holds models ({', '.join(names[:8])}{', …' if len(names) > 8 else ''}); name one of them"
    return "it is not a model made by regard"
