"""Reads somebody's config.json: what we need is there, what we do not have is named, nothing is read wrongly."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from regard.config import ModelConfig, explain
from regard.errors import FolderError

# What activations are called there, and here.
ACTIVATIONS = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu_new",
    "gelu_pytorch_tanh": "gelu_new",
    "silu": "silu",
    "swish": "silu",
}


def need(config: Mapping[str, Any], name: str) -> Any:
    """A setting that must be there."""
    if config.get(name) is None:
        raise FolderError(f"config.json has no {name!r}; it is not of this architecture")
    return config[name]


def refuse_others(config: Mapping[str, Any], **known: Any) -> None:
    """Settings that, if they are there at all, must have the one value we know."""
    for name, value in known.items():
        if config.get(name, value) != value:
            raise FolderError(f"config.json has {name}={config[name]!r}, and only {value!r} is supported")


def activation(config: Mapping[str, Any], name: str) -> str:
    """Our name of an activation."""
    theirs = need(config, name)
    if theirs not in ACTIVATIONS:
        raise FolderError(f"config.json has {name}={theirs!r}, and only {', '.join(ACTIVATIONS)} are supported")
    return ACTIVATIONS[theirs]


def make_shape(**settings: Any) -> ModelConfig:
    """The shape these settings describe."""
    try:
        return ModelConfig.model_validate(settings, strict=True)  # "4" is no number, and neither is true
    except ValidationError as problem:
        raise FolderError(f"config.json describes a model that cannot be: {explain(problem, ModelConfig)}") from None
