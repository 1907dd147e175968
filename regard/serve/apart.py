"""Inspects a model in a process of its own: torch and its memory live there, and end when it is idle.

The server's interpreter is never held up by it, and its cores are left to other work.
"""

from __future__ import annotations

import json
import multiprocessing
import signal
import threading
import traceback
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from regard.errors import FolderError, RegardError
from regard.folder import ModelInfo
from regard.look.cancel import cancelled_by, check_cancelled
from regard.machine import lower_priority, set_turn
from regard.serve.limits import RequestError

REST = 20.0  # seconds without a request, after which the process ends
WAIT = 0.1  # seconds between two checks whether the answer is still waited for
PATIENCE = 10  # how far it steps back: behind quick requests, before documents
CANCEL = b""


class Apart:
    """The process of one model, started when it is needed. One request at a time."""

    def __init__(self, folder: Path, info: ModelInfo, most_weights: int) -> None:
        """info: what the folder must still hold; most_weights: attention weights in one answer."""
        self._given = (folder, info, most_weights)
        self._turn = threading.Lock()
        self._connection: Connection | None = None
        self._is_owed = False  # the answer to a cancelled request is still to come

    def look(self, text: str, options: dict[str, Any]) -> str:
        """The inspection, as JSON; `check_cancelled` of the calling thread is asked meanwhile."""
        while not self._turn.acquire(timeout=WAIT):
            check_cancelled()
        try:
            try:
                status, answer = self._ask(json.dumps([text, options]).encode())
            except (EOFError, OSError):  # it ended, as it does after a rest
                self._connection = None
                status, answer = self._ask(json.dumps([text, options]).encode())
        except (EOFError, OSError):
            self._connection = None
            raise RequestError(503, "the process that inspects the model has ended; try again", 1.0) from None
        finally:
            self._turn.release()
        if status != 200:
            raise RequestError(status, answer)
        return answer

    def _ask(self, request: bytes) -> tuple[int, str]:
        if self._connection is None:
            self._connection, self._is_owed = self._start(), False
        if self._is_owed:
            self._wait(self._connection)
        self._connection.send_bytes(request)
        self._is_owed = True
        try:
            return self._wait(self._connection)
        except RegardError:
            self._connection.send_bytes(CANCEL)
            raise

    def _wait(self, connection: Connection) -> tuple[int, str]:
        while not connection.poll(WAIT):
            check_cancelled()
        status = json.loads(connection.recv_bytes())
        answer = connection.recv_bytes().decode()
        self._is_owed = False
        return status, answer

    def _start(self) -> Connection:
        context = multiprocessing.get_context("spawn")
        mine, its = context.Pipe()
        context.Process(target=_answer_all, args=(its, *self._given), daemon=True, name="look").start()
        its.close()  # else the end of the process would not be noticed
        return mine


def _answer_all(connection: Connection, folder: Path, info: ModelInfo, most_weights: int) -> None:
    """What the process does, until it is idle for a while or the server is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which answers first
    set_turn(0)
    opened: Any = None

    def check() -> None:
        if connection.poll() and connection.recv_bytes() == CANCEL:
            raise RequestError(503, "cancelled")

    while connection.poll(REST):
        try:
            if (request := connection.recv_bytes()) == CANCEL:
                continue  # of what was answered meanwhile
            with cancelled_by(check):
                if opened is None:
                    opened = _open(folder, info)
                    lower_priority(PATIENCE)  # only now: on a busy machine, loading torch would take a minute
                text, options = json.loads(request)
                status, answer = 200, _look(opened, text, options, most_weights)
        except EOFError:
            return
        except FolderError as problem:
            status, answer = 503, str(problem)
        except RegardError as problem:
            status, answer = problem.status if isinstance(problem, RequestError) else 422, str(problem)
        except Exception as problem:  # its words may hold text of the request
            place = traceback.extract_tb(problem.__traceback__)[-1]
            status, answer = 500, f"inspecting failed: {type(problem).__name__} at {place.filename}:{place.lineno}"
        connection.send_bytes(json.dumps(status).encode())
        connection.send_bytes(answer.encode())


def _open(folder: Path, info: ModelInfo) -> Any:
    from regard.load import load

    opened = load(folder)
    if opened.info != info:
        raise FolderError(f"{folder} was trained anew since it was opened; start the server again")
    return opened


def _look(opened: Any, text: str, options: dict[str, Any], most_weights: int) -> str:
    seen = opened.look(text, **options)
    weights = sum(kind.weights.numel() for kind in seen.kinds.values())
    if weights > most_weights:
        raise RequestError(413, f"the answer has {weights} attention weights; the limit is {most_weights}: "
                                f"send a shorter text")  # fmt: skip
    return str(seen.to_json())
