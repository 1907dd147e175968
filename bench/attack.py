"""Clients that mean harm: slow ones, costly requests, markup. A canary asks for a short sentence all the while.

The canary has a process of its own, and so have the attackers, at the lowest priority: they would be on other machines,
and the cores they take here are not the server's doing.
"""

import gc
import http.client
import json
import multiprocessing
import os
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from clients import Server
from fuzz import CANARY

from regard.machine import set_turn

ROUNDS = 4  # of quiet times, of the control and of the attack, in turns
PAUSE = 0.02  # seconds between two questions of the canary
MOST_AT_A_TIME = 100  # connections that a slow client opens in a fifth of a second
RARE = "漢"  # three tokens or more to a vocabulary that has only its bytes
ALPHABETS = {
    "latin": "abcdefghijklmnop", "words": "abcdefgh  ", "points": ".,;:!? a'\"…。，", "digits": "0123456789 ",
    "arabic": "".join(map(chr, range(0x621, 0x64A))) + " ", "cjk": "".join(map(chr, range(0x4E00, 0x9FFF))),
    "cjk sentences": "".join(map(chr, range(0x4E00, 0x4F00))) + 30 * "。" + 60 * "，", "combining": "ea\u0301\u0302 ",
    "emoji": "".join(map(chr, range(0x1F300, 0x1F6FF))), "invisible": "\u200b\u200d\u00ada \u2028\x85",
    "any": "".join(chr(one) for one in range(0x20, 0x3000) if chr(one).isprintable()),
}  # fmt: skip
LOWEST = 19  # priority
SHORT_TURN = 0.0002  # seconds, of the canary: its waking up is not what is measured
RESTED = (
    25  # seconds, after which memory that is not needed was given back, and the process that inspects models has ended
)
Client = Callable[[int, Any, Any], None]  # a port, what it does there, and an event: it is over


def attack(given: Any, model: Path, client: Client, tasks: list[Any]) -> dict[str, Any]:
    """What the canary sees in quiet times and while it lasts: the ratio of the two 99th percentiles is the figure.

    And, as a control, what it sees while the same clients do the same to another server: that is competition for the
    cores, with clients and server alike, and nothing that happens within the server that answers.
    """
    set_turn(SHORT_TURN)
    server, other = Server([model]), Server([model])
    places = {"quiet": None, "another": other, "attacked": server}
    times: dict[str, list[float]] = {name: [] for name in places}
    cores, wrong = dict.fromkeys(places, 0.0), 0
    try:
        expected = server.translate(CANARY)[1]["translatedText"]
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        canary(server, connection, 2, expected)
        memory = [server.memory_mb()]
        for _ in range(ROUNDS):
            for name, attacked in places.items():
                with attackers(client, attacked.port, tasks) if attacked else nullcontext():
                    connection.close()  # the server may have done so, while the attackers were started
                    spent = server.processor_seconds()
                    some, missed = canary(server, connection, given.seconds / ROUNDS, expected)
                    cores[name] += (server.processor_seconds() - spent) / given.seconds
                    during = server.memory_mb()
                times[name] += some
                wrong += missed
                for one in (server, other):
                    settle(one)
        memory.append(during)
        time.sleep(RESTED)
        memory.append(server.memory_mb())
    finally:
        codes = [one.stop() for one in (server, other)]
    p99 = {name: percentile(some, 0.99) for name, some in times.items()}
    return {"p99_over_quiet": round(p99["attacked"] / p99["quiet"], 2),
            "p99_over_quiet_where_another_server_is_attacked": round(p99["another"] / p99["quiet"], 2),
            "quiet_p99_ms": round(1000 * p99["quiet"], 1), "another_p99_ms": round(1000 * p99["another"], 1),
            "p99_ms": round(1000 * p99["attacked"], 1), "p50_ms": round(1000 * percentile(times["attacked"], 0.5), 1),
            "most_ms": round(1000 * max(times["attacked"]), 1), "asked": sum(map(len, times.values())),
            "wrong_or_refused": wrong,
            "cores_of_the_process_that_answers": {name: round(value, 3) for name, value in cores.items()},
            "memory_mb": [round(one) for one in memory], "exit": max(codes, key=abs)}  # fmt: skip


def settle(server: Server) -> None:
    """Waits until a server has done, or forgotten, what was asked of it."""
    end = time.monotonic() + RESTED
    while server.gauge("queued_tokens") and time.monotonic() < end:
        time.sleep(0.1)


@contextmanager
def attackers(client: Client, port: int, tasks: list[Any]) -> Iterator[None]:
    """While inside, a client for each task is at work in another process."""
    context = multiprocessing.get_context("spawn")
    has_begun, is_over = context.Event(), context.Event()
    process = context.Process(target=be_attackers, args=(client, port, tasks, has_begun, is_over))
    process.start()
    try:
        has_begun.wait()
        yield
    finally:
        is_over.set()
        process.join()


def be_attackers(client: Client, port: int, tasks: list[Any], has_begun: Any, is_over: Any) -> None:
    """Until it is over or the measuring process is gone; clients that still wait for an answer then disconnect."""
    set_turn(0)
    os.nice(LOWEST)
    for task in tasks:
        threading.Thread(target=client, args=(port, task, is_over), daemon=True).start()
    has_begun.set()
    measuring = multiprocessing.parent_process()
    while measuring is not None and measuring.is_alive() and not is_over.wait(1):
        pass


def canary(server: Server, connection: Any, seconds: float, expected: str) -> tuple[list[float], int]:
    """How long each short sentence took, and how many were not answered as in quiet times."""
    times, wrong, end = [], 0, time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.perf_counter()
        try:
            status, answer = server.translate(CANARY, connection)
            wrong += status != 200 or answer["translatedText"] != expected
        except (OSError, http.client.HTTPException):
            connection.close()
            wrong += 1
        times.append(time.perf_counter() - began)
        time.sleep(PAUSE)
    return times, wrong


def percentile(times: list[float], share: float) -> float:
    return sorted(times)[min(len(times) - 1, int(share * len(times)))]


def slow(given: Any, model: Path, lines: list[str]) -> dict[str, Any]:
    """1,500 half heads that are opened again as they are closed, bodies that trickle, and answers that are not read."""
    head = b"POST /translate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5000\r\n\r\n"
    page = b"GET /page/look.css HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    return attack(given, model, keep, [(1500, head[:30], b""), (200, head + b"{", b" "), (50, page * 8, page)])


def keep(port: int, task: tuple[int, bytes, bytes], is_over: Any) -> None:
    """So many connections that have sent something, and now and then send more."""
    count, sent, more = task
    opened: list[socket.socket] = []
    while not is_over.is_set():
        for _ in range(min(MOST_AT_A_TIME, count - len(opened))):
            with suppress(OSError):
                opened.append(socket.create_connection(("127.0.0.1", port), timeout=5))
                opened[-1].sendall(sent)
                opened[-1].setblocking(False)
        opened[:] = [one for one in opened if is_alive(one, more)]
        time.sleep(0.2)
    for one in opened:
        one.close()


def is_alive(connection: socket.socket, more: bytes) -> bool:
    try:
        if more:
            connection.send(more)
        if not more and not connection.recv(1000):
            raise ConnectionResetError
    except BlockingIOError:
        return True
    except OSError:
        connection.close()
        return False
    return True


def costly(given: Any, model: Path, lines: list[str]) -> dict[str, Any]:
    """Six clients with what costs most among what is allowed; every third goes away before it is answered."""
    document = {"text": [" ".join(lines[:200])[:20_000]] * 8, "beam": 16}
    asked: list[tuple[str, Any]] = [
        ("/api/look", {"text": "The old dog sleeps.", "target": RARE * 100}),
        ("/api/look", {"text": "The old dog sleeps.", "target": RARE * 35, "why": True}),
        ("/api/translate", {"text": [RARE * 6000], "beam": 16}),
        ("/api/translate", document),
        ("/api/translate", {"text": lines[:250], "n_best": 16, "beam": 16}),
        ("/translate", {"q": ["x " * 9999] * 10, "source": "en", "target": Server.target}),
        ("/api/tokenize", {"text": RARE * 20_000}),
        ("/detect", {"q": RARE * 20_000}),
        ("/api/translate", {"text": [1] * 600_000}),
    ]
    return attack(given, model, repeat, [(asked, first) for first in range(6)])


def markup(given: Any, model: Path, lines: list[str]) -> dict[str, Any]:
    """Four clients with markup that is hard to read, ten texts of 20,000 characters a request."""
    hard = ["<a/", "<a b=", "<b>x", "<svg><g>", "<!--", "<title>", "&notin", "<a <", "<b a='", "x<br>", "<![x"]
    asked = [
        ("/translate", {"q": [(part * 20_000)[:most]] * 10, "source": "en", "target": Server.target, "format": "html"})
        for part in hard
        for most in (20_000, 4000)
    ]
    return attack(given, model, repeat, [(asked, first) for first in range(4)])


def repeat(port: int, task: tuple[list[tuple[str, Any]], int], is_over: Any) -> None:
    """A client that asks for one after another; now and then it does not wait for the answer."""
    asked, number = task
    bodies = [(path, json.dumps(fields).encode()) for path, fields in asked]
    while not is_over.is_set():
        path, body = bodies[number % len(bodies)]
        number += 1
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=0.5 if number % 3 == 0 else 90)
        with suppress(OSError, http.client.HTTPException):
            connection.request("POST", path, body, {"Content-Type": "application/json"})
            connection.getresponse().read()
        connection.close()


@contextmanager
def spent(times: dict[str, float], name: str) -> Any:
    began = time.process_time()
    with suppress(Exception):
        yield
    times[name] = round(1000 * (time.process_time() - began), 2)


def parsers(given: Any, model: Path, lines: list[str]) -> dict[str, Any]:
    """Milliseconds of a core for each parser, on hostile input of the largest size that is taken; the goal is 50."""
    import regard
    from regard.serve.guard import _is_address, _key_in
    from regard.serve.limits import check_shape
    from regard.serve.markup import Passage, lift, put_back
    from regard.text.ngrams import split_words
    from regard.text.segments import find_windows
    from regard.text.stories import split_sentences

    translator = regard.load(model)
    gc.freeze()  # as the server does, or all that was loaded is searched for garbage in the middle of a request
    times: dict[str, float] = {}
    hard = ["<a/", "<a b=", "<b>x</b>", "<b>", "<svg><g>", "<!--", "<title>", "<script><!--", "&notin", "<a <",
            "<b a='", "<b =  ", "x<br>", "<![x", "</b ", "<", "&#1", "<svg></svg>", "<b a=\"'"]  # fmt: skip
    for part in hard:
        text = (part * 20_000)[:20_000]
        with spent(times, f"markup {part}"):
            for one in lift(text):
                if isinstance(one, Passage):
                    put_back(one, one.text, [(n, n) for n in range(len(one.words))])
    most = 2 * 2**20
    for name, body in {"[1,": "[" + "1," * (most // 2 - 2) + "1]", '[{"a":': '[{"a":' * (most // 6), "[[": "[" * most,
                       '"",': '["' + '","' * (most // 3 - 2) + '"]', "unclosed": '"' + '\\"' * (most // 2 - 1),
                       "escapes": '"' + "\\u0041" * (most // 6 - 1) + '"', "digits": "1" * most,
                       "keys": "{" + ",".join(f'"{n}":0' for n in range(most // 11)) + "}"}.items():  # fmt: skip
        with spent(times, f"json {name}"):
            check_shape(body.encode())
            json.loads(body)
        with spent(times, f"key in {name}"):
            _key_in(body.encode())
    hostile = {"letters": "x", "words": "a ", "sentences": "a. ", "dots": ".", "spaces": " ", "rare": RARE,
               "emoji": "😀", "combining": "e\u0301", "digits": "1", "quotes": '." '}  # fmt: skip
    rng, whole, together = random.Random(1), dict[str, float](), dict[str, float]()
    texts = {name: (part * 20_000)[:20_000] for name, part in hostile.items()}
    texts |= {f"random {name}": "".join(rng.choices(some, k=20_000)) for name, some in ALPHABETS.items()}
    for name, text in texts.items():
        with spent(times, f"story {name}"):
            split_sentences(text)
        with spent(times, f"tokens of {name}"):
            translator.tokenizer.encode(text)
        with spent(times, f"windows of {name}"):
            windows = find_windows(text)
        for start, end in windows:  # the server splits them one after another, and others have their turn in between
            with spent(whole, f"{name} from {start}"):
                translator.split([text[start:end]])
        found = [ms for part, ms in whole.items() if part.startswith(f"{name} from ")]
        times[f"parts of a window of {name}"], together[name] = max(found), round(sum(found), 2)
        with spent(times, f"words of {name}"):
            split_words(text)
        with spent(times, f"host {name}"):
            _is_address(text)
    worst = max(times, key=lambda name: times[name])
    return {"most_ms": times[worst], "worst": worst, "ms": times, "all_windows_of_a_text_ms": together}
