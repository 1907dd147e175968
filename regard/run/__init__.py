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
from regard.engine.options import EngineOptions
from regard.errors import ConfigError, FolderError, RegardError, RunError
from regard.folder import ABOUT, TRIES, ModelFolder
from regard.interop.foreign import take_part
from regard.machine import count_cores
from regard.run.arguments import check_request
from regard.run.begin import Begun, begin
from regard.run.beginning import choose_start
from regard.run.record import STATE, OwnedRun, clear, read_record, sole_owner, write_record
from regard.tasks import TASKS
from regard.tasks.task import Check, Task
from regard.trainer.stop import Stopped, Stopper
from regard.use.decoder import Decoder
from regard.use.encoder import Encoder

if TYPE_CHECKING:
    from regard.run.plan import Plan
    from regard.run.reserve import Reserve
    from regard.run.session import Event, Finished
    from regard.trainer.distributed import Place, World


ALONE: dict[str, Any] = {"encode": Encoder, "decode": Decoder}  # parts of a model that nobody trains by themselves


def load(
    folder: str | Path, *, engine: str | None = None, precision: str | None = None, part: str | None = None
) -> Any:
    """The trained model in a folder, ours or Hugging Face's: a Translator, Writer, Filler, Answerer or Encoder.

    engine: torch or ctranslate2, precision: float32 or int8; if not said, as fast as the machine can in float32.
    part: to open a plain BERT as an encoder (BertModel's numbers), generation-encoder (BertGenerationEncoder's, without
    token types) or decoder (BertGenerationDecoder); what had no place and what is fresh is in `dropped`, `new`.
    """
    running = EngineOptions(engine, precision)
    for left in reversed(range(TRIES)):
        opened = ModelFolder(Path(folder))
        try:
            model = _open(opened, running, part)
            opened.refuse_changed()
            return model
        except (RegardError, OSError):
            if not left or not opened.has_changed():  # else a training has put a new model there meanwhile
                raise
    raise AssertionError("the last try returns or raises")


def _open(folder: ModelFolder, running: EngineOptions, part: str | None) -> Any:
    if part:
        folder.about = take_part(folder.about, folder.config, part)
    task = str(folder.about.get("task"))
    if task not in ALONE and task not in TASKS:
        raise FolderError(f"{folder.path / ABOUT} tells of a task {task[:40]!r}, which is none of {', '.join(TASKS)}; "
                          f"it was changed or damaged, or made by a newer version")  # fmt: skip
    return ALONE[task].open(folder, running) if task in ALONE else TASKS[task].open(folder, running)


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
    request = check_request(task, settings, files)  # a typo is told before any file is read
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
            begun = begin(
                family, run.path, record, request.train_files, request.valid_files, request.wanted, check, size, begins
            )
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
                team, measured = assemble(run.path, begun.config, begun.tokenizer, standing, world, reserve)
            else:
                team = Team(run.path, begun.config, begun.tokenizer, standing, world, reserve)
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
        session = Session(family, to, run, begun.material, team, begun.tokenizer, standing, judge, check)
        yield session.plan(measured, begun.note if standing.step else None)
        yield from session.events()
