"""The server as its clients see it: what they speak, and that it answers as the library does."""

import json
import os
import socket
import time

import pytest
import torch
from server import Server

import regard
from regard.folder import ABOUT
from regard.serve.limits import RequestError
from regard.serve.own import read_run
from regard.training.log import METRICS

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
    status, told, _ = server.ask("/api/translate", {"text": f"{TEXT} {TEXT}", "consensus": 4})
    assert told["translations"][0]["text"] == translator(f"{TEXT} {TEXT}", consensus=4)
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
    frames = server.ask("/api/runs/en-fr/snapshots")[1]["snapshots"]
    scored = [event["step"] for event in told["events"] if "bleu" in event]
    assert frames[0]["step"] == 0 and set(scored) <= {frame["step"] for frame in frames}
    assert all(len(frame["samples"]) == 3 and frame["probes"] for frame in frames)
    assert server.ask(f"/api/runs/en-fr/snapshots?after={frames[-1]['step']}")[1] == {"snapshots": []}
    assert server.ask("/api/runs/none/snapshots")[0] == 404
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
        for one in body.get("anyOf", [body]):  # a look takes the fields of one of several families
            assert set(needed) <= set(one["required"]) and set(needed) <= one["properties"].keys()


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


def test_a_classifier_refuses_what_costs_much_though_its_tokenizer_sees_one_token(classifier_folder):
    server = Server([classifier_folder])
    try:
        for text in ("-" * 20_000, "😀" * 10_000, "x" * 20_000, "x" * 2000):
            assert server.ask("/api/look", {"text": text, "why": True})[0] == 413
        assert server.ask("/api/classify", {"text": "-" * 20_000})[0] == 200
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
    server = Server([tmp_path / "vectors"])
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
        assert server.ask("/v1/embeddings", {"input": TEXT, "encoding_format": "int8"})[0] == 422
        assert server.ask("/v1/embeddings", {"input": TEXT, "dimensions": 32, "encoding_format": None})[0] == 200
        assert server.ask("/v1/embeddings", {"input": TEXT, "dimensions": 8})[0] == 422  # not silently 32
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
