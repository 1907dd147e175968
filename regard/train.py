"""train(family, to=folder, files) and training(...), which gives every event: the public way in.

A run lives in `<folder>/run`: run.json (all that was decided before the first step), tokenizer.json, metrics.jsonl and
the checkpoints. The same call with the same folder resumes from the newest whole checkpoint, bit for bit. What training
needs is imported when the first one begins, because `import regard` imports this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
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

    files: for translate, `source` and `target` (and valid_source, valid_target); for write, fill and classify `text`,
    for answer `stories`, each one file or a list of them (and `valid`); columns or keys of files of rows, glob of
    folders, the separator of labels.
    """
    return run_to_end(lambda stopper: training(
        task, to=to, settings=settings, start=start, encoder=encoder, decoder=decoder, fresh=fresh, stopper=stopper,
        **files,
    ))  # fmt: skip


def run_to_end(begin: Callable[[Stopper], Iterator[Any]]) -> Finished:
    """The last event of a training that Ctrl-C and SIGTERM stop at a good moment."""
    from regard.training.stop import Stopper

    stopper = Stopper()
    with stopper.listening():
        for event in begin(stopper):
            last = event
    return cast("Finished", last)


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
    from regard.training.launch import launch
    from regard.training.stop import Stopper

    request = check_request(find_recipe(task), settings, files)  # a typo is reported before any file is read
    begins = choose_start(start, encoder, decoder)
    yield from launch(request, Path(to), begins, fresh, stopper or Stopper(), load)
