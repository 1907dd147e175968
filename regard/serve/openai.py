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
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import BaseModel, Field, Strict, StringConstraints

from regard.families.surface import Share, Text, Texts, Whole
from regard.serve.body import check_fields, described, read_body
from regard.serve.limits import RequestError
from regard.serve.own import json_aside
from regard.serve.registry import ModelRegistry, Served

COMPLETION, STREAM, EMBEDDING = "completion", "stream", "embedding"  # what surfaces offer
Stop = Annotated[str, Strict(), StringConstraints(min_length=1, max_length=200)]


class CompletionBody(BaseModel):
    """OpenAI's fields and its defaults; null is as good as to leave one out."""

    model: Text
    prompt: Texts = ""
    n: Whole = Field(1, ge=1, le=8)
    max_tokens: Annotated[Whole, Field(ge=1, le=2048)] | None = 16
    temperature: Annotated[Share, Field(ge=0, le=2)] | None = 1.0
    top_p: Annotated[Share, Field(ge=1e-6, le=1)] | None = 1.0
    seed: Annotated[Whole, Field(ge=0, lt=2**31)] | None = None
    stop: Stop | Annotated[list[Stop], Field(max_length=4)] | None = None
    logprobs: Annotated[Whole, Field(ge=0, le=8)] | None = None
    stream: Annotated[bool, Strict()] | None = False

    @property
    def prompts(self) -> list[str]:
        """All of them."""
        return [self.prompt] if isinstance(self.prompt, str) else self.prompt

    @property
    def options(self) -> dict[str, Any]:
        """As keyword arguments of a writer."""
        stops = [self.stop] if isinstance(self.stop, str) else self.stop or []
        found: dict[str, Any] = {"tokens": self.max_tokens or 16, "seed": self.seed, "stop": tuple(stops)}
        found["temperature"] = 1.0 if self.temperature is None else self.temperature
        return found | ({"top_p": self.top_p} if self.top_p is not None and self.top_p < 1 else {})


class EmbeddingBody(BaseModel):
    """OpenAI's fields of embeddings."""

    input: Texts
    model: Text | None = None
    encoding_format: Literal["float", "base64"] | None = "float"  # base64: of little-endian float32
    dimensions: Whole | None = None  # only as many as there are


def make_openai(registry: ModelRegistry) -> APIRouter:
    """/v1/models, /v1/completions, /v1/embeddings."""
    router = APIRouter(prefix="/v1", tags=["OpenAI"])

    @router.get("/models")
    async def models() -> dict[str, Any]:
        """All models that are served."""
        return {"object": "list", "data": [_card(model) for model in registry.models.values()]}

    @router.get("/models/{name}")
    async def model(name: str) -> dict[str, Any]:
        """One of them."""
        if name not in registry.models:
            raise RequestError(404, f"there is no model {name}")
        return _card(registry.models[name])

    @router.post("/completions", response_model=None, openapi_extra=described(CompletionBody))
    async def completions(request: Request) -> JSONResponse | StreamingResponse:
        """Continue a prompt: n, max_tokens, temperature, top_p, seed, stop, logprobs, stream."""
        asked = check_fields(CompletionBody, await read_body(request))
        model, prompts = registry.find_offering(asked.model, COMPLETION), asked.prompts
        registry.limits.check_texts(prompts)
        if not prompts:
            raise RequestError(422, "prompt is an empty list")
        registry.limits.check_number("n times prompts", asked.n * len(prompts), 1, registry.limits.samples)
        top = asked.logprobs or 0
        about = {"id": f"cmpl-{secrets.token_hex(12)}", "object": "text_completion", "created": int(time.time()),
                 "model": model.name}  # fmt: skip
        if asked.stream:
            if asked.n * len(prompts) > 1 or top:
                raise RequestError(422, "a stream is of one prompt, with n=1 and without logprobs")
            events = _stream(model, prompts[0], asked.options, about)
            first = await anext(events)  # a refusal is a status, not an event
            return StreamingResponse(_after(first, events), media_type="text/event-stream")
        complete = model.surface.offers[COMPLETION]
        choices: list[dict[str, Any]] = []
        written, notes = 0, dict[str, None]()
        for prompt in prompts:
            for found in await complete(model, prompt, asked.n, asked.options | {"top_probabilities": top}):
                choices.append({"index": len(choices), "text": found.text, "finish_reason": found.reason,
                                "logprobs": _logprobs(found) if top else None})  # fmt: skip
                written += len(found.tokens)
                notes |= dict.fromkeys(found.notes)
        read = sum(await model.sizes(prompts))
        usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
        about |= {"notes": [*notes]} if notes else {}  # what of the prompts does not count
        return JSONResponse(about | {"choices": choices, "usage": usage})

    _embed(router, registry)
    return router


def _embed(router: APIRouter, registry: ModelRegistry) -> None:
    @router.post("/embeddings", openapi_extra=described(EmbeddingBody))
    async def embeddings(request: Request) -> Response:
        """input (a text or a list), model, encoding_format (float, or base64 of little-endian float32)."""
        asked = check_fields(EmbeddingBody, await read_body(request))
        model = registry.find_offering(asked.model, EMBEDDING)
        texts = [asked.input] if isinstance(asked.input, str) else asked.input
        if not texts:
            raise RequestError(422, "input is an empty list")
        found = await model.surface.offers[EMBEDDING](model, texts)
        if asked.dimensions not in {None, len(found[0])}:
            there = f"the vectors of {model.name} have {len(found[0])}, and none can be left out"
            raise RequestError(422, f"dimensions is {asked.dimensions}; {there}")
        is_packed = asked.encoding_format == "base64"
        entries = [{"object": "embedding", "index": number, "embedding": _packed(one) if is_packed else one}
                   for number, one in enumerate(found)]  # fmt: skip
        read = sum(await model.sizes(texts))
        usage = {"prompt_tokens": read, "total_tokens": read}
        notes = await model.aside(lambda: model.opened.notes(texts), sum(map(len, texts)))
        about = {"object": "list", "model": model.name, "usage": usage} | ({"notes": notes} if notes else {})
        return await json_aside(about | {"data": entries})


def _packed(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


async def _stream(model: Served, prompt: str, options: dict[str, Any], about: dict[str, Any]) -> AsyncIterator[bytes]:
    """Pieces as server-sent events, ending in [DONE]; a client that disconnects stops generation."""
    loop, pieces = asyncio.get_running_loop(), asyncio.Queue[str | None]()
    is_read = True

    def push(piece: str) -> bool:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(pieces.put_nowait, piece)
        return is_read

    task = asyncio.create_task(model.surface.offers[STREAM](model, prompt, options, push))
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
        "token_logprobs": [math.log(max(score.probability, 1e-30)) for score in found.token_scores],
        "top_logprobs": [
            {token: math.log(max(p, 1e-30)) for token, p in score.alternatives} for score in found.token_scores
        ],
        "text_offset": places,
    }


def _card(model: Served) -> dict[str, Any]:
    return {"id": model.name, "object": "model", "created": 0, "owned_by": "regard", "task": model.task}
