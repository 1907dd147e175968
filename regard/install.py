"""How a model comes into its folder: whole or not at all, and without touching what is the user's.

All files are first written into `.new`, which is then renamed to `.ready`: from that moment the new model counts.
Only then do its files take their places one by one, regard.json last; a reader that finds `.ready/regard.json` reads
there. So a crash at any moment leaves a folder with one whole model, the old or the new.

regard.json holds the SHA-256 of every file of the model. By it a reader tells a mixture of two models, and a writer
tells its own files from the user's, which are left alone.
"""

import errno
import json
import os
import shutil
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from regard.errors import FolderError
from regard.files import (
    MARK,
    hash_file,
    is_marked,
    make_own,
    read_regular,
    refuse_other_kind,
    remove_left_over,
    remove_own,
    sync,
    unfinished_name,
    write_whole,
)

Content = bytes | str | Callable[[Path], None]

NEW, READY = ".new", ".ready"
WEIGHTS, ABOUT, CARD = "model.safetensors", "regard.json", "README.md"
CARD_HEAD = b"---\nlibrary_name: regard\n"
SEAL = "files_sha256"  # in regard.json: the hash of each file of the model
MOST_JSON_BYTES = 4 * 2**20  # a larger file is not one of ours


def write_model(folder: Path, about: dict[str, Any], contents: dict[str, Content]) -> None:
    """Makes `folder` hold this model; `about` goes to regard.json, with the hashes of its files.

    Only one process at a time may do so. Files in the folder that are not of a model of ours are never replaced.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _install(folder)  # what an earlier crash left to do
        remove_left_over(folder)
        contents = _without_card_of_others(folder, contents)
        new = folder / NEW
        make_own(new)
        for path in new.iterdir():
            if path.name != MARK:
                path.unlink()
        for name, content in contents.items():
            write_whole(new / name, content)
        hashes = {name: hash_file(new / name) for name in contents}
        sealed = about | {"weights_sha256": hashes[WEIGHTS], SEAL: hashes}
        write_whole(new / ABOUT, json.dumps(sealed, indent=2, ensure_ascii=False) + "\n")
        new.rename(folder / READY)
        sync(folder)
        _install(folder)
    except OSError as problem:
        place, what = problem.filename or folder, problem.strerror or problem
        raise FolderError(f"{place} cannot be written: {what}; what was there is as it was") from None


def _install(folder: Path) -> None:
    """Moves a model that is ready to where other programs look for it."""
    ready = folder / READY
    if not refuse_other_kind(ready, stat.S_IFDIR):
        return
    if not is_marked(ready) and read_about(ready) is None:
        make_own(ready)  # an error where it is somebody else's
    if _is_ready(folder):
        names = sorted(path.name for path in ready.iterdir() if path.name not in {ABOUT, MARK})
        for name in names:
            _put(ready / name, folder / name)
        for name, expected in seal_of(read_about(folder) or {}).items():
            if name not in names and _is_of(folder / name, expected):
                (folder / name).unlink()  # of the model before
        _put(ready / ABOUT, folder / ABOUT)
        sync(folder)
        (ready / ABOUT).unlink()  # from here on it does not count
    remove_own(ready)


def _put(path: Path, place: Path) -> None:
    """Gives a file a second place, in one step."""
    refuse_other_kind(path, stat.S_IFREG)
    beside = unfinished_name(place)
    try:
        os.link(path, beside)
    except OSError:  # a file system without links
        shutil.copyfile(path, beside)
        sync(beside)
    beside.replace(place)


def _without_card_of_others(folder: Path, contents: dict[str, Content]) -> dict[str, Content]:
    """What is to be written: the user's own README.md stays; any other file that is not of a model of ours is an
    OSError.
    """
    about = read_about(folder)
    ours = seal_of(about or {})
    card = folder / CARD
    if os.path.lexists(card):
        head = read_regular(card, MOST_JSON_BYTES)[: len(CARD_HEAD)] if card.is_file() else b""
        is_ours = _is_of(card, ours[CARD]) if CARD in ours else bool(about) and not ours and head == CARD_HEAD
        contents = contents if is_ours else {name: content for name, content in contents.items() if name != CARD}
    for name in (*contents, ABOUT):
        is_known = about is not None and (name in ours or name == ABOUT or not ours)
        if not is_known and os.path.lexists(folder / name):
            what = "it is there already and was not made by regard: move it away"
            raise OSError(errno.EEXIST, what, str(folder / name))
    return contents


def place_of(folder: Path) -> Path:
    """Where the model of a folder is read."""
    return folder / READY if _is_ready(folder) else folder


def _is_ready(folder: Path) -> bool:
    ready = folder / READY
    return (ready / ABOUT).is_file() and not ready.is_symlink()


def read_about(folder: Path) -> dict[str, Any] | None:
    """What regard.json of a folder tells, if it is one of ours."""
    with suppress(OSError, ValueError, RecursionError):
        about = json.loads(read_regular(folder / ABOUT, MOST_JSON_BYTES))
        if isinstance(about, dict) and isinstance(about.get("weights_sha256"), str):
            return about
    return None


def seal_of(about: dict[str, Any]) -> dict[str, str]:
    """The hashes of a model's files; models of before have none but that of the weights."""
    hashes = about.get(SEAL)
    if not isinstance(hashes, dict):
        return {}
    return {name: str(value) for name, value in hashes.items() if Path(name).name == name != ABOUT}


def _is_of(path: Path, expected: str) -> bool:
    with suppress(OSError):
        return not path.is_symlink() and hash_file(path) == expected
    return False
