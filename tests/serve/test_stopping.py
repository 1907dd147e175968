"""The server ends with 0 whatever it is doing, and says in one line why it cannot begin."""

import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest
from server import Server, wait_until


def start(*words):
    """A server's process, from its first moment."""
    command = [sys.executable, "-m", "regard", "serve", *map(str, words)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | {"NO_COLOR": "1"})


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_while_it_opens_its_models(folders, number):
    port = free_port()
    process = start(*folders, "--port", port)

    def is_listening():
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            return False
        return True

    assert wait_until(is_listening, 60)
    process.send_signal(number)
    assert process.wait(timeout=60) == 0, process.stderr.read()


def send(server, path, fields, part=None):
    """A connection on which a request was sent, or some of it."""
    body = json.dumps(fields).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=60)
    connection.sendall((head + body)[:part])
    return connection


WRITE = ("/v1/completions", {"model": "tales", "prompt": "The", "max_tokens": 2000, "temperature": 0})
LOOK = ("/api/look", {"model": "en-fr", "text": "The old dog sleeps in the garden.", "why": True})


def test_it_ends_while_clients_are_slow_stream_or_have_gone(folders):
    for number in (signal.SIGTERM, signal.SIGINT):
        server = Server(folders[:2], limits={"read_seconds": 5.0})
        kept = [send(server, *WRITE, part=20), send(server, *WRITE, part=-5)]
        kept += [send(server, WRITE[0], WRITE[1] | {"stream": True, "max_tokens": 300})]
        for _ in range(5):
            send(server, *WRITE).close()
            send(server, *LOOK).close()
        time.sleep(0.3)
        assert server.stop(number) == 0, server.log
        assert not any("Traceback" in line for line in server.log)
        for connection in kept:
            connection.close()


def test_it_ends_while_it_computes_what_nobody_waits_for(folders):
    server = Server(folders[:2])
    for _ in range(8):
        send(server, *LOOK).close()
    server.process.send_signal(signal.SIGTERM)
    time.sleep(0.05)
    server.process.send_signal(signal.SIGTERM)  # impatient
    assert server.process.wait(timeout=60) == 0


def test_a_port_or_host_that_cannot_be_listened_on_is_one_line(folders):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for words, said in (
            (["--port", port], f"127.0.0.1:{port} is in use by another program"),
            (["--host", "no.such.host.invalid", "--without-key"], "no.such.host.invalid is not known here"),
            (["--host", "192.0.2.1", "--without-key", "--port", "0"], "192.0.2.1 is not an address of this machine"),
        ):
            process = start(folders[0], *words)
            _, told = process.communicate(timeout=60)
            assert process.returncode == 1 and told.startswith("Error: ") and said in told and told.count("\n") == 1


def test_a_port_of_the_system_is_refused_with_a_remedy(monkeypatch):
    from regard.errors import ConfigError
    from regard.serve.listen import listen

    def bind(self, address):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(socket.socket, "bind", bind)  # the tests may run as root, who may
    with pytest.raises(ConfigError, match=r"127\.0\.0\.1:80 is for the system's own services.*--port 8000"):
        listen("127.0.0.1", 80)
