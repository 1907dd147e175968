"""The server as its clients see it: what they speak, how much they may ask, who they are, and how it stops."""

import concurrent.futures
import json
import os
import re
import shutil
import socket
import threading
import time

import pytest
import torch
from server import Running, wait_until

import regard
from regard.folder import ABOUT
from regard.run.journal import METRICS
from regard.serve.limits import RequestError
from regard.serve.own import read_run

TEXT = "The old dog sleeps in the garden."


def test_libretranslates_client_translates_lists_languages_and_detects(server, folders):
    from libretranslatepy import LibreTranslateAPI

    client = LibreTranslateAPI(server.url + "/")
    expected = regard.load(folders[0])(TEXT)
    assert client.translate(TEXT, "en", "fr") == expected
    assert client.translate(TEXT, "auto", "fr") == expected
    assert [one["code"] for one in client.languages()] == ["en"]
    assert client.detect(TEXT)[0]["language"] == "en"
    status, told, _ = server.ask("/translate", {"q": [TEXT, "", "The dog."], "source": "en", "target": "fr"})
    assert status == 200 and told["translatedText"][:2] == [expected, ""] and len(told["translatedText"]) == 3
    status, told, _ = server.ask(
        "/translate", {"q": "The dog.\n\nThe cat.", "source": "en", "target": "fr", "alternatives": 2}
    )
    assert told["translatedText"].count("\n") == 2
    assert server.ask("/frontend/settings")[1]["charLimit"] == 20000


def test_openais_client_writes_streams_and_tells_chances(server, folders):
    import openai

    client = openai.OpenAI(base_url=server.url + "/v1", api_key="none")
    assert {model.id for model in client.models.list()} == {"en-fr", "tales", "gaps", "stories"}
    writer = regard.load(folders[1])
    ask = {"model": "tales", "prompt": "The old", "max_tokens": 12, "temperature": 0.7, "seed": 3}
    whole = client.completions.create(**ask)
    assert whole.choices[0].text == writer("The old", tokens=12, temperature=0.7, seed=3)
    assert whole.usage.completion_tokens <= 12
    pieces = [event.choices[0].text for event in client.completions.create(**ask, stream=True)]
    assert "".join(pieces) == whole.choices[0].text and len(pieces) > 2
    several = client.completions.create(**ask | {"temperature": 0}, n=2, logprobs=3)
    first = several.choices[0]
    assert len(several.choices) == 2 and first.text == several.choices[1].text
    assert len(first.logprobs.tokens) == len(first.logprobs.token_logprobs) == len(first.logprobs.top_logprobs)
    for token, chance, others in zip(
        first.logprobs.tokens, first.logprobs.token_logprobs, first.logprobs.top_logprobs, strict=True
    ):
        assert chance <= 0 and (others[token] == pytest.approx(chance, abs=1e-4) if token in others else True)
    stopped = client.completions.create(**ask, stop=[whole.choices[0].text[3:6]])
    assert stopped.choices[0].text == whole.choices[0].text[:3] and stopped.choices[0].finish_reason == "stop"
    with pytest.raises(openai.NotFoundError, match="no model other"):
        client.completions.create(model="other", prompt="x")


def test_a_stream_ends_in_done(server):
    raw = json.dumps({"model": "tales", "prompt": "The", "max_tokens": 5, "stream": True}).encode()
    status, text, headers = server.ask("/v1/completions", raw=raw)
    assert status == 200 and headers["Content-Type"].startswith("text/event-stream")
    events = text.strip().split("\n\n")
    assert events[-1] == "data: [DONE]" and all(json.loads(event[6:])["object"] for event in events[:-1])


def test_our_own_routes_answer_as_the_library_does(server, folders):
    translator, _, filler, answerer = (regard.load(folder) for folder in folders)
    status, told, _ = server.ask("/api/translate", {"text": TEXT, "n_best": 3, "beam": 4})
    found = translator.translate(TEXT, n_best=3, beam=4, alignments=True)
    one = told["translations"][0]
    assert (one["text"], one["tokens"]) == (found.text, found.tokens) and one["score"] == pytest.approx(
        found.score, abs=1e-4
    )
    assert [tuple(link) for link in one["alignment"]] == found.alignment and len(one["alternatives"]) == 2
    status, told, _ = server.ask("/api/translate", {"text": TEXT, "prefix": "Le"})
    assert told["translations"][0]["text"].startswith("Le")
    status, told, _ = server.ask("/api/fill", {"text": "The [MASK] dog.", "top": 2})
    assert told["text"] == filler("The [MASK] dog.") and len(told["gaps"][0]) == 2
    tale = ["Brian is a frog.", "Brian is yellow.", "Greg is a frog."]
    status, told, _ = server.ask("/api/answer", {"story": tale, "question": "What color is Greg?"})
    assert told["text"] == answerer(tale, "What color is Greg?")
    told_as_text = server.ask("/api/answer", {"story": " ".join(tale), "question": "What color is Greg?"})[1]
    assert told_as_text == told and told["sentences"] == tale  # a story in one text is split as everywhere
    assert server.ask("/api/answer", {"story": "\n".join(tale), "question": "What color is Greg?"})[1] == told
    status, seen_as_text, _ = server.ask(
        "/api/look", {"model": "stories", "text": "What color is Greg?", "story": " ".join(tale)}
    )
    assert seen_as_text["kinds"]["hops"]["columns"] == tale
    status, told, _ = server.ask("/api/look", {"model": "en-fr", "text": TEXT, "why": True})
    seen = translator.look(TEXT, why=True)
    assert told["answer"] == seen.answer and [tuple(link) for link in told["alignment"]] == seen.alignment
    assert torch.allclose(torch.tensor(told["kinds"]["cross"]["weights"]), seen.kinds["cross"].weights, atol=1e-5)
    status, told, _ = server.ask("/api/tokenize", {"text": TEXT})  # of the first model, if none is named
    assert told["model"] == "en-fr" and told["ids"] == translator.tokenizer.encode(TEXT)
    assert server.ask("/api/runs")[1] == ["en-fr", "gaps", "stories", "tales"]
    status, told, _ = server.ask("/api/runs/en-fr")
    assert status == 200 and told["events"][-1]["step"] > 0
    frames = server.ask("/api/runs/en-fr/film")[1]["frames"]
    assert [frame["step"] for frame in frames] == [event["step"] for event in told["events"] if "bleu" in event]
    assert all(len(frame["samples"]) == 3 and frame["probes"] for frame in frames)
    assert server.ask(f"/api/runs/en-fr/film?after={frames[-1]['step']}")[1] == {"frames": []}
    assert server.ask("/api/runs/none/film")[0] == 404
    assert server.ask("/openapi.json")[1]["info"]["title"] == "regard"


def test_tags_stay_with_their_words(server):
    html = "<div>\n <p>The <b>old</b> dog <i>sleeps</i>.<br>It is &lt;late&gt;.</p>"
    html += '<script>let a = "The dog";</script></div>'
    status, told, _ = server.ask("/translate", {"q": html, "source": "en", "target": "fr", "format": "html"})
    said = told["translatedText"]
    assert (
        status == 200 and said.startswith("<div>\n <p>") and said.endswith('<script>let a = "The dog";</script></div>')
    )
    for tag in ("<b>", "</b>", "<i>", "</i>", "<br>", "</p>"):
        assert said.count(tag) == 1
    assert said.index("<b>") < said.index("</b>") and said.index("<i>") < said.index("</i>")


@pytest.mark.parametrize(("path", "fields", "status", "told"), [
    ("/translate", {"q": TEXT, "source": "en", "target": "xx"}, 400, "nobody here translates from en to xx"),
    ("/translate", {"q": 5, "source": "en", "target": "fr"}, 400, "q is missing or not a text"),
    ("/translate", {"q": ["x"] * 300, "source": "en", "target": "fr"}, 413, "300 texts"),
    ("/translate", {"q": "x" * 30_000, "source": "en", "target": "fr"}, 413, "30000 characters"),
    ("/translate", {"q": "x", "source": "en", "target": "fr", "format": "pdf"}, 400, "text or html"),
    ("/translate", {"q": "\ud800", "source": "en", "target": "fr"}, 400, "half a character"),
    ("/api/translate", {"text": "x", "beam": 500}, 422, "beam is 500"),
    ("/api/translate", {"text": "x", "n_best": 0}, 422, "n_best is 0"),
    ("/api/translate", {"text": "x", "model": "gaps"}, 422, "a model to fill"),
    ("/api/fill", {"text": "no gap"}, 422, "has no [MASK]"),
    ("/api/look", {"model": "en-fr", "text": "x " * 2000}, 413, "looked into"),
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


def test_a_request_may_come_in_pieces_and_several_one_after_another(server):
    body = json.dumps({"q": TEXT, "source": "en", "target": "fr"}).encode()
    head = f"POST /translate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        for start in range(0, len(head + body), 40):
            connection.sendall((head + body)[start : start + 40])
            time.sleep(0.002)
        connection.sendall(head + body)
        received = b""
        while received.count(b"translatedText") < 2:
            received += connection.recv(4096)
    assert received.count(b"HTTP/1.1 200") == 2


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


def test_a_full_queue_refuses_at_once_and_an_empty_one_takes_again(folders):
    server = Running(folders[1:2], "--queue", "3000")
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


def queued(server):
    return float(re.search(r'queued_tokens{model="en-fr"} (\S+)', server.ask("/metrics")[1])[1])


def test_what_was_accepted_is_answered_before_it_stops(folders):
    server = Running(folders[:2])
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


def test_a_text_of_many_lines_is_one_text(server):
    text = "\n".join(f"The cat sees {number} dogs." for number in range(300))
    status, told, _ = server.ask("/translate", {"q": text, "source": "en", "target": "fr"})
    assert status == 200 and len(told["translatedText"].split("\n")) == 300


def test_the_description_tells_what_requests_hold(server):
    described = server.ask("/openapi.json")[1]["paths"]
    for path, needed in (
        ("/translate", ["q", "target"]),
        ("/v1/completions", ["model"]),
        ("/api/look", ["text"]),
        ("/v1/embeddings", ["input"]),
    ):
        body = described[path]["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert body["required"] == needed and set(needed) <= body["properties"].keys()


def test_people_who_look_inside_at_the_same_time_see_what_each_asked_for(server):
    targets = [f"{'le chien ' * count}dort." for count in (1, 2, 3, 4)]
    asked = [{"model": "en-fr", "text": TEXT, "target": target} for target in targets]
    alone = [server.ask("/api/look", one)[1] for one in asked]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda one: server.ask("/api/look", one), asked * 4))
    assert [status for status, _, _ in found] == [200] * 16
    assert [told for _, told, _ in found] == alone * 4


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


def test_a_stream_that_is_refused_says_so_by_its_status_and_one_that_is_cut_says_why(folders):
    server = Running(folders[1:2], "--queue", "1000")
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


def test_a_long_line_is_translated_in_parts_as_the_library_does(server, folders):
    translator = regard.load(folders[0])
    lines = [" ".join([TEXT] * 40), "", TEXT, "x" * 500]
    status, told, _ = server.ask("/api/translate", {"text": lines})
    found = [translator.translate(line, alignments=True) for line in lines]
    assert status == 200 and [one["text"] for one in told["translations"]] == [one.text for one in found]
    for one, expected in zip(told["translations"], found, strict=True):
        assert one["notes"] == expected.notes and [tuple(link) for link in one["alignment"]] == expected.alignment
    status, told, _ = server.ask("/api/translate", {"text": lines[0], "prefix": "Le"})
    assert told["translations"][0]["text"] == translator.translate(lines[0], prefix="Le").text


def test_a_look_that_nobody_waits_for_is_not_computed_further(server):
    body = json.dumps({"model": "en-fr", "text": TEXT, "target": "le chien " * 20, "why": True}).encode()
    head = f"POST /api/look HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    idle = lambda: 'regard_queued_tokens{model="en-fr"} 0' in server.ask("/metrics")[1]  # noqa: E731
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(head + body)
            time.sleep(0.02)
    assert wait_until(idle, 30)


def test_writers_that_are_asked_at_the_same_time_write_what_they_write_alone(folders, tmp_path):
    other = tmp_path / "verses"
    shutil.copytree(folders[1], other)
    server = Running([folders[1], other])
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


def test_an_encoder_is_served_to_openais_client_and_to_ours(tmp_path, pairs):
    import openai
    import transformers

    from regard.text.vocabulary import learn_wordpieces

    pieces = learn_wordpieces(pairs["source"].read_text().splitlines(), 300, lowercase=True).pieces
    shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
    config = transformers.BertConfig(vocab_size=len(pieces), max_position_embeddings=40, **shape)
    transformers.BertModel(config).eval().save_pretrained(tmp_path / "vectors")
    (tmp_path / "vectors" / "vocab.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")
    expected = regard.load(tmp_path / "vectors").encode([TEXT, "The cat."])
    server = Running([tmp_path / "vectors"])
    try:
        client = openai.OpenAI(base_url=server.url + "/v1", api_key="none")
        for more in ({"encoding_format": "float"}, {}):  # by itself, their client asks for base64
            found = client.embeddings.create(model="vectors", input=[TEXT, "The cat."], **more)
            assert torch.allclose(torch.tensor([one.embedding for one in found.data]), expected, atol=1e-5)
        assert found.usage.prompt_tokens > 5
        status, told, _ = server.ask("/api/encode", {"text": TEXT})
        assert status == 200 and torch.allclose(torch.tensor(told["vectors"][0]), expected[0], atol=1e-5)
        assert server.ask("/api/encode", {"text": TEXT * 20})[0] == 413  # nothing is cut silently
        assert server.ask("/v1/embeddings", {"input": []})[0] == 422
        assert server.ask("/v1/embeddings", {"input": TEXT, "encoding_format": "int8"})[0] == 400
        assert server.ask("/v1/completions", {"model": "vectors", "prompt": "a"})[0] == 422
    finally:
        assert server.stop() == 0


def test_a_run_whose_files_are_damaged_is_told_so_or_read_as_far_as_it_is_whole(tmp_path):
    (tmp_path / "run").mkdir()
    assert read_run(tmp_path, -1) == {"events": [], "scores": {}, "step": None}
    (tmp_path / "run" / METRICS).write_text('{"step": 1}\n[]\n{"step": 2, "loss": NaN}\n{"st')
    assert read_run(tmp_path, 0)["events"] == [{"step": 1}, {"step": 2, "loss": None}]
    for content in ("[]", '"x"', "[" * 100_000, '{"step": NaN}', '{"step": 1, "step": 2}', "{"):
        (tmp_path / ABOUT).write_text(content)
        with pytest.raises(RequestError, match="cannot be read now"):
            read_run(tmp_path, -1)
    (tmp_path / ABOUT).write_text('{"step": 7}')
    os.mkfifo(tmp_path / "run" / "pipe")
    (tmp_path / "run" / "pipe").replace(tmp_path / "run" / METRICS)
    with pytest.raises(RequestError, match="cannot be read now"):
        read_run(tmp_path, -1)
