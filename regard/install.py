"""How a model comes into its folder: whole or not at all, and without touching what is the user's.

All files are first written into `.new`, which is then renamed to `.ready`: from that moment the new model counts.
Only then do its files take their places one by one, regard.json last; a reader that finds `.ready/regard.json` reads
there. So a crash at any moment leaves a folder with one whole model, the old or the new.

regard.json holds the SHA-256 of every file of the model. By it a reader detects a mixture of two models, and a
writer knows its own files from the user's: only what has its hash is replaced; an edited file is the user's.
"""

import errno
import json
import os
import shutil
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from regard.errors import FolderError
from regard.files import (
    begin_own,
    has_hash,
    hash_file,
    is_marked,
    listed,
    make_own,
    read_regular,
    refuse_other_kind,
    refuse_others,
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
        refuse_other_kind(folder, stat.S_IFDIR)
        folder.mkdir(parents=True, exist_ok=True)
        _install(folder)  # what an earlier crash left to do
        remove_left_over(folder)
        names = _without_card_of_others(folder, contents)
        new = folder / NEW
        begin_own(new, (*names, ABOUT))
        for name in names:
            write_whole(new / name, contents[name])
        hashes = {name: hash_file(new / name) for name in names}
        sealed = about | {"weights_sha256": hashes[WEIGHTS], SEAL: hashes}
        write_whole(new / ABOUT, json.dumps(sealed, indent=2, ensure_ascii=False) + "\n")
        new.rename(folder / READY)
        sync(folder)
        _install(folder)
    except OSError as problem:
        place, what = problem.filename or folder, problem.strerror or problem
        raise FolderError(f"{place} cannot be written: {what}; what was there is as it was") from None


def refuse_edited(folder: Path) -> None:
    """An OSError where a model could not be written: before a training, not at its end."""
    _ready_seal(folder)
    if refuse_other_kind(folder / NEW, stat.S_IFDIR) and any((folder / NEW).iterdir()):
        refuse_others(folder / NEW, listed(folder / NEW) if is_marked(folder / NEW) else ())
    _without_card_of_others(folder, seal_of(read_about(folder) or {}))


def _install(folder: Path) -> None:
    """Moves a model that is ready to where other programs look for it."""
    ready = folder / READY
    seal = _ready_seal(folder)
    if seal is None:
        return
    if seal:
        for name in sorted(_without_card_of_others(folder, seal)):
            _put(ready / name, folder / name)
        for name, expected in seal_of(read_about(folder) or {}).items():
            if name not in seal and has_hash(folder / name, expected):
                (folder / name).unlink()  # of the model before
        _put(ready / ABOUT, folder / ABOUT)
        sync(folder)
        (ready / ABOUT).unlink()  # from here on it does not count
    remove_own(ready, (*seal, *listed(ready)) if is_marked(ready) else tuple(seal))


def _ready_seal(folder: Path) -> dict[str, str] | None:
    """The hashes of the model in `.ready`, whose files are these and no others, or this is an OSError.

    Empty where its files took their places already; None where there is no such folder.
    """
    ready = folder / READY
    if not refuse_other_kind(ready, stat.S_IFDIR):
        return None
    about = read_about(ready)
    if about is None:
        make_own(ready)  # an error where it is not ours
        refuse_others(ready, set(listed(ready)) - {ABOUT})
        return {}
    seal = seal_of(about)
    refuse_others(ready, (*seal, ABOUT))
    for name in (WEIGHTS, *seal):
        if not has_hash(ready / name, seal.get(name, "")):
            what = f"it is not the file listed in {ABOUT} beside it: move {READY} away"
            raise OSError(errno.EEXIST, what, str(ready / name))
    return seal


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


def _without_card_of_others(folder: Path, names: Iterable[str]) -> list[str]:
    """What is to be written: the user's own README.md stays; any other file that is not as a model of ours has it, or
    as the one in `.ready` has it, is an OSError.
    """
    about = read_about(folder)
    ours, ready = seal_of(about or {}), seal_of(read_about(folder / READY) or {})
    if about is None and os.path.lexists(folder / ABOUT):
        raise OSError(errno.EEXIST, "it is there already and was not made by regard: move it away", str(folder / ABOUT))
    kept = []
    for name in names:
        path = folder / name
        is_ours = any(has_hash(path, seal[name]) for seal in (ours, ready) if name in seal)
        is_older = about is not None and not ours and (name != CARD or _has_our_head(path))  # by its name: no hashes
        if is_ours or is_older or not os.path.lexists(path):
            kept.append(name)
        elif name != CARD:
            what = (
                "was changed since regard wrote it" if name in ours else "is there already and was not made by regard"
            )
            raise OSError(errno.EEXIST, f"it {what}: move it away", str(path))
    return kept


def _has_our_head(card: Path) -> bool:
    with suppress(OSError):
        return not card.is_symlink() and read_regular(card, MOST_JSON_BYTES).startswith(CARD_HEAD)
    return False


def place_of(folder: Path) -> Path:
    """Where the model of a folder is read."""
    ready = folder / READY
    return ready if (ready / ABOUT).is_file() and not ready.is_symlink() else folder


def read_about(folder: Path) -> dict[str, Any] | None:
    """The regard.json of a folder, if it is one of ours."""
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
