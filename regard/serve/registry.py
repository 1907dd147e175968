"""Models that are served: each with its owner, its name and what it can be asked."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

from regard.errors import ConfigError, FolderError
from regard.families.fill.pipeline import MASK
from regard.families.translate.translation import join
from regard.folder import ABOUT, RUN, ModelFolder
from regard.load import load
from regard.look.cancel import cancelled_by
from regard.serve.apart import Apart
from regard.serve.aside import aside, aside_in_pieces
from regard.serve.limits import Limits, RequestError
from regard.serve.scheduler import QUICK_TOKENS, BatchScheduler

Push = Callable[[str], bool]
LOOKED_INTO = ("translate", "write", "fill", "answer")
# Who leaves the cores to whom: requests are read and answered first, then computed, quick ones before documents.
PATIENCE_QUICK, PATIENCE_SLOW = 5, 15
PART_IN_LETTERS = 20  # what it takes to join a part to others, in letters that are split
SOME_HEADS = 48  # passes for them, about, where it is asked what each is worth


class Served:
    """One model behind its owner."""

    def __init__(self, name: str, folder: Path, limits: Limits) -> None:
        self.name, self.folder, self.limits = name, folder, limits
        self.opened: Any = load(folder)
        self.task = str(self.opened.about["task"])
        self._apart = Apart(folder, self.opened.about, limits.look_weights)
        lanes, self._quick = 2, self.opened
        if self.task == "translate" and self.opened.engine == "ctranslate2":
            self._quick = load(folder)  # with a worker of its own, which those of documents step back for
            if self._quick.about != self.opened.about:
                raise FolderError(f"{folder} was trained anew while it was opened; start the server again")
            for one in (self.opened, self._quick):
                one.aligner.reads([0])  # from now on, what others do to the folder changes no translation
            lanes = self._quick.share(1, PATIENCE_QUICK) + self.opened.share(patience=PATIENCE_SLOW)
        elif self.task == "translate":
            lanes = 1  # torch uses all threads for one, and several would change how many there are
        self.owner = BatchScheduler(name, self._run, lanes, limits, batches=self.task in {"translate", "encode"})

    @property
    def languages(self) -> tuple[str, str]:
        """Of a translator: what it reads and what it writes."""
        return self.opened.source_language or "auto", self.opened.target_language or "und"

    async def sizes(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, as the queue counts them."""
        encode = self.opened.tokenizer.encode_all
        found = await aside_in_pieces(lambda some: [len(ids) + 1 for ids in encode(some, is_part=True)], texts)
        return list(chain.from_iterable(found))

    async def translate(self, texts: Sequence[str], **options: Any) -> list[Any]:
        """A Translation of each text, which is a line. What waits and is computed are the parts of long lines."""
        self.limits.check_texts(texts, self.limits.lines)
        n_best, prefix = int(options.get("n_best", 1)), options.get("prefix", "")
        cost = max(int(options.get("beam", 4)), n_best)
        self.limits.check_number("beam", cost, 1, self.limits.beams)
        if len(prefix) > self.limits.letters:
            raise RequestError(413, f"a prefix of {len(prefix)} characters; at most {self.limits.letters} are taken")
        self.owner.check_room(len(texts), sum(text.count(" ") + 1 for text in texts), cost)  # a word is a token or more
        split = await aside_in_pieces(self.opened.split, texts)
        counts, parts, ids = ([one for found in split for one in found[place]] for place in range(3))
        forced = (await self.sizes([prefix]))[0] if prefix else 0
        self.limits.check_tokens("the prefix", forced, self.limits.prefix_tokens)
        sizes = [len(one) + forced for one in ids]
        self.limits.check_tokens("the text, times n_best", sum(sizes) * n_best, self.limits.told_tokens)
        starts = {end - count for end, count in zip(accumulate(counts), counts, strict=True)}
        first = [n for n in range(len(parts)) if not prefix or n in starts]  # a prefix is for the beginning of a line
        rest = sorted(set(range(len(parts))) - set(first))
        found: dict[int, Any] = {}
        for group, asked in ((first, options), (rest, options | {"prefix": ""})):
            answers = await self._ask("translate", [parts[n] for n in group], [sizes[n] for n in group], asked, cost)
            found |= zip(group, answers, strict=True)
        return await aside(lambda: self._join(counts, found), len(parts) * PART_IN_LETTERS)

    def _join(self, counts: list[int], found: dict[int, Any]) -> list[Any]:
        ends = list(accumulate(counts))
        return [join([found[n] for n in range(end - count, end)], self.opened.target_language)
                for end, count in zip(ends, counts, strict=True)]  # fmt: skip

    async def fill(self, text: str, top: int) -> Any:
        """What may stand in the gaps of a text."""
        self.limits.check_texts([text])
        self.limits.check_number("top", top, 1, 100)
        gaps = text.count(MASK) * top
        if gaps > self.limits.gaps:
            raise RequestError(413, f"{gaps} candidates for all gaps together; at most {self.limits.gaps} are told")
        return (await self._ask("fill", [text], await self.sizes([text]), {"top": top}))[0]

    async def encode(self, texts: Sequence[str]) -> list[list[float]]:
        """The vector of each text."""
        self.limits.check_texts(texts)
        sizes = await self.sizes(texts)
        for number, size in enumerate(sizes, start=1):
            self.limits.check_tokens(f"text {number}, with its marks", size + 1, self.opened.longest)
        found: list[list[float]] = await self._ask("encode", list(texts), sizes, {})
        return found

    async def answer(self, story: Sequence[str], question: str) -> Any:
        """The answer to a question about a story."""
        size = await self._story_size(story, question)
        return (await self._ask("answer", [(tuple(story), question)], [size], {}))[0]

    async def _story_size(self, story: Sequence[str], question: str) -> int:
        """What a story costs: all its sentences are computed as long as the longest."""
        self.limits.check_texts([*story, question], self.limits.lines)
        longest = max(await self.sizes([*story, question]))
        self.limits.check_tokens("a sentence of the story, or the question", longest, self.limits.sentence_tokens)
        self.limits.check_tokens("the story", longest * len(story), self.limits.story_tokens)
        return longest * (len(story) + 1)

    async def look(self, text: str, **options: Any) -> str:
        """What was seen, as JSON."""
        if self.task not in LOOKED_INTO:
            raise RequestError(422, f"a model to {self.task} is not looked into here")
        options = {name: value for name, value in options.items() if value is not None}
        beside = options.get("target", "")
        self.limits.check_texts([text, beside])
        tokens = await self._story_size(options["story"], text) if "story" in options else 0
        if not tokens:
            tokens = sum(await self.sizes([text, beside]))
            most = self.limits.why_tokens if options.get("why") else self.limits.look_tokens
            self.limits.check_tokens("what is looked into", tokens, most)
        passes = 3 * tokens + SOME_HEADS if options.get("why") else 2
        size = max(QUICK_TOKENS + 1, min(tokens * passes, self.limits.queued_tokens // 2))  # never a quick one
        return str((await self._ask("look", [text], [size], options))[0])

    async def written(self, prompt: str, samples: int, options: dict[str, Any]) -> Sequence[Any]:
        """Ways to go on with a text: ids, texts and log-probabilities of each."""
        size = (await self.sizes([prompt]))[0] + int(options["tokens"])
        found: Sequence[Any] = await self._ask(
            "write", [(prompt, n) for n in range(samples)], [size] * samples, options
        )
        return found

    async def stream(self, prompt: str, options: dict[str, Any], push: Push) -> str:
        """Goes on with a text and pushes each piece; when `push` says no, nobody reads any more. Why it ended."""
        size = (await self.sizes([prompt]))[0] + int(options["tokens"])
        return str((await self._ask("stream", [(prompt, push)], [size], options))[0])

    async def _ask(
        self, what: str, items: Sequence[Any], sizes: list[int], options: dict[str, Any], cost: int = 1
    ) -> list[Any]:
        frozen = (("what", what), *sorted((k, tuple(v) if isinstance(v, list) else v) for k, v in options.items()))
        return await self.owner.ask(items, sizes, frozen, cost)

    def _run(self, items: list[Any], frozen: Any, is_quick: bool, is_wanted: Callable[[int], bool]) -> list[Any]:
        """What a lane does. is_wanted: whether an item is still waited for, which is asked between two passes."""
        with cancelled_by(lambda: self._check_wanted(any(map(is_wanted, range(len(items)))))):
            return self._compute(items, dict(frozen), is_quick, is_wanted)

    def _compute(
        self, items: list[Any], options: dict[str, Any], is_quick: bool, is_wanted: Callable[[int], bool]
    ) -> list[Any]:
        found: list[Any]
        match options.pop("what"):
            case "translate":
                found = list((self._quick if is_quick else self.opened).translate_all(items, **options))
            case "fill":
                found = [self.opened.fill(text, **options) for text in items]
            case "answer":
                found = [self.opened.answer(story, question) for story, question in items]
            case "encode":
                found = self.opened.encode(items).tolist()
            case "look":
                found = [self._apart.look(text, options) for text in items]
            case "stream":
                ((prompt, push),) = items
                found = [self.opened.sample(prompt, push=lambda piece: push(piece) and is_wanted(0), **options).reason]
            case "write":
                ((prompt, number),) = items
                seed = options.pop("seed") + number
                found = [self.opened.sample(prompt, seed=seed, push=lambda _: is_wanted(0), **options)]
            case unknown:
                raise AssertionError(unknown)
        return found

    @staticmethod
    def _check_wanted(is_wanted: bool) -> None:
        if not is_wanted:
            raise RequestError(503, "nobody waits for the answer any more, or it took too long", 1.0)

    def describe(self) -> dict[str, Any]:
        """What it is, for programs and for the page."""
        about = self.opened.about
        told = {"id": self.name, "task": self.task, "engine": getattr(self.opened, "engine", "torch"),
                "scores": about.get("scores", {})}  # fmt: skip
        if self.task == "translate":
            told |= dict(zip(("source", "target"), self.languages, strict=True))
        return told


class ModelRegistry:
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

    def find(self, name: str | None, task: str | None = None) -> Served:
        """The model of this name, or the first of its task; where no task is asked for, the first."""
        if name is not None:
            if name not in self.models:
                raise RequestError(404, f"there is no model {name}; served are {', '.join(self.models)}")
            if task is not None and self.models[name].task != task:
                raise RequestError(422, f"{name} is a model to {self.models[name].task}, not to {task}")
            return self.models[name]
        found = next(iter(self.models.values() if task is None else self.of(task)), None)
        if found is None:
            raise RequestError(404, f"no model to {task} is served" if task else "no model is served")
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
    ids = model.opened.tokenizer.encode_part(text)
    known = model.opened.aligner.reads(ids)
    return len(text) / (len(ids) + 1) * (0.1 + known)


def as_dict(found: Any) -> dict[str, Any]:
    """An answer of the library as JSON has it."""
    return asdict(found)
