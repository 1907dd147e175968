"""Forked workers: processes that are forked from the first before there is work, and wait until they are wanted.

A forked worker and the first process hold once what neither has changed since, above all torch: a quarter less memory
for two (bench/train.py). One that is started anew holds everything again.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

Work = Callable[[list[str]], None]

MOST = 15  # that are kept
POLL_SECONDS = 0.01  # between two checks whether one has ended


@contextmanager
def forked_workers(count: int, work: Work) -> Iterator[list[ForkedWorker]]:
    """So many processes that can do this work; none where a process cannot be forked as it is. Callers
    take workers out of the list.
    """
    if not can_fork():
        yield []
        return
    gc.collect()
    gc.freeze()  # what is looked through for garbage is changed, and no longer shared
    kept = [ForkedWorker(work) for _ in range(min(count, MOST))]
    try:
        yield kept
    finally:
        for one in kept:
            one.dismiss()
        gc.unfreeze()


def can_fork() -> bool:
    """Whether a copy of this process would work: another thread, which it would not have, may hold what it needs.
    Threads of libraries are no hindrance: those of numpy and of tokenizers expect a fork, and a worker with one thread
    needs none of torch's.
    """
    return sys.platform == "linux" and threading.active_count() == 1


class ForkedWorker:
    """A process that waits for its words; then it is used as one of `subprocess` is."""

    def __init__(self, work: Work) -> None:
        listening, self._line = os.pipe()
        self._code: int | None = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of native threads, which can_fork speaks of
            self.pid = os.fork()
        if self.pid == 0:
            _live(listening, work)
        os.close(listening)

    def start(self, words: list[str], log: Path) -> None:
        """Lets it work by these words; what it prints is in the log."""
        with os.fdopen(self._line, "w") as line:
            line.write(json.dumps({"words": words, "log": str(log)}))

    def dismiss(self) -> None:
        """It is not wanted."""
        os.close(self._line)
        self.wait()

    def poll(self) -> int | None:
        """How it ended, if it has; less than nothing is a signal."""
        if self._code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self._code = os.waitstatus_to_exitcode(status) if pid else None
        return self._code

    def wait(self, timeout: float | None = None) -> int:
        """How it ended, as soon as it has; not waited for longer than so many seconds."""
        began = time.monotonic()
        while (code := self.poll()) is None:
            if timeout is not None and time.monotonic() - began > timeout:
                raise subprocess.TimeoutExpired("worker", timeout)
            time.sleep(POLL_SECONDS)
        return code

    def kill(self) -> None:
        """Ends it at once."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


def _live(listening: int, work: Work) -> NoReturn:
    """All that a forked worker does. It never returns to what the first process was doing."""
    code = 1
    try:
        for number in (signal.SIGINT, signal.SIGTERM):  # the first process decides what becomes of them
            signal.signal(number, signal.SIG_IGN)
        _let_go(listening)
        with os.fdopen(listening) as line:
            received = line.read()  # until the first process has written all, or has exited
        if received:
            command = json.loads(received)
            log = os.open(command["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            os.dup2(log, 1)
            os.dup2(log, 2)
            sys.stdout = sys.stderr = os.fdopen(log, "w", buffering=1)
            work(command["words"])
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _let_go(kept: int) -> None:
    """Files of the first process are its own: locks on them, and pipes whose other end waits for their end."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    for number in [int(path.name) for path in Path("/proc/self/fd").iterdir()]:
        if number > 2 and number != kept:
            with suppress(OSError):  # the one that was listed through is closed already
                os.close(number)
