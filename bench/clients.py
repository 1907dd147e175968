"""A server to be measured, the peer it is measured against, and clients that ask them."""

import http.client
import json
import os
import re
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any


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
        """Of the server and of the processes it has begun."""
        found = [status_of(path) for path in Path("/proc").glob("[0-9]*/status")]
        mine = str(self.process.pid)
        return sum(int(one.get("VmRSS", "0").split()[0]) for one in found if mine in {one["Pid"], one["PPid"]}) / 1024

    def processor_seconds(self) -> float:
        """Of the process that answers, without the one of costly requests."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=120)


def status_of(path: Path) -> dict[str, str]:
    with suppress(OSError):
        return dict(line.split(":\t", 1) for line in path.read_text().splitlines() if ":\t" in line)
    return {"Pid": "", "PPid": ""}  # it has ended


class OneByOne(Server):
    """The same engine behind a plain HTTP server, one text at a time.

    With the threads measured to be best for one text; or as LibreTranslate opens it, who leaves them to CTranslate2
    (Argos Translate's settings: one worker, threads 0).
    """

    def __init__(self, model: Path, *, is_default: bool = False) -> None:
        command = [sys.executable, __file__, str(model), *(["default"] if is_default else [])]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        self.port = int(self.process.stdout.readline())

    def stop(self) -> int:
        self.process.kill()
        return self.process.wait()


def be_peer(model: Path, *, is_default: bool) -> None:
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    import regard
    from regard.engines.layout import Layout

    translator, lock = regard.load(model), threading.Lock()

    if is_default:
        translator._fast.layouts = {"bulk": Layout(1, 0), "single": Layout(1, 0)}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            fields = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                translated = translator(fields["q"])
            body = json.dumps({"translatedText": translated}).encode()
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
    """What clients are answered that have a sentence each at a time. All in one thread that only sends and receives:
    they share the cores with the server, and what they cost is not its doing.
    """
    answers: list[str] = [""] * len(lines)
    asked, left = iter(enumerate(lines)), len(lines)
    with selectors.DefaultSelector() as waiting:

        def ask(connection: socket.socket) -> None:
            index, line = next(asked, (None, ""))
            if index is None:
                waiting.unregister(connection)
                connection.close()
                return
            body = json.dumps({"q": line, "source": "en", "target": server.target}).encode()
            head = f"POST /translate HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Type: application/json\r\n"
            connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            waiting.modify(connection, selectors.EVENT_READ, (index, bytearray()))

        for _ in range(min(clients, len(lines))):
            connection = socket.create_connection(("127.0.0.1", server.port), timeout=120)
            waiting.register(connection, selectors.EVENT_READ)
            ask(connection)
        while left:
            for key, _ in waiting.select():
                index, received = key.data
                received += key.fileobj.recv(65536)  # type: ignore[union-attr]
                if (body := whole_body(received)) is not None:
                    answers[index] = json.loads(body)["translatedText"]
                    left -= 1
                    ask(key.fileobj)  # type: ignore[arg-type]
    return answers


def whole_body(received: bytearray) -> bytes | None:
    """The body of an answer, if all of it is here; it must be a good one."""
    head, end, body = bytes(received).partition(b"\r\n\r\n")
    if not end:
        return None
    assert head.split(b" ", 2)[1] == b"200", received
    size = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    return body if len(body) == size else None


def latencies(server: Server, lines: list[str], beam: int = 4) -> list[float]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    times = []
    for line in lines:
        began = time.perf_counter()
        status, _ = server.ask("/api/translate", {"text": line, "beam": beam}, connection)
        assert status == 200
        times.append(time.perf_counter() - began)
        time.sleep(0.01)
    return times


if __name__ == "__main__":
    be_peer(Path(sys.argv[1]), is_default=sys.argv[2:] == ["default"])
