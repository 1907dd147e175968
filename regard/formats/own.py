"""Shapes that no class of another library has: config.json holds our own settings, weights have our own names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from regard.config import ModelConfig
from regard.errors import FolderError
from regard.formats.names import check, plain
from regard.formats.shapes import make_shape
from regard.formats.weights import Shapes, Weights

if TYPE_CHECKING:
    from torch import Tensor

PREFIX = "regard-"


def export_config(model: ModelConfig, task: str) -> dict[str, Any]:
    """What belongs into config.json; its model_type says that only regard opens it."""
    return {
        "architectures": [f"Regard{task.capitalize()}"],
        "model_type": f"{PREFIX}{task}",
        **model.model_dump(),
        "dtype": "float32",
    }


def import_config(config: dict[str, Any]) -> ModelConfig:
    """The shape in a config.json that `export_config` wrote."""
    settings = {name: value for name, value in config.items() if name not in {"architectures", "model_type", "dtype"}}
    return make_shape(**settings)


def tells_all(layout: Any, config: dict[str, Any], model: ModelConfig) -> bool:
    """Whether a config.json in somebody's layout tells the whole shape of a model: it reads back as it was."""
    try:
        read = layout.import_config(config)
    except FolderError:
        return False
    return _plainly(read) == _plainly(model)


def _plainly(model: ModelConfig) -> dict[str, Any]:
    """The settings of a shape, where one that says the same as none is none."""
    same = {"decoder_layers": model.layers, "key_heads": model.heads, "value_width": model.width // model.heads}
    told = model.model_dump(exclude={"kind"})
    return told | {name: None for name, value in same.items() if told[name] == value}


def export_weights(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Weights under our own names."""
    return plain(weights)


def import_weights(weights: Weights, shapes: Shapes) -> Weights:
    """The same back."""
    check(weights, shapes, whole_numbers=("chosen",))
    return weights
