"""What requests may hold, for the OpenAPI description: routes read their bodies themselves, as JSON or as a form."""

from __future__ import annotations

from typing import Any

STRING: dict[str, Any] = {"type": "string"}
TEXTS: dict[str, Any] = {"oneOf": [STRING, {"type": "array", "items": STRING}]}
WHOLE: dict[str, Any] = {"type": "integer"}
SHARE: dict[str, Any] = {"type": "number"}
SWITCH: dict[str, Any] = {"type": "boolean"}


def described(*needed: str, **fields: dict[str, Any]) -> dict[str, Any]:
    """What goes with a route: its fields, and which of them are needed."""
    schema = {"type": "object", "properties": fields, "required": list(needed)}
    error = {"content": {"application/json": {"schema": {"type": "object", "properties": {"error": {}}}}}}
    told = {"400": "malformed", "404": "no such model", "413": "too large", "422": "not to be done", "429": "full",
            "503": "loading, or shutting down"}  # fmt: skip
    return {
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
        "responses": {status: {"description": why, **error} for status, why in told.items()},
    }
