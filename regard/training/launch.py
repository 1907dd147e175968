"""A training from its request to its last event: text is prepared, processes are started, the run is planned."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from regard.config import RunConfig
from regard.device import choose_device, deterministic
from regard.errors import ConfigError, RegardError, RunError
from regard.machine import count_cores
from regard.training import workers
from regard.training.arguments import Request
from regard.training.checkpoint import CheckpointStore, TrainState
from regard.training.distributed import Place, World, joined
from regard.training.encode import Preparing
from regard.training.forked import ForkedWorker, forked_workers
from regard.training.init_from import InitFrom, Start
from regard.training.plan import Plan, assemble
from regard.training.prepare import PreparedRun, prepare
from regard.training.recipe import Check, Recipe
from regard.training.record import STATE, OwnedRun, clear, read_record, sole_owner, write_record
from regard.training.session import Event, Finished, Session
from regard.training.stop import Stopped, Stopper
from regard.training.workers import WorkerGroup, follow

Load = Callable[..., Any]  # opens a model, as `regard.load` does


def launch(
    request: Request, to: Path, start: Start | None, fresh: bool, stopper: Stopper, load: Load
) -> Iterator[Preparing | Plan | Event]:
    """All events of a training; a run that was prepared before is resumed."""
    place = Place.launched()
    if place is not None and place.rank > 0:
        yield from _follow(to, place, request.config.device)
        return
    asked = request.config
    with _forked(place, asked) as forked, sole_owner(to, fresh) as run, _world(place, asked) as world:

        def check() -> None:
            run.check()
            stopper.check()

        try:
            record = None if fresh else read_record(run.path)
            init_from = InitFrom.read(request.recipe, start, load) if start else None
            if request.teacher:
                yield from request.teacher.generate(run.path, check)
            prepared = yield from prepare(
                request.recipe, run.path, record, request.train_files, request.valid_files, request.wanted, check,
                world.size if world else None, init_from,
            )  # fmt: skip
            if request.teacher:
                prepared.record.setdefault("teacher", request.teacher.about)
            yield from _train(request.recipe, to, run, prepared, record is None, check, world, forked, load)
        except Stopped:
            raise KeyboardInterrupt from None


@contextmanager
def _forked(place: Place | None, asked: RunConfig) -> Iterator[list[ForkedWorker]]:
    """Who can help, if there may be several workers; called first, while there are no threads and no locks."""
    helpers = (asked.workers or count_cores()) - 1
    if place or not helpers or choose_device(asked.device).type != "cpu":
        yield []
        return
    workers.load_all()
    with forked_workers(helpers, workers.work) as forked:
        yield forked


@contextmanager
def _world(place: Place | None, asked: RunConfig) -> Iterator[World | None]:
    """The processes started by a launcher such as torchrun, if there is one."""
    if place is None:
        yield None
        return
    if (asked.workers or place.size) != place.size:
        raise ConfigError(f"workers={asked.workers} were asked for, but {place.size} processes were started "
                          f"together (WORLD_SIZE); leave --workers out")  # fmt: skip
    with joined(place, choose_device(asked.device)) as world:
        yield world


def _follow(to: Path, place: Place, device: str) -> Iterator[Finished]:
    """Another process than the first: trains along, and only knows how it ended."""
    try:
        if ended := follow(to, place, device):
            yield Finished(to, **ended)
    except RuntimeError as problem:
        raise RunError(f"the first process of this run is gone ({problem}); its own words say why") from None


def _train(
    recipe: Recipe, to: Path, run: OwnedRun, prepared: PreparedRun, is_new: bool, check: Check, world: World | None,
    forked: list[ForkedWorker], load: Load,
) -> Iterator[Preparing | Plan | Event]:  # fmt: skip
    """Puts the processes together, plans, and trains."""
    with deterministic(prepared.config.threads or 1), ExitStack() as stack:
        state = CheckpointStore(run.path / STATE).newest(prepared.config.stop.model_dump()) or TrainState()
        measured = prepared.record.get("measured")
        known = (run.path, recipe, prepared.config, prepared.tokenizer, state)
        try:
            if measured is None:
                group, measured = assemble(*known, check, world, forked)
            else:
                group = WorkerGroup(*known, check, world, forked)
            stack.callback(group.close)
            validator = recipe.validator(prepared.dataset.valid, group.batches, prepared.tokenizer, group.config, check)
        except RegardError:
            if is_new:
                clear(run.path)  # other settings may be the remedy
            raise
        record = prepared.record | {"config": group.config.model_dump(mode="json"), "measured": measured}
        if prepared.note and state.step:
            record["inexact_from"] = [*record.get("inexact_from", []), state.step]
        write_record(run.path, record)
        dataset = replace(prepared.dataset, teacher=record.get("teacher"))
        session = Session(recipe, to, run, dataset, group, prepared.tokenizer, state, validator, check, load)
        yield session.plan(measured, prepared.note if state.step else None, prepared.advice)
        yield from session.events()
