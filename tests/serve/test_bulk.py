"""Costly requests in a process of their own: answered as the others, counted with them, started again when it ended."""

import os
import signal
import sys
from pathlib import Path

import pytest
from server import Server, wait_until

import regard

LINES = [f"The dog sees {number} cats and the old man sleeps in the garden." for number in range(60)]
DOCUMENT = {"q": LINES, "source": "en", "target": "fr"}
SENTENCE = {"q": LINES[0], "source": "en", "target": "fr"}


def items(server):
    lines = server.ask("/metrics")[1].splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith('regard_items_total{model="en-fr"}')))


def test_a_document_is_translated_as_its_sentences_are_and_counted_with_them(server, folders):
    expected = regard.load(folders[0])(LINES)
    before = items(server)
    status, found, headers = server.ask("/translate", DOCUMENT)
    assert status == 200 and found["translatedText"] == expected
    assert headers["x-request-id"] and headers["content-security-policy"]
    assert server.ask("/translate", SENTENCE)[1]["translatedText"] == expected[0]
    assert items(server) - before == 61
    counted = server.ask("/metrics")[1]
    assert 'regard_requests_total{route="/translate",status="200"}' in counted


def test_what_is_wrong_with_a_large_request_is_told_as_of_a_small_one(server):
    for fields, status in (
        (DOCUMENT | {"target": "xx"}, 400),
        (DOCUMENT | {"alternatives": 99}, 400),
        (DOCUMENT | {"q": LINES * 5}, 413),
    ):
        found, told, _ = server.ask("/translate", fields)
        assert found == status and told["error"]
    assert server.ask("/nowhere", DOCUMENT)[0] == 404


@pytest.mark.skipif(sys.platform != "linux", reason="the processes of a process are told by Linux only")
def test_a_process_that_was_killed_is_started_again_and_sentences_go_on_meanwhile(folders):
    server = Server(folders[:1])

    def processes():
        tasks = Path(f"/proc/{server.process.pid}/task").glob("*/children")
        found = [int(number) for task in tasks for number in task.read_text().split()]
        return [one for one in found if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes()]

    try:
        expected = server.ask("/translate", DOCUMENT)[1]
        assert "translatedText" in expected
        (first,) = processes()
        os.kill(first, signal.SIGKILL)
        assert server.ask("/translate", SENTENCE)[1]["translatedText"] == expected["translatedText"][0]
        assert wait_until(lambda: server.ask("/translate", DOCUMENT)[1] == expected, 60)
        assert processes() != [first]
    finally:
        assert server.stop() == 0
