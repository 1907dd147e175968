"""Shapes that no class of another library has: config.json holds our own settings, weights have our own names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from regard.config import ModelConfig
from regard.errors import FolderError
from regard.formats.names import check, plain
from regard.formats.shapes import make_shape
from regard.formats.weights import Shapes, Weights

if TYPE_CHECKING:
    from torch import Tensor

PREFIX = "regard-"
# What settings and weights were called in folders of version 0.1.
OLD_SETTINGS = {"inner": "ffn_width", "key_heads": "kv_heads", "is_tied": "tie_embeddings", "segments": "token_types"}
OLD_WEIGHTS = {".feed_forward.rise.": ".feed_forward.up.", ".feed_forward.fall.": ".feed_forward.down."}

NEW_WEIGHTS = ("answer_temperature",)  # ones, where a folder of an older version has none


def export_config(model: ModelConfig, task: str) -> dict[str, Any]:
    """The config.json of a model; its model_type is one that only regard opens."""
    return {
        "architectures": [f"Regard{task.capitalize()}"],
        "model_type": f"{PREFIX}{task}",
        **model.model_dump(),
        "dtype": "float32",
    }


def import_config(config: dict[str, Any]) -> ModelConfig:
    """The shape in a config.json that `export_config` wrote."""
    settings = {name: value for name, value in config.items() if name not in {"architectures", "model_type", "dtype"}}
    return make_shape(**_renamed(settings))


def _renamed(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings under today's names."""
    found = {OLD_SETTINGS.get(name, name): value for name, value in settings.items()}
    return found | ({"encoder": _renamed(found["encoder"])} if isinstance(found.get("encoder"), dict) else {})


def describes_fully(layout: Any, config: dict[str, Any], model: ModelConfig) -> bool:
    """Whether a config.json in another layout holds the whole shape of a model: it reads back unchanged."""
    try:
        read = layout.import_config(config)
    except FolderError:
        return False
    return _plainly(read) == _plainly(model)


def _plainly(model: ModelConfig) -> dict[str, Any]:
    """The settings of a shape, with None where a value equals what None means."""
    same = {"decoder_layers": model.layers, "kv_heads": model.heads, "value_width": model.width // model.heads}
    settings = model.model_dump(exclude={"kind"})
    return settings | {name: None for name, value in same.items() if settings[name] == value}


def export_weights(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Weights under our own names."""
    return plain(weights)


def import_weights(weights: Weights, shapes: Shapes) -> Weights:
    """The same back."""
    for name in list(weights):
        old = next((part for part in OLD_WEIGHTS if part in f".{name}"), None)
        if old is not None:
            weights[f".{name}".replace(old, OLD_WEIGHTS[old])[1:]] = weights.pop(name)
    for name in NEW_WEIGHTS:
        if name in shapes and name not in weights:
            weights[name] = np.ones(shapes[name], dtype=np.float32)
    check(weights, shapes, whole_numbers=("chosen",))
    return weights
