"""The network in a model's folder, built and filled with its weights. What is checked before is in `stored.py`."""

from __future__ import annotations

from collections.abc import Callable

import numpy
import torch
from torch import nn

from regard.config import ModelConfig
from regard.engines.stored import Layout, read_shape, refuse_small_table
from regard.engines.weights import list_for, read_for
from regard.folder import ModelFolder
from regard.formats.weights import Shapes, Weights
from regard.text.tokenizer import Tokenizer


def read_network(
    folder: ModelFolder, tokenizer: Tokenizer, layout: Layout, build: Callable[[ModelConfig, Tokenizer], nn.Module]
) -> nn.Module:
    """The network in a folder, ready to be used."""
    config = read_shape(folder, layout.import_config)
    refuse_small_table(config, tokenizer)
    listed = list_for(folder, config)
    model = build_empty(lambda: build(config, tokenizer))
    return fill(model, layout.import_weights(read_for(folder, listed, shapes_of(model)), shapes_of(model)))


def build_empty(build: Callable[[], nn.Module]) -> nn.Module:
    """A network whose weights are left out, so that its size costs nothing."""
    with torch.device("meta"):
        return build()


def shapes_of(model: nn.Module) -> Shapes:
    """The shape of every weight of a network."""
    return {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}


def fill(model: nn.Module, weights: Weights, *, strict: bool = True) -> nn.Module:
    """A network with its weights, which are not copied where that can be helped; if not strict, some may be missing."""
    kinds = {name: tensor.dtype for name, tensor in model.state_dict().items()}
    tensors = {}
    for name in list(weights):  # each is let go once it is taken over
        tensors[name] = torch.from_numpy(numpy.require(weights.pop(name), requirements=["C", "W"])).to(kinds[name])
    model.load_state_dict(tensors, assign=True, strict=strict)
    return model.eval()
