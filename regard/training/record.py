"""The folder of a run: one owner at a time, and run.json, the record of all that was decided before the first step.

The folder is ours if it carries our mark; of one without it (of 0.1) run.json is the proof. Only files with names of
ours are ever removed from it, no link is followed, and what else lies there is the user's.
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.data.store import TokenStore
from regard.errors import RunError
from regard.files import MARK, is_marked, read_regular, refuse_other_kind, remove_left_over, write_whole
from regard.folder import ABOUT, CONFIG, RUN, TOKENIZER, WEIGHTS
from regard.install import place_of, read_about, refuse_edited
from regard.text.sentencepieces import SentencePieces
from regard.text.tokenizer import ROLES_FILE
from regard.training.checkpoint import CheckpointStore
from regard.training.log import METRICS, SNAPSHOTS

RECORD, SURVEY, START, LOCK = "run.json", "survey.json", "start.safetensors", "lock"
STATE = "state"  # the folder of the saved states
STAGES = "stages"  # in a record: it is of several trainings, whose runs are in folders of their own
OURS = (RECORD, SURVEY, START, METRICS, SNAPSHOTS, TOKENIZER, ROLES_FILE, *SentencePieces.FILES)
MOST_RECORD_BYTES = 64 * 2**20
CHECKS, MOMENT = 3, 0.05  # of what is in the way: how often, and seconds between
TRIES = 100  # to take a lock whose file another process is about to remove


@dataclass(frozen=True)
class OwnedRun:
    """The folder of a run, as long as this process alone may write there."""

    path: Path
    lock: int

    def check(self) -> None:
        """Nothing is written any more into a folder that was moved away, or that another one has taken the place of."""
        with suppress(OSError):
            if os.path.samestat(os.fstat(self.lock), (self.path / LOCK).lstat()):
                return
        raise RunError(f"{self.path.parent} was moved, replaced or removed while this training wrote into it, and it "
                       f"stopped; resume it with the same command and --to where the folder is now")  # fmt: skip


def read_record(run: Path) -> dict[str, Any] | None:
    """What an earlier session decided, if there was one."""
    path = run / RECORD
    try:
        record = json.loads(read_regular(path, MOST_RECORD_BYTES))
        if STAGES in record:
            raise RunError(f"{run.parent} was trained in stages, with --monolingual; give that again to resume, add "
                           f"--fresh to start over, or train to another folder")  # fmt: skip
        return dict(record) | {name: dict(record[name]) for name in ("config", "fingerprints", "files")}
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as problem:
        raise RunError(
            f"{path} cannot be read ({problem}); add --fresh to start over, or train to another folder"
        ) from None


def write_record(run: Path, record: dict[str, Any]) -> None:
    """Keeps what was decided."""
    write_whole(run / RECORD, json.dumps(record, indent=2) + "\n")


@contextmanager
def sole_owner(folder: Path, fresh: bool) -> Iterator[OwnedRun]:
    """The run folder, for this process alone; a folder of something else is refused."""
    run = folder / RUN
    try:
        _refuse_lastingly(folder, run, fresh)
        began_here = [path for path in (*reversed(run.parents), run) if not path.exists()]
        owned = OwnedRun(run, _take(folder, run))
        try:
            for place in (folder, run, run / STATE):
                if place.is_dir():
                    remove_left_over(place)
            refuse_edited(folder)
            yield owned
        finally:
            _remove_if_unused(owned, began_here)
            os.close(owned.lock)
    except OSError as problem:
        place, what = problem.filename or folder, problem.strerror or problem
        if not Path(place).is_relative_to(folder):
            raise RunError(f"{place}: {what}") from None
        raise RunError(f"{place} cannot be written: {what}; or choose another folder with --to") from None


def clear(run: Path) -> None:
    """Removes an earlier run, its record first: without it the rest counts for nothing. What is not ours stays."""
    for name in OURS:
        if os.path.lexists(run / name) and not stat.S_ISDIR((run / name).lstat().st_mode):
            (run / name).unlink()
    TokenStore(run).clear()
    CheckpointStore(run / STATE).clear()


def _refuse_lastingly(folder: Path, run: Path, fresh: bool) -> None:
    """Refuses what is not ours; only if it is still so a moment later, for an owner that did not use its folder removes
    it piece by piece.
    """
    for _ in range(CHECKS):
        try:
            _refuse_others(folder, run, fresh)
            return
        except (RunError, FileNotFoundError):
            time.sleep(MOMENT)
    _refuse_others(folder, run, fresh)


def _refuse_others(folder: Path, run: Path, fresh: bool) -> None:
    """Whatever is overwritten later must be ours."""
    remedy = "move it away, or train to another folder"
    if folder.is_symlink():
        raise RunError(f"{folder} is a link, and nothing is written through a link; name the folder itself")
    try:
        kind = stat.S_IFMT(folder.stat().st_mode)  # asked once: a competitor that is refused may remove it meanwhile
    except FileNotFoundError:
        return
    if kind != stat.S_IFDIR:
        raise RunError(f"{folder} is a file; --to needs a folder")
    has_run, has_model = os.path.lexists(run), read_about(place_of(folder)) is not None
    if has_run and (run.is_symlink() or not run.is_dir()):
        raise RunError(f"{run} is a {'link' if run.is_symlink() else 'file'}, and a training keeps its state in a "
                       f"folder of that name; {remedy}")  # fmt: skip
    if has_run and not _is_ours(run):
        raise RunError(f"{run} was not made by a training of regard, and a training keeps its state in a folder of "
                       f"that name; {remedy}")  # fmt: skip
    if has_run:
        refuse_other_kind(run / STATE, stat.S_IFDIR)
    if not has_run and not has_model and any(path.name != RUN for path in folder.iterdir()):
        raise RunError(f"{folder} holds files that are not a model; train to a new or empty folder")
    if not has_run and has_model and not fresh:
        raise RunError(f"{folder} holds a finished model whose training state is gone, so it cannot resume; "
                       f"add --fresh to replace it, or train to another folder")  # fmt: skip
    there = [folder / name for name in (ABOUT, CONFIG, TOKENIZER, WEIGHTS) if os.path.lexists(folder / name)]
    if there and not has_model:
        raise RunError(f"{there[0]} is not of a model that regard wrote, or its {ABOUT} is damaged; {remedy}")


def _is_ours(run: Path) -> bool:
    """By its mark. A folder of 0.1 has none: then by a record, or because it has nothing but an empty lock."""
    if is_marked(run):
        return True
    with suppress(FileNotFoundError):  # where its owner is just removing it, there is nothing to lose
        if not {path.name for path in run.iterdir()} <= {LOCK, MARK} or (run / LOCK).lstat().st_size:
            with suppress(RunError):
                return read_record(run) is not None
            return False
    return True


def _take(folder: Path, run: Path) -> int:
    """The lock of a run, as a handle: it is ours only while its file is still in its place."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    for _ in range(TRIES):
        with suppress(FileNotFoundError):  # its last owner is just removing what it did not use
            run.mkdir(parents=True, exist_ok=True)
            for name in (MARK, LOCK):
                refuse_other_kind(run / name, stat.S_IFREG)
            os.close(os.open(run / MARK, flags, 0o666))
            handle = os.open(run / LOCK, flags, 0o666)
            try:
                _lock(handle, folder)
                if os.path.samestat(os.fstat(handle), (run / LOCK).lstat()):
                    return handle
            except BaseException:
                os.close(handle)
                raise
            os.close(handle)
    raise RunError(f"{run / LOCK} keeps changing; another process is training into {folder}, or removing it")


def _lock(handle: int, folder: Path) -> None:
    try:
        import fcntl
    except ImportError:  # a system without it: two trainings into one folder go unnoticed
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RunError(f"another process is training into {folder}; wait for it, or train to another folder") from None


def _remove_if_unused(owned: OwnedRun, began_here: list[Path]) -> None:
    """Leaves no empty folders behind when a run was refused before anything was decided. Only for its owner."""
    with suppress(OSError, RunError):
        owned.check()
        if {path.name for path in owned.path.iterdir()} <= {LOCK, MARK}:
            for name in (MARK, LOCK):
                (owned.path / name).unlink(missing_ok=True)
            for path in reversed(began_here):
                path.rmdir()  # an error where another process has begun something there
