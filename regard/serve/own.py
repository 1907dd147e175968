"""Our own API under /api: one route for each family, as its surface declares it, and what the page speaks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from regard.families import all_families, find_surface
from regard.families.surface import Body, LookBody, Surface, Text
from regard.files import parse_json, read_regular
from regard.install import ABOUT, MOST_JSON_BYTES
from regard.serve.aside import aside
from regard.serve.body import check_fields, check_known, described, read_body
from regard.serve.limits import RequestError
from regard.serve.registry import ModelRegistry
from regard.training.log import METRICS, SNAPSHOTS, read_after, read_both_ends

LETTERS_EACH = 400  # of a translation or a vector in an answer, about
MOST_EVENTS, MOST_FRAMES = 5000, 500  # of a training in one answer


class TokenizeBody(Body):
    """A text to see the tokens of."""

    text: Text


async def json_aside(found: Mapping[str, Any]) -> Response:
    """An object with lists in it that may be long: an entry is written at a time, so that others are answered."""

    def encode(value: Any) -> str:
        if not isinstance(value, list):
            return json.dumps(value, ensure_ascii=False)
        return f"[{','.join(json.dumps(one, ensure_ascii=False, separators=(',', ':')) for one in value)}]"

    def write() -> bytes:
        return f"{{{', '.join(f'{json.dumps(name)}: {encode(value)}' for name, value in found.items())}}}".encode()

    entries = sum(len(value) for value in found.values() if isinstance(value, list))
    return Response(await aside(write, LETTERS_EACH * entries), media_type="application/json")


def make_own(registry: ModelRegistry) -> APIRouter:
    """/api/…"""
    router = APIRouter(prefix="/api", tags=["regard"])

    @router.get("/models")
    async def models() -> list[dict[str, Any]]:
        """What is served."""
        return [model.describe() for model in registry.models.values()]

    @router.get("/models/{name}/weights")
    async def weights(name: str) -> Response:
        """All that a page needs to run a model itself; only with --share-weights."""
        model = registry.find(name)
        if model.shared is None:
            raise RequestError(403, f"the weights of {name} stay here; `regard serve --share-weights` would send them")
        return Response(model.shared, media_type="application/json")

    surfaces = {name: find_surface(name) for name in all_families()}
    for name, surface in surfaces.items():
        if surface.body is not None:
            _answer(router, registry, name, surface)
    _look_inside(router, registry, [surface.look for surface in surfaces.values() if surface.look is not None])
    _show_runs(router, registry)
    return router


def _answer(router: APIRouter, registry: ModelRegistry, name: str, surface: Surface) -> None:
    """The route of a family."""
    body, compute = surface.body, surface.answer
    assert body is not None and compute is not None, "a route has fields and an answer"

    async def answer(request: Request) -> Response:
        fields = await read_body(request)
        check_known(body, fields)
        asked = check_fields(body, fields)
        model = registry.find(asked.model, f"to {name}", lambda one: one.task == name)
        return await json_aside(await compute(model, asked))

    router.post(f"/{name}", name=name, description=compute.__doc__, openapi_extra=described(body))(answer)


def _look_inside(router: APIRouter, registry: ModelRegistry, bodies: list[type[LookBody]]) -> None:
    @router.post("/look", openapi_extra=described(*dict.fromkeys(bodies)))
    async def look(request: Request) -> Response:
        """text, and what the family of the model needs with it: all that was seen, as `regard look` writes it."""
        fields = await read_body(request)
        model = registry.find(check_fields(Body, fields).model)
        if model.surface.look is None:
            raise RequestError(422, f"a model to {model.task} is not looked into here")
        check_known(model.surface.look, fields)
        asked = check_fields(model.surface.look, fields)
        return Response(await model.look(asked), media_type="application/json")

    @router.post("/tokenize", openapi_extra=described(TokenizeBody))
    async def tokenize(request: Request) -> Response:
        """text, model: its tokens and their ids."""
        fields = await read_body(request)
        check_known(TokenizeBody, fields)
        asked = check_fields(TokenizeBody, fields)
        model = registry.find(asked.model)
        registry.limits.check_texts([asked.text])
        tokenizer = model.opened.tokenizer

        def write() -> bytes:
            ids = tokenizer.encode(asked.text)
            found = {"model": model.name, "ids": ids, "tokens": tokenizer.tokens(ids)}
            return json.dumps(found, ensure_ascii=False).encode()

        return Response(await aside(write, len(asked.text)), media_type="application/json")


def _show_runs(router: APIRouter, registry: ModelRegistry) -> None:
    @router.get("/runs")
    async def runs() -> list[str]:
        """Trainings with metrics and snapshots."""
        return sorted(registry.runs)

    @router.get("/runs/{name}")
    async def run(name: str, after: int = -1) -> Response:
        """What a training has logged after a step."""
        return await _read_aside(registry, name, lambda folder: read_run(folder, after))

    @router.get("/runs/{name}/snapshots")
    async def snapshots(name: str, after: int = -1) -> Response:
        """Snapshots of a training after a step: sample outputs and attention."""
        return await _read_aside(
            registry, name, lambda folder: {"snapshots": _entries_after(folder / "run" / SNAPSHOTS, after, MOST_FRAMES)}
        )


async def _read_aside(registry: ModelRegistry, name: str, read: Callable[[Path], dict[str, Any]]) -> Response:
    """What is read of a run, read and written as JSON in another thread."""
    if name not in registry.runs:
        raise RequestError(404, f"there is no run {name}")
    folder = registry.runs[name]
    content = await asyncio.to_thread(lambda: json.dumps(read(folder), ensure_ascii=False).encode("utf-8", "replace"))
    return Response(content, media_type="application/json")


def read_run(folder: Path, after: int) -> dict[str, Any]:
    """The newest events of a run's metrics, as far as they are whole."""
    try:
        about = parse_json(read_regular(folder / ABOUT, MOST_JSON_BYTES))
    except FileNotFoundError:
        about = {}
    except (OSError, ValueError):
        about = None
    if not isinstance(about, dict):
        raise RequestError(503, f"{ABOUT} of this run cannot be read now")
    events = _entries_after(folder / "run" / METRICS, after, MOST_EVENTS)
    return {"events": events, "scores": about.get("scores", {}), "step": about.get("step")}


def _entries_after(path: Path, after: int, most: int) -> list[dict[str, Any]]:
    try:
        return read_after(path, after, most) if after >= 0 else read_both_ends(path, most)
    except FileNotFoundError:
        return []
    except OSError:
        raise RequestError(503, f"{path.name} of this run cannot be read now") from None
