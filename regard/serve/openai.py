"""OpenAI's API, completions of writers and embeddings of encoders: what its clients speak."""

from __future__ import annotations

import asyncio
import base64
import json
import math
import secrets
import struct
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from regard.serve.describe import SHARE, STRING, SWITCH, TEXTS, WHOLE, described
from regard.serve.libre import number, read_body, string
from regard.serve.limits import RequestError
from regard.serve.own import texts_of, told_aside
from regard.serve.registry import ModelRegistry, Served

MOST_CHANCES, MOST_STOPS, STOP_LETTERS = 8, 4, 200


def make_openai(gallery: ModelRegistry) -> APIRouter:
    """/v1/models, /v1/completions, /v1/embeddings."""
    router = APIRouter(prefix="/v1", tags=["OpenAI"])

    @router.get("/models")
    async def models() -> dict[str, Any]:
        """All models that are served."""
        return {"object": "list", "data": [_card(model) for model in gallery.models.values()]}

    @router.get("/models/{name}")
    async def model(name: str) -> dict[str, Any]:
        """One of them."""
        if name not in gallery.models:
            raise RequestError(404, f"there is no model {name}")
        return _card(gallery.models[name])

    about = {"model": STRING, "prompt": TEXTS, "n": WHOLE, "max_tokens": WHOLE, "temperature": SHARE, "top_p": SHARE,
             "seed": WHOLE, "stop": TEXTS, "logprobs": WHOLE, "stream": SWITCH}  # fmt: skip

    @router.post("/completions", response_model=None, openapi_extra=described("model", **about))
    async def completions(request: Request) -> JSONResponse | StreamingResponse:
        """Goes on with a prompt: n, max_tokens, temperature, top_p, seed, stop, logprobs, stream."""
        fields = await read_body(request)
        model = gallery.find(string(fields, "model"), "write")
        asked = fields.get("prompt", "")
        prompts = (
            [string({"prompt": one}, "prompt") for one in asked]
            if isinstance(asked, list)
            else [string(fields, "prompt", "")]
        )
        gallery.limits.check_texts(prompts)
        if not prompts:
            raise RequestError(422, "prompt is an empty list")
        samples = number(fields, "n", 1)
        gallery.limits.check_number("n times prompts", samples * len(prompts), 1, gallery.limits.samples)
        options = _options(fields, gallery)
        chances = number(fields, "logprobs", 0) if fields.get("logprobs") is not None else 0
        gallery.limits.check_number("logprobs", chances, 0, MOST_CHANCES)
        about = {"id": f"cmpl-{secrets.token_hex(12)}", "object": "text_completion", "created": int(time.time()),
                 "model": model.name}  # fmt: skip
        if fields.get("stream") is True:
            if samples * len(prompts) > 1 or chances:
                raise RequestError(422, "a stream is of one prompt, with n=1 and without logprobs")
            events = _stream(model, prompts[0], options, about)
            first = await anext(events)  # who is refused is told so by the status
            return StreamingResponse(_after(first, events), media_type="text/event-stream")
        choices: list[dict[str, Any]] = []
        written = 0
        for prompt in prompts:
            for found in await model.written(prompt, samples, options | {"chances": chances}):
                choices.append({"index": len(choices), "text": found.text, "finish_reason": found.reason,
                                "logprobs": _logprobs(found) if chances else None})  # fmt: skip
                written += len(found.tokens)
        read = sum(await model.sizes(prompts))
        usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
        return JSONResponse(about | {"choices": choices, "usage": usage})

    _embed(router, gallery)
    return router


def _embed(router: APIRouter, gallery: ModelRegistry) -> None:
    about = {"model": STRING, "input": TEXTS, "encoding_format": {"enum": ["float", "base64"]}}

    @router.post("/embeddings", openapi_extra=described("input", **about))
    async def embeddings(request: Request) -> Response:
        """input (a text or a list), model, encoding_format (float, or base64 of little-endian float32)."""
        fields = await read_body(request)
        name = string(fields, "model") if fields.get("model") is not None else None
        model = gallery.find(name, "encode")
        form = string(fields, "encoding_format", "float")
        if form not in {"float", "base64"}:
            raise RequestError(400, f"encoding_format is {form!r}; it is float or base64")
        texts = texts_of(fields, "input")
        if not texts:
            raise RequestError(422, "input is an empty list")
        found = await model.encode(texts)
        entries = [{"object": "embedding", "index": number, "embedding": _packed(one) if form == "base64" else one}
                   for number, one in enumerate(found)]  # fmt: skip
        read = sum(await model.sizes(texts))
        usage = {"prompt_tokens": read, "total_tokens": read}
        return await told_aside({"object": "list", "model": model.name, "usage": usage}, "data", entries)


def _packed(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def _options(fields: dict[str, Any], gallery: ModelRegistry) -> dict[str, Any]:
    tokens = number(fields, "max_tokens", 16) if fields.get("max_tokens") is not None else 16
    gallery.limits.check_number("max_tokens", tokens, 1, gallery.limits.written)
    seed = number(fields, "seed", 0) if fields.get("seed") is not None else secrets.randbits(31)
    gallery.limits.check_number("seed", seed, 0, 2**31 - 1)
    stop = fields.get("stop") or []
    stops = [stop] if isinstance(stop, str) else stop
    if not isinstance(stops, list) or not all(isinstance(one, str) and one for one in stops) or len(stops) > MOST_STOPS:
        raise RequestError(422, f"stop is a text or a list of at most {MOST_STOPS} texts")
    if any(len(one) > STOP_LETTERS for one in stops):
        raise RequestError(422, f"a stop text has at most {STOP_LETTERS} characters")
    found: dict[str, Any] = {"tokens": tokens, "seed": seed, "stop": tuple(stops)}
    for name, default, least, most in (("temperature", 1.0, 0.0, 2.0), ("top_p", 1.0, 1e-6, 1.0)):
        value = default if fields.get(name) is None else fields[name]
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise RequestError(422, f"{name} is not a number")
        gallery.limits.check_number(name, value, least, most)  # nor is what is not a number between two
        found[name] = float(value)
    if found["top_p"] == 1.0:
        del found["top_p"]
    return found


async def _stream(model: Served, prompt: str, options: dict[str, Any], about: dict[str, Any]) -> AsyncIterator[bytes]:
    """Pieces as server-sent events, ending in [DONE]; whoever goes away stops the writer."""
    loop, pieces = asyncio.get_running_loop(), asyncio.Queue[str | None]()
    is_read = True

    def push(piece: str) -> bool:
        with suppress(RuntimeError):  # the loop is closed: nobody reads any more
            loop.call_soon_threadsafe(pieces.put_nowait, piece)
        return is_read

    task = asyncio.create_task(model.stream(prompt, options, push))
    task.add_done_callback(lambda _: pieces.put_nowait(None))
    has_begun = False
    try:
        while (piece := await pieces.get()) is not None:
            has_begun = True
            yield _event(about | {"choices": [{"index": 0, "text": piece, "finish_reason": None, "logprobs": None}]})
        problem = task.exception()
        if problem is not None and not has_begun:
            raise problem
        if problem is not None:
            status = problem.status if isinstance(problem, RequestError) else 500
            yield _event({"error": {"message": str(problem), "code": status}})
        else:
            last = {"index": 0, "text": "", "finish_reason": task.result(), "logprobs": None}
            yield _event(about | {"choices": [last]})
        yield b"data: [DONE]\n\n"
    finally:
        is_read = False
        task.cancel()


async def _after(first: bytes, events: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for event in events:
        yield event


def _event(content: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(content, ensure_ascii=False)}\n\n".encode()


def _logprobs(found: Any) -> dict[str, Any]:
    places, place = [], 0
    for token in found.tokens:
        places.append(place)
        place += len(token)
    return {
        "tokens": found.tokens,
        "token_logprobs": [math.log(max(said.probability, 1e-30)) for said in found.said],
        "top_logprobs": [
            {token: math.log(max(chance, 1e-30)) for token, chance in said.alternatives} for said in found.said
        ],
        "text_offset": places,
    }


def _card(model: Served) -> dict[str, Any]:
    return {"id": model.name, "object": "model", "created": 0, "owned_by": "regard", "task": model.task}
