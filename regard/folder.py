"""A trained model is a folder in Hugging Face layout: written whole or not at all, checked when read.

All files are first written into `.new`, which is then renamed to `.ready`: from that moment the new model counts.
Only then do its files take their places one by one; a reader that finds `.ready` reads there. So a crash at any
moment leaves a folder with one whole model, the old or the new.
"""

import json
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from regard.errors import FolderError
from regard.files import hash_file, sync, write_whole
from regard.interop import foreign

Content = bytes | str | Callable[[Path], None]

NEW, READY, OLD = ".new", ".ready", ".old"
WEIGHTS, TOKENIZER, CONFIG, ABOUT = "model.safetensors", "tokenizer.json", "config.json", "regard.json"
RUN = "run"  # training state; may be deleted
MOST_JSON_BYTES = 64 * 2**20  # a larger file is not one of ours


def write_model(folder: Path, about: dict[str, Any], contents: dict[str, Content]) -> None:
    """Makes `folder` hold this model; `about` goes to regard.json, with the hash of the weights."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _install(folder)  # what an earlier crash left to do
        new = folder / NEW
        _remove(new)
        new.mkdir()
        for name, content in contents.items():
            write_whole(new / name, content)
        sealed = about | {"weights_sha256": hash_file(new / WEIGHTS)}
        write_whole(new / ABOUT, json.dumps(sealed, indent=2, ensure_ascii=False) + "\n")
        new.rename(folder / READY)
        sync(folder)
        _install(folder)
    except OSError as problem:
        raise FolderError(
            f"{folder} cannot be written: {problem.strerror or problem}; what was there is as it was"
        ) from None


class ModelFolder:
    """A folder that holds a whole model; opening it checks that it does."""

    def __init__(self, folder: Path) -> None:
        if not folder.exists():
            raise FolderError(f"{folder} does not exist; a model is a folder made by `regard train … --to {folder}`")
        if not folder.is_dir():
            raise FolderError(f"{folder} is a file; a model is a folder" + _about_pickles(folder))
        self.folder = folder
        self.path = folder / READY if (folder / READY).is_dir() else folder
        if not (self.path / ABOUT).is_file() and not (self.path / CONFIG).is_file():
            raise FolderError(f"{folder} has no {ABOUT}: {_what_is_there(folder)}")
        self.config = self.json(CONFIG)
        self.is_foreign = not (self.path / ABOUT).is_file()
        self.about = foreign.describe(folder, self.config) if self.is_foreign else self.json(ABOUT)

    def json(self, name: str) -> dict[str, Any]:
        """The object in a JSON file of the folder."""
        path = self.file(name)
        try:
            if path.stat().st_size > MOST_JSON_BYTES:
                raise FolderError(f"{path} is larger than any file of this kind; it is not one of ours")
            content = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError) as problem:
            raise FolderError(f"{path} is not a JSON file we can read: {problem}") from None
        if not isinstance(content, dict):
            raise FolderError(f"{path} is not a JSON object; it was changed or damaged")
        return content

    def file(self, name: str) -> Path:
        """The path of a file that must be there."""
        path = self.path / name
        if not path.is_file():
            raise FolderError(f"{self.folder} has no {name}; the folder is not whole, copy or train it again")
        return path

    def weights(self) -> list[Path]:
        """The files of weights; of a model of ours the one, after its hash was checked."""
        if self.is_foreign:
            return self._foreign_weights()
        path = self.file(WEIGHTS)
        if hash_file(path) != self.about.get("weights_sha256"):
            raise FolderError(
                f"{path} is not the file {ABOUT} tells of (its SHA-256 differs); it was changed or damaged"
            )
        return [path]

    def _foreign_weights(self) -> list[Path]:
        if not (self.path / foreign.INDEX).is_file():
            return [self.file(WEIGHTS)]
        names = self.json(foreign.INDEX).get("weight_map")
        if not isinstance(names, dict) or not all(isinstance(n, str) and Path(n).name == n for n in names.values()):
            raise FolderError(f"{self.path / foreign.INDEX} does not tell which file holds which weight")
        return [self.file(name) for name in sorted(set(names.values()))]

    def copy_to(self, other: Path) -> None:
        """A copy without the training state; it must not exist yet."""
        if other.exists():
            raise FolderError(f"{other} exists already; save to a new folder")
        place = self.path.resolve()  # what a link leads to elsewhere is nobody's to give away
        there = [path for path in self.path.iterdir() if path.is_file() and path.resolve().parent == place]
        names = [path.name for path in there if path.name != ABOUT]
        contents: dict[str, Content] = {name: (self.path / name).read_bytes() for name in names}
        write_model(other, self.about, contents)


def _install(folder: Path) -> None:
    """Moves a model that is ready to where other programs look for it."""
    ready = folder / READY
    if not ready.is_dir():
        return
    for path in sorted(ready.iterdir()):
        place, beside = folder / path.name, folder / f".{path.name}"
        beside.unlink(missing_ok=True)
        try:
            os.link(path, beside)
        except OSError:  # a file system without links
            shutil.copyfile(path, beside)
            sync(beside)
        beside.replace(place)
    sync(folder)
    _remove(folder / OLD)
    ready.rename(folder / OLD)
    _remove(folder / OLD)


def _remove(folder: Path) -> None:
    with suppress(FileNotFoundError):
        shutil.rmtree(folder)


def _about_pickles(path: Path) -> str:
    if path.suffix in {".pt", ".pth", ".bin", ".pkl", ".ckpt"}:
        return (
            ", and pickled weights can run any code when opened: they are never read here; convert them to safetensors"
        )
    return ""


def _what_is_there(folder: Path) -> str:
    if (folder / RUN).is_dir():
        return "training has not reached its first validation yet; let it go on with the same command"
    pickled = next((path for path in folder.iterdir() if _about_pickles(path)), None)
    if pickled:
        return f"it holds {pickled.name}" + _about_pickles(pickled)
    return "it is not a model made by regard"
