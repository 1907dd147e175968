"""Which class of `transformers` a finished model may claim: one that computes the same logits.

The comparison runs in a process of its own: what that library takes is given back, and nothing of it stays imported.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor

from regard import __version__, cache
from regard.config import ModelConfig, RunConfig
from regard.folder import CONFIG, TOKENIZER, WEIGHTS, Content
from regard.formats import own
from regard.machine import child_environment
from regard.training.recipe import encode_json, weights_file

TOLERANCE = 5e-5  # of the largest logit; both compute in float32; 203 random models differed by at most 6e-6
SECONDS = 600  # that a comparison may take
SIZES = {"vocab_size", "layers", "width", "heads", "ffn_width", "max_positions", "dropout", "restarts", "start_id"}
OPTIONAL_SIZES = {"decoder_layers", "kv_heads", "value_width"}
UNIT = 1e-9  # of a difference in the cache, which holds whole numbers


@dataclass(frozen=True)
class Claim:
    """What a comparison found."""

    about: dict[str, Any]  # for regard.json
    problem: str | None = None  # what differs there

    def pack(self, config: RunConfig, weights: dict[str, Tensor]) -> dict[str, Content]:
        """The files that are other than those of a model that is the same there: none, or those of our own layout."""
        if self.problem is None:
            return {}
        shape = encode_json(own.export_config(config.model, config.task))
        return {CONFIG: shape, WEIGHTS: weights_file(own.export_weights(weights))}


def is_claimed(contents: Mapping[str, Content]) -> bool:
    """Whether a model's config.json names a class that is not ours."""
    config = contents[CONFIG]
    assert isinstance(config, str), "packed by a recipe"
    return not json.loads(config)["model_type"].startswith(own.PREFIX)


def recall_claim(config: RunConfig, tokenizer: Any) -> Claim | None:
    """What is known without a comparison: that it was equal for these settings on this machine, or cannot be made."""
    installed = _installed()
    if installed is None:
        return Claim({"not_compared": "transformers is not installed"})
    known = (cache.recall(*_key(config, tokenizer, installed)) or {}).get("difference")
    if not known:
        return None
    return Claim({"version": installed, "largest_difference": known[0] * UNIT, "of": "another model of these settings"})


def compare_claim(
    folder: Path, config: RunConfig, model: Any, tokenizer: Any, is_over: Callable[[], bool] = lambda: False
) -> Claim:
    """Compares the network that was trained with what `transformers` makes of its folder, unless it is over first."""
    installed = _installed()
    assert installed is not None, "else this is known"
    rows = draw_rows(model, tokenizer)
    with torch.inference_mode():
        logits = model.outputs(rows)
    found = _ask(folder, save({"rows": rows, "logits": logits.float().contiguous()}), is_over)
    if "difference" not in found:
        return Claim({"version": installed} | found, found.get("differs"))
    difference = float(found["difference"])
    if not difference <= TOLERANCE:  # NaN too
        problem = f"logits differ by {difference:.2g} of the largest"
        return Claim({"version": installed, "differs": problem}, problem)
    cache.keep({"difference": [round(difference / UNIT)]}, *_key(config, tokenizer, installed))
    return Claim({"version": installed, "largest_difference": difference})


def _ask(folder: Path, tensors: bytes, is_over: Callable[[], bool]) -> dict[str, Any]:
    """What another process finds: a difference, or what differs or went wrong, in words."""
    alone = child_environment(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
    command = [sys.executable, "-P", "-m", "regard.compare", str(folder.resolve())]
    try:
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as answer:
            given.write(tensors)
            given.seek(0)
            child = subprocess.Popen(command, stdin=given, stdout=answer, stderr=subprocess.DEVNULL,
                                     env=alone, start_new_session=True)  # fmt: skip
            try:
                end = time.monotonic() + SECONDS
                while child.poll() is None and time.monotonic() < end:
                    if is_over():
                        return {"not_compared": "the comparison with transformers was interrupted"}
                    time.sleep(0.05)
            finally:
                child.kill()
                child.wait()
            answer.seek(0)
            return dict(json.loads(answer.read().decode().strip().splitlines()[-1]))
    except (OSError, ValueError, IndexError):
        return {"not_compared": "the comparison with transformers did not come to an end"}


def _installed() -> str | None:
    try:
        return version("transformers")
    except PackageNotFoundError:
        return None


def _key(config: RunConfig, tokenizer: Any, installed: str) -> tuple[str, ...]:
    """All that decides whether a model is the same there: its settings, how its sizes go together (not how large they
    are), and what its tokenizer does."""
    kind = json.dumps([_settings(config.model), _kind_of(tokenizer)], sort_keys=True)
    return "transformers", installed, __version__, config.task, kind


def _settings(model: ModelConfig) -> dict[str, Any]:
    settings = model.model_dump(exclude=SIZES | {"encoder"})
    settings |= {name: settings[name] is not None for name in OPTIONAL_SIZES}
    head, keys = model.width // model.heads, model.kv_heads or model.heads
    settings |= {
        "is_head_odd": head % 2 == 1,
        "kv_heads": [keys == 1, keys == model.heads],
        "value_width": model.value_width in (None, head),
        "decoder_layers": model.decoder_layers in (None, model.layers),
    }
    return settings | {"encoder": _settings(model.encoder) if model.encoder else None}


def _kind_of(tokenizer: Any) -> Any:
    """What a tokenizer does, whatever its vocabulary."""
    files = tokenizer.files()
    if TOKENIZER not in files:
        return sorted(files)
    tokenizer = json.loads(files[TOKENIZER])
    does = {name: value for name, value in tokenizer["model"].items() if name not in {"vocab", "merges"}}
    return tokenizer | {"model": does, "added_tokens": [token["content"] for token in tokenizer["added_tokens"]]}


READ, LENGTH = 240, 6  # ids that are read, and how many of them in a row


def draw_rows(model: Any, tokenizer: Any) -> Tensor:
    """Ids from all over the table, the special and the last ones among them, (B, T); padding is not one."""
    size = model.config.vocab_size
    drawn = torch.randperm(size, generator=torch.Generator().manual_seed(0)).tolist()
    ids = dict.fromkeys([*sorted(tokenizer.special_ids), *range(max(0, size - LENGTH), size), *drawn])
    skipped = {model.pad_id} if hasattr(model, "pad_id") else set()
    kept = [number for number in ids if number < size and number not in skipped][:READ]
    kept = kept * LENGTH if len(kept) < LENGTH else kept
    return torch.tensor(kept[: len(kept) // LENGTH * LENGTH]).view(-1, LENGTH)
