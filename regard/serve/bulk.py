"""Costly requests in a process of their own: neither its interpreter nor its threads hold up quick ones.

What goes between the two processes are requests and responses, as ASGI has them, in frames of JSON and bytes.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import signal
import socket
import struct
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from itertools import count
from multiprocessing.process import BaseProcess
from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.machine import lower_priority, set_turn
from regard.serve.guard import BODY, error_response, log

HEAD = struct.Struct("<QII")  # the number of a request, bytes of JSON, bytes of a body
READY = 0  # the number of no request: the process is ready
PRIORITY = 3  # how far it steps back: it has one interpreter, and refuses at once; its engine steps back further

Frame = tuple[int, dict[str, Any], bytes]


class BulkProcess:
    """The process, as an ASGI application. It is started again when it has ended."""

    def __init__(self, work: Callable[..., None], *given: Any) -> None:
        """work: what the process runs, with a socket and what is given."""
        self._work, self._given = work, given
        self._process: BaseProcess | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._asked: dict[int, asyncio.Queue[Message | None]] = {}
        self._numbers = count(READY + 1)
        self._starting = asyncio.Lock()
        self.facts: dict[str, Any] = {}  # of the process, when it was ready

    async def start(self) -> None:
        """Returns when the process is ready, or has ended."""
        mine, its = socket.socketpair()
        context = multiprocessing.get_context("spawn")
        self._process = context.Process(target=_begin, args=(its, self._work, *self._given), name="bulk")
        self._process.start()
        its.close()
        reader, writer = await asyncio.open_connection(sock=mine)
        frames = _frames(reader)
        _, self.facts, _ = await anext(frames, (READY, {}, b""))
        self._writer = writer
        self._reading = asyncio.ensure_future(self._read(frames))

    def close(self) -> None:
        """The process ends, whatever it does."""
        if self._process is not None:
            self._process.kill()
            self._process.join()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, which must hold its body; it is cancelled where this is."""
        async with self._starting:
            if self._writer is None:
                await self.start()
        number, messages, is_over = next(self._numbers), asyncio.Queue[Message | None](), False
        self._asked[number] = messages
        try:
            self._send(number, {"scope": _as_json(scope)}, scope[BODY])
            while not is_over:
                if (message := await messages.get()) is None:
                    gone = "the process of large requests has ended; try again"
                    await error_response(Request(scope), 503, gone, 1.0)(scope, receive, send)
                    return
                scope["route"] = message.pop("route", scope.get("route"))
                await send(message)
                is_over = message["type"] == "http.response.body" and not message["more_body"]
        finally:
            del self._asked[number]
            if not is_over:
                self._send(number, {}, b"")

    async def get(self, path: str) -> Any:
        """What the process answers to a GET, from JSON."""
        parts: list[bytes] = []

        async def send(message: Message) -> None:
            parts.append(message.get("body", b""))

        scope = {"method": "GET", "path": path, "query_string": b"", "headers": [], "type": "http", BODY: b""}
        await self(scope, _nothing, send)
        return json.loads(b"".join(parts))

    def _send(self, number: int, fields: dict[str, Any], body: bytes) -> None:
        if self._writer is not None:
            _write(self._writer, number, fields, body)

    async def _read(self, frames: AsyncIterator[Frame]) -> None:
        async for number, message, body in frames:
            if number in self._asked:
                self._asked[number].put_nowait(_from_json(message, body))
        self._writer = None
        self.close()
        for messages in self._asked.values():
            messages.put_nowait(None)


def _begin(connection: socket.socket, work: Callable[..., None], *given: Any) -> None:
    """The process: signals are for the server, which lets it finish what was accepted."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    set_turn(0)
    lower_priority(PRIORITY)
    work(connection, *given)
    os._exit(0)  # threads may compute in native code, which must not see the interpreter go


async def answer_requests(connection: socket.socket, app: ASGIApp, facts: dict[str, Any]) -> None:
    """Runs an application on the requests that come, until the server is gone."""
    reader, writer = await asyncio.open_connection(sock=connection)
    running: dict[int, asyncio.Task[None]] = {}
    _write(writer, READY, facts, b"")
    async for number, request, body in _frames(reader):
        if request:
            running[number] = asyncio.ensure_future(_answer(writer, app, number, request["scope"], body))
            running[number].add_done_callback(lambda _, number=number: running.pop(number, None))  # type: ignore[misc]
        elif number in running:
            running[number].cancel()


async def _answer(writer: asyncio.StreamWriter, app: ASGIApp, number: int, fields: dict[str, Any], body: bytes) -> None:
    scope = fields | {"type": "http", "http_version": "1.1", "scheme": "http", "root_path": "", "client": None}
    scope |= {"query_string": fields["query_string"].encode("latin-1"), "server": None, "headers": _bytes(fields)}
    is_read = False

    async def receive() -> Message:
        nonlocal is_read
        if is_read:
            await asyncio.Event().wait()  # until it is cancelled
        is_read = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        fields = {name: value for name, value in message.items() if name != "body"}
        if "headers" in fields:
            fields["headers"] = _texts(fields)
            fields["route"] = getattr(scope.get("route"), "path", "other")
        _write(writer, number, fields, message.get("body", b""))
        await writer.drain()

    try:
        await app(scope, receive, send)
    except Exception as problem:  # it was answered
        place = traceback.extract_tb(problem.__traceback__)[-1]  # its words may hold text of the request
        log.error(json.dumps({"problem": type(problem).__name__, "at": f"{place.filename}:{place.lineno}"}))


def _as_json(scope: Scope) -> dict[str, Any]:
    query = scope["query_string"].decode("latin-1")
    return {"method": scope["method"], "path": scope["path"], "query_string": query, "headers": _texts(scope)}


def _from_json(fields: dict[str, Any], body: bytes) -> Message:
    if fields["type"] == "http.response.start":
        return fields | {"headers": _bytes(fields)}
    return fields | {"body": body, "more_body": fields.get("more_body", False)}


def _texts(holder: Any) -> list[tuple[str, str]]:
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in holder["headers"]]


def _bytes(holder: Any) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in holder["headers"]]


def _write(writer: asyncio.StreamWriter, number: int, fields: dict[str, Any], body: bytes) -> None:
    head = json.dumps(fields).encode()
    writer.writelines([HEAD.pack(number, len(head), len(body)), head, body])


async def _frames(reader: asyncio.StreamReader) -> AsyncIterator[Frame]:
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            number, head, body = HEAD.unpack(await reader.readexactly(HEAD.size))
            yield number, json.loads(await reader.readexactly(head)), await reader.readexactly(body)


async def _nothing() -> Message:
    return {"type": "http.disconnect"}
