"""LibreTranslate's API: what its clients speak."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from regard.serve.aside import aside, aside_in_pieces
from regard.serve.describe import STRING, TEXTS, WHOLE, described
from regard.serve.limits import RequestError, check_shape
from regard.serve.markup import Passage, lift, put_back
from regard.serve.registry import ModelRegistry, Served


async def read_body(request: Request) -> dict[str, Any]:
    """The object in a request: JSON, or a form."""
    body = await request.body()
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        if kind == "application/x-www-form-urlencoded":
            fields = parse_qs(body.decode(), keep_blank_values=True, max_num_fields=1000, errors="strict")
            return {name: values if len(values) > 1 else values[0] for name, values in fields.items()}
        check_shape(body)
        content = json.loads(body)
    except (ValueError, RecursionError) as problem:
        raise RequestError(400, f"the request cannot be read: {problem}") from None
    if not isinstance(content, dict):
        raise RequestError(400, "the request is not a JSON object")
    return content


def string(fields: dict[str, Any], name: str, default: str | None = None) -> str:
    """A field that must be a text."""
    value = fields.get(name, default)
    if not isinstance(value, str):
        raise RequestError(400, f"{name} is missing or not a text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise RequestError(400, f"{name} has half a character (a lone surrogate)") from None
    return value


def number(fields: dict[str, Any], name: str, default: int) -> int:
    """A field that must be a whole number."""
    value = fields.get(name, default)
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit() and len(value) < 10:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise RequestError(400, f"{name} is not a whole number")
    return value


def make_libre(gallery: ModelRegistry, has_key: bool) -> APIRouter:
    """/translate, /languages, /detect, /frontend/settings."""
    router = APIRouter(tags=["LibreTranslate"])

    about = {
        "q": TEXTS,
        "source": STRING,
        "target": STRING,
        "format": {"enum": ["text", "html"]},
        "alternatives": WHOLE,
    }

    @router.post("/translate", openapi_extra=described("q", "target", **about))
    async def translate(request: Request) -> JSONResponse:
        """q (a text or a list), source (or auto), target, format (text or html), alternatives."""
        fields = await read_body(request)
        many = isinstance(fields.get("q"), list)
        texts = [string({"q": one}, "q") for one in fields["q"]] if many else [string(fields, "q")]
        gallery.limits.check_texts(texts)
        asked, target = string(fields, "source", "auto"), string(fields, "target")
        form = string(fields, "format", "text")
        if form not in {"text", "html"}:
            raise RequestError(400, f"format is {form!r}; it is text or html")
        more = number(fields, "alternatives", 0)
        gallery.limits.check_number("alternatives", more, 0, gallery.limits.beams - 1)
        model, source = gallery.pair(asked, target, " ".join(texts)[:2000])
        said, others = await (_html if form == "html" else _text)(model, texts, more)
        found: dict[str, Any] = {"translatedText": said if many else said[0]}
        if asked == "auto":
            guess = {"language": source, "confidence": 100.0}
            found["detectedLanguage"] = [guess] * len(texts) if many else guess
        if more:
            found["alternatives"] = others if many else others[0]
        return JSONResponse(found)

    @router.get("/languages")
    async def languages() -> list[dict[str, Any]]:
        """What can be translated into what."""
        pairs: dict[str, set[str]] = {}
        for model in gallery.of("translate"):
            pairs.setdefault(model.languages[0], set()).add(model.languages[1])
        return [{"code": code, "name": code, "targets": sorted(targets)} for code, targets in sorted(pairs.items())]

    @router.post("/detect", openapi_extra=described("q", q=STRING))
    async def detect(request: Request) -> list[dict[str, Any]]:
        """Which of the languages that are read here a text is in."""
        fields = await read_body(request)
        text = string(fields, "q")
        gallery.limits.check_texts([text])
        return gallery.detect(text[:2000])

    @router.get("/frontend/settings")
    async def settings() -> dict[str, Any]:
        """What their page wants to know."""
        pair = next((model.languages for model in gallery.of("translate")), ("auto", "en"))
        language = {side: {"code": code, "name": code} for side, code in zip(("source", "target"), pair, strict=True)}
        return {"apiKeys": has_key, "charLimit": gallery.limits.letters, "frontendTimeout": 500, "keyRequired": has_key,
                "language": language, "suggestions": False, "supportedFilesFormat": []}  # fmt: skip

    return router


async def _text(model: Served, texts: Sequence[str], more: int) -> tuple[list[str], list[list[str]]]:
    """Line by line: a line end in a text stays where it is."""
    lines = [text.split("\n") for text in texts]
    flat = [line for one in lines for line in one]
    found = iter(await model.translate(flat, n_best=1 + more, beam=max(4, 1 + more)))
    said, others = [], []
    for one in lines:
        translations = [next(found) for _ in one]
        said.append("\n".join(translation.text for translation in translations))
        kept = translations[0].alternatives if len(one) == 1 else []
        others.append([other.text for other in kept[:more]])
    return said, others


async def _html(model: Served, texts: Sequence[str], more: int) -> tuple[list[str], list[list[str]]]:
    """Passages between tags are translated, inline tags follow the alignment."""
    lifted = await aside_in_pieces(lambda some: [lift(text) for text in some], texts)
    parts = [one for some in lifted for one in some]
    passages = [part for one in parts for part in one if isinstance(part, Passage) and part.words]
    found = await model.translate([passage.text for passage in passages], alignments=True)
    told = {id(passage): answer for passage, answer in zip(passages, found, strict=True)}

    def assemble(one: list[str | Passage]) -> str:
        return "".join(
            part if isinstance(part, str) else put_back(part, told[id(part)].text, told[id(part)].alignment)
            if id(part) in told else put_back(part, "", [])
            for part in one
        )  # fmt: skip

    said = [await aside(lambda one=one: assemble(one), sum(map(len, texts))) for one in parts]  # type: ignore[misc]
    return said, [[] for _ in texts]
