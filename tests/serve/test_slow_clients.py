"""Clients that take their time: each has a limit, and all together leave room for others."""

import asyncio
import gc
import json
import socket
import threading
import time
import weakref
from collections import Counter
from functools import partial

import pytest
import uvicorn
from server import Server, wait_until

from regard.serve.guard import Guard
from regard.serve.limits import Limits
from regard.serve.listen import listen
from regard.serve.metrics import Metrics
from regard.serve.protocol import Protocol
from regard.serve.registry import ModelRegistry

HEAD = b"POST /translate HTTP/1.1\r\nHost: 127.0.0.1\r\n"
CANARY = {"q": "The old dog sleeps.", "source": "en", "target": "fr"}


@pytest.fixture(scope="module")
def hasty(folders):
    """A server that does not wait for long."""
    server = Server(folders[:1], limits={"head_seconds": 1.0, "body_seconds": 1.0, "read_seconds": 1.0})
    yield server
    assert server.stop() == 0


def trickle(server, start, piece):
    """The answer to a client that sends a piece at a time until it is cut off."""
    answered = b""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(start)
        connection.settimeout(0.1)
        end = time.monotonic() + 20
        while time.monotonic() < end:
            try:
                connection.sendall(piece)
                if not (part := connection.recv(4096)):
                    return answered
                answered += part
            except TimeoutError:
                continue
            except OSError:
                return answered
    raise AssertionError("it was never cut off")


@pytest.mark.parametrize(
    ("start", "piece"),
    [
        (b"", b""),
        (b"GET /hea", b""),
        (HEAD + b"x: ", b"x"),
        (HEAD, b"x: y\r\n"),
        (HEAD + b"Content-Length: 1000\r\n\r\n{", b" "),
        (HEAD + b"Content-Length: 1000\r\nExpect: 100-continue\r\n\r\n", b""),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n{\r\n"),
        (HEAD + b"Connection: upgrade\r\nUpgrade: websocket\r\nContent-Length: 5\r\n\r\n", b""),
        (HEAD + b"Content-Length: 99999999\r\n\r\n", b"{"),
    ],
    ids=["nothing", "half a path", "a header", "headers", "a body", "expect", "chunks", "upgrade", "refused body"],
)
def test_who_does_not_come_to_an_end_is_cut_off(hasty, start, piece):
    answered = trickle(hasty, start, piece)
    assert not answered or any(b" %d " % status in answered for status in (400, 408, 413))
    assert hasty.ask("/translate", CANARY)[0] == 200


def test_blank_lines_do_not_keep_an_idle_connection_open(hasty):
    trickle(hasty, b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"\r\n")


def test_who_does_not_read_the_answers_is_cut_off(hasty):
    ask = b"GET /page/look.css HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", hasty.port))
        connection.settimeout(0.2)
        end = time.monotonic() + 60

        def is_cut():
            try:
                connection.sendall(ask * 4)
            except TimeoutError:
                return False
            except OSError:
                return True
            return False

        assert wait_until(is_cut, 60) and time.monotonic() < end
    assert hasty.ask("/translate", CANARY)[0] == 200


def test_a_request_within_its_time_may_come_in_pieces_after_a_rest(hasty):
    body = json.dumps(CANARY).encode()
    ask = HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body
    with socket.create_connection(("127.0.0.1", hasty.port), timeout=20) as connection:
        for _ in range(2):
            for start in range(0, len(ask), 60):
                connection.sendall(ask[start : start + 60])
                time.sleep(0.05)
            assert connection.recv(4096).startswith(b"HTTP/1.1 200")
            time.sleep(1.5)  # longer than a head may take; it waits for the next one as long as for any


def test_half_heads_leave_room_for_others_and_do_not_fill_the_log(folders):
    server = Server(folders[:1], files=400)
    clients = []
    try:
        for number in range(600):
            clients.append(socket.create_connection(("127.0.0.1", server.port), timeout=20))
            clients[-1].sendall(b"POST /translate HTTP/1.1\r\nHo")
            if number % 100 == 99:
                assert server.ask("/translate", CANARY)[0] == 200
        assert len(server.log) < 50
    finally:
        for client in clients:
            client.close()
        assert server.stop() == 0
    assert "Traceback" not in "".join(server.log)


def test_who_goes_away_with_requests_behind_one_another_is_not_computed_further(folders):
    server = Server(folders[1:2])
    try:
        body = json.dumps({"model": "tales", "prompt": "The", "max_tokens": 2000, "n": 8}).encode()
        ask = b"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        queued = lambda: 'queued_tokens{model="tales"} 0' not in server.ask("/metrics")[1]  # noqa: E731
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(ask * 3)
            assert wait_until(queued)
        assert wait_until(lambda: not queued(), 30)
    finally:
        assert server.stop() == 0


def test_a_body_that_comes_byte_by_byte_wakes_its_request_once():
    """Else clients that trickle would take the event loop's time from others."""
    heard = []

    async def app(scope, receive, send):
        is_more = scope["type"] == "http"
        while is_more:
            heard.append(await receive())
            is_more = heard[-1].get("more_body", False)
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    sockets = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(app, http=Protocol, lifespan="off", log_level="error"))
    threading.Thread(target=server.run, args=(sockets,), daemon=True).start()
    body = bytes(range(256)) * 200
    with socket.create_connection(sockets[0].getsockname(), timeout=20) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body))
        for place in range(200):
            connection.sendall(body[place : place + 1])
            time.sleep(0.001)
        connection.sendall(body[200:])
        assert connection.recv(100).startswith(b"HTTP/1.1 204")
    server.should_exit = True
    assert b"".join(one["body"] for one in heard) == body and len(heard) < 10


def test_a_burst_of_requests_that_only_read_is_begun_one_at_a_time():
    """Each turn of the event loop has one of them, so that what else is ready never waits for the burst."""
    begun, turn = [], 0

    async def page(scope, receive, send):
        begun.append(turn)

    async def main():
        nonlocal turn
        guard = Guard(None, ModelRegistry([], Limits()), Metrics(), {"x"}, None, pages={"/page": page})
        scope = {"type": "http", "method": "GET", "path": "/page", "headers": [(b"host", b"x")]}
        burst = [asyncio.ensure_future(guard(dict(scope), None, None)) for _ in range(30)]
        while not all(one.done() for one in burst):
            turn += 1
            await asyncio.sleep(0)
        assert not any(one.exception() for one in burst)

    asyncio.run(main())
    assert len(begun) == 30 and max(Counter(begun).values()) == 1


def test_a_connection_that_is_over_leaves_nothing_to_be_looked_for():
    """A burst of them would keep the next request waiting for the collector."""

    async def run():
        config = uvicorn.Config(lambda scope, receive, send: None, http=Protocol, lifespan="off")
        config.load()
        state = uvicorn.server.ServerState()
        made = partial(Protocol, config=config, server_state=state, app_state={})
        listening = await asyncio.get_running_loop().create_server(made, "127.0.0.1", 0)
        with socket.create_connection(listening.sockets[0].getsockname()) as client:
            client.sendall(b"GET / HT")
            while not state.connections:
                await asyncio.sleep(0.01)
            over = [weakref.ref(one) for protocol in state.connections for one in (protocol, protocol.transport)]
        for _ in range(500):
            if not state.connections and not any(one() for one in over):
                break
            await asyncio.sleep(0.01)
        listening.close()
        return [one() for one in over]

    gc.disable()
    try:
        assert asyncio.run(run()) == [None, None]
    finally:
        gc.enable()
