"""Models that are served: each with its scheduler, its name and what it can be asked."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from regard.errors import ConfigError, FolderError
from regard.families import find_surface
from regard.families.surface import Compute, LookBody, Surface
from regard.folder import ABOUT, RUN, ModelFolder
from regard.load import load
from regard.look.cancel import cancelled_by
from regard.serve.apart import Apart
from regard.serve.aside import aside, aside_in_pieces
from regard.serve.limits import Limits, RequestError
from regard.serve.scheduler import BATCH_TOKENS, QUICK_TOKENS, BatchScheduler, is_quick
from regard.training.log import read_example

SOME_HEADS = 48  # forward passes of an attribution, about


class CostlyError(Exception):
    """A request that is to be answered in the process of costly ones."""


class Served:
    """One model behind its scheduler. What it can be asked is its family's to say."""

    aside = staticmethod(aside)
    aside_in_pieces = staticmethod(aside_in_pieces)

    def __init__(self, name: str, folder: Path, limits: Limits, is_bulk: bool = False) -> None:
        self.name, self.folder, self.limits = name, folder, limits
        self.opened: Any = load(folder)
        self.example = read_example(folder / RUN)
        self.shared: bytes | None = None  # what a page needs to run it, where weights are sent
        self.task = self.opened.info.task
        self.surface: Surface = find_surface(self.task)
        self._apart = Apart(folder, self.opened.info, limits.look_weights)
        self.forwards = False  # whether costly requests are for another process
        workers = self.surface.workers(self.opened, is_bulk) if self.surface.workers else 2
        self.scheduler = BatchScheduler(
            name,
            self._run,
            workers,
            limits,
            batches=self.surface.shares_batches,
            has_quick_worker=not self.surface.workers,
        )
        self.check_room = self.scheduler.check_room

    async def sizes(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, as the queue counts them."""
        return list(chain.from_iterable(await aside_in_pieces(self.opened.sizes, texts)))

    async def look(self, asked: LookBody) -> str:
        """What was seen, as JSON."""
        tokens = await self.surface.look_size(self, asked)
        passes = 3 * tokens + SOME_HEADS if asked.why else 2
        size = max(QUICK_TOKENS + 1, min(tokens * passes, self.limits.queued_tokens // 2))  # never a quick one
        options = asked.model_dump(exclude={"text", "model"}, exclude_defaults=True)
        return str((await self.ask(self._look, [asked.text], [size], options))[0])

    def _look(self, opened: Any, texts: list[str], is_wanted: Callable[[int], bool], **options: Any) -> list[str]:
        return [self._apart.look(text, options) for text in texts]

    async def ask(
        self, compute: Compute, items: Sequence[Any], sizes: list[int], options: Mapping[str, Any], cost: int = 1
    ) -> list[Any]:
        """What `compute` gives for the items, run in batches that requests with equal options share."""
        if self.forwards and not (is_quick(len(items), sum(sizes)) and cost * sum(sizes) <= BATCH_TOKENS):
            raise CostlyError
        return await self.scheduler.ask(items, sizes, (compute, *sorted(options.items())), cost)

    def _run(self, items: list[Any], frozen: Any, is_wanted: Callable[[int], bool]) -> list[Any]:
        """What a worker does. is_wanted: whether an item is still waited for, which is asked between two passes."""
        compute, *options = frozen
        with cancelled_by(lambda: self._check_wanted(any(map(is_wanted, range(len(items)))))):
            found: list[Any] = compute(self.opened, items, is_wanted, **dict(options))
            return found

    @staticmethod
    def _check_wanted(is_wanted: bool) -> None:
        if not is_wanted:
            raise RequestError(503, "the client is gone, or the answer took too long", 1.0)

    def describe(self) -> dict[str, Any]:
        """What it is and what it can be asked, for programs and for the page."""
        body = self.surface.body
        return {
            "id": self.name,
            "task": self.task,
            "engine": self.opened.engine,
            "scores": self.opened.info.scores,
            "fields": body.model_json_schema()["properties"] if body else {},
            "is_looked_into": self.surface.look is not None,
            "is_shared": self.shared is not None,
            "given": self.example,  # what a page begins with
            "script": f"/page/{self.task}.js" if self.surface.page else None,
            **self.surface.facts(self.opened),
        }


class ModelRegistry:
    """All models that are served."""

    def __init__(self, folders: Sequence[Path], limits: Limits, shares_weights: bool = False) -> None:
        """Refuses folders that are no models at once; the models themselves are opened by `open_all`."""
        self.limits, self.is_ready, self.is_draining = limits, False, False
        self.shares_weights, self.not_shared = shares_weights, dict[str, str]()  # of models that stay here, why
        names = [folder.resolve().name for folder in folders]
        if len(set(names)) < len(names):
            raise ConfigError(f"two of the models are called the same ({', '.join(names)}); rename a folder")
        self.folders = dict(zip(names, folders, strict=True))
        self.models: dict[str, Served] = {}
        self.forwards_all = False  # whether the process of costly requests has all models
        self.runs = {name: folder for name, folder in self.folders.items() if (folder / RUN).is_dir()}
        for name, folder in self.folders.items():
            if self._is_model(name):
                ModelFolder(folder)

    def open_all(self, is_bulk: bool = False) -> None:
        """Opens all models; is_bulk: for costly requests."""
        for name, folder in self.folders.items():
            if self.is_draining:
                return
            if self._is_model(name):
                self.models[name] = Served(name, folder, self.limits, is_bulk)
                if self.shares_weights:
                    self._share(self.models[name])

    def _share(self, model: Served) -> None:
        try:
            model.shared = resolve_name("regard.convert:share_model")(model.opened, model.name)
        except ConfigError as problem:
            self.not_shared[model.name] = str(problem)

    @property
    def splitting(self) -> list[Path]:
        """Folders of models of which costly requests have a copy of their own."""
        opened = {
            folder: ModelFolder(folder).info.task for name, folder in self.folders.items() if self._is_model(name)
        }
        return [folder for folder, task in opened.items() if find_surface(task).workers]

    def _is_model(self, name: str) -> bool:
        return (
            name not in self.runs or (self.folders[name] / ABOUT).exists()
        )  # a training without one only shows its metrics

    def forward(self, facts: Mapping[str, Any]) -> None:
        """From now on, costly requests for these models are for the other process, which must have opened the same."""
        for name, info in facts.items():
            if self.models[name].opened.info.to_dict() != info:
                raise FolderError(f"{self.folders[name]} was trained anew while it was opened; start the server again")
            self.models[name].forwards = True
        self.forwards_all = all(model.forwards for model in self.models.values())

    def find(self, name: str | None, what: str = "", fits: Callable[[Served], bool] = lambda model: True) -> Served:
        """The model of this name, which must fit, or the first that does; what: for what, in words."""
        if name is not None:
            if name not in self.models:
                raise RequestError(404, f"there is no model {name}; served are {', '.join(self.models)}")
            if not fits(self.models[name]):
                raise RequestError(422, f"{name} is a model to {self.models[name].task}, not {what}")
            return self.models[name]
        found = next(filter(fits, self.models.values()), None)
        if found is None:
            raise RequestError(404, f"no model {what} is served" if what else "no model is served")
        return found

    def offering(self, what: str) -> Iterator[Served]:
        """All models that offer something to a protocol: translation, completion, embedding."""
        return (model for model in self.models.values() if what in model.surface.offers)

    def find_offering(self, name: str | None, what: str) -> Served:
        """The model of this name, which must offer it, or the first that does."""
        return self.find(name, f"for {what}", lambda model: what in model.surface.offers)

    def close(self) -> None:
        """No more is taken."""
        self.is_draining = True
        for model in list(self.models.values()):
            model.scheduler.close()

    def join(self, seconds: float) -> bool:
        """Waits until no model computes any more, for so long at most; whether that is so."""
        end = time.monotonic() + seconds
        return all(model.scheduler.join(end - time.monotonic()) for model in list(self.models.values()))
