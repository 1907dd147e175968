"""Weights under other programs' names: all of them are used, or the error lists which are not."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from regard.errors import FolderError
from regard.formats.weights import Shapes, Weights

if TYPE_CHECKING:
    from torch import Tensor


def rename(name: str, table: tuple[tuple[str, str], ...]) -> str:
    """A name of ours with each part replaced, in the order of the table."""
    for ours, theirs in table:
        name = name.replace(ours, theirs)
    return name


def check(theirs: Weights, expected: Shapes, whole_numbers: tuple[str, ...] = ()) -> None:
    """Refuses weights that are not exactly those expected, each of its shape, and floats but for those named."""
    unknown, missing = sorted(theirs.keys() - expected.keys()), sorted(expected.keys() - theirs.keys())
    if unknown or missing:
        raise FolderError(f"weights do not fit config.json: {_some(unknown)} unknown, {_some(missing)} missing")
    for name, array in theirs.items():
        if array.shape != expected[name]:
            shapes = f"{array.shape}, and config.json asks for {expected[name]}"
            raise FolderError(f"weight {name} has the shape {shapes}")
        if (array.dtype == np.float32) == (name in whole_numbers):
            raise FolderError(f"weight {name} is of the type {array.dtype}, which it cannot be; the file is damaged")


def read_renamed(weights: Weights, shapes: Shapes, rename: Callable[[str], str]) -> Weights:
    """Weights of these shapes under our names; rename: to theirs."""
    check(weights, {rename(name): shape for name, shape in shapes.items()})
    return {name: weights[rename(name)] for name in shapes}


def drop_known(weights: Weights, unused: str, tied: dict[str, str] | None = None) -> Weights:
    """Weights without those that are known to be of no use (a pattern), or to repeat another (name -> that other)."""
    kept = {name: array for name, array in weights.items() if not re.search(unused, name)}
    for name, other in (tied or {}).items():
        if name in kept and other in kept:
            if not np.array_equal(kept[name], kept[other]):
                raise FolderError(f"weights {name} and {other} differ, and config.json says that they are one")
            del kept[name]
    return kept


def with_prefix(weights: Weights, prefix: str, parts: tuple[str, ...]) -> Weights:
    """Weights of a bare network under the names they have in a whole model: with the prefix where it is missing."""
    return {f"{prefix}{name}" if name.startswith(parts) else name: array for name, array in weights.items()}


def plain(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """The same as whole tensors in main memory, as safetensors wants them."""
    return {name: tensor.detach().cpu().contiguous() for name, tensor in weights.items()}


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:5]) or "none"
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"
