"""The server under load, on loopback: throughput, waiting, overload, disconnects, stopping.

- throughput: 32 clients with a sentence at a time, against the same engine asked for one text after another, as
  LibreTranslate does (goal 3x)
- waiting: the median of a single interactive sentence while documents are translated, over its unloaded value (goal 3x)
- overload: ten times as many tokens as it can do are offered in requests of 50 sentences: accepted ones lost (goal 0),
  how long a refusal takes (goal 50 ms), growth of memory (goal 5 %), how soon it is at full speed again (goal 2 s)
- fuzz: malformed requests and raw bytes: no 5xx but declared 503s, and a canary stays exact
- gone: clients that go away at random moments: nothing is left waiting
- stop: SIGTERM under load: every accepted request is answered, exit 0
"""

import http.client
import json
import random
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from measure import arguments, machine

CLIENTS, SENTENCES = 32, 50
CANARY = "The old man reads a letter in the garden."


class Server:
    def __init__(self, models: list[Path], *words: str) -> None:
        command = [sys.executable, "-m", "regard", "serve", *map(str, models), "--port", "0", *words]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr
        for line in self.process.stderr:
            if found := re.search(r":(\d+) \(", line):
                self.port = int(found.group(1))
                break
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        self.ask("/api/models")

    def ask(self, path: str, fields: Any = None, connection: Any = None, raw: bytes | None = None) -> tuple[int, Any]:
        own = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        body = raw if raw is not None else None if fields is None else json.dumps(fields).encode()
        own.request("GET" if body is None else "POST", path, body, {"Content-Type": "application/json"})
        response = own.getresponse()
        content = response.read()
        if connection is None:
            own.close()
        return response.status, json.loads(content) if content[:1] in b"{[" else content.decode()

    def translate(self, texts: Any, connection: Any = None) -> tuple[int, Any]:
        return self.ask("/translate", {"q": texts, "source": "en", "target": self.target}, connection)

    target = "fr"

    def gauge(self, name: str) -> float:
        lines = self.ask("/metrics")[1].splitlines()
        return sum(float(line.split()[1]) for line in lines if line.startswith(f"regard_{name}{{"))

    def memory_mb(self) -> float:
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
        return 0.0

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=120)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--model", type=Path, help="a translator from English; else the demo's is trained")
    parser.add_argument("--parts", default="throughput,waiting,overload,fuzz,gone,stop")
    parser.add_argument("--seconds", type=float, default=20, help="of overload")
    parser.add_argument("--requests", type=int, default=20_000, help="of fuzz")
    parser.add_argument("--gone", type=int, default=2000, help="clients that go away")
    given = parser.parse_args()
    if given.parts == "peer":
        be_peer(given.model)
    results = json.loads(given.json.read_text()) if given.json and given.json.exists() else {}
    with tempfile.TemporaryDirectory() as temporary:
        model = given.model or demo(Path(temporary))
        about = json.loads((model / "regard.json").read_text())["settings"]
        Server.target = about["target_language"] or "und"
        lines = sentences(model)
        for part in given.parts.split(","):
            results[part] = PARTS[part](given, model, lines)
            print(part, json.dumps(results[part], indent=2), flush=True)
            if given.json:
                given.json.write_text(json.dumps(results | {"machine": machine()}, indent=2) + "\n")


def demo(folder: Path) -> Path:
    subprocess.run([sys.executable, "-m", "regard", "demo", "--to", str(folder)], check=True, capture_output=True)
    return folder / "en-fr"


def sentences(model: Path) -> list[str]:
    import regard

    return [phrase.source for phrase in regard.phrasebook("en", "de", 2000, held_out=True)]


def throughput(given: Any, model: Path, lines: list[str]) -> dict[str, Any]:
    """In turns: 32 clients against a server that translates one text after another, and against ours."""
    peer, server = OneByOne(model), Server([model])
    ratios, shown = [], []
    try:
        for turn in range(6):
            part = lines[turn * 300 : turn * 300 + 300]
            seconds, answers = [], []
            for one in (peer, server):
                began = time.perf_counter()
                answers.append(by_clients(one, part, CLIENTS))
                seconds.append(time.perf_counter() - began)
            assert answers[0] == answers[1], "the server says something else than the engine alone"
            if turn:
                ratios.append(seconds[0] / seconds[1])
                shown.append(len(part) / seconds[1])
    finally:
        server.stop()
        peer.stop()
    return {"over_one_text_at_a_time": round(statistics.median(ratios), 2), "turns": [round(r, 2) for r in ratios],
            "sentences_per_second": round(statistics.median(shown)), "clients": CLIENTS}  # fmt: skip


class OneByOne(Server):
    """The same engine behind a plain HTTP server, one text at a time."""

    def __init__(self, model: Path) -> None:
        command = [sys.executable, __file__, "--model", str(model), "--parts", "peer"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        self.port = int(self.process.stdout.readline())

    def stop(self) -> int:
        self.process.kill()
        return self.process.wait()


def be_peer(model: Path) -> None:
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    import regard

    translator, lock = regard.load(model), threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            fields = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                said = translator(fields["q"])
            body = json.dumps({"translatedText": said}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    ThreadingHTTPServer.request_queue_size = 128
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


def by_clients(server: Server, lines: list[str], clients: int) -> list[str]:
    answers: list[str] = [""] * len(lines)
    waiting = iter(range(len(lines)))
    lock = threading.Lock()

    def client() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
        while True:
            with lock:
                index = next(waiting, None)
            if index is None:
                return
            status, told = server.translate(lines[index], connection)
            assert status == 200, told
            answers[index] = told["translatedText"]

    threads = [threading.Thread(target=client) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def waiting(given: Any, model: Path, lines: list[str]) -> dict[str, Any]:
    """One sentence after another, with nothing else, and beside four clients that send documents without a pause."""
    server = Server([model])
    try:
        server.translate(lines[:50])
        alone = latencies(server, lines[:60])
        is_over = threading.Event()

        def documents() -> None:
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
            while not is_over.is_set():
                server.translate(random.sample(lines, 200), connection)

        threads = [threading.Thread(target=documents) for _ in range(4)]
        for thread in threads:
            thread.start()
        time.sleep(2)
        loaded = latencies(server, lines[60:160])
        is_over.set()
        for thread in threads:
            thread.join()
    finally:
        server.stop()
    p50 = statistics.median(loaded) / statistics.median(alone)
    return {"p50_over_unloaded": round(p50, 2), "p50_ms_unloaded": round(1000 * statistics.median(alone), 1),
            "p50_ms_loaded": round(1000 * statistics.median(loaded), 1),
            "p95_ms_loaded": round(1000 * sorted(loaded)[int(0.95 * len(loaded))], 1)}  # fmt: skip


def latencies(server: Server, lines: list[str]) -> list[float]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    times = []
    for line in lines:
        began = time.perf_counter()
        status, _ = server.translate(line, connection)
        assert status == 200
        times.append(time.perf_counter() - began)
        time.sleep(0.01)
    return times


def overload(given: Any, model: Path, lines: list[str]) -> dict[str, Any]:
    """First what it can do, then ten times as much for a while."""
    server = Server([model], "--queue", "20000")
    try:
        began = time.perf_counter()
        for _ in range(4):
            server.translate(random.sample(lines, SENTENCES * 4))
        pace = SENTENCES * 16 / (time.perf_counter() - began)  # sentences a second
        memory = server.memory_mb()
        counts = {"accepted": 0, "refused": 0, "lost": 0, "other": 0}
        refusals: list[float] = []
        lock = threading.Lock()

        def offer() -> None:
            began = time.perf_counter()
            try:
                status, told = server.translate(random.sample(lines, SENTENCES))
            except OSError:
                status, told = 0, None
            with lock:
                if status == 429:
                    counts["refused"] += 1
                    refusals.append(time.perf_counter() - began)
                elif status == 200:
                    counts["accepted" if len(told["translatedText"]) == SENTENCES else "lost"] += 1
                else:
                    counts["other"] += 1

        threads, end = [], time.perf_counter() + given.seconds
        pause = SENTENCES / (10 * pace)
        while time.perf_counter() < end:
            thread = threading.Thread(target=offer)
            thread.start()
            threads.append(thread)
            time.sleep(pause)
        stopped = time.perf_counter()
        for thread in threads:
            thread.join()
        while server.gauge("queued_tokens") > 0:
            time.sleep(0.05)
        recovered = time.perf_counter() - stopped
        began = time.perf_counter()
        server.translate(random.sample(lines, SENTENCES * 4))
        again = SENTENCES * 4 / (time.perf_counter() - began)
        growth = server.memory_mb() / memory - 1
    finally:
        code = server.stop()
    refusals.sort()
    return counts | {
        "offered_over_capacity": 10, "seconds": given.seconds, "lost_or_failed": counts["lost"] + counts["other"],
        "refusal_ms_p50": round(1000 * refusals[len(refusals) // 2], 1) if refusals else None,
        "refusal_ms_p99": round(1000 * refusals[int(0.99 * len(refusals))], 1) if refusals else None,
        "memory_growth_percent": round(100 * growth, 1), "drained_after_seconds": round(recovered, 2),
        "speed_after_over_before": round(again / pace, 2), "exit": code,
    }  # fmt: skip


def fuzz(given: Any, model: Path, lines: list[str]) -> dict[str, Any]:
    """Requests that are wrong in some way, and bytes that are no requests; a canary is asked again and again."""
    server, chance = Server([model]), random.Random(0)
    statuses: dict[str, int] = {}
    expected = server.translate(CANARY)[1]["translatedText"]
    wrong = 0
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        for number in range(given.requests):
            if number % 10 == 0:
                raw_bytes(server.port, chance)
                statuses["raw"] = statuses.get("raw", 0) + 1
            else:
                try:
                    status, _ = server.ask(*strange(chance), connection=connection)  # type: ignore[misc]
                except (OSError, http.client.HTTPException, ValueError):
                    connection.close()
                    status = -1
                statuses[str(status)] = statuses.get(str(status), 0) + 1
            if number % 500 == 0 and server.translate(CANARY)[1].get("translatedText") != expected:
                wrong += 1
    finally:
        code = server.stop()
    fives = sum(count for status, count in statuses.items() if status.startswith("5") and status != "503")
    return {"requests": given.requests, "statuses": dict(sorted(statuses.items())), "5xx_but_503": fives,
            "canary_wrong": wrong, "exit": code}  # fmt: skip


PATHS = ("/translate", "/detect", "/v1/completions", "/api/translate", "/api/fill", "/api/answer", "/api/look",
         "/api/tokenize", "/api/runs/x", "/page/../x", "/languages", "/nowhere")  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 10**12, 1.5, float(10**30), "", "en", "fr", "auto", "x" * 500, "\x00", "\u202e", [], [[]],
    [None], {}, {"a": []}, ["a", "b"], "[MASK]", "<b>x</b", "html",
)  # fmt: skip
FIELDS = ("q", "source", "target", "format", "alternatives", "model", "prompt", "n", "max_tokens", "temperature",
          "stop", "text", "beam", "n_best", "prefix", "story", "question", "why", "top", "stream", "logprobs",
          "api_key")  # fmt: skip


def strange(chance: random.Random) -> tuple[str, Any]:
    fields = {name: chance.choice(VALUES) for name in chance.sample(FIELDS, chance.randint(0, 8))}
    if chance.random() < 0.5:
        fields |= {"q": chance.choice(VALUES), "source": "en", "target": "fr", "text": chance.choice(VALUES)}
    return chance.choice(PATHS), fields


def raw_bytes(port: int, chance: random.Random) -> None:
    heads = (
        b"POST /translate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 50\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"",
    )
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            connection.sendall(chance.choice(heads) + chance.randbytes(chance.randint(0, 200)))
            connection.settimeout(0.05)
            connection.recv(1000)
    except OSError:
        pass


def gone(given: Any, model: Path, lines: list[str]) -> dict[str, Any]:
    """Clients that ask for a document and hang up somewhere on the way."""
    server, chance = Server([model]), random.Random(1)
    try:
        server.translate(lines[:200])
        memory = server.memory_mb()
        files = len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))
        for _ in range(given.gone):
            body = json.dumps({"q": chance.sample(lines, 20), "source": "en", "target": server.target}).encode()
            head = f"POST /translate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            sent = (head + body)[: chance.choice([len(head) // 2, len(head) + 10, 10**6])]
            with socket.create_connection(("127.0.0.1", server.port)) as connection:
                connection.sendall(sent)
                time.sleep(chance.random() * 0.02)
        end = time.monotonic() + 30
        while server.gauge("queued_tokens") and time.monotonic() < end:
            time.sleep(0.1)
        time.sleep(0.5)
        left, growth = server.gauge("queued_tokens"), server.memory_mb() / memory - 1
        open_files = len(list(Path(f"/proc/{server.process.pid}/fd").iterdir())) - files
        is_well = server.translate(CANARY)[0] == 200
    finally:
        code = server.stop()
    return {"clients": given.gone, "tokens_left_waiting": left, "files_left_open": open_files,
            "memory_growth_percent": round(100 * growth, 1), "well_afterwards": is_well, "exit": code}  # fmt: skip


def stop(given: Any, model: Path, lines: list[str]) -> dict[str, Any]:
    """SIGTERM while 16 clients wait: whoever was accepted is answered; who comes later is refused."""
    server = Server([model])
    answers: list[int] = []

    def client() -> None:
        try:
            status, told = server.translate(random.sample(lines, 100))
            answers.append(status if status != 200 or len(told["translatedText"]) == 100 else -1)
        except OSError:
            answers.append(0)

    threads = [threading.Thread(target=client) for _ in range(16)]
    for thread in threads:
        thread.start()
    while server.gauge("queued_tokens") < 1000:
        time.sleep(0.01)
    time.sleep(0.3)
    code = server.stop()
    for thread in threads:
        thread.join()
    return {
        "clients": 16,
        "answered": answers.count(200),
        "dropped": sum(status in {0, -1} for status in answers),
        "exit": code,
    }


PARTS = {"throughput": throughput, "waiting": waiting, "overload": overload, "fuzz": fuzz, "gone": gone, "stop": stop}

if __name__ == "__main__":
    main()
