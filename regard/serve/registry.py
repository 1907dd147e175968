"""Models that are served: each with its scheduler, its name and what it can be asked."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
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
from regard.serve.scheduler import QUICK_TOKENS, BatchScheduler

SOME_HEADS = 48  # forward passes of an attribution, about


class Served:
    """One model behind its scheduler. What it can be asked is its family's to say."""

    aside = staticmethod(aside)
    aside_in_pieces = staticmethod(aside_in_pieces)

    def __init__(self, name: str, folder: Path, limits: Limits) -> None:
        self.name, self.folder, self.limits = name, folder, limits
        self.opened: Any = load(folder)
        self.task = str(self.opened.about["task"])
        self.surface: Surface = find_surface(self.task)
        self._apart = Apart(folder, self.opened.about, limits.look_weights)
        self._quick, lanes = self.surface.lanes(self.opened, self._open_again)
        self.scheduler = BatchScheduler(name, self._run, lanes, limits, batches=self.surface.shares_batches)
        self.check_room = self.scheduler.check_room

    def _open_again(self) -> Any:
        again = load(self.folder)
        if again.about != self.opened.about:
            raise FolderError(f"{self.folder} was trained anew while it was opened; start the server again")
        return again

    async def sizes(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, as the queue counts them."""
        encode = self.opened.tokenizer.encode_all
        found = await aside_in_pieces(lambda some: [len(ids) + 1 for ids in encode(some, is_part=True)], texts)
        return list(chain.from_iterable(found))

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
        return await self.scheduler.ask(items, sizes, (compute, *sorted(options.items())), cost)

    def _run(self, items: list[Any], frozen: Any, is_quick: bool, is_wanted: Callable[[int], bool]) -> list[Any]:
        """What a lane does. is_wanted: whether an item is still waited for, which is asked between two passes."""
        compute, *options = frozen
        with cancelled_by(lambda: self._check_wanted(any(map(is_wanted, range(len(items)))))):
            found: list[Any] = compute(self._quick if is_quick else self.opened, items, is_wanted, **dict(options))
            return found

    @staticmethod
    def _check_wanted(is_wanted: bool) -> None:
        if not is_wanted:
            raise RequestError(503, "the client is gone, or the answer took too long", 1.0)

    def describe(self) -> dict[str, Any]:
        """What it is and what it can be asked, for programs and for the page."""
        body, about = self.surface.body, self.opened.about
        return {
            "id": self.name,
            "task": self.task,
            "engine": self.opened.engine,
            "scores": about.get("scores", {}),
            "fields": body.model_json_schema()["properties"] if body else {},
            "is_looked_into": self.surface.look is not None,
            "script": f"/page/{self.task}.js" if self.surface.page else None,
            **self.surface.facts(self.opened),
        }


class ModelRegistry:
    """All models that are served."""

    def __init__(self, folders: Sequence[Path], limits: Limits) -> None:
        """Refuses folders that are no models at once; the models themselves are opened by `load`."""
        self.limits, self.is_ready, self.is_draining = limits, False, False
        names = [folder.resolve().name for folder in folders]
        if len(set(names)) < len(names):
            raise ConfigError(f"two of the models are called the same ({', '.join(names)}); rename a folder")
        self.folders = dict(zip(names, folders, strict=True))
        self.models: dict[str, Served] = {}
        self.runs = {name: folder for name, folder in self.folders.items() if (folder / RUN).is_dir()}
        for name, folder in self.folders.items():
            if name not in self.runs or (folder / ABOUT).exists():
                ModelFolder(folder)

    def load(self) -> None:
        """Opens all models."""
        for name, folder in self.folders.items():
            if self.is_draining:
                return
            if (
                folder / ABOUT
            ).exists() or name not in self.runs:  # a training without a model yet only shows its metrics
                self.models[name] = Served(name, folder, self.limits)
        self.is_ready = True

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
