"""The wiring: settings -> corpus -> tokenizer -> model -> training -> folder; and back: load(folder).

A run lives in `<folder>/run`: run.json (all that was decided before the first step), tokenizer.json, metrics.jsonl and
the saved states. Running again with the same folder goes on from the newest whole state, bit for bit.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from regard.config import RunConfig, Settings, choose_rate, differences, merge, nearest, resolve
from regard.errors import ConfigError, RegardError, RunError
from regard.files import write_whole
from regard.folder import ABOUT, RUN, TOKENIZER, ModelFolder
from regard.tasks import TASKS
from regard.tasks.task import Check, Corpus, Task
from regard.text.tokenizer import Tokenizer
from regard.trainer.stop import Stopped, Stopper

if TYPE_CHECKING:
    from regard.session import Event, Finished, Plan

RECORD = "run.json"


def load(folder: str | Path) -> Any:
    """The trained model in a folder: a Translator, Writer, Filler or Answerer."""
    opened = ModelFolder(Path(folder))
    return find_task(str(opened.about.get("task"))).open(opened)


def train(
    task: str, *, to: str | Path, settings: Settings | None = None, fresh: bool = False, **files: Any
) -> Finished:
    """Trains a model into the folder `to`; Ctrl-C saves, and the same call goes on. Returns how it ended.

    files: for translate, `source` and `target` (and valid_source, valid_target, columns, keys); for write and fill
    `text`, for answer `stories`, each one file or a list of them (and `valid`).
    """
    stopper = Stopper()
    with stopper.listening():
        for event in training(task, to=to, settings=settings, fresh=fresh, stopper=stopper, **files):
            last = event
    return cast("Finished", last)


def training(
    task: str,
    *,
    to: str | Path,
    settings: Settings | None = None,
    fresh: bool = False,
    stopper: Stopper | None = None,
    **files: Any,
) -> Iterator[Plan | Event]:
    """The same as `train`, event by event: Plan, then Progress and Scored, then Finished.

    Whoever stops reading stops the training; the state is saved.
    """
    family = find_task(task)
    wanted = merge(settings or {}, {"task": task})
    resolve(wanted)  # a typo is told before any file is read
    if wanted.get("device") == "auto":
        del wanted["device"]  # the same as not to have said anything: what an earlier sitting chose is kept
    train_files, valid_files = family.gather(**files)
    check = (stopper or Stopper()).check
    with _sole_owner(Path(to), fresh) as run:
        try:
            record = None if fresh else _read_record(run)
            corpus, config, tokenizer = _begin(family, run, record, train_files, valid_files, wanted, check)
            from regard.device import settled  # with torch from here on
            from regard.session import Session

            assert config.threads is not None, "decided before the first step"
            with settled(config.threads):
                try:
                    session = Session(family, Path(to), run, corpus, config, tokenizer, check)
                except RegardError:
                    if record is None:
                        _clear(run)  # other settings may be the remedy
                    raise
                yield session.plan()
                yield from session.events()
        except Stopped:
            raise KeyboardInterrupt from None


def find_task(name: str) -> Task:
    """The family of this name."""
    if name not in TASKS:
        raise ConfigError(f"there is no task {name}{nearest(name, list(TASKS))}")
    return TASKS[name]


def _begin(
    family: Task,
    run: Path,
    record: dict[str, Any] | None,
    train_files: Any,
    valid_files: Any,
    wanted: Settings,
    check: Check,
) -> tuple[Corpus, RunConfig, Tokenizer]:
    """What an earlier sitting decided (its record), if it is about the same text and settings; else decides it."""
    if record is None:
        corpus = family.read(train_files, valid_files, resolve(wanted))
        config = _decide(family, corpus, wanted)
        check()
        tokenizer = family.learn(corpus, config, check)
        check()
        config = resolve(merge(config.model_dump(), {"model": {"vocab_size": tokenizer.vocab_size}}))
        _clear(run)  # only now that a new run can begin
        write_whole(run / TOKENIZER, tokenizer.dump())
        about = {"config": config.model_dump(mode="json"), "fingerprints": corpus.fingerprints, "files": corpus.files}
        write_whole(run / RECORD, json.dumps(about, indent=2) + "\n")
        return corpus, config, tokenizer
    before = resolve(record["config"])
    corpus = family.read(train_files, valid_files, before)
    kept = {name: value for name, value in record["config"].items() if name != "stop"}
    ends = {"stop": _defaults(family, corpus, merge(kept, wanted)).get("stop", {})}
    config = resolve(merge(merge(kept, ends), wanted))
    changed = [line for line in differences(before, config) if not line.startswith("stop.")]
    if changed:
        raise RunError(f"{run.parent} was begun with other settings ({'; '.join(changed)}); leave them as they were "
                       f"to go on, add --fresh to start over, or train to another folder")  # fmt: skip
    _refuse_other_text(run, record, corpus)
    return corpus, config, Tokenizer.load(run / TOKENIZER)


def _decide(family: Task, corpus: Corpus, wanted: Settings) -> RunConfig:
    """Every setting, with nothing left to choose: as it was asked for, else as it suits corpus and machine."""
    from regard.device import choose_device, count_cores

    config = resolve(merge(_defaults(family, corpus, wanted), wanted))
    decided: Settings = {
        "device": choose_device(config.device).type,
        "threads": config.threads or count_cores(),
        "train": {"rate": config.train.rate or choose_rate(config.model.width)},
    }
    return resolve(merge(config.model_dump(), decided))


def _defaults(family: Task, corpus: Corpus, wanted: Settings) -> Settings:
    """What follows from the kind of model, the size and the text; whoever says when to stop says all of it."""
    kind = wanted.get("model", {}).get("kind", next(iter(family.kinds)))
    if kind not in family.kinds:
        raise ConfigError(f"model.kind={kind} is not a kind of {family.name}{nearest(str(kind), list(family.kinds))}")
    by_text = family.defaults(corpus, kind)
    size = str(wanted.get("size") or by_text["size"])
    found: Settings = {"model": {"kind": kind}}
    for settings in (family.kinds[kind], family.sizes[size], by_text):
        found = merge(found, settings)
    return {name: value for name, value in found.items() if name != "stop" or "stop" not in wanted}


def _read_record(run: Path) -> dict[str, Any] | None:
    path = run / RECORD
    try:
        record = json.loads(path.read_bytes())
        return {name: dict(record[name]) for name in ("config", "fingerprints", "files")}
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as problem:
        raise RunError(
            f"{path} cannot be read ({problem}); add --fresh to start over, or train to another folder"
        ) from None


def _refuse_other_text(run: Path, record: dict[str, Any], corpus: Corpus) -> None:
    for role in sorted({*record["fingerprints"], *corpus.fingerprints}):
        before, now = record["fingerprints"].get(role), corpus.fingerprints.get(role)
        if before != now:
            name = corpus.files.get(role) or record["files"].get(role)
            what = "was not there" if before is None else "is gone" if now is None else "was different"
            raise RunError(f"{name} ({role}) {what} when {run.parent} was begun; give the same text to go on, "
                           f"add --fresh to start over, or train to another folder")  # fmt: skip


@contextmanager
def _sole_owner(folder: Path, fresh: bool) -> Iterator[Path]:
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


def _clear(run: Path) -> None:
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
