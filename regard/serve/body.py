"""The body of a request: read as JSON or as a form, and what its fields may be, checked and described by one model."""

from __future__ import annotations

import json
from typing import Any, TypeVar
from urllib.parse import parse_qs

from fastapi import Request
from pydantic import BaseModel, ValidationError

from regard.config import nearest
from regard.serve.limits import RequestError, check_shape

B = TypeVar("B", bound=BaseModel)
KEY = "api_key"  # which any request may hold
SHOWN = 40  # letters of a field's name
ERROR = {"content": {"application/json": {"schema": {"type": "object", "properties": {"error": {}}}}}}
STATUSES = {"400": "malformed", "404": "no such model", "413": "too large", "422": "not to be done", "429": "full",
            "503": "loading, or shutting down"}  # fmt: skip


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


def check_known(model: type[BaseModel], fields: dict[str, Any]) -> None:
    """Refuses a field that is not read: what a client means with it would be lost without a word."""
    known = [*model.model_fields]
    if odd := next((name for name in fields if name not in (*known, KEY)), None):
        raise RequestError(422, f"there is no field {odd[:SHOWN]!r} here{nearest(odd[:SHOWN], known)}")


def check_fields(model: type[B], fields: dict[str, Any], status: int = 422) -> B:
    """The fields, if they are what the model says; else why not, with this status."""
    try:
        return model.model_validate(fields)
    except ValidationError as problem:
        found = min(problem.errors(include_url=False), key=lambda one: one["type"] != "value_error")  # of several kinds
        raise RequestError(status, _reason(str(found["loc"][0]), found)) from None


def _reason(name: str, found: Any) -> str:
    """What is wrong with a field: what we saw, as far as it is short, and the rule."""
    match found["type"]:
        case "missing" | "string_type":
            return f"{name} is missing or not a text"
        case "value_error":
            return f"{name}: {found['ctx']['error']}"
        case "literal_error":
            return f"{name} is {found['input']!r:.40}; it is {found['ctx']['expected'].replace(chr(39), '')}"
    rule = found["msg"][:1].lower() + found["msg"][1:]
    return f"{name} is {found['input']!r:.40}; {rule}"


def described(*models: type[BaseModel]) -> dict[str, Any]:
    """What goes with a route in the OpenAPI description: its fields, of one of these models, and its errors."""
    schemas = [model.model_json_schema() for model in models]
    schema = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
    return {
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
        "responses": {status: {"description": why, **ERROR} for status, why in STATUSES.items()},
    }
