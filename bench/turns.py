"""Sides that take turns: each runs in a process of its own, works on request, and waits meanwhile."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Side:
    """A process that answers each task, a JSON object on a line, with another."""

    def __init__(self, words: list[str], **env: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | env
        )

    def ask(self, **task: Any) -> dict[str, Any]:
        self.send(**task)
        return self.answer()

    def send(self, **task: Any) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(task) + "\n")
        self._process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"a side ended with {self._process.wait()}")
        return json.loads(line)

    def close(self) -> None:
        self._process.communicate("")


def serve(work: Callable[..., dict[str, Any]]) -> None:
    """Answers tasks until there are no more; what the work prints does not disturb the answers."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        answers.write(json.dumps(work(**json.loads(line))) + "\n")
        answers.flush()


def memory_mb(*pids: int) -> float:
    """What processes hold, pages shared with others counted by share."""
    total = 0.0
    for pid in pids or (os.getpid(),):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        total += next(int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:"))
    return total
