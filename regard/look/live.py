"""A page that holds a model and runs it: weights, tokenizer, engine and views in one file, no address in it."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from torch import Tensor

from regard.engines.packed import Precision, pack_weights
from regard.errors import ConfigError, FolderError
from regard.look.export import POLICY, SCRIPTS, make_data, make_head, read_part, shrink
from regard.text.tokenizer import FILE, ROLES, Tokenizer

# What runs in the worker, before the family's script; the first makes the object that the others add to.
ENGINE = (
    "kernels", "simd", "weights", "layers", "edits", "search", "sample", "unicode", "tokenizer", "links", "inspect",
    "inside",
)  # fmt: skip
LIVE = (  # scripts of the page, after SCRIPTS
    "live", "numbers", "stream", "near", "change", "outcome", "tour", "curves", "snapshots", "model",
)  # fmt: skip
MOST_WEIGHTS = 30_000_000
LIVE_POLICY = POLICY.replace("script-src", "script-src 'wasm-unsafe-eval'") + "; worker-src blob:"
# Parts of a tokenizer.json that tokenizer.js has, with settings that they must have.
PARTS: dict[str, dict[str, Any]] = {
    "BPE": {"dropout": None, "byte_fallback": False, "ignore_merges": False, "continuing_subword_prefix": None,
            "end_of_word_suffix": None},
    "WordPiece": {},
    "WordLevel": {},
    "Prepend": {},
    "Lowercase": {},
    "BertNormalizer": {"clean_text": True, "handle_chinese_chars": True, "strip_accents": False},
    "Sequence": {},
    "Split": {},
    "ByteLevel": {"add_prefix_space": False, "use_regex": False},
    "BertPreTokenizer": {},
    "TemplateProcessing": {},
    "Fuse": {},
    "Strip": {"content": " ", "start": 1, "stop": 0},
}  # fmt: skip
OF_DECODER = {"ByteLevel", "WordPiece", "Sequence", "Fuse", "Strip"}  # whose settings there do not matter


def to_page(
    about: dict[str, Any], tokenizer: Tokenizer, weights: Mapping[str, Tensor], precision: Precision,
    scripts: list[str], history: dict[str, Any] | None = None,
) -> str:  # fmt: skip
    """One file. about: what panel and engine need to know; scripts: the family's own, of panel and engine; history: of
    its training, events and snapshots.
    """
    packed = pack_model(about, tokenizer, weights, precision)
    panel, engine = scripts
    shown = [shrink(script) for script in (*(read_part(f"{name}.js") for name in (*SCRIPTS, *LIVE)), panel)]
    style = read_part("look.css") + read_part("app.css")
    return "".join([
        make_head(str(about["label"]), style, LIVE_POLICY), make_data("about", packed["about"]),
        "<script>\n", "\n".join(shown), "\nregard.openModel(document.querySelector('main'));\n</script>\n",
        make_data("engine", json.dumps(join_engine(engine), ensure_ascii=False)),
        make_data("history", deflate(json.dumps(history, ensure_ascii=False))) if history else "",
        make_data("tokenizer", packed["tokenizer"]), make_data("weights", packed["weights"]), "</body>\n</html>\n",
    ])  # fmt: skip


def pack_model(
    about: dict[str, Any], tokenizer: Tokenizer, weights: Mapping[str, Tensor], precision: Precision
) -> dict[str, str]:
    """What a page holds of a model: about, as JSON; its tokenizer, deflated, and its weights, both as base64."""
    count = sum(tensor.numel() for tensor in weights.values())
    if count > MOST_WEIGHTS:
        most = MOST_WEIGHTS // 10**6
        raise ConfigError(f"the model has {count / 1e6:.0f} million weights, and a page holds up to {most} million; "
                          f"`regard serve` it instead, or record what it does with a text: --recorded")  # fmt: skip
    described = describe_tokenizer(tokenizer)
    listed, content = pack_weights(weights, precision)
    about = about | {"roles": roles_of(tokenizer), "weights": listed}
    return {
        "about": json.dumps(about, ensure_ascii=False),
        "tokenizer": deflate(described),
        "weights": base64.b64encode(content).decode(),
    }


def deflate(text: str) -> str:
    """As base64."""
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def roles_of(tokenizer: Tokenizer) -> dict[str, int]:
    """The ids that begin, end and fill a text, those that there are."""
    found = {}
    for role in ROLES:
        try:
            found[role] = int(getattr(tokenizer, f"{role}_id"))
        except FolderError:
            continue
    return found


def describe_tokenizer(tokenizer: Tokenizer) -> str:
    """The tokenizer.json, if the page can split text as it says."""
    if not isinstance(tokenizer, Tokenizer) or not tokenizer.splits_special:
        raise ConfigError("the page cannot split text as this model's tokenizer does; it was not trained by regard")
    described = json.loads(tokenizer.files()[FILE])
    for part in ("normalizer", "pre_tokenizer", "model", "post_processor", "decoder"):
        _check_part(part, described[part])
    return json.dumps(described, ensure_ascii=False, separators=(",", ":"))


def _check_part(place: str, part: dict[str, Any] | None) -> None:
    if part is None:
        return
    kind, wanted = part["type"], PARTS.get(part["type"])
    is_decoder = place == "decoder" and kind in OF_DECODER
    odd = (
        {}
        if is_decoder
        else {name: part.get(name) for name, value in (wanted or {}).items() if part.get(name, value) != value}
    )
    if wanted is None or odd:
        raise ConfigError(f"the page cannot split text as this model does: its {place} is {kind} {odd or ''}")
    for inner in part.get("pretokenizers", part.get("decoders", [])):
        _check_part(place, inner)


def join_engine(script: str) -> str:
    """What runs in the worker; script: of the family."""
    parts = [read_engine_part(name) for name in ENGINE] + [script, read_engine_part("worker"), "engine.listen(self);\n"]
    return shrink("\n".join(parts))


def read_engine_part(name: str) -> str:
    """A file of the engine."""
    return files("regard.engines").joinpath("javascript", f"{name}.js").read_text(encoding="utf-8")
