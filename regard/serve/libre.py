"""LibreTranslate's API: what its clients speak."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from regard.families.surface import Text, Texts, Whole
from regard.serve.aside import aside, aside_in_pieces
from regard.serve.body import check_fields, described, read_body
from regard.serve.limits import RequestError
from regard.serve.markup import Passage, lift, put_back
from regard.serve.registry import ModelRegistry, Served

TRANSLATION = "translation"  # what surfaces offer
MOST_LETTERS = 2000  # of a text that its language is detected from


class LibreBody(BaseModel):
    """LibreTranslate's fields."""

    q: Texts
    source: Text = "auto"
    target: Text
    format: Literal["text", "html"] = "text"
    alternatives: Whole = Field(0, ge=0, le=15)


class DetectBody(BaseModel):
    """A text in some language."""

    q: Text


def make_libre(registry: ModelRegistry, has_key: bool) -> APIRouter:
    """/translate, /languages, /detect, /frontend/settings."""
    router = APIRouter(tags=["LibreTranslate"])

    @router.post("/translate", openapi_extra=described(LibreBody))
    async def translate(request: Request) -> JSONResponse:
        """q (a text or a list), source (or auto), target, format (text or html), alternatives."""
        asked = check_fields(LibreBody, await read_body(request), 400)
        many, more = isinstance(asked.q, list), asked.alternatives
        texts = asked.q if isinstance(asked.q, list) else [asked.q]
        registry.limits.check_texts(texts)
        model = choose(registry, asked.source, asked.target, " ".join(texts)[:MOST_LETTERS])
        translated, others = await (_html if asked.format == "html" else _text)(model, texts, more)
        found: dict[str, Any] = {"translatedText": translated if many else translated[0]}
        if asked.source == "auto":
            guess = {"language": languages_of(model)[0], "confidence": 100.0}
            found["detectedLanguage"] = [guess] * len(texts) if many else guess
        if more:
            found["alternatives"] = others if many else others[0]
        return JSONResponse(found)

    @router.get("/languages")
    async def languages() -> list[dict[str, Any]]:
        """What can be translated into what."""
        pairs: dict[str, set[str]] = {}
        for source, target in map(languages_of, registry.offering(TRANSLATION)):
            pairs.setdefault(source, set()).add(target)
        return [{"code": code, "name": code, "targets": sorted(targets)} for code, targets in sorted(pairs.items())]

    @router.post("/detect", openapi_extra=described(DetectBody))
    async def detect(request: Request) -> list[dict[str, Any]]:
        """Which of the languages that are read here a text is in."""
        asked = check_fields(DetectBody, await read_body(request), 400)
        registry.limits.check_texts([asked.q])
        return guess_language(registry, asked.q[:MOST_LETTERS])

    @router.get("/frontend/settings")
    async def settings() -> dict[str, Any]:
        """Settings that LibreTranslate's page asks for."""
        pair = next(map(languages_of, registry.offering(TRANSLATION)), ("auto", "en"))
        language = {side: {"code": code, "name": code} for side, code in zip(("source", "target"), pair, strict=True)}
        return {"apiKeys": has_key, "charLimit": registry.limits.letters, "frontendTimeout": 500,
                "keyRequired": has_key, "language": language, "suggestions": False,
                "supportedFilesFormat": []}  # fmt: skip

    return router


def languages_of(model: Served) -> tuple[str, str]:
    """What a translator reads and what it writes."""
    facts = model.surface.facts(model.opened)
    return str(facts["source"]), str(facts["target"])


def choose(registry: ModelRegistry, source: str, target: str, text: str) -> Served:
    """The translator between two languages; `auto` is found out."""
    known = [(model, *languages_of(model)) for model in registry.offering(TRANSLATION)]
    fitting = [(model, reads) for model, reads, writes in known if writes == target]
    there = [model for model, reads in fitting if source in {"auto", reads} or reads == "auto"]
    if not there:
        pairs = ", ".join(f"{reads} to {writes}" for _, reads, writes in known)
        raise RequestError(
            400, f"no model here translates from {source} to {target}; there is {pairs or 'no translator'}"
        )
    return max(there, key=lambda model: fit(model, text)) if len(there) > 1 else there[0]


def guess_language(registry: ModelRegistry, text: str) -> list[dict[str, Any]]:
    """Which of the languages that are read here a text may be in, likeliest first, with shares of 100."""
    scores: dict[str, float] = {}
    for model in registry.offering(TRANSLATION):
        language = languages_of(model)[0]
        scores[language] = max(scores.get(language, 0.0), fit(model, text))
    total = sum(score**4 for score in scores.values()) or 1.0
    found = [{"language": name, "confidence": round(100 * score**4 / total, 1)} for name, score in scores.items()]
    return sorted(found, key=lambda one: -float(str(one["confidence"])))


def fit(model: Served, text: str) -> float:
    """How well a text suits what a translator reads: letters to a token, of the tokens it knows as sources."""
    ids = model.opened.tokenizer.encode_part(text)
    known = model.opened.aligner.reads(ids)
    return float(len(text) / (len(ids) + 1) * (0.1 + known))


async def _text(model: Served, texts: Sequence[str], more: int) -> tuple[list[str], list[list[str]]]:
    """Line by line: a line end in a text stays where it is."""
    lines = [text.split("\n") for text in texts]
    flat = [line for one in lines for line in one]
    found = iter(await model.surface.offers[TRANSLATION](model, flat, n_best=1 + more))
    translated, others = [], []
    for one in lines:
        translations = [next(found) for _ in one]
        translated.append("\n".join(translation.text for translation in translations))
        kept = translations[0].alternatives if len(one) == 1 else []
        others.append([other.text for other in kept[:more]])
    return translated, others


async def _html(model: Served, texts: Sequence[str], more: int) -> tuple[list[str], list[list[str]]]:
    """Passages between tags are translated, inline tags follow the alignment."""
    lifted = await aside_in_pieces(lambda some: [lift(text) for text in some], texts)
    parts = [one for some in lifted for one in some]
    passages = [part for one in parts for part in one if isinstance(part, Passage) and part.words]
    found = await model.surface.offers[TRANSLATION](model, [passage.text for passage in passages], alignments=True)
    facts = {id(passage): answer for passage, answer in zip(passages, found, strict=True)}

    def assemble(one: list[str | Passage]) -> str:
        return "".join(
            part if isinstance(part, str) else put_back(part, facts[id(part)].text, facts[id(part)].alignment)
            if id(part) in facts else put_back(part, "", [])
            for part in one
        )  # fmt: skip

    translated = [await aside(lambda one=one: assemble(one), sum(map(len, texts))) for one in parts]  # type: ignore[misc]
    return translated, [[] for _ in texts]
