"""train(family, to=folder, files) and training(...), which gives every event: the public way in. plan(family, files).

A run lives in `<folder>/run`: run.json (all that was decided before the first step), tokenizer.json, metrics.jsonl and
the checkpoints. The same call with the same folder resumes from the newest whole checkpoint, bit for bit. What training
needs is imported when the first one begins, because `import regard` imports this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from pkgutil import resolve_name
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast

from regard.families import find_recipe
from regard.load import load

if TYPE_CHECKING:
    from regard.config import Settings
    from regard.training.encode import Preparing
    from regard.training.plan import Plan
    from regard.training.session import Event, Finished
    from regard.training.stop import Stopper


def train(
    task: str,
    *,
    to: str | Path,
    settings: Settings | None = None,
    start: str | Path | None = None,
    encoder: str | Path | None = None,
    decoder: str | Path | None = None,
    fresh: bool = False,
    **files: Any,
) -> Finished:
    """Trains a model into the folder `to`; Ctrl-C saves, and the same call resumes. Returns how it ended.

    start: a model to fine-tune, with its shape and its tokenizer; else weights are fresh. encoder, decoder: two models
    that a translator is made of instead, with their shapes and their one tokenizer.

    files: for translate, `source` and `target` (and valid_source, valid_target; monolingual, reverse, rounds); for
    write, fill and classify `text`, for answer `stories`, each one file or a list of them (and `valid`); columns or
    keys of files of rows, glob of folders, the separator of labels.
    """
    return cast("Finished", run_to_end(lambda stopper: training(
        task, to=to, settings=settings, start=start, encoder=encoder, decoder=decoder, fresh=fresh, stopper=stopper,
        **files,
    )))  # fmt: skip


def run_to_end(begin: Callable[[Stopper], Iterator[Any]]) -> Any:
    """The last event of a training that Ctrl-C and SIGTERM stop at a good moment."""
    from regard.training.stop import Stopper

    stopper = Stopper()
    with stopper.listening():
        for event in begin(stopper):
            last = event
    return last


def training(
    task: str,
    *,
    to: str | Path,
    settings: Settings | None = None,
    start: str | Path | None = None,
    encoder: str | Path | None = None,
    decoder: str | Path | None = None,
    fresh: bool = False,
    stopper: Stopper | None = None,
    **files: Any,
) -> Iterator[Preparing | Plan | Event]:
    """The same as `train`, event by event: Preparing, Plan, then Progress and Validated, then Finished.

    Closing the iterator stops training and saves a checkpoint.
    """
    from regard.training.arguments import check_request
    from regard.training.init_from import choose_start
    from regard.training.stop import Stopper

    request = check_request(find_recipe(task), settings, files)  # a typo is reported before any file is read
    begins = choose_start(start, encoder, decoder)
    launch = resolve_name(request.recipe.stages or "regard.training.launch:launch")
    yield from launch(request, Path(to), begins, fresh, stopper or Stopper(), load)


def plan(task: str, **given: Any) -> Plan:
    """What `train` would do with these settings and files, measured, without training; nothing of it is kept."""
    return cast("Plan", run_to_end(lambda stopper: planning(task, stopper=stopper, **given)))


def planning(task: str, **given: Any) -> Iterator[Preparing | Plan]:
    """The same as `plan`, event by event: Preparing, then Plan. Arguments as of `training`, but for the folder."""
    plan_type = resolve_name("regard.training.plan:Plan")
    with TemporaryDirectory(prefix="regard-plan-") as folder:
        events = training(task, to=Path(folder) / "model", **given)
        try:
            for event in events:
                yield cast("Preparing | Plan", event)
                if isinstance(event, plan_type):
                    return
        finally:
            cast("Any", events).close()
