"""The folder of a run: one owner at a time, and run.json, the record of all that was decided before the first step."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from regard.errors import RunError
from regard.files import write_whole
from regard.folder import ABOUT, RUN

RECORD, TOKENS = "run.json", "tokens.safetensors"


def read_record(run: Path) -> dict[str, Any] | None:
    """What an earlier sitting decided, if there was one."""
    path = run / RECORD
    try:
        record = json.loads(path.read_bytes())
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
def sole_owner(folder: Path, fresh: bool) -> Iterator[Path]:
    """The run folder, for this process alone; a folder of something else is refused."""
    run = folder / RUN
    if folder.exists() and not folder.is_dir():
        raise RunError(f"{folder} is a file; --to needs a folder")
    if folder.is_dir() and any(folder.iterdir()) and not run.is_dir() and not (folder / ABOUT).exists():
        raise RunError(f"{folder} holds files that are not a model; train to a new or empty folder")
    if (folder / ABOUT).exists() and not run.is_dir() and not fresh:
        raise RunError(f"{folder} holds a finished model whose training state is gone, so it cannot go on; "
                       f"add --fresh to replace it, or train to another folder")  # fmt: skip
    began_here = [path for path in (*reversed(run.parents), run) if not path.exists()]
    try:
        run.mkdir(parents=True, exist_ok=True)
        with (run / "lock").open("a+") as lock:
            _take(lock, folder)
            yield run
    except OSError as problem:
        raise RunError(f"{folder} cannot be written: {problem.strerror or problem}; choose another with --to") from None
    finally:
        _remove_if_unused(run, began_here)


def clear(run: Path) -> None:
    """Removes an earlier run, its record first: without it the rest counts for nothing."""
    (run / RECORD).unlink(missing_ok=True)
    for path in run.iterdir():
        if path.name != "lock":
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _take(lock: Any, folder: Path) -> None:
    try:
        import fcntl
    except ImportError:  # a system without it: two trainings into one folder go unnoticed
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RunError(f"another process is training into {folder}; wait for it, or train to another folder") from None


def _remove_if_unused(run: Path, began_here: list[Path]) -> None:
    """Leaves no empty folders behind when a run was refused before anything was decided."""
    if run.is_dir() and [path.name for path in run.iterdir()] == ["lock"]:
        (run / "lock").unlink()
        for path in reversed(began_here):
            if not any(path.iterdir()):
                path.rmdir()
