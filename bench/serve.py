"""The server under load, on loopback: throughput, waiting, overload, disconnects, stopping.

- throughput: 32 clients with a sentence at a time, against the same engine asked for one text after another, as
  LibreTranslate does, with the best threads for that and with those LibreTranslate leaves it (goal 3x)
- waiting: the median of a single interactive sentence while documents are translated, over its unloaded value (goal 3x)
- overload: ten times as many tokens as it can do are offered in requests of 50 sentences: accepted ones lost (goal 0),
  how long a refusal takes (goal 50 ms), growth of memory (goal 5 %), how soon it is at full speed again (goal 2 s)
- fuzz: malformed requests and raw bytes: no 5xx but declared 503s, and a canary stays exact
- schema: the same by schemathesis, from the OpenAPI description
- gone: clients that go away at random moments: nothing is left waiting
- stop: SIGTERM under load: every accepted request is answered, exit 0
- slow, costly, markup: half heads, trickling bodies and answers that are not read; requests that cost most; hostile
  HTML: a canary's 99th percentile over that of quiet times, and as a control the same while another server gets it
- parsers: milliseconds of each parser on hostile input of the largest size that is taken (goal 50)
"""

import http.client
import json
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from attack import costly, markup, parsers, slow
from clients import OneByOne, Server, by_clients, latencies
from fuzz import CANARY, fuzz, schema
from measure import arguments, record

CLIENTS, SENTENCES = 32, 50
RESTED = 3.0  # seconds after which memory that is free was given back


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--model", type=Path, help="a translator from English; else the demo's is trained")
    parser.add_argument("--shape", choices=["tiny", "base"], default="tiny", help="base: of that size, hardly trained")
    parser.add_argument(
        "--parts", default="throughput,waiting,overload,fuzz,schema,gone,stop,slow,costly,markup,parsers"
    )
    parser.add_argument("--seconds", type=float, default=20, help="of overload, and of each attack and its control")
    parser.add_argument("--requests", type=int, default=20_000, help="of fuzz")
    parser.add_argument("--gone", type=int, default=2000, help="clients that go away")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        model = given.model or (demo if given.shape == "tiny" else base)(Path(temporary))
        about = json.loads((model / "regard.json").read_text())["settings"]
        Server.target = about["target_language"] or "und"
        lines = sentences(model)
        for part in given.parts.split(","):
            name = part if given.shape == "tiny" else f"{part}, {given.shape}"
            record(name, PARTS[part](given, model, lines), given.json)


def demo(folder: Path) -> Path:
    subprocess.run([sys.executable, "-m", "regard", "demo", "--to", str(folder)], check=True, capture_output=True)
    return folder / "en-fr"


def base(folder: Path) -> Path:
    """A translator of the paper's base shape. It is slow, and that is what it is for; it learns little more than that
    sentences end: loops would be what is measured.
    """
    import regard

    for side in ("source", "target"):
        lines = [getattr(phrase, side) for phrase in regard.phrasebook("en", "fr", 20_000)]
        (folder / f"train.{'en' if side == 'source' else 'fr'}").write_text("\n".join(lines) + "\n")
    settings = {
        "size": "base",
        "stop": {"minutes": 12},
        "workers": 1,
        "model": {"norm": "pre", "dropout": 0.0},
        "train": {"held_out": 50, "tokens_per_batch": 1024, "warmup_steps": 40, "learning_rate": 0.0007},
    }
    regard.train("translate", to=folder / "base", settings=settings, source=folder / "train.en",
                 target=folder / "train.fr")  # fmt: skip
    return folder / "base"


def sentences(model: Path) -> list[str]:
    import regard

    return [phrase.source for phrase in regard.phrasebook("en", "de", 2000, held_out=True)]


def throughput(given: Any, model: Path, lines: list[str]) -> dict[str, Any]:
    """In turns: 32 clients against two servers that translate one text after another, and against ours."""
    servers = [OneByOne(model), OneByOne(model, is_default=True), Server([model])]
    ratios: list[list[float]] = [[], []]
    shown = []
    try:
        turns, size = (6, 300) if given.shape == "tiny" else (4, 2 * CLIENTS)
        for turn in range(turns):
            part = lines[turn * size : turn * size + size]
            seconds, answers = [], []
            for one in servers:
                began = time.perf_counter()
                answers.append(by_clients(one, part, CLIENTS))
                seconds.append(time.perf_counter() - began)
            assert answers[0] == answers[1] == answers[2], "the server says something else than the engine alone"
            if turn:
                for place, spent in enumerate(seconds[:2]):
                    ratios[place].append(spent / seconds[2])
                shown.append(len(part) / seconds[2])
    finally:
        for one in servers:
            one.stop()
    return {"over_one_text_at_a_time": round(statistics.median(ratios[0]), 2),
            "turns": [round(r, 2) for r in ratios[0]],
            "over_one_text_at_a_time_as_libretranslate_opens_it": round(statistics.median(ratios[1]), 2),
            "turns_as_libretranslate_opens_it": [round(r, 2) for r in ratios[1]],
            "sentences_per_second": round(statistics.median(shown)), "clients": CLIENTS}  # fmt: skip


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


def overload(given: Any, model: Path, lines: list[str]) -> dict[str, Any]:
    """First what it can do, then ten times as much for a while. Memory is compared at rest, before and after; and while
    it is loaded, with that after the first tenth.
    """
    server = Server([model], "--queue", "20000")
    offers = Offers(server, lines)
    try:
        pace = offers.pace()  # sentences a second
        usual = statistics.median(latencies(server, lines[:10], beam=1))
        time.sleep(RESTED)
        start = server.memory_mb()
        offers.keep_up(10 * pace, given.seconds / 10)
        warm = server.memory_mb()
        offers.keep_up(10 * pace, 0.9 * given.seconds)
        loaded = server.memory_mb()
        stopped = time.perf_counter()
        while latencies(server, lines[:1], beam=1)[0] > 2 * usual:
            pass
        quick_again = time.perf_counter() - stopped
        offers.wait()
        drained = time.perf_counter() - stopped
        again = offers.pace()
        time.sleep(RESTED)
        end = server.memory_mb()
    finally:
        code = server.stop()
    refusals = sorted(offers.refusals) or [0.0]
    return offers.counts | {
        "offered_over_capacity": 10, "seconds": given.seconds, "sentences_per_second": round(pace, 1),
        "lost_or_failed": offers.counts["lost"] + offers.counts["other"],
        "refusal_ms_p50": round(1000 * refusals[len(refusals) // 2], 1),
        "refusal_ms_p99": round(1000 * refusals[int(0.99 * len(refusals))], 1),
        "memory_mb": round(start), "memory_growth_percent": round(100 * (end / start - 1), 1),
        "memory_growth_percent_while_loaded": round(100 * (loaded / warm - 1), 1),
        "memory_percent_over_rest_while_loaded": round(100 * (loaded / start - 1), 1),
        "a_sentence_is_quick_again_after_seconds": round(quick_again, 2), "drained_after_seconds": round(drained, 2),
        "speed_after_over_before": round(again / pace, 2), "exit": code,
    }  # fmt: skip


class Offers:
    """Requests of 50 sentences, each by a client of its own, and what became of them."""

    def __init__(self, server: Server, lines: list[str]) -> None:
        self.server, self.lines = server, lines
        self.counts = {"accepted": 0, "refused": 0, "lost": 0, "other": 0}
        self.refusals: list[float] = []
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()

    def pace(self) -> float:
        """Sentences a second, where as many are offered as can be done."""
        began = time.perf_counter()
        count = 0
        while count < 4 and time.perf_counter() - began < 20:  # a slow model is known after one
            assert self._ask()[0] == 200
            count += 1
        return SENTENCES * count / (time.perf_counter() - began)

    def keep_up(self, sentences_per_second: float, seconds: float) -> None:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            self._threads.append(threading.Thread(target=self._offer))
            self._threads[-1].start()
            time.sleep(SENTENCES / sentences_per_second)

    def wait(self) -> None:
        for thread in self._threads:
            thread.join()

    def _ask(self) -> tuple[int, Any]:
        return self.server.ask("/api/translate", {"text": random.sample(self.lines, SENTENCES), "beam": 1})

    def _offer(self) -> None:
        began = time.perf_counter()
        try:
            status, answer = self._ask()
        except OSError:
            status, answer = 0, None
        with self._lock:
            if status == 429:
                self.counts["refused"] += 1
                self.refusals.append(time.perf_counter() - began)
            elif status == 200:
                self.counts["accepted" if len(answer["translations"]) == SENTENCES else "lost"] += 1
            else:
                self.counts["other"] += 1


def gone(given: Any, model: Path, lines: list[str]) -> dict[str, Any]:
    """Clients that ask for a document and hang up somewhere on the way."""
    server, rng = Server([model]), random.Random(1)
    try:
        server.translate(lines[:200])
        memory = server.memory_mb()
        files = len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))
        for _ in range(given.gone):
            body = json.dumps({"q": rng.sample(lines, 20), "source": "en", "target": server.target}).encode()
            head = f"POST /translate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            sent = (head + body)[: rng.choice([len(head) // 2, len(head) + 10, 10**6])]
            with socket.create_connection(("127.0.0.1", server.port)) as connection:
                connection.sendall(sent)
                time.sleep(rng.random() * 0.02)
        end = time.monotonic() + 30
        while server.gauge("queued_tokens") and time.monotonic() < end:
            time.sleep(0.1)
        time.sleep(0.5)
        left, growth = server.gauge("queued_tokens"), server.memory_mb() / memory - 1
        open_files = len(list(Path(f"/proc/{server.process.pid}/fd").iterdir())) - files
        is_healthy = server.translate(CANARY)[0] == 200
    finally:
        code = server.stop()
    return {"clients": given.gone, "tokens_left_waiting": left, "files_left_open": open_files,
            "memory_growth_percent": round(100 * growth, 1), "well_afterwards": is_healthy, "exit": code}  # fmt: skip


def stop(given: Any, model: Path, lines: list[str]) -> dict[str, Any]:
    """SIGTERM while 16 clients wait: accepted requests are answered; later ones are refused."""
    server = Server([model])
    answers: list[int] = []

    def client() -> None:
        try:
            status, answer = server.translate(random.sample(lines, 100))
            answers.append(status if status != 200 or len(answer["translatedText"]) == 100 else -1)
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


PARTS = {
    "throughput": throughput, "waiting": waiting, "overload": overload, "fuzz": fuzz, "schema": schema, "gone": gone,
    "stop": stop, "slow": slow, "costly": costly, "markup": markup, "parsers": parsers,
}  # fmt: skip

if __name__ == "__main__":
    main()
