"""Folders as `transformers` saves them, one of each architecture, and one thing in each that is meant to hurt.

Used by bench/hostile.py and tests/test_hostile.py.
"""

import json
import os
import random
import shutil
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import families
from crafted import NUMBERS, TEXTS, headers, tokenizers
from splitters import TEXT
from strangers import KINDS as ARCHITECTURES
from strangers import draw_folder

from regard.convert import import_model

WANTED = [(architecture, "any") for architecture in ARCHITECTURES] + [
    ("GPT2LMHeadModel", "vocabulary"), ("BertForMaskedLM", "vocabulary"), ("EncoderDecoderModel", "vocabulary"),
    ("BertModel", "sentences"), ("MarianMTModel", "spm"),
]  # fmt: skip
JSON_FILES = ("config.json", "generation_config.json", "tokenizer_config.json", "special_tokens_map.json",
              "added_tokens.json", "modules.json", "sentence_bert_config.json", "1_Pooling/config.json",
              "model.safetensors.index.json")  # fmt: skip
FILES = (*JSON_FILES, "tokenizer.json", "vocab.txt", "vocab.json", "merges.txt", "source.spm", "target.spm",
         "model.safetensors", "pytorch_model.bin")  # fmt: skip


def draw_all(place: Path) -> dict[str, Path]:
    """A small folder of every architecture that opens, by name: of seeds, the first that has what is wanted."""
    return {f"{architecture}, {what}": draw_one(place, architecture, what) for architecture, what in WANTED}


def draw_one(place: Path, architecture: str, what: str) -> Path:
    """One of them."""
    folder = place / f"{architecture} {what}"
    for seed in range(100):
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(Exception):  # what transformers or we refuse is not what is wanted here
            draw_folder(folder, seed, architecture)
            if what == "vocabulary" and (folder / "tokenizer.json").exists():
                continue
            if what == "sentences":
                _make_sentence_encoder(folder)
            if what == "spm":
                _make_opus(folder)
            ask(folder)
            return folder
    raise AssertionError(f"no seed gave a {architecture} with {what}")


def _make_sentence_encoder(folder: Path) -> None:
    modules = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
               {"idx": 1, "name": "1", "path": "1_Pooling", "type": "x.models.Pooling"}]  # fmt: skip
    (folder / "1_Pooling").mkdir()
    settings = {"modules.json": modules, "1_Pooling/config.json": {"pooling_mode_mean_tokens": True},
            "sentence_bert_config.json": {"max_seq_length": 20}}  # fmt: skip
    for name, content in settings.items():
        (folder / name).write_text(json.dumps(content))


def _make_opus(folder: Path) -> None:
    """Gives a Marian the files of opus-mt: two SentencePiece models, learned here, and one vocabulary."""
    import sentencepiece

    rows = json.loads((folder / "config.json").read_text())["vocab_size"]
    config = json.loads((folder / "config.json").read_text())
    (folder / "text").write_text("\n".join(TEXT))
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "text"), model_prefix=str(folder / "source"), vocab_size=60, hard_vocab_limit=False,
        minloglevel=2,
    )  # fmt: skip
    model = sentencepiece.SentencePieceProcessor(model_file=str(folder / "source.model"))
    special = {"</s>": config["eos_token_id"], "<pad>": config["pad_token_id"]}
    free = [number for number in range(rows) if number not in special.values()]
    names = ["<unk>", *(p for p in map(model.id_to_piece, range(model.get_piece_size())) if p[0] != "<")]
    vocabulary = special | dict(zip(names, free, strict=False))
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    for name in ("source.spm", "target.spm"):
        shutil.copyfile(folder / "source.model", folder / name)
    for name in ("source.model", "source.vocab", "text", "tokenizer.json"):
        (folder / name).unlink()
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "MarianTokenizer"}))


def ask(folder: Path, to: Path | None = None) -> None:
    """Opens a downloaded model and runs it; then imports it into another folder, if one is given."""
    families.ask(folder)
    if to is not None:
        shutil.rmtree(to, ignore_errors=True)  # of an earlier try
        import_model(str(folder), to)


def craft(trial: Path, rng: random.Random) -> str:
    """Makes one thing in a folder harmful; what was done."""
    return rng.choice(KINDS)(trial, rng)


def special(trial: Path, rng: random.Random) -> str:
    """A pipe, a socket, a device or a link that leads to itself in the place of a file."""
    path = trial / rng.choice(FILES)
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    kind = rng.choice(("pipe", "socket", "zero", "random", "folder", "itself", "null", "sparse"))
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "socket":
            here = Path.cwd()
            os.chdir(path.parent)  # names of sockets are short
            with socket.socket(socket.AF_UNIX) as one:
                one.bind(path.name)
            os.chdir(here)
        case "folder":
            path.mkdir()
        case "itself":
            path.symlink_to(path)
        case "sparse":
            path.touch()
            os.truncate(path, 2**37)
        case _:
            path.symlink_to({"zero": "/dev/zero", "random": "/dev/urandom", "null": "/dev/null"}[kind])
    return f"{path.relative_to(trial)} is a {kind}"


def numbers(trial: Path, rng: random.Random) -> str:
    """Another value somewhere in a JSON file, also of an encoder's or decoder's own config."""
    path = trial / rng.choice(("config.json", "config.json", "config.json", *JSON_FILES))
    if not path.is_file():
        path = trial / "config.json"
    content = json.loads(path.read_text())
    inside, key = rng.choice(list(_places(content)))
    inside[key] = rng.choice(NUMBERS)
    path.write_text(json.dumps(content))
    return f"{path.name}: {key}={inside[key]!r:.30}"


def sizes(trial: Path, rng: random.Random) -> str:
    """A size that the weights do not have."""
    path = trial / "config.json"
    content = json.loads(path.read_text())
    named = [(inside, key) for inside, key in _places(content) if type(inside[key]) is int]
    inside, key = rng.choice(named)
    inside[key] = rng.choice((2**10, 2**16, 2**20, 2**24, 2**28, 2**31 - 1, 2**40, 0, 1))
    path.write_text(json.dumps(content))
    return f"config.json: {key}={inside[key]}"


def nested(trial: Path, rng: random.Random) -> str:
    """An encoder or decoder in a config.json that has one again, or is none."""
    path = trial / "config.json"
    content = json.loads(path.read_text())
    side, depth = rng.choice(("encoder", "decoder")), rng.choice((1, 100, 900))
    ffn_width: Any = rng.choice((dict(content), [], 5, "bert", {}))
    for _ in range(depth):
        ffn_width = {**(content.get(side) or {}), side: ffn_width}
    content[side] = ffn_width
    path.write_text(json.dumps(content))
    return f"config.json: {side} nested {depth} deep"


def texts(trial: Path, rng: random.Random) -> str:
    path = trial / rng.choice((*JSON_FILES, "tokenizer.json", "vocab.json"))
    path.parent.mkdir(exist_ok=True)
    content = rng.choice((*TEXTS, "[]", "{}", "null", "5", '"a"', "[{}]", '{"a": {"b": []}}', "\ufeff{}"))
    path.write_text(content)
    return f"{path.name}: {content[:20]}"


def vocabularies(trial: Path, rng: random.Random) -> str:
    """A vocabulary of odd content."""
    there = [name for name in ("vocab.txt", "vocab.json", "merges.txt", "source.spm") if (trial / name).is_file()]
    name = rng.choice(there or ["tokenizer.json"])
    path = trial / name
    before = path.read_bytes()
    kind = rng.choice(("empty lines", "many", "twice", "bytes", "long", "more", "huge ids", "negative", "void"))
    if name == "tokenizer.json":
        return tokenizers(trial, rng)
    is_json = name == "vocab.json"
    content = json.loads(before) if is_json else {}
    match kind:
        case "empty lines":
            path.write_bytes(before + b"\n" * 10**7)
        case "many":
            many = (f"w{number}" for number in range(2 * 10**6))
            path.write_text(json.dumps({word: i for i, word in enumerate(many)}) if is_json else "\n".join(many))
        case "twice":
            path.write_bytes(before[:-1] + b', "a": 1, "a": 2}' if is_json else before + before)
        case "bytes":
            path.write_bytes(before[: len(before) // 2] + b"\xff\xfe\0" + before[len(before) // 2 :])
        case "long":
            path.write_text(json.dumps(content | {"a" * 10**7: 3}) if is_json else "a" * 10**7)
        case "more":
            more = [f"extra{number}" for number in range(50)]
            size = len(content)
            more_of = {word: size + i for i, word in enumerate(more)}
            path.write_bytes(json.dumps(content | more_of).encode() if is_json else before + "\n".join(more).encode())
        case "huge ids":
            path.write_text(json.dumps(content | {"zz": 2**31}) if is_json else "a b\n" * 10**6)
        case "negative":
            path.write_text(json.dumps(content | {"zz": -1}) if is_json else " \n" * 1000)
        case _:
            path.write_text("{}" if is_json else "")
    return f"{name}: {kind}"


def shards(trial: Path, rng: random.Random) -> str:
    """An index of weights that points outside the folder."""
    outside = Path(os.environ["HOME"]) / "model.safetensors"
    where = rng.choice(("../x.safetensors", "/etc/passwd", str(outside), "..", ".", "", "a/../../x", "link", 5, None))
    if where == "link":
        (trial / "link").symlink_to(rng.choice((outside, "/dev/zero", "/etc/passwd")))
    index = {"metadata": {"total_size": rng.choice((1, 2**60, "x"))}, "weight_map": {"a": where, "b": where}}
    (trial / "model.safetensors.index.json").write_text(json.dumps(index))
    return f"weights in {where}"


def pickles(trial: Path, rng: random.Random) -> str:
    """Pickled weights that would write a file if they were opened."""
    home = Path(os.environ["HOME"])
    command = f"cos\nsystem\n(S'touch {home}/pickled'\ntR.".encode()
    for name in ("pytorch_model.bin", "model.pt", "training_args.bin"):
        (trial / name).write_bytes(command)
    if rng.random() < 0.7:
        for path in trial.glob("*.safetensors"):
            path.unlink()
    return "pickles"


def roles(trial: Path, rng: random.Random) -> str:
    """Special tokens of odd kinds."""
    path = trial / rng.choice(("tokenizer_config.json", "special_tokens_map.json"))
    content = json.loads(path.read_text()) if path.is_file() else {}
    key = rng.choice(("eos_token", "pad_token", "unk_token", "additional_special_tokens", "added_tokens_decoder",
                         "tokenizer_class", "extra_special_tokens", "model_max_length", "do_lower_case"))  # fmt: skip
    content[key] = rng.choice((
        "a", "", " ", "e" * 10**6, ["a"] * 10**5, {"content": "e" * 1000}, {"content": {"content": "a"}}, 10**400,
        {"0": {"content": "a"}}, {str(number): {"content": f"x{number}"} for number in range(10**4)}, "\x1b[31m",
    ))  # fmt: skip
    path.write_text(json.dumps(content))
    return f"{path.name}: {key}={content[key]!r:.30}"


def _places(content: Any) -> list[tuple[Any, Any]]:
    """Every object or list of a JSON tree with each of its keys."""
    keys = list(content) if isinstance(content, dict) else range(len(content))
    found = [(content, key) for key in keys]
    for key in keys:
        if isinstance(content[key], dict | list):
            found += _places(content[key])
    return found


KINDS: list[Callable[[Path, random.Random], str]] = [
    special, numbers, sizes, nested, texts, vocabularies, shards, pickles, roles, headers,
]  # fmt: skip
