"""The wiring: settings -> corpus -> tokenizer -> model -> training -> folder; and back: load(folder).

A run lives in `<folder>/run`: run.json (all that was decided before the first step), tokenizer.json, metrics.jsonl and
the saved states. Running again with the same folder goes on from the newest whole state, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from regard.config import RunConfig, Settings
from regard.errors import ConfigError, RegardError, RunError
from regard.load import load
from regard.machine import count_cores
from regard.run.arguments import check_request
from regard.run.begin import Begun, begin
from regard.run.beginning import Beginning, choose_start
from regard.run.record import STATE, OwnedRun, clear, read_record, sole_owner, write_record
from regard.tasks import find_recipe
from regard.tasks.task import Check, Task
from regard.trainer.stop import Stopped, Stopper

if TYPE_CHECKING:
    from regard.run.plan import Plan
    from regard.run.reserve import Reserve
    from regard.run.session import Event, Finished
    from regard.trainer.distributed import Place, World


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
    """Trains a model into the folder `to`; Ctrl-C saves, and the same call goes on. Returns how it ended.

    start: a model to go on from, with its shape and its tokenizer; else weights are fresh. encoder, decoder: two models
    that a translator is made of instead, with their shapes and their one tokenizer.

    files: for translate, `source` and `target` (and valid_source, valid_target, columns, keys); for write and fill
    `text`, for answer `stories`, each one file or a list of them (and `valid`).
    """
    stopper = Stopper()
    with stopper.listening():
        for event in training(
            task, to=to, settings=settings, start=start, encoder=encoder, decoder=decoder, fresh=fresh,
            stopper=stopper, **files,
        ):  # fmt: skip
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
) -> Iterator[Plan | Event]:
    """The same as `train`, event by event: Plan, then Progress and Scored, then Finished.

    Whoever stops reading stops the training; the state is saved.
    """
    request = check_request(find_recipe(task), settings, files)  # a typo is told before any file is read
    family, asked, begins = request.family, request.config, choose_start(start, encoder, decoder)
    ask_to_stop = (stopper or Stopper()).check
    from regard.trainer.distributed import Place  # with torch from here on

    place = Place.launched()
    if place is not None and place.rank > 0:
        yield from _follow(Path(to), place, asked.device)
        return
    with _reserve(place, asked) as reserve, sole_owner(Path(to), fresh) as run, _world(place, asked) as world:

        def check() -> None:
            run.check()
            ask_to_stop()

        try:
            record = None if fresh else read_record(run.path)
            size = world.size if world else None
            beginning = Beginning.read(family, begins, load) if begins else None
            begun = begin(
                family, run.path, record, request.train_files, request.valid_files, request.wanted, check, size,
                beginning,
            )  # fmt: skip
            yield from _train(family, Path(to), run, begun, record is None, check, world, reserve)
        except Stopped:
            raise KeyboardInterrupt from None


@contextmanager
def _reserve(place: Place | None, asked: RunConfig) -> Iterator[list[Reserve]]:
    """Who can help, if there may be several workers; called first, while there are no threads and no locks."""
    from regard.device import choose_device
    from regard.run import crew
    from regard.run.reserve import in_reserve

    helpers = (asked.workers or count_cores()) - 1
    if place or not helpers or choose_device(asked.device).type != "cpu":
        yield []
        return
    crew.load_all()
    with in_reserve(helpers, crew.work) as reserve:
        yield reserve


@contextmanager
def _world(place: Place | None, asked: RunConfig) -> Iterator[World | None]:
    """The processes that somebody else started, if somebody did."""
    if place is None:
        yield None
        return
    if (asked.workers or place.size) != place.size:
        raise ConfigError(f"workers={asked.workers} were asked for, but {place.size} processes were started "
                          f"together (WORLD_SIZE); leave --workers out")  # fmt: skip
    from regard.device import choose_device
    from regard.trainer.distributed import joined

    with joined(place, choose_device(asked.device)) as world:
        yield world


def _follow(to: Path, place: Place, device: str) -> Iterator[Finished]:
    """Another process than the first: trains along, and only knows how it ended."""
    from regard.run.crew import follow
    from regard.run.session import Finished

    try:
        if ended := follow(to, place, device):
            yield Finished(to, **ended)
    except RuntimeError as problem:
        raise RunError(f"the first process of this run is gone ({problem}); its own words say why") from None


def _train(
    family: Task, to: Path, run: OwnedRun, begun: Begun, is_new: bool, check: Check, world: World | None,
    reserve: list[Reserve],
) -> Iterator[Plan | Event]:  # fmt: skip
    """Puts the processes together, plans, and trains."""
    from regard.device import settled
    from regard.run.crew import Team
    from regard.run.plan import assemble
    from regard.run.session import Session
    from regard.trainer.state import Standing, StateStore

    with settled(begun.config.threads or 1), ExitStack() as stack:
        standing = StateStore(run.path / STATE).newest() or Standing()
        measured = begun.record.get("measured")
        try:
            if measured is None:
                team, measured = assemble(run.path, family, begun.config, begun.tokenizer, standing, world, reserve)
            else:
                team = Team(run.path, family, begun.config, begun.tokenizer, standing, world, reserve)
            stack.callback(team.part)
            judge = family.judge(begun.material.valid, team.feed, begun.tokenizer, team.config, check)
        except RegardError:
            if is_new:
                clear(run.path)  # other settings may be the remedy
            raise
        record = begun.record | {"config": team.config.model_dump(mode="json"), "measured": measured}
        if begun.note and standing.step:
            record["inexact_from"] = [*record.get("inexact_from", []), standing.step]
        write_record(run.path, record)
        session = Session(family, to, run, begun.material, team, begun.tokenizer, standing, judge, check, load)
        yield session.plan(measured, begun.note if standing.step else None)
        yield from session.events()
