"""Many clients at the same time: they share batches and get their own; who goes away, or comes as it stops."""

import concurrent.futures
import json
import re
import shutil
import socket
import threading
import time

from server import Server, wait_until

import regard

TEXT = "The old dog sleeps in the garden."


def test_sentences_of_many_clients_share_batches_and_each_gets_its_own(server, folders):
    texts = [f"The dog sees {number} cats." for number in range(60)]
    expected = dict(zip(texts, regard.load(folders[0])(texts), strict=True))

    def count(name):
        text = server.ask("/metrics")[1]
        return float(
            next(line.split()[1] for line in text.splitlines() if line.startswith(f'regard_{name}{{model="en-fr"}}'))
        )

    before = count("batches_total"), count("items_total")
    with concurrent.futures.ThreadPoolExecutor(30) as pool:
        asks = {
            text: pool.submit(server.ask, "/translate", {"q": text, "source": "en", "target": "fr"}) for text in texts
        }
        for text, ask in asks.items():
            assert ask.result()[1]["translatedText"] == expected[text]
    batches, items = count("batches_total") - before[0], count("items_total") - before[1]
    assert items == 60 and batches < 60


def test_a_client_that_goes_away_is_not_computed_further(server):
    def queued():
        text = server.ask("/metrics")[1]
        return float(
            next(
                line.split()[1] for line in text.splitlines() if line.startswith('regard_queued_tokens{model="tales"}')
            )
        )

    body = json.dumps({"model": "tales", "prompt": "The", "max_tokens": 2000, "n": 8}).encode()
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        head = f"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)
        assert wait_until(lambda: queued() > 1000)
    assert wait_until(lambda: queued() == 0, seconds=30)


def test_a_look_that_nobody_waits_for_is_not_computed_further(server):
    body = json.dumps({"model": "en-fr", "text": TEXT, "target": "le chien " * 20, "why": True}).encode()
    head = f"POST /api/look HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    idle = lambda: 'regard_queued_tokens{model="en-fr"} 0' in server.ask("/metrics")[1]  # noqa: E731
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(head + body)
            time.sleep(0.02)
    assert wait_until(idle, 30)


def test_people_who_look_inside_at_the_same_time_see_what_each_asked_for(server):
    targets = [f"{'le chien ' * count}dort." for count in (1, 2, 3, 4)]
    asked = [{"model": "en-fr", "text": TEXT, "target": target} for target in targets]
    alone = [server.ask("/api/look", one)[1] for one in asked]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda one: server.ask("/api/look", one), asked * 4))
    assert [status for status, _, _ in found] == [200] * 16
    assert [told for _, told, _ in found] == alone * 4


def test_writers_that_are_asked_at_the_same_time_write_what_they_write_alone(folders, tmp_path):
    other = tmp_path / "verses"
    shutil.copytree(folders[1], other)
    server = Server([folders[1], other])
    try:
        asked = [
            {"model": model, "prompt": "The", "max_tokens": 12, "temperature": 1.0, "seed": seed}
            for seed in range(12) for model in ("tales", "verses")
        ]  # fmt: skip
        alone = [server.ask("/v1/completions", one)[1]["choices"] for one in asked]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda one: server.ask("/v1/completions", one)[1]["choices"], asked * 4))
        assert found == alone * 4
    finally:
        assert server.stop() == 0


def queued(server):
    return float(re.search(r'queued_tokens{model="en-fr"} (\S+)', server.ask("/metrics")[1])[1])


def test_what_was_accepted_is_answered_before_it_stops(folders):
    server = Server(folders[:2])
    lines = [f"The dog sees {number} cats and the old man sleeps in the garden." for number in range(200)]
    found = []
    fields = {"q": lines, "source": "en", "target": "fr"}
    threads = [threading.Thread(target=lambda: found.append(server.ask("/translate", fields))) for _ in range(3)]
    for thread in threads:  # accepted is what waits in the queue, not what is on its way there
        before = queued(server)
        thread.start()
        assert wait_until(lambda before=before: queued(server) > before)
    assert server.stop() == 0
    for thread in threads:
        thread.join()
    assert [status for status, _, _ in found] == [200] * 3
    assert all(len(told["translatedText"]) == 200 for _, told, _ in found)
