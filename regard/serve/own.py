"""Our own API under /api: what the page speaks, and whoever wants more than the others' have."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from regard.families.translate.translation import Translation
from regard.files import parse_json, read_regular
from regard.install import ABOUT, MOST_JSON_BYTES
from regard.serve.aside import aside
from regard.serve.describe import STRING, SWITCH, TEXTS, WHOLE, described
from regard.serve.libre import number, read_body, string
from regard.serve.limits import RequestError
from regard.serve.registry import ModelRegistry, as_dict
from regard.text.stories import split_sentences
from regard.training.log import METRICS, SNAPSHOTS, read_after

LETTERS_EACH = 400  # of a translation or a vector in an answer, about
MOST_EVENTS, MOST_FRAMES = 5000, 500  # of a training that are told at a time


def texts_of(fields: dict[str, Any], name: str) -> list[str]:
    """A field that is a text or a list of texts."""
    value = fields.get(name)
    return [string({name: one}, name) for one in value] if isinstance(value, list) else [string(fields, name)]


def story_of(fields: dict[str, Any]) -> list[str]:
    """The sentences of a story: a text is split as everywhere else, a list is taken as it is."""
    story = (
        split_sentences(string(fields, "story")) if isinstance(fields.get("story"), str) else texts_of(fields, "story")
    )
    if not any(sentence.strip() for sentence in story):
        raise RequestError(422, "the story has no sentence")
    return story


async def told_aside(about: dict[str, Any], name: str, entries: list[Any]) -> Response:
    """An object with a list in it that may be long: an entry is written at a time, so that others are answered."""

    def write() -> bytes:
        head = json.dumps(about, ensure_ascii=False)[:-1] if about else "{"
        listed = ",".join(json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in entries)
        return f'{head}, "{name}": [{listed}]}}'.encode()

    return Response(await aside(write, LETTERS_EACH * len(entries)), media_type="application/json")


def make_own(gallery: ModelRegistry) -> APIRouter:
    """/api/…"""
    router = APIRouter(prefix="/api", tags=["regard"])
    limits = gallery.limits

    @router.get("/models")
    async def models() -> list[dict[str, Any]]:
        """What is served."""
        return [model.describe() for model in gallery.models.values()]

    about = {"text": TEXTS, "model": STRING, "beam": WHOLE, "n_best": WHOLE, "prefix": STRING}

    @router.post("/translate", openapi_extra=described("text", **about))
    async def translate(request: Request) -> Response:
        """text (or a list), model, beam, n_best, prefix, alignments: translations with scores and alternatives."""
        fields = await read_body(request)
        model = gallery.find(optional(fields, "model"), "translate")
        texts = texts_of(fields, "text")
        beam, n_best = number(fields, "beam", 4), number(fields, "n_best", 1)
        for name, value in (("beam", beam), ("n_best", n_best)):
            limits.check_number(name, value, 1, limits.beams)
        prefix = string(fields, "prefix", "")
        limits.check_texts(texts)
        options = {"beam": beam, "n_best": n_best, "alignments": True} | ({"prefix": prefix} if prefix else {})
        found = await model.translate(texts, **options)
        return await told_aside({"model": model.name}, "translations", [_told(one) for one in found])

    @router.post("/fill", openapi_extra=described("text", text=STRING, model=STRING, top=WHOLE))
    async def fill(request: Request) -> dict[str, Any]:
        """text with [MASK], top: what may stand in each gap."""
        fields = await read_body(request)
        model = gallery.find(optional(fields, "model"), "fill")
        return as_dict(await model.fill(string(fields, "text"), number(fields, "top", 5)))

    @router.post("/answer", openapi_extra=described("story", "question", story=TEXTS, question=STRING, model=STRING))
    async def answer(request: Request) -> dict[str, Any]:
        """story (a text, or a list of sentences), question: the answer, and what each hop looked at."""
        fields = await read_body(request)
        model = gallery.find(optional(fields, "model"), "answer")
        return as_dict(await model.answer(story_of(fields), string(fields, "question")))

    @router.post("/encode", openapi_extra=described("text", text=TEXTS, model=STRING))
    async def encode(request: Request) -> Response:
        """text (or a list), model: the vector of each."""
        fields = await read_body(request)
        model = gallery.find(optional(fields, "model"), "encode")
        found = await model.encode(texts_of(fields, "text"))
        return await told_aside({"model": model.name}, "vectors", found)

    _look_inside(router, gallery)
    _watch_runs(router, gallery)
    return router


def _look_inside(router: APIRouter, gallery: ModelRegistry) -> None:
    limits = gallery.limits

    about = {"model": STRING, "text": STRING, "target": STRING, "story": TEXTS, "why": SWITCH}

    @router.post("/look", openapi_extra=described("text", **about))
    async def look(request: Request) -> Response:
        """text, and target or story: all that was seen, as `regard look --to look.json` has it."""
        fields = await read_body(request)
        model = gallery.find(optional(fields, "model"))
        options: dict[str, Any] = {"target": optional(fields, "target"), "why": fields.get("why") is True or None}
        if model.task == "answer":
            options = {"story": tuple(story_of(fields)), "why": options["why"]}
        elif model.task != "translate":
            options.pop("target")
        return Response(await model.look(string(fields, "text"), **options), media_type="application/json")

    @router.post("/tokenize", openapi_extra=described("text", model=STRING, text=STRING))
    async def tokenize(request: Request) -> Response:
        """text, model: its tokens and their ids."""
        fields = await read_body(request)
        model = gallery.find(optional(fields, "model"))
        text = string(fields, "text")
        limits.check_texts([text])
        tokenizer = model.opened.tokenizer

        def write() -> bytes:
            ids = tokenizer.encode(text)
            found = {"model": model.name, "ids": ids, "tokens": tokenizer.tokens(ids)}
            return json.dumps(found, ensure_ascii=False).encode()

        return Response(await aside(write, len(text)), media_type="application/json")


def _watch_runs(router: APIRouter, gallery: ModelRegistry) -> None:
    @router.get("/runs")
    async def runs() -> list[str]:
        """Trainings that can be watched."""
        return sorted(gallery.runs)

    @router.get("/runs/{name}")
    async def run(name: str, after: int = -1) -> Response:
        """What a training has logged after a step."""
        return await _watched(gallery, name, lambda folder: read_run(folder, after))

    @router.get("/runs/{name}/snapshots")
    async def snapshots(name: str, after: int = -1) -> Response:
        """What became of a training's samples, and what the model looked at in its probes, after a step."""
        return await _watched(
            gallery, name, lambda folder: {"snapshots": _entries_after(folder / "run" / SNAPSHOTS, after, MOST_FRAMES)}
        )


async def _watched(gallery: ModelRegistry, name: str, read: Callable[[Path], dict[str, Any]]) -> Response:
    """What is read of a run, read and written as JSON in another thread."""
    if name not in gallery.runs:
        raise RequestError(404, f"there is no run {name}")
    folder = gallery.runs[name]
    content = await asyncio.to_thread(lambda: json.dumps(read(folder), ensure_ascii=False).encode("utf-8", "replace"))
    return Response(content, media_type="application/json")


def optional(fields: dict[str, Any], name: str) -> str | None:
    """A field that may be left out."""
    return string(fields, name) if fields.get(name) is not None else None


def read_run(folder: Path, after: int) -> dict[str, Any]:
    """The newest events of a run's metrics, as far as they are whole."""
    try:
        told = parse_json(read_regular(folder / ABOUT, MOST_JSON_BYTES))
    except FileNotFoundError:
        told = {}
    except (OSError, ValueError):
        told = None
    if not isinstance(told, dict):
        raise RequestError(503, f"{ABOUT} of this run cannot be read now")
    events = _entries_after(folder / "run" / METRICS, after, MOST_EVENTS)
    return {"events": events, "scores": told.get("scores", {}), "step": told.get("step")}


def _entries_after(path: Path, after: int, most: int) -> list[dict[str, Any]]:
    try:
        return read_after(path, after, most)
    except FileNotFoundError:
        return []
    except OSError:
        raise RequestError(503, f"{path.name} of this run cannot be read now") from None


def _told(one: Translation) -> dict[str, Any]:
    """A translation as JSON has it, which cannot say "not a number"; nothing is copied, as a document is long."""
    score = None if math.isnan(one.score) else one.score
    return vars(one) | {"score": score, "alternatives": [_told(other) for other in one.alternatives]}
