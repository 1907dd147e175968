"""HTTP as uvicorn speaks it with httptools, with time limits for slow clients and a bound on connections.

A connection that waits for its client (for a head, a body, the next request, or until an answer is read) has a time
limit, and is the first to be closed where there are too many; one that is being answered is never closed for others.
"""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

MOST_UNREAD = 2**16  # bytes, about; an endless head, or bytes after a body, would fill the memory
BLOCK = 2**14  # bytes of a body that are handed over at a time
MOST_PIPELINED = 16  # requests of a connection that wait for the one before
CLOSING_SECONDS = 5.0  # after which a connection that was closed is cut, whatever was not read


class Room:
    """All connections of a server: how many there may be, how long each may keep it waiting, and who waits."""

    def __init__(self, most: int = 1000, head_seconds: float = 10, body_seconds: float = 30, read_seconds: float = 60):
        self.most, self.head_seconds, self.body_seconds = most, head_seconds, body_seconds
        self.read_seconds = read_seconds  # until an answer was read
        self.waiting: dict[Protocol, None] = {}  # for their clients, the one that waits longest first


class Protocol(HttpToolsProtocol):
    """One connection."""

    room: ClassVar[Room] = Room()
    _unread = 0  # bytes that came since a head was whole or something of a body was there
    _timer: asyncio.TimerHandle | None = None  # for a head or a body
    _read_timer: asyncio.TimerHandle | None = None  # for an answer
    _answering: Any = None  # the request that is being read or answered

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client is here; where there are too many, the one that keeps the server waiting longest goes."""
        super().connection_made(transport)
        if len(self.connections) > self.room.most:
            next(iter(self.room.waiting), self)._abort()
        self._wait(self.room.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone: the request that others in the pipeline wait for is disconnected too."""
        self.room.waiting.pop(self, None)
        for timer in (self._timer, self._read_timer):
            if timer is not None:
                timer.cancel()
        if self._answering is not None and not self._answering.response_complete:
            self._answering.disconnected = True
            self._answering.message_event.set()
        self.pipeline.clear()
        super().connection_lost(exc)
        self._unset_keepalive_if_required()
        # asyncio's transport holds a method of its own: it would stay until garbage is looked for, and a burst of them
        # would keep a request waiting for that.
        vars(self.transport).pop("_read_ready_cb", None)

    def data_received(self, data: bytes) -> None:
        """Some bytes came."""
        if self._timer is None and (self._answering is None or self._answering.response_complete):
            self._wait(self.room.head_seconds)
        self._unread += len(data)
        super().data_received(data)
        if self._unread > MOST_UNREAD and not self.transport.is_closing():
            self.send_400_response(f"More than {MOST_UNREAD} bytes of a request are neither a whole head nor a body.")

    def on_headers_complete(self) -> None:
        """The head of a request is whole."""
        self._unread = 0
        super().on_headers_complete()
        if len(self.pipeline) > MOST_PIPELINED:
            self._abort()

    def on_body(self, body: bytes) -> None:
        """Something of a body is there. Its request is woken for a block of it or the whole, not for every byte."""
        self._unread = 0
        if not self.cycle.response_complete:
            self.cycle.body += body
            if len(self.cycle.body) > BLOCK:
                self.flow.pause_reading()
                self.cycle.message_event.set()

    def on_message_complete(self) -> None:
        """A request is whole: from now on the client waits for the server."""
        super().on_message_complete()
        if self._answering is self.cycle:
            self._stop_waiting()

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        self._answering = cycle
        if cycle.more_body:
            self._wait(self.room.body_seconds)
        else:
            self._stop_waiting()
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        """An answer was given; it may still have to be read."""
        self.room.waiting[self] = None
        super().on_response_complete()
        if self.transport.is_closing():
            self._end()

    def pause_writing(self) -> None:
        """The client does not read what it is sent as fast as that is."""
        super().pause_writing()
        self.room.waiting[self] = None
        self._read_timer = self._read_timer or self.loop.call_later(self.room.read_seconds, self._abort)

    def resume_writing(self) -> None:
        """The client has read."""
        super().resume_writing()
        if self._read_timer is not None and not self.transport.is_closing():  # the rest of it must be read too
            self._read_timer.cancel()
            self._read_timer = None
        if self._answering is not None and not self._answering.response_complete:
            self.room.waiting.pop(self, None)

    def timeout_keep_alive_handler(self) -> None:
        """No other request came."""
        super().timeout_keep_alive_handler()
        self._end()

    def shutdown(self) -> None:
        """The server stops: requests that are whole are still answered."""
        if self in self.room.waiting:
            self.transport.close()
            self._end()
        else:
            super().shutdown()

    def send_400_response(self, msg: str) -> None:
        """Answers 400 and closes the connection."""
        super().send_400_response(msg)
        self._end()

    def _wait(self, seconds: float) -> None:
        """From now on the server waits for the client, for so long."""
        if self._timer is not None:
            self._timer.cancel()
        self.room.waiting.setdefault(self)
        self._timer = self.loop.call_later(seconds, self._give_up, seconds)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.room.waiting.pop(self, None)

    def _give_up(self, seconds: float) -> None:
        """The client took too long."""
        self._timer = None
        if self.transport.is_closing():
            return
        is_answered = self._answering is not None and (
            self._answering.response_started or self._answering.response_complete
        )
        if not is_answered:
            body = f'{{"error":"the request did not come within {seconds:g} seconds"}}'.encode()
            head = b"content-type: application/json\r\nconnection: close\r\n"
            self.transport.write(STATUS_LINE[408] + head + b"content-length: %d\r\n\r\n" % len(body) + body)
        self.transport.close()
        self._end()

    def _end(self) -> None:
        """What was closed is over soon, also if the client does not read the rest."""
        self._read_timer = self._read_timer or self.loop.call_later(CLOSING_SECONDS, self._abort)

    def _abort(self) -> None:
        self.room.waiting.pop(self, None)
        self.transport.abort()
