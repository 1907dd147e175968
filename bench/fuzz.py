"""Requests that are wrong in some way, by our own hand and by schemathesis from the OpenAPI description."""

import http.client
import random
import re
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any

from clients import Server

CANARY = "The old man reads a letter in the garden."
EXAMPLES = 300  # of schemathesis, for each operation


def fuzz(given: Any, model: Path, lines: list[str]) -> dict[str, Any]:
    """Requests that are wrong in some way, and bytes that are no requests; a canary is asked again and again."""
    server, rng = Server([model]), random.Random(0)
    statuses: dict[str, int] = {}
    expected = server.translate(CANARY)[1]["translatedText"]
    wrong = 0
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        for number in range(given.requests):
            if number % 10 == 0:
                raw_bytes(server.port, rng)
                statuses["raw"] = statuses.get("raw", 0) + 1
            else:
                try:
                    status, _ = server.ask(*strange(rng), connection=connection)  # type: ignore[misc]
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


def strange(rng: random.Random) -> tuple[str, Any]:
    fields = {name: rng.choice(VALUES) for name in rng.sample(FIELDS, rng.randint(0, 8))}
    if rng.random() < 0.5:
        fields |= {"q": rng.choice(VALUES), "source": "en", "target": "fr", "text": rng.choice(VALUES)}
    return rng.choice(PATHS), fields


def raw_bytes(port: int, rng: random.Random) -> None:
    heads = (
        b"POST /translate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 50\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"",
    )
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            connection.sendall(rng.choice(heads) + rng.randbytes(rng.randint(0, 200)))
            connection.settimeout(0.05)
            connection.recv(1000)
    except OSError:
        pass


def schema(given: Any, model: Path, lines: list[str]) -> dict[str, Any]:
    """schemathesis reads the OpenAPI description and makes up requests that fit it and that do not."""
    if shutil.which("schemathesis") is None:
        return {"skipped": "schemathesis is not installed"}
    server = Server([model])
    expected = server.translate(CANARY)[1]["translatedText"]
    try:
        words = ["schemathesis", "run", f"http://127.0.0.1:{server.port}/openapi.json", "--checks",
                 "not_a_server_error", "--max-examples", str(EXAMPLES), "--seed", "1", "--no-color"]  # fmt: skip
        finished = subprocess.run(words, capture_output=True, text=True, check=False)
        is_exact = server.translate(CANARY)[1].get("translatedText") == expected
    finally:
        code = server.stop()
    counted = re.findall(r"^\s*(?:Test cases|.*generated).*$", finished.stdout, re.MULTILINE)
    return {"server_errors_found": finished.returncode, "reported": [line.strip() for line in counted],
            "canary_exact": is_exact, "exit": code}  # fmt: skip
