"""What is not served: each with its status and its reason, and the server lives on."""

import concurrent.futures
import socket
import time

import pytest
from server import Server, wait_until

TEXT = "The old dog sleeps in the garden."


@pytest.mark.parametrize(("path", "fields", "status", "told"), [
    ("/translate", {"q": TEXT, "source": "en", "target": "xx"}, 400, "no model here translates from en to xx"),
    ("/translate", {"q": 5, "source": "en", "target": "fr"}, 400, "q is missing or not a text"),
    ("/translate", {"q": ["x"] * 300, "source": "en", "target": "fr"}, 413, "300 texts"),
    ("/translate", {"q": "x" * 30_000, "source": "en", "target": "fr"}, 413, "30000 characters"),
    ("/translate", {"q": "x", "source": "en", "target": "fr", "format": "pdf"}, 400, "text or html"),
    ("/translate", {"q": "\ud800", "source": "en", "target": "fr"}, 400, "half a character"),
    ("/api/translate", {"text": ["A.", "\ud800"]}, 422, "half a character"),
    ("/api/translate", {"text": "x", "beam": 500}, 422, "beam is 500"),
    ("/api/translate", {"text": "x", "n_best": 0}, 422, "n_best is 0"),
    ("/api/translate", {"text": "x", "consensus": 1}, 422, "consensus is 1"),
    ("/api/translate", {"text": "x", "consensus": 4, "n_best": 2}, 422, "consensus and n_best cannot"),
    ("/api/translate", {"text": "x", "model": "gaps"}, 422, "a model to fill"),
    ("/api/fill", {"text": "no gap"}, 422, "has no [MASK]"),
    ("/api/look", {"model": "en-fr", "text": "x " * 2000}, 413, "looked into"),
    ("/api/write", {"prompt": "The"}, 422, "there is no field 'prompt' here; known here: model, text, tokens"),
    ("/api/translate", {"text": "x", "beem": 2}, 422, "there is no field 'beem' here; did you mean beam?"),
    ("/api/look", {"model": "gaps", "text": "x", "story": "y"}, 422, "there is no field 'story' here"),
    ("/api/tokenize", {"text": "x", "texts": "y"}, 422, "there is no field 'texts' here; did you mean text?"),
    ("/api/answer", {"story": [], "question": "?"}, 422, "no sentence"),
    ("/nowhere", {"a": 1}, 404, "Not Found"),
])  # fmt: skip
def test_what_cannot_be_served_is_refused_with_its_reason(server, path, fields, status, told):
    found, answer, _ = server.ask(path, fields)
    assert found == status and told in answer["error"]


@pytest.mark.parametrize("fields", [{"max_tokens": 10**9}, {"n": 99}, {"temperature": "hot"}, {"logprobs": 50},
                                    {"top_p": 0}, {"stop": [""]}, {"seed": -1}, {"prompt": {"a": 1}}])  # fmt: skip
def test_every_number_of_a_completion_has_its_bounds(server, fields):
    status, answer, _ = server.ask("/v1/completions", {"model": "tales", "prompt": "a"} | fields)
    assert status in {400, 422} and answer["error"]["message"]


def test_what_is_no_request_is_refused_and_the_server_lives_on(server):
    for raw, status in (
        (b"{", 400),
        (b"[1]", 400),
        (b"\xff\xfe", 400),
        (b"[" * 60_000, 400),
        (b"[" * 100_000, 413),
        (b"x" * 3_000_000, 413),
    ):
        assert server.ask("/translate", raw=raw)[0] == status
    for junk in (
        b"GARBAGE\r\n\r\n",
        b"POST /translate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999999\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
            connection.sendall(junk)
            assert connection.recv(100).startswith(b"HTTP/1.1 4")
    assert server.ask("/health")[0] == 200


HEAD = b"POST /translate HTTP/1.1\r\nHost: 127.0.0.1\r\n"


@pytest.mark.parametrize(
    ("start", "piece"),
    [
        (HEAD + b"x: ", b"x"),
        (HEAD + b"x: y", b"\r\nx: y"),
        (b"GET /", b"/"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\nx: y", b"\r\nx: y"),
    ],
    ids=["one header", "many headers", "the path", "after the body"],
)
def test_a_head_without_an_end_is_refused(server, start, piece):
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(start)
        with pytest.raises(OSError):  # it hangs up
            for _ in range(1000):
                connection.sendall(piece * (10_000 // len(piece)))
                time.sleep(0.001)
    assert server.ask("/health")[0] == 200


def test_whatever_multiplies_work_is_bounded(server):
    for path, fields in (
        ("/api/look", {"model": "en-fr", "text": TEXT, "target": "mot " * 1000}),
        ("/api/look", {"model": "en-fr", "text": TEXT, "target": "漢" * 500}),
        ("/api/look", {"model": "en-fr", "text": TEXT, "target": "漢" * 60, "why": True}),
        ("/api/look", {"model": "tales", "text": "漢" * 500}),
        ("/api/look", {"model": "stories", "text": "Where is Mary?", "story": ["Mary went home."] * 5000}),
        ("/api/answer", {"question": "Where is Mary?", "story": ["Mary went home."] * 100 + ["Mary " * 300]}),
        ("/api/answer", {"question": "Where is Mary?", "story": "Mary " * 500}),
        ("/api/fill", {"text": "[MASK] " * 30, "top": 100}),
        ("/api/translate", {"text": ["漢" * 5000] * 4, "n_best": 8}),
        ("/api/translate", {"text": TEXT, "prefix": "漢" * 100}),
        ("/api/translate", {"text": TEXT, "prefix": "mot " * 1000}),
        ("/api/translate", {"text": ["a"] * 257}),
        ("/translate", {"q": "<b>" * 2001, "source": "en", "target": "fr", "format": "html"}),
    ):
        assert server.ask(path, fields)[0] == 413, path
    assert server.ask("/v1/completions", {"model": "tales", "prompt": "a", "stop": "x" * 1000})[0] == 422
    assert server.ask("/v1/completions", raw=b'{"model": "tales", "temperature": 1' + b"0" * 400 + b"}")[0] == 422


def test_a_full_queue_refuses_at_once_and_an_empty_one_takes_again(folders):
    server = Server(folders[1:2], "--queue", "3000")
    try:
        long = {"model": "tales", "prompt": "The", "max_tokens": 2000, "temperature": 1}
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            first = [pool.submit(server.ask, "/v1/completions", long)]
            assert wait_until(lambda: 'queued_tokens{model="tales"} 2' in server.ask("/metrics")[1])
            status, told, headers = server.ask("/v1/completions", long)
            assert not first[0].done()  # it did not wait for its turn to be refused
            assert status == 429 and int(headers["Retry-After"]) >= 1 and "waiting already" in told["error"]["message"]
            assert first[0].result()[0] == 200
        assert server.ask("/v1/completions", long | {"max_tokens": 3})[0] == 200
    finally:
        assert server.stop() == 0


def test_a_stream_that_is_refused_says_so_by_its_status_and_one_that_is_cut_says_why(folders):
    server = Server(folders[1:2], "--queue", "1000")
    try:
        long = {"model": "tales", "prompt": "The", "max_tokens": 900, "temperature": 0, "stream": True}
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda _: server.ask("/v1/completions", long), range(8)))
        statuses = [status for status, _, _ in found]
        assert 200 in statuses and 429 in statuses and set(statuses) == {200, 429}
        assert all("Retry-After" in headers for status, _, headers in found if status == 429)
        _, told, _ = server.ask("/v1/completions", long | {"max_tokens": 3, "temperature": 1, "seed": 1})
        assert '"finish_reason": "length"' in told and told.endswith("data: [DONE]\n\n")
    finally:
        server.stop()
