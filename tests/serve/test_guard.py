"""Authentication, hosts and origins, and what is logged."""

import json
import signal
import subprocess
import sys

import pytest
from server import Server, wait_until

TEXT = "The old dog sleeps in the garden."


def test_strangers_are_kept_out(server):
    assert server.ask("/health", headers={"Host": "evil.example"})[0] == 421
    status, told, _ = server.ask("/api/models", headers={"Origin": "http://evil.example"})
    assert status == 403 and "other sites" in told["error"]
    status, _, headers = server.ask("/")
    assert status == 200 and "default-src 'none'" in headers["Content-Security-Policy"]
    assert "Access-Control-Allow-Origin" not in headers and headers["X-Content-Type-Options"] == "nosniff"
    for name in ("../app.py", "..%2fapp.py", "%2e%2e/app.py", "app.py", "a%00.js"):
        assert server.ask(f"/page/{name}")[0] == 404


@pytest.mark.parametrize("route", ["/page/", "/api/runs/", "/v1/models/"])
def test_a_name_that_no_file_can_have_is_not_found(server, route):
    for name in (
        "a" * 3000 + ".js",
        "a" * 255 + ".js",
        "a%00.js",
        "%ff%fe.js",
        "%ed%a0%80.js",
        "..",
        "%2e%2e%2f.js",
        ".",
    ):
        assert server.ask(f"{route}{name}")[0] in {404, 307}, name


def test_no_text_of_a_request_is_logged(server):
    secret = "zanzibarquartz"
    server.ask("/translate", {"q": secret, "source": "en", "target": "fr"})
    server.ask("/translate", {"q": secret, "source": "en", "target": "xx"})
    assert wait_until(lambda: any('"/translate"' in line for line in server.log))
    assert secret not in "".join(server.log) and secret not in server.ask("/metrics")[1]
    line = next(json.loads(line) for line in server.log if '"/translate"' in line)
    assert line.keys() == {"request", "route", "method", "status", "seconds"}


def test_a_key_is_wanted_on_every_route_that_computes_or_reads(folders):
    server = Server(folders[:1], "--api-key", "a long enough key")
    try:
        ask = {"q": "The dog.", "source": "en", "target": "fr"}
        for path, fields in (("/translate", ask), ("/languages", None), ("/v1/models", None), ("/api/models", None),
                             ("/metrics", None), ("/openapi.json", None), ("/api/runs/en-fr", None)):  # fmt: skip
            assert server.ask(path, fields)[0] == 401
            assert server.ask(path, fields, headers={"Authorization": "Bearer wrong"})[0] == 401
            assert server.ask(path, fields, headers={"Authorization": "Bearer a long enough key"})[0] == 200
        assert server.ask("/translate", ask | {"api_key": "a long enough key"})[0] == 200
        assert server.ask("/translate", ask, headers={"X-Api-Key": "a long enough key"})[0] == 200
        assert server.ask("/health")[0] == server.ask("/ready")[0] == server.ask("/")[0] == 200
    finally:
        assert server.stop(signal.SIGINT) == 0


def test_other_machines_need_a_key_and_wrong_folders_are_told(folders, tmp_path):
    from typer.testing import CliRunner

    from regard.cli.commands import app

    run = lambda *words: CliRunner().invoke(app, ["serve", *map(str, words)])  # noqa: E731
    assert "give --api-key" in run(folders[0], "--host", "0.0.0.0").output
    assert "fewer than 8" in run(folders[0], "--api-key", "short").output
    assert "does not exist" in run(tmp_path / "none").output
    assert "called the same" in run(folders[0], folders[0]).output


def test_who_listens_everywhere_answers_to_addresses_and_to_its_names_only(folders):
    server = Server(folders[:1], "--host", "0.0.0.0", "--name", "translate.example", "--api-key", "long enough")
    try:
        for host in ("192.168.1.5:8000", "[fe80::1]", "translate.example", "Translate.Example:443", "localhost"):
            assert server.ask("/ready", headers={"Host": host})[0] == 200
        assert server.ask("/ready", headers={"Host": "rebound.example"})[0] == 421
        told = {"Host": "translate.example", "Origin": "https://translate.example", "X-Api-Key": "long enough"}
        assert server.ask("/frontend/settings", headers=told)[1]["keyRequired"] is True
        assert server.ask("/api/models", headers=told | {"Origin": "https://other.example"})[0] == 403
    finally:
        server.stop()


ASKED = """
import asyncio, sys
from opentelemetry import trace
from regard.serve.app import make_app
from regard.serve.limits import Limits
from regard.serve.registry import ModelRegistry

class Listener(trace.TracerProvider):
    def get_tracer(self, *words, **more):
        print("told")
        return trace.NoOpTracer()

trace.set_tracer_provider(Listener())
sent, asked = [], iter([{"type": "http.request", "body": b"", "more_body": False}])
async def receive():
    return next(asked, None) or await asyncio.Event().wait()
async def send(message): sent.append(message)
scope = {"type": "http", "method": "GET", "path": "/health", "raw_path": b"/health", "query_string": b"",
         "headers": [(b"host", b"localhost")], "scheme": "http", "server": ("localhost", 1), "client": ("localhost", 2),
         "http_version": "1.1", "asgi": {"version": "3.0"}, "root_path": ""}
asyncio.run(make_app(ModelRegistry([], Limits()), {"localhost"})(scope, receive, send))
print(sent[0]["status"])
"""


def test_nothing_is_told_to_others_even_where_somebody_listens():
    """FastAPI by itself reports every request to OpenTelemetry, if that is set up."""
    pytest.importorskip("opentelemetry", reason="this version of FastAPI has no telemetry")
    said = subprocess.run([sys.executable, "-c", ASKED], capture_output=True, text=True, check=True, timeout=60)
    assert said.stdout.split() == ["200"]
