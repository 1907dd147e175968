"""A writer continues a text: the same for the same seed, as far as asked, and it can be scored."""

import math
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

import regard
from regard.config import ModelConfig
from regard.data.running import encode_stream
from regard.engines.torch import TextStep
from regard.families.write.pipeline import _before_stop
from regard.model.transformer import CausalLM


@pytest.fixture(scope="module")
def writer(writer_folder):
    return regard.load(writer_folder)


def test_texts_without_a_seed_open_the_engine_once_and_differ(writer_folder, monkeypatch):
    """An engine holds the weights and threads of its own; only a seed needs a new one."""
    from regard.engines import ctranslate2

    opened = []
    real = ctranslate2.ctranslate2.Generator

    def count(*words, **options):
        opened.append(real(*words, **options))
        return opened[-1]

    writer = regard.load(writer_folder, engine="ctranslate2")
    monkeypatch.setattr(ctranslate2.ctranslate2, "Generator", count)
    seeded = writer("The", tokens=20, seed=7)
    assert len(opened) == 1
    texts = {writer("The", tokens=20) for _ in range(6)} | set(writer.samples("The", count=4, tokens=20))
    assert len(opened) == 2 and len(texts) > 5
    with ThreadPoolExecutor(4) as pool:  # while others draw, a seed is still a seed
        tasks = [pool.submit(writer, "The", tokens=20, seed=(None, 7)[number % 2]) for number in range(12)]
    assert {task.result() for task in tasks[1::2]} == {seeded}
    assert len({task.result() for task in tasks[::2]}) > 3
    assert len(opened) <= 2 + 6 + 3  # one for each seeded text, and one for each further thread


def test_the_same_seed_writes_the_same_text_also_on_the_second_call(writer):
    first = writer("The", tokens=40, seed=7)
    assert writer("The", tokens=40, seed=7) == first
    assert len({writer("The", tokens=40, seed=seed) for seed in range(4)}) > 1
    assert list(writer.samples("The", count=2, seed=7, tokens=40)) == [first, writer("The", tokens=40, seed=8)]


def test_streaming_gives_the_same_text_in_pieces(writer):
    pieces = list(writer.stream("The", tokens=40, seed=3))
    assert len(pieces) > 5 and "".join(pieces) == writer("The", tokens=40, seed=3)


def test_it_stops_before_a_stop_string_and_says_nothing_of_it(writer):
    whole = writer("The", tokens=60, seed=5)
    stop = whole[len(whole) // 2 :][:3]
    assert writer("The", tokens=60, seed=5, stop=stop) == whole[: whole.index(stop)]
    assert "".join(_before_stop(iter(["ab", "c", "dx"]), ["cdy", "zz"])) == "abcdx"
    assert "".join(_before_stop(iter(["ab", "c", "d", "e"]), ["bcd"])) == "a"
    with pytest.raises(regard.ConfigError, match="stop string is empty"):
        writer("The", stop="")


def test_a_sample_ends_at_its_stop_or_when_nobody_listens(writer):
    whole = writer.sample("The", tokens=60, seed=5)
    stop = whole.text[5:8]
    ended = writer.sample("The", tokens=60, seed=5, stop=[stop])
    assert ended.text == whole.text[: whole.text.index(stop)] and ended.reason == "stop"
    assert len(ended.tokens) < len(whole.tokens) == 60 and whole.reason == "length"
    heard = []
    cut = writer.sample("The", tokens=60, seed=5, push=lambda piece: heard.append(piece) or len(heard) < 3)
    assert len(cut.tokens) < 10 and cut.text == "".join(heard) and len(heard) == 3


def test_every_token_of_a_text_longer_than_the_window_has_its_chance(writer):
    room = writer.model.config.max_positions
    found = writer.sample("The", tokens=3 * room, temperature=1.5, seed=2, top_probabilities=3)
    assert len(found.token_scores) == len(found.tokens) > room
    assert [one.token for one in found.token_scores] == found.tokens
    short = writer.sample("The", tokens=5, temperature=1.5, seed=2, top_probabilities=3)
    assert [one.probability for one in short.token_scores] == pytest.approx(
        [one.probability for one in found.token_scores[:5]]
    )


def test_pieces_of_a_tokenizer_that_leaves_out_first_spaces_have_their_spaces(writer, monkeypatch):
    """As those of Llama 2 do: what a token says depends on whether another is before it."""
    words = {3: "▁Hello", 4: "▁world", 5: "▁again"}

    class Pieces:
        def encode_part(self, text):
            return [3] * len(text.split())

        def decode(self, ids):
            return "".join(words[number] for number in ids).replace("▁", " ").removeprefix(" ")

    monkeypatch.setattr(writer, "tokenizer", Pieces())
    assert "".join(writer._pieces("", iter([3, 4, 5]))) == "Hello world again"
    assert "".join(writer._pieces("Hello", iter([4, 5]))) == " world again"


@torch.no_grad()
def test_a_text_longer_than_the_block_slides_out_of_sight(writer):
    room = writer.model.config.max_positions
    ids = torch.randint(2, 300, (1, 3 * room))
    step = TextStep(writer.model, ids[:, :5])
    for place in range(5, 3 * room):
        seen = step._ids
        expected = writer.model.logits(writer.model(seen))[:, -1]
        assert torch.allclose(step.logits, expected, atol=1e-4)  # whatever it still sees, it sees right
        assert room // 2 < seen.shape[1] <= room or place < room
        step(ids[:, place])
    assert len(writer("The old dog sleeps. " * 30, tokens=20, seed=1, temperature=1.5)) > 5


def test_evaluate_predicts_every_token_once_whatever_the_stride(writer, pairs, tmp_path):
    text = pairs["source"].read_text()[:3000]
    (tmp_path / "a.txt").write_text(text)
    reports = [writer.evaluate(tmp_path / "a.txt", stride=stride) for stride in (1, 7, 16, 32)]
    assert len({report["tokens"] for report in reports}) == 1
    assert reports[0]["bytes"] == len(text.encode())
    assert reports[0]["loss"] < reports[-1]["loss"]  # more to go by
    for report in reports:
        assert report["perplexity"] == pytest.approx(math.exp(report["loss"]))
        bits = report["loss"] * report["tokens"] / math.log(2) / report["bytes"]
        assert report["bits_per_byte"] == pytest.approx(bits)
    with pytest.raises(regard.ConfigError, match="stride=33, but the model sees 32"):
        writer.evaluate(tmp_path / "a.txt", stride=33)


@torch.no_grad()
def test_the_loss_of_a_short_text_is_that_of_one_forward(writer, tmp_path):
    (tmp_path / "a.txt").write_text("The old dog sleeps.\n")
    stream = encode_stream(["The old dog sleeps.\n"], writer.tokenizer)
    logits = writer.model.logits(writer.model(stream[None, :-1].long()))[0]
    expected = torch.nn.functional.cross_entropy(logits, stream[1:].long())
    assert writer.evaluate(tmp_path / "a.txt")["loss"] == pytest.approx(expected.item(), rel=1e-4)


def test_looking_shows_who_sees_whom_and_nobody_sees_ahead(writer):
    seen = writer.look("The old dog sleeps.")
    rows, columns, weights, _, _ = seen.kinds["text"]
    assert rows == columns and weights.shape[:2] == (2, 4)
    assert (weights.triu(1) == 0).all()
    assert "old" in seen.to_text()


@pytest.mark.parametrize("tokenizer", ["char", "byte", "bpe"])
@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_every_tokenizer_and_kind_learns_the_text(tokenizer, kind, tmp_path):
    text = tmp_path / "abc.txt"
    text.write_text("the cat sat on the mat; thé end.\n" * 200, encoding="utf-8")
    settings = {
        "model": {
            "kind": kind,
            "layers": 1,
            "width": 32,
            "heads": 2,
            "ffn_width": 64,
            "max_positions": 48,
            "dropout": 0.0,
        },
        "train": {"tokens_per_batch": 512, "warmup_steps": 20, "learning_rate": 0.006, "valid_every": 1000},
        "text": {"tokenizer": tokenizer} | ({"vocab_size": 300} if tokenizer == "bpe" else {}),
        "stop": {"steps": 250},
        "threads": 1,
    }
    finished = regard.train("write", text=text, to=tmp_path / "m", settings=settings)
    assert finished.scores["bits_per_byte"] < 0.3
    prompt = "the cat sat on the mat; thé end.\nthe cat sat on the"
    text = regard.load(tmp_path / "m")(prompt, temperature=0, tokens=40)
    assert text.startswith(" mat; thé end.\n")


def test_too_little_text_is_told_with_the_remedy(tmp_path):
    (tmp_path / "a.txt").write_text("A few words.\n" * 3)
    with pytest.raises(regard.CorpusError, match=r"a block is 128 of them; give more text, or --set model"):
        regard.train("write", text=tmp_path / "a.txt", to=tmp_path / "m", settings={"threads": 1})
    with pytest.raises(regard.ConfigError, match=r"tokenizer=wordpiece is not one of a writer"):
        regard.train("write", text=tmp_path / "a.txt", to=tmp_path / "m", settings={"text": {"tokenizer": "wordpiece"}})
    with pytest.raises(regard.ConfigError, match=r"model\.kind=bert is not a kind of write"):
        regard.train("write", text=tmp_path / "a.txt", to=tmp_path / "m", settings={"model": {"kind": "bert"}})


def test_a_writer_that_sees_a_million_tokens_keeps_room_for_those_it_has_read():
    torch.manual_seed(0)
    config = ModelConfig(
        vocab_size=20, layers=1, width=8, heads=2, ffn_width=8, positions="rotary", max_positions=2**20
    )
    model = CausalLM(config).eval()
    ids = torch.tensor([[1, 2, 3]])
    step = TextStep(model, ids)
    rooms = set()
    for _ in range(600):
        last = step.logits.argmax(-1)
        ids = torch.cat([ids, last[:, None]], dim=1)
        step(last)
        rooms.add(step._cache.keys.shape[3])
    assert rooms == {256, 514, 1030}
    with torch.inference_mode():
        assert torch.allclose(step.logits, model.logits(model(ids))[:, -1], atol=1e-5)
