"""A real server in a process of its own, with a small model of each family."""

import http.client
import json
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time

WITH_LIMITS = """
import json, sys
from regard.serve import limits
made, fields = limits.Limits, json.loads(sys.argv.pop(1))
limits.Limits = lambda: made(**fields)
from regard.cli.commands import main
main()
"""


class Server:
    """A server that runs, and how to ask it."""

    def __init__(self, folders, *words, limits=None, files=None):
        """limits: fields of Limits that differ; files: how many it may open."""
        words = ["serve", *map(str, folders), "--port", "0", "--log", *words]
        first = ["-c", WITH_LIMITS, json.dumps(limits or {})]
        self.process = subprocess.Popen(
            [sys.executable, *first, *words], stderr=subprocess.PIPE, text=True, env=os.environ | {"NO_COLOR": "1"},
            preexec_fn=(lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))) if files else None,  # noqa: PLW1509
        )  # fmt: skip
        self.log = []
        for line in self.process.stderr:
            self.log.append(line)
            if found := re.search(r"http://\S+:(\d+)", line):
                self.port = int(found.group(1))
                break
        else:
            raise AssertionError("".join(self.log))
        threading.Thread(target=lambda: self.log.extend(self.process.stderr), daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def ask(self, path, fields=None, *, headers=None, method=None, raw=None):
        """The status, what was answered and its headers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)  # the machine may be busy
        body = raw if raw is not None else None if fields is None else json.dumps(fields).encode()
        told = {"Content-Type": "application/json"} | (headers or {})
        connection.request(method or ("GET" if body is None else "POST"), path, body, told)
        response = connection.getresponse()
        content = response.read()
        connection.close()
        kind = response.headers.get("Content-Type", "")
        return response.status, json.loads(content) if "json" in kind else content.decode(), response.headers

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(timeout=60)


def wait_until(check, seconds=20):
    """Whether something becomes true in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if check():
            return True
        time.sleep(0.02)
    return False
