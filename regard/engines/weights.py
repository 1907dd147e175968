"""The weights in a model's folder, as arrays, checked against the shape of its network. No torch."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from regard.errors import FolderError
from regard.folder import ModelFolder
from regard.formats.weights import Shapes, Stored, Weights, list_weights, read_arrays

if TYPE_CHECKING:
    from regard.config import ModelConfig

MOST_TIMES, MOST_SURPLUS = 4, 2**24  # weights a file may have: tables that are there twice, masks of old versions


def list_for(folder: ModelFolder, *configs: ModelConfig) -> dict[str, Stored]:
    """Where the weights of a folder lie, if there can be enough of them for networks of this shape."""
    listed = list_weights(folder.weights())
    layers = sum(config.layers + (config.decoder_layers or 0) for config in configs)
    table = max(config.vocab_size * config.width for config in configs)
    if layers > len(listed) or table > sum(stored.count for stored in listed.values()):
        asked = f"{layers} layers and a table of {table} numbers"
        raise FolderError(f"{folder.path}: config.json asks for {asked}, and the weights are fewer; "
                          f"they are not of the same model")  # fmt: skip
    return listed


def read_for(folder: ModelFolder, listed: dict[str, Stored], shapes: Shapes) -> Weights:
    """The weights of a folder, unless there are far more than these shapes have room for."""
    there, room = sum(stored.count for stored in listed.values()), sum(map(prod, shapes.values()))
    for found, wanted, surplus, what in (
        (there, room, MOST_SURPLUS, "weights"),
        (len(listed), len(shapes), 100, "tables"),
    ):
        if found > surplus + MOST_TIMES * wanted:
            raise FolderError(f"{folder.path} has {found} {what}, and config.json asks for {wanted}; "
                              f"they are not of the same model")  # fmt: skip
    return read_arrays(listed)
