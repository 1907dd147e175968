"""What every request passes before a route sees it: host, origin, size, key, readiness; then its metrics and log.

A client that goes away ends its route: what it asked for is not computed further. No text of a request is logged.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import secrets
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from ipaddress import ip_address
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.serve.limits import RequestError, check_shape
from regard.serve.metrics import Metrics
from regard.serve.registry import ModelRegistry

OPEN = {"/health", "/ready"}  # routes that neither compute nor read anything
POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; worker-src blob:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
EVERYWHERE = {"0.0.0.0", "::"}  # who listens on all addresses answers to all of them
BODY = "regard.body"  # where a scope holds the whole body of its request
MOST_HERE = 4096  # bytes of a body that is read here; what is larger is not quick
GONE = 499  # in logs and metrics: the client was gone before the answer
log = logging.getLogger("regard.serve")


class Guard:
    """Around all routes."""

    def __init__(
        self,
        app: ASGIApp,
        registry: ModelRegistry,
        metrics: Metrics,
        hosts: set[str],
        api_key: str | None,
        bulk: ASGIApp | None = None,
        pages: Mapping[str, ASGIApp] | None = None,
    ) -> None:
        self._app, self._registry, self._metrics, self._hosts, self._key = app, registry, metrics, hosts, api_key
        self._bulk, self._pages = bulk, pages or {}
        self._is_everywhere = bool(EVERYWHERE & hosts)
        self._held = 0  # bytes of bodies that are not whole yet
        self._turn = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        began, name, status = time.perf_counter(), secrets.token_hex(8), GONE

        async def count_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", []), *_headers(name)]
            await send(message)

        try:
            headers = Headers(scope=scope)
            self._check_place(scope, headers)
            if scope["method"] == "GET":
                await self._wait_turn()
            if scope["method"] == "GET" and (page := self._pages.get(scope["path"])):
                await page(scope, receive, count_status)  # no file is opened, no key asked for: it holds nothing
                return
            if (body := await self._read(receive, headers)) is None:
                return
            self._check_key(scope, headers, body)
            if not self._is_open(scope["path"]):
                why = "shutting down" if self._registry.is_draining else "loading its models"
                raise RequestError(503, f"the server is {why}", 1.0)
            await self._run(scope, body, receive, count_status)
        except RequestError as problem:
            await error_response(Request(scope), problem.status, str(problem), problem.retry_after)(
                scope, receive, count_status
            )
        except Exception as problem:
            place = traceback.extract_tb(problem.__traceback__)[-1]  # its words may hold text of the request
            log.error(json.dumps({"request": name, "problem": type(problem).__name__,
                                  "at": f"{place.filename}:{place.lineno}"}))  # fmt: skip
            if status != GONE:
                raise  # its answer has begun
            await error_response(Request(scope), 500, f"something went wrong here; the log of {name} says what")(
                scope, receive, count_status
            )
        finally:
            route = getattr(scope.get("route"), "path", "other")
            seconds = time.perf_counter() - began
            self._metrics.count(route, status, seconds)
            log.info(json.dumps({"request": name, "route": route, "method": scope["method"], "status": status,
                                 "seconds": round(seconds, 4)}))  # fmt: skip

    async def _wait_turn(self) -> None:
        """What only reads is begun one after another, with all that is ready in between: hundreds of connections that
        ask for pages at once do not hold up a text.
        """
        async with self._turn:
            await asyncio.sleep(0)

    def _is_open(self, path: str) -> bool:
        is_working = self._registry.is_ready and not self._registry.is_draining
        return is_working or path in OPEN | {"/metrics"}

    def _check_place(self, scope: Scope, headers: Headers) -> None:
        host = headers.get("host", "")
        bare = host.rsplit(":", 1)[0] if host.rsplit(":", 1)[-1].isdigit() and ":" in host else host
        if bare.lower() not in self._hosts and not (self._is_everywhere and _is_address(bare)):
            raise RequestError(421, "this server does not answer to that host name; --name makes it")
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2] != host:
            raise RequestError(403, "requests from other sites are not answered")

    async def _read(self, receive: Receive, headers: Headers) -> bytes | None:
        """The whole body; None if the client has gone."""
        most = self._registry.limits.body_bytes
        length = headers.get("content-length", "0")
        if length.isdigit() and int(length) > most:
            raise RequestError(413, f"the request is larger than {most} bytes")
        body, is_more = bytearray(), True
        try:
            while is_more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return None
                part = message.get("body", b"")
                body += part
                self._held += len(part)
                if len(body) > most:
                    raise RequestError(413, f"the request is larger than {most} bytes")
                is_more = message.get("more_body", False)
                if is_more and self._held > self._registry.limits.held_bytes:
                    raise RequestError(503, "too many large requests are on their way; try again later", 1.0)
            return bytes(body)
        finally:
            self._held -= len(body)

    def _check_key(self, scope: Scope, headers: Headers, body: bytes) -> None:
        if self._key is None or scope["path"] in OPEN:
            return
        bearer = headers.get("authorization", "").removeprefix("Bearer ").strip()
        given = bearer or headers.get("x-api-key", "") or (_key_in(body) if b"api_key" in body else "")
        if not hmac.compare_digest(given.encode("utf-8", "replace"), self._key.encode()):
            raise RequestError(401, "a key is needed: Authorization: Bearer …, X-Api-Key, or api_key in the request")

    async def _run(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        is_given = False
        gone = asyncio.ensure_future(_until_gone(receive))

        async def again() -> Message:
            nonlocal is_given
            if not is_given:
                is_given = True
                return {"type": "http.request", "body": body, "more_body": False}
            await asyncio.shield(gone)
            return {"type": "http.disconnect"}

        scope[BODY] = body
        is_large = self._bulk is not None and len(body) > MOST_HERE and self._registry.forwards_all
        app = self._bulk if is_large and self._bulk else self._app
        route = asyncio.ensure_future(app(scope, again, send))
        try:
            await asyncio.wait({route, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not route.done():
                route.cancel()
            with suppress(asyncio.CancelledError):
                await route
        finally:
            gone.cancel()
            if not route.done():
                route.cancel()


def _is_address(host: str) -> bool:
    """Whether a host is a literal address: only a name can be made to resolve to this machine (DNS rebinding)."""
    with suppress(ValueError):
        return bool(ip_address(host.strip("[]")))
    return False


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _headers(name: str) -> list[tuple[bytes, bytes]]:
    headers = {
        "x-request-id": name, "x-content-type-options": "nosniff", "content-security-policy": POLICY,
        "referrer-policy": "no-referrer",
    }  # fmt: skip
    return [(key.encode(), value.encode()) for key, value in headers.items()]


def _key_in(body: bytes) -> str:
    """LibreTranslate's clients send their key as a field."""
    with suppress(ValueError, AttributeError, RecursionError, RequestError):
        if body.lstrip()[:1] in {b"{", b'"', b"["}:
            check_shape(body)
            return str(json.loads(body).get("api_key") or "")
        return parse_qs(body.decode("utf-8", "replace"), max_num_fields=1000).get("api_key", [""])[0]
    return ""


def error_response(request: Request, status: int, message: str, retry_after: float | None = None) -> Response:
    """An error in the shape the clients of a route know."""
    error: Any = message
    if request.url.path.startswith("/v1/"):
        error = {
            "message": message,
            "type": "invalid_request_error" if status < 500 else "server_error",
            "code": status,
        }
    headers = {} if retry_after is None else {"Retry-After": str(max(1, round(retry_after)))}
    return JSONResponse({"error": error}, status, headers)
