"""Draws models of ours: a task, a tokenizer and every setting of the network at random, packed as training packs them,
and opens them in `transformers`. Used by bench/interop.py and its short form in the tests.
"""

import json
import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import torch
import transformers

import regard
from regard.config import ModelConfig, RunConfig, resolve
from regard.errors import RegardError
from regard.families import find_recipe
from regard.folder import write_model
from regard.text.vocabulary import (
    learn_bytes,
    learn_characters,
    learn_masked,
    learn_pairs,
    learn_running,
    learn_wordpieces,
)

TEXT = [
    "The old dog sees a cat.",
    "A man reads the red book in the house.",
    "Élan vital, naïve café: 12 + 30 = 42!",
    "Does the woman sleep? No, she isn't here.",
] * 3
NASTY = [
    "The old dog sees a cat.",
    " two  spaces ",
    "naïve Café\u0301",
    "漢字 and 😀",
    "tab\tand\nline",
    "isn't, won't!",
    "A</s>B <|endoftext|>",
    "1234567 3.14",
    "\u200bzero\u00a0nbsp",
    "  ",
]
CLASSES = {"translate": "AutoModelForSeq2SeqLM", "write": "AutoModelForCausalLM", "fill": "AutoModelForMaskedLM"}
TOKENS = 8


def draw_ours(count: int, seed: int, place: Path) -> dict[str, Any]:
    tally, bad = Counter[str](), list[str]()
    for number in range(count):
        folder = place / "ours"
        shutil.rmtree(folder, ignore_errors=True)
        what, outcome = draw_one(folder, seed * 1_000_003 + number)
        tally[outcome.split(":")[0]] += 1
        if outcome.split(":")[0] in ("wrong", "crashed"):
            bad.append(f"seed {seed * 1_000_003 + number}: {what}: {outcome}")
            print(bad[-1][:1500], flush=True)
    return {**tally, "bad": bad[:20]}


def draw_one(folder: Path, seed: int) -> tuple[str, str]:
    """What was drawn, and what came of it."""
    rng = random.Random(seed)
    torch.manual_seed(seed)
    task = rng.choice(list(CLASSES))
    settings = draw_settings(rng, task)
    what = f"{task} {settings}"
    try:
        config = resolve({"task": task, "model": settings})
    except RegardError:
        return what, "refused: no such model"
    try:
        pack(folder, task, config, rng)
        if json.loads((folder / "config.json").read_text())["model_type"].startswith("regard-"):
            regard.load(folder, engine=None if task == "fill" else "torch")  # which opens here at least
            return what, "our own layout"
        wrong = compare(folder, task)
        return what, f"wrong: {wrong}" if wrong else "equal"
    except RegardError as problem:
        return what, f"refused: {str(problem)[:80]}"
    except Exception as problem:
        return what, f"crashed: {type(problem).__name__}: {str(problem)[:200]}"


def draw_settings(rng: random.Random, task: str) -> dict[str, Any]:
    """The network of a kind of this task, with some of its settings at random."""
    kind = rng.choice(
        [one for one, settings in find_recipe(task).kinds.items() if "model" in settings]
    )  # not made of other folders
    heads = rng.choice([1, 2, 4])
    shape = {
        "width": heads * rng.choice([8, 16, 12]),
        "heads": heads,
        "layers": rng.choice([1, 2]),
        "ffn_width": 24,
        "max_positions": rng.choice([32, 64]),
        "dropout": rng.choice([0.0, 0.1]),
    }
    others = {
        "decoder_layers": [1, 2, 3],
        "kv_heads": [1, heads, 2],
        "norm": ["post", "pre"],
        "epsilon": [1e-5, 1e-6],
        "norm_kind": ["layer", "rms"],
        "activation": ["relu", "gelu", "gelu_new", "silu"],
        "tie_embeddings": [False],
        "is_gated": [True, False],
        "has_bias": [True, False],
        "positions": ["sinusoidal", "learned", "rotary"],
        "rotary_base": [500.0, 10_000.0],
        "token_types": [1, 2, 3],
        "has_output_bias": [True],
        "value_width": [4, 8],
        "hops": [2],
        "tying": ["layer-wise"],
        "controller": ["zero"],
        "restarts": [2],
    }
    others = {name: values for name, values in others.items() if name in ModelConfig.model_fields}
    drawn = {name: rng.choice(others[name]) for name in rng.sample(sorted(others), k=rng.choice([0, 1, 1, 2, 3]))}
    return {"kind": kind} | find_recipe(task).kinds[kind]["model"] | shape | drawn


def pack(folder: Path, task: str, config: RunConfig, rng: random.Random) -> None:
    """Writes a model with random weights as the end of a training does."""
    makers = {
        "translate": [lambda: learn_pairs(TEXT, 330)],
        "write": [lambda: learn_running(TEXT, 330), learn_bytes, lambda: learn_characters(TEXT)],
        "fill": [lambda: learn_masked(TEXT, 330), lambda: learn_wordpieces(TEXT, 200, lowercase=rng.random() < 0.5)],
    }
    tokenizer = rng.choice(makers[task])()
    family, model = find_recipe(task), config.model.model_copy(update={"vocab_size": tokenizer.vocab_size})
    network = family.build(model, tokenizer)
    with torch.no_grad():
        for name, weight in network.named_parameters():
            weight.add_(torch.randn_like(weight) * (0.5 if weight.ndim == 2 else 0.3))
            if task == "translate" and name == "embedding.table.weight":
                weight[tokenizer.pad_id] = 0
    about = {"task": task, "format": 1, "settings": config.model_dump(mode="json"), "data": {"longest_source": 30}}
    write_model(folder, about, family.pack(model, network.state_dict(), tokenizer))


@torch.inference_mode()
def compare(folder: Path, task: str) -> str:
    """What differs between a folder of ours opened here and there, or nothing."""
    ours = regard.load(folder, engine="torch")
    theirs, info = getattr(transformers, CLASSES[task]).from_pretrained(folder, output_loading_info=True)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    if info["missing_keys"] or info["unexpected_keys"] or info["mismatched_keys"]:
        return f"weights: {info}"
    theirs.eval()
    texts = [*NASTY, "The old [MASK] sees  [MASK] cat.", "[MASK]", "a[MASK]b"] if task == "fill" else NASTY
    for text in texts:
        if (mine := ours.encode_text(text)) != (other := tokenizer(text)["input_ids"]):
            return f"ids of {text!r}: {mine} here, {other} there"
    size = theirs.config.vocab_size
    rows = torch.randperm(size - 1)[: (size - 1) // 12 * 12].view(-1, 12)
    if task == "translate":
        mine, other = (
            ours.model.logits(ours.model(rows, rows.flip(0))),
            theirs(input_ids=rows, decoder_input_ids=rows.flip(0)).logits,
        )
    else:
        mine, other = (
            ours.model.logits(ours.model(rows)),
            theirs(
                input_ids=rows,
                attention_mask=torch.ones_like(rows) if task == "write" else (rows != ours.tokenizer.pad_id).long(),
            ).logits,
        )
    apart = float((mine - other).abs().masked_fill(other < -1e8, 0).max())
    if apart > max(2e-4, 1e-4 * float(other.abs().masked_fill(other < -1e8, 0).max())):
        return f"logits differ by {apart:.2g}"
    return greedy(ours, theirs, tokenizer, task)


def greedy(ours: Any, theirs: Any, tokenizer: Any, task: str) -> str:
    """Where greedy texts differ."""
    if task == "fill":
        return ""
    for text in NASTY[:4]:
        batch = tokenizer(text, return_tensors="pt")
        batch.pop("token_type_ids", None)
        generated = theirs.generate(**batch, max_new_tokens=TOKENS, do_sample=False, num_beams=1)[0].tolist()
        if task == "write":
            length = batch["input_ids"].shape[1]
            mine, other = (
                ours(text, tokens=TOKENS, temperature=0),
                tokenizer.decode(generated[length:], skip_special_tokens=True),
            )
        else:
            from regard.decoding.settings import Search

            (best,) = ours.run([ours.tokenizer.encode(text)], [TOKENS], Search())[0]
            mine, other = ours.tokenizer.decode(best.ids), tokenizer.decode(generated, skip_special_tokens=True)
        if mine != other and "\ufffd" not in mine:  # part of a character is printed when it is whole
            return f"greedy text of {text!r}: {mine!r} here, {other!r} there"
    return ""
