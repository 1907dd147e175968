"""Inspections in a process of their own: the same as here, cancelled, and restarted when that process has ended."""

import json
import multiprocessing
import sys
import threading
import time
from pathlib import Path

import pytest
from server import Server

import regard
from regard.look.cancel import cancelled_by
from regard.serve.apart import Apart
from regard.serve.limits import RequestError

TEXT = "The old dog sleeps in the garden."


@pytest.fixture(scope="module")
def apart(folder):
    return Apart(folder, regard.load(folder).info, 10**6)


def mine():
    return [process for process in multiprocessing.active_children() if process.name == "look"]


def rounded(value):
    """Two processes may add up in another order: numbers to four digits."""
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return round(value, 4) + 0.0 if isinstance(value, float) else value


def test_what_is_seen_apart_is_what_is_seen_here(apart, folder):
    here = regard.load(folder).look(TEXT).to_json()
    assert rounded(json.loads(apart.look(TEXT, {}))) == rounded(json.loads(here))


def test_a_process_that_has_ended_is_begun_again(apart):
    before = apart.look(TEXT, {})
    for process in mine():
        process.kill()
        process.join()
    assert apart.look(TEXT, {}) == before


def test_a_look_that_was_cancelled_does_not_answer_the_next_one(apart):
    began = time.monotonic()

    def check():
        if time.monotonic() > began + 0.2:
            raise RequestError(503, "client is gone")

    with pytest.raises(RequestError, match="client is gone"), cancelled_by(check):
        apart.look(TEXT, {"target": "un chien " * 20, "why": True})
    assert json.loads(apart.look("The dog sleeps.", {}))["text"] == "The dog sleeps."
    assert len(mine()) == 1


def test_who_waits_for_another_look_can_be_cancelled(apart):
    apart._turn.acquire()

    def check():
        raise RequestError(503, "client is gone")

    with pytest.raises(RequestError, match="client is gone"), cancelled_by(check):
        apart.look(TEXT, {})
    apart._turn.release()


def test_problems_keep_their_status_and_hold_no_text_of_the_request(apart):
    for text, options, status in (("", {}, 422), (TEXT, {"beams": 4}, 500)):
        with pytest.raises(RequestError) as problem:
            apart.look(text, options)
        assert problem.value.status == status and TEXT not in str(problem.value)


def test_another_model_in_the_folder_is_refused(folder):
    with pytest.raises(RequestError, match="trained anew since it was opened") as problem:
        Apart(folder, {"task": "translate"}, 10**6).look(TEXT, {})
    assert problem.value.status == 503 and str(folder) in str(problem.value)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows what a process has loaded")
def test_torch_is_not_loaded_where_requests_are_answered(folder):
    server = Server([folder], limits={"seconds": 240.0})  # the machine may be busy
    try:
        answers = []
        look = {"text": TEXT, "why": True}
        threads = [threading.Thread(target=lambda: answers.append(server.ask("/api/look", look)[0])) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert answers == [200, 200]
        assert "libtorch" not in Path(f"/proc/{server.process.pid}/maps").read_text()
    finally:
        assert server.stop() == 0
