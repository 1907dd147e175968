"""Models that are served: each with its owner, its name and what it can be asked."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from regard.errors import ConfigError
from regard.folder import ABOUT, RUN, ModelFolder
from regard.run import load
from regard.serve.limits import Limits, RequestError
from regard.serve.owner import Owner

Push = Callable[[str], bool]
LOOKED_INTO = ("translate", "write", "fill", "answer")
# Who leaves the cores to whom: requests are read and answered first, then computed, quick ones before documents.
PATIENCE_QUICK, PATIENCE_SLOW = 5, 15


class Served:
    """One model behind its owner."""

    def __init__(self, name: str, folder: Path, limits: Limits) -> None:
        self.name, self.folder, self.limits = name, folder, limits
        self.opened: Any = load(folder)
        self.task = str(self.opened.about["task"])
        self._looking = threading.Lock()  # one at a time: whoever looks inside changes the network for a moment
        lanes, self._quick = 1, self.opened
        if self.task == "translate" and self.opened.engine == "ctranslate2":
            self._quick = load(folder)  # with a worker of its own, which those of documents step back for
            lanes = self._quick.share(1, PATIENCE_QUICK) + self.opened.share(patience=PATIENCE_SLOW)
        self.owner = Owner(name, self._run, lanes, limits, batches=self.task == "translate")

    @property
    def languages(self) -> tuple[str, str]:
        """Of a translator: what it reads and what it writes."""
        return self.opened.source_language or "auto", self.opened.target_language or "und"

    def size(self, text: str) -> int:
        """Tokens of a text, as the queue counts them."""
        return len(self.opened.tokenizer.encode_part(text)) + 1

    def sizes(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        return [len(ids) + 1 for ids in self.opened.tokenizer.encode_all(texts, is_part=True)]

    async def translate(self, texts: Sequence[str], **options: Any) -> list[Any]:
        """A Translation of each text, which is a line."""
        self.limits.check_texts(texts, self.limits.lines)
        cost, prefix = max(int(options.get("beam", 4)), int(options.get("n_best", 1))), options.get("prefix", "")
        self.limits.check_number("beam", cost, 1, self.limits.beams)
        self.limits.check_looked_at("prefix", prefix)
        self.owner.check_room(len(texts), sum(text.count(" ") + 1 for text in texts), cost)  # a word is a token or more
        more = self.size(prefix) if prefix else 0  # of each text, as all of it is said
        return await self._ask("translate", texts, [size + more for size in self.sizes(texts)], options, cost)

    async def fill(self, text: str, top: int) -> Any:
        """What may stand in the gaps of a text."""
        self.limits.check_texts([text])
        self.limits.check_number("top", top, 1, 100)
        return (await self._ask("fill", [text], [self.size(text)], {"top": top}))[0]

    async def answer(self, story: Sequence[str], question: str) -> Any:
        """The answer to a question about a story."""
        self.limits.check_texts([*story, question])
        size = sum(map(self.size, [*story, question]))
        return (await self._ask("answer", [(tuple(story), question)], [size], {}))[0]

    async def look(self, text: str, **options: Any) -> str:
        """What was seen, as JSON."""
        if self.task not in LOOKED_INTO:
            raise RequestError(422, f"a model to {self.task} is not looked into here")
        options = {name: value for name, value in options.items() if value is not None}
        beside = [*options.get("story", ()), options.get("target", "")]
        self.limits.check_looked_at("text", "".join([text, *beside]))
        size = sum(self.size(one) for one in [text, *beside])
        return str((await self._ask("look", [text], [10 * size], options))[0])

    async def written(self, prompt: str, samples: int, options: dict[str, Any]) -> Sequence[Any]:
        """Ways to go on with a text: ids, texts and log-probabilities of each."""
        size = self.size(prompt) + int(options["tokens"])
        found: Sequence[Any] = await self._ask(
            "write", [(prompt, n) for n in range(samples)], [size] * samples, options
        )
        return found

    async def stream(self, prompt: str, options: dict[str, Any], push: Push) -> str:
        """Goes on with a text and pushes each piece; when `push` says no, nobody reads any more. Why it ended."""
        size = self.size(prompt) + int(options["tokens"])
        return str((await self._ask("stream", [(prompt, push)], [size], options))[0])

    async def _ask(
        self, what: str, items: Sequence[Any], sizes: list[int], options: dict[str, Any], cost: int = 1
    ) -> list[Any]:
        frozen = (("what", what), *sorted((k, tuple(v) if isinstance(v, list) else v) for k, v in options.items()))
        return await self.owner.ask(items, sizes, frozen, cost)

    def _run(self, items: list[Any], frozen: Any, is_quick: bool, is_wanted: Callable[[int], bool]) -> list[Any]:
        """What a lane does; nobody else touches the model. is_wanted: whether an item is still waited for."""
        options = dict(frozen)
        match options.pop("what"):
            case "translate":
                return list((self._quick if is_quick else self.opened).translate_all(items, **options))
            case "fill":
                return [self.opened.fill(text, **options) for text in items]
            case "answer":
                return [self.opened.answer(story, question) for story, question in items]
            case "look":
                with self._looking:
                    return [self.opened.look(text, **options).to_json() for text in items]
            case "stream":
                ((prompt, push),) = items
                return [self.opened.sample(prompt, push=lambda piece: push(piece) and is_wanted(0), **options).reason]
            case "write":
                seed = options.pop("seed")
                return [
                    self.opened.sample(
                        prompt, seed=seed + number, push=lambda _, place=place: is_wanted(place), **options
                    )
                    for place, (prompt, number) in enumerate(items)
                ]
        raise AssertionError(options)

    def describe(self) -> dict[str, Any]:
        """What it is, for programs and for the page."""
        about = self.opened.about
        told = {"id": self.name, "task": self.task, "engine": getattr(self.opened, "engine", "torch"),
                "scores": about.get("scores", {})}  # fmt: skip
        if self.task == "translate":
            told |= dict(zip(("source", "target"), self.languages, strict=True))
        return told


class Gallery:
    """All models that are served."""

    def __init__(self, folders: Sequence[Path], limits: Limits) -> None:
        """What is in the folders is told to be wrong at once; the models themselves are opened by `load`."""
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
            if (folder / ABOUT).exists() or name not in self.runs:  # a training without a model yet is only watched
                self.models[name] = Served(name, folder, self.limits)
        self.is_ready = True

    def find(self, name: str | None, task: str) -> Served:
        """The model of this name, or the first of its task."""
        if name is not None:
            if name not in self.models:
                raise RequestError(404, f"there is no model {name}; served are {', '.join(self.models)}")
            if self.models[name].task != task:
                raise RequestError(422, f"{name} is a model to {self.models[name].task}, not to {task}")
            return self.models[name]
        found = next(iter(self.of(task)), None)
        if found is None:
            raise RequestError(404, f"no model to {task} is served")
        return found

    def of(self, task: str) -> Iterator[Served]:
        """All models of a task."""
        return (model for model in self.models.values() if model.task == task)

    def pair(self, source: str, target: str, text: str) -> tuple[Served, str]:
        """The translator between two languages, and the language it reads; `auto` is found out."""
        there = [model for model in self.of("translate") if model.languages[1] == target]
        if source != "auto":
            there = [model for model in there if model.languages[0] in {source, "auto"}]
        if not there:
            known = ", ".join(f"{one.languages[0]} to {one.languages[1]}" for one in self.of("translate"))
            raise RequestError(
                400, f"nobody here translates from {source} to {target}; there is {known or 'no translator'}"
            )
        best = max(there, key=lambda model: fit(model, text)) if len(there) > 1 else there[0]
        return best, best.languages[0]

    def detect(self, text: str) -> list[dict[str, Any]]:
        """Which of the languages that are read here a text may be in, likeliest first, with shares of 100."""
        scores: dict[str, float] = {}
        for model in self.of("translate"):
            language = model.languages[0]
            scores[language] = max(scores.get(language, 0.0), fit(model, text))
        total = sum(score**4 for score in scores.values()) or 1.0
        found = [{"language": name, "confidence": round(100 * score**4 / total, 1)} for name, score in scores.items()]
        return sorted(found, key=lambda one: -float(str(one["confidence"])))

    def close(self) -> None:
        """No more is taken."""
        self.is_draining = True
        for model in list(self.models.values()):
            model.owner.close()

    def join(self, seconds: float) -> bool:
        """Waits until no model computes any more, for so long at most; whether that is so."""
        end = time.monotonic() + seconds
        return all(model.owner.join(end - time.monotonic()) for model in list(self.models.values()))


def fit(model: Served, text: str) -> float:
    """How well a text suits what a translator reads: letters to a token, of the tokens it knows as sources."""
    known = model.opened.aligner.reads(model.opened.tokenizer.encode_part(text))
    size = model.size(text)
    return len(text) / size * (0.1 + known)


def as_dict(found: Any) -> dict[str, Any]:
    """An answer of the library as JSON has it."""
    return asdict(found)
