"""Folders crafted with care: files whole and consistent, hashes made right, one thing meant to hurt."""

import json
import os
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

Craft = Callable[[Path, random.Random], str]

SPECIAL_FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "regard.json", "generation_config.json",
                 "vocab.json", "merges.txt", "vocab.txt", "shortlist.txt", "model.safetensors",
                 "model.safetensors.index.json", "ctranslate2/model.bin", "ctranslate2/config.json", "modules.json",
                 "lexicon.safetensors", "special_tokens_map.json", "roles.json")  # fmt: skip
NUMBERS = (0, -1, 1, 2**16, 2**31, 2**40, 10**30, 10**400, 0.5, 1e300, True, None, "4", [], {}, [2**40])
TEXTS = ('{"a": NaN}', '{"a": 1e999}', '{"a": 1, "a": 2}', "[" * 10**5, '{"a":' * 10**5, "1" * 5000, '"' + "a" * 10**6)
PATTERNS = ("(a+)+$", "(.*)*x", "(e|e)+h", r"(\w+\s?)+$", "(a*)(a*)(a*)(a*)b", "(.)\\1+")


def craft(trial: Path, rng: random.Random) -> str:
    """Makes one file of a folder harmful, and whatever else knows it agree; what was done."""
    return rng.choice(KINDS)(trial, rng)


def special(trial: Path, rng: random.Random) -> str:
    path = trial / rng.choice(SPECIAL_FILES)
    if not path.parent.is_dir():
        path = trial / "config.json"
    path.unlink(missing_ok=True)
    kind = rng.choice(("pipe", "zero", "random", "folder", "itself"))
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "itself":
            path.symlink_to(path)
        case _:
            path.symlink_to(f"/dev/{'zero' if kind == 'zero' else 'urandom'}")
    return f"{path.relative_to(trial)} is a {kind}"


def links(trial: Path, rng: random.Random) -> str:
    """Links that lead to the user's own files, wherever something might be written."""
    name = rng.choice(("ctranslate2", "ctranslate2/regard.json", "ctranslate2/.regard", ".new", ".ready", ".old",
                          "ctranslate2/model.bin", ".regard", "ctranslate2/vmap.txt"))  # fmt: skip
    path, home = trial / name, Path(os.environ["HOME"])
    if not path.parent.is_dir():
        path = trial / "ctranslate2"
    if path.is_dir() and not path.is_symlink():
        path.rename(trial / "aside")
    path.unlink(missing_ok=True)
    path.symlink_to(rng.choice((home, home / "mine", home / "new")))
    return f"{path.relative_to(trial)} is a link"


def numbers(trial: Path, rng: random.Random) -> str:
    path = trial / rng.choice(("config.json", "config.json", "regard.json", "generation_config.json"))
    content = _read(path if path.exists() else trial / "config.json")
    inside, key = rng.choice(list(_places(content)))
    inside[key] = rng.choice(NUMBERS)
    path.write_text(json.dumps(content))
    return f"{path.name}: {key}={inside[key]!r:.30}"


def texts(trial: Path, rng: random.Random) -> str:
    path = trial / rng.choice(("config.json", "regard.json", "tokenizer.json", "generation_config.json"))
    content = rng.choice(TEXTS)
    path.write_text(content)
    return f"{path.name}: {content[:20]}"


def headers(trial: Path, rng: random.Random) -> str:
    path = rng.choice(sorted(trial.glob("model*.safetensors")))
    content = path.read_bytes()
    (length,) = struct.unpack_from("<Q", content)
    header, data = json.loads(content[8 : 8 + length]), content[8 + length :]
    entry = header[name := rng.choice([name for name in header if name != "__metadata__"])]
    kind = rng.choice(("dtype", "shape", "offsets", "infinite", "more", "sparse"))
    match kind:
        case "dtype":
            entry["dtype"] = rng.choice(("F8_E4M3", "I64", "I32", "C64", "BOOL", "F64", "BF16", 5))
        case "shape":
            entry["shape"] = rng.choice(([2**40], [2**20, 2**20, 2**20], [-1], [0], entry["shape"][::-1], [1] * 70))
        case "offsets":
            entry["data_offsets"] = rng.choice(([0, 2**62], [0, 4], [-4, 0], [8, 4], "x"))
        case "infinite":
            start, end = entry["data_offsets"]
            data = data[:start] + rng.choice((b"\0\0\x80\x7f", b"\0\0\xc0\x7f")) * ((end - start) // 4) + data[end:]
        case "more":
            header |= {f"x{number}": {"dtype": "F32", "shape": [0], "data_offsets": [len(data)] * 2}
                       for number in range(10_000)}  # fmt: skip
        case "sparse":
            header["x"] = {"dtype": "F32", "shape": [2**28], "data_offsets": [len(data), len(data) + 2**30]}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    if kind == "sparse":
        os.truncate(path, 8 + len(text) + len(data) + 2**30)
    return f"weight {name}: {kind}"


def tokenizers(trial: Path, rng: random.Random) -> str:
    path = trial / "tokenizer.json"
    content = _read(path)
    ten = [
        {"type": "Replace", "pattern": {"String": a}, "content": b * 10}
        for a, b in zip("abcdefg", "bcdefgh", strict=True)
    ]
    kind = rng.choice(("grows", "shrinks back", "backtracks", "pads", "adds", "template", "table", "words", "piece"))
    match kind:
        case "grows":
            content["normalizer"] = {"type": "Sequence", "normalizers": ten}
        case "shrinks back":
            content["decoder"] = {"type": "Sequence", "decoders": ten}
        case "backtracks":
            content["pre_tokenizer"] = {"type": "Split", "pattern": {"Regex": rng.choice(PATTERNS)},
                                        "behavior": "Isolated", "invert": False}  # fmt: skip
        case "pads":
            content["padding"] = {"strategy": {"Fixed": 10**9}, "direction": "Right", "pad_to_multiple_of": None,
                                  "pad_id": 0, "pad_type_id": 0, "pad_token": "x"}  # fmt: skip
        case "adds":
            content["added_tokens"][-1]["id"] = rng.choice((4 * 10**9, 10**6, 2**31))
        case "template":
            single = [{"Sequence": {"id": "A", "type_id": 0}}] * 10**5
            template = {"type": "TemplateProcessing", "single": single, "pair": [], "special_tokens": {}}
            content["post_processor"] = template
        case "table":
            content["normalizer"] = {"type": "Precompiled", "precompiled_charsmap": "BAAAAP///38AAA=="}
        case "words":
            content["model"]["max_input_chars_per_word"] = 10**9
        case "piece":
            content["model"]["vocab"] |= {"a" * 10**6: len(content["model"]["vocab"])}
    path.write_text(json.dumps(content))
    return f"tokenizer.json {kind}"


def copies(trial: Path, rng: random.Random) -> str:
    """A consistent model.bin with other numbers."""
    path = trial / "ctranslate2" / "model.bin"
    if not path.exists():
        return numbers(trial, rng)
    content = bytearray(path.read_bytes())
    name, shape, rank, start, size = rng.choice(_records(bytes(content)))
    if rank == 0:
        content[start : start + size] = rng.choice((b"\0", b"\xff", b"\x7f", b"\x01")) * size
    elif rng.random() < 0.5:
        sizes = list(struct.unpack_from(f"<{rank}I", content, shape + 1))
        struct.pack_into(f"<{rank}I", content, shape + 1, *sizes[::-1] if rank > 1 else [sizes[0] * 4])
        if rank == 1:
            content[shape + 5] = 1
    else:
        content[start : start + size] = b"\0\0\x80\x7f" * (size // 4)
    path.write_bytes(content)
    return f"model.bin: {name}"


def beside(trial: Path, rng: random.Random) -> str:
    """Odd content of the files beside weights and tokenizer, and of their entries in regard.json."""
    kind = rng.choice(("roles", "shortlist", "lexicon", "alignment"))
    path = trial / {"roles": "roles.json", "shortlist": "shortlist.txt", "lexicon": "lexicon.safetensors",
                    "alignment": "regard.json"}[kind]  # fmt: skip
    match kind:
        case "roles":
            roles = {"pad": 10**9, "end": -1, "unknown": 2**63, "begin": 0, "mask": 10**30, "x": 1}
            name = rng.choice(list(roles))
            path.write_text(json.dumps({name: roles[name]}))
        case "shortlist":
            lines = ("", "\n" * 10**6, "\ta\n" * 10**5, "\t\n", "a", "\ta\nno\tsuch\n", "\t" + "a " * 10**6, "\0\t\0\n")
            path.write_text(rng.choice(lines))
        case "lexicon":
            huge = {
                name: {"dtype": "I64", "shape": [2**40], "data_offsets": [0, 2**43]} for name in ("sources", "targets")
            }
            text = json.dumps(rng.choice((huge, {}, {"sources": 5}, []))).encode()
            path.write_bytes(rng.choice((struct.pack("<Q", len(text)) + text, b"", struct.pack("<Q", 2**62))))
        case "alignment":
            about = _read(path)
            about["alignment"] = rng.choice(({"layer": 10**9, "heads": [0]}, {"layer": 0, "heads": [-1]}, 5, [],
                                                {"layer": 0, "heads": [0] * 10**6}, {"layer": "0"}))  # fmt: skip
            path.write_text(json.dumps(about))
    about = _read(trial / "regard.json")
    about["files_sha256"][path.name] = "made right by the attacker" if path.name != "regard.json" else ""
    about["files_sha256"] = {name: value for name, value in about["files_sha256"].items() if value}
    (trial / "regard.json").write_text(json.dumps(about))
    return f"odd {kind}"


def caches(trial: Path, rng: random.Random) -> str:
    """What was found out about models before is made up, or lies in the way."""
    place = Path(os.environ.get("REGARD_CACHE") or trial.parent / "cache")
    place.mkdir(exist_ok=True)
    entries = sorted(
        path for path in place.iterdir() if path.suffix == ".json" and (path.is_file() or path.is_symlink())
    )
    if not entries:
        return numbers(trial, rng)
    path = rng.choice(entries)
    path.unlink()
    kind = rng.choice(("wrong", "huge", "text", "pipe", "link", "folder", "zero"))
    match kind:
        case "wrong":
            path.write_text('{"rows": [10], "places": [10], "room": [10], "bulk": [4095, 4095], "single": [1, 4095]}')
        case "huge":
            path.write_text(json.dumps({"rows": [10**9], "places": [10**9], "room": [10**9]}))
        case "text":
            path.write_text(rng.choice(TEXTS))
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case _:
            path.symlink_to("/dev/zero" if kind == "zero" else Path(os.environ["HOME"]) / "mine")
    return f"cache: {kind}"


def _records(content: bytes) -> list[tuple[str, int, int, int, int]]:
    """Of each variable: its name, where its shape lies, its rank, where its numbers lie, and their size."""
    found, place = [], 4
    place += 2 + struct.unpack_from("<H", content, place)[0] + 4
    (count,) = struct.unpack_from("<I", content, place)
    place += 4
    for _ in range(count):
        (length,) = struct.unpack_from("<H", content, place)
        shape = place + 2 + length
        rank = content[shape]
        (size,) = struct.unpack_from("<I", content, shape + 2 + 4 * rank)
        start = shape + 6 + 4 * rank
        found.append((content[place + 2 : shape - 1].decode(), shape, rank, start, size))
        place = start + size
    return found


def _places(content: Any) -> list[tuple[Any, Any]]:
    """Every object of a JSON tree with each of its keys."""
    found = [(content, key) for key in content]
    for value in content.values():
        if isinstance(value, dict):
            found += _places(value)
    return found


def _read(path: Path) -> Any:
    return json.loads(path.read_text())


KINDS: list[Craft] = [special, links, numbers, texts, headers, tokenizers, copies, beside, caches]
