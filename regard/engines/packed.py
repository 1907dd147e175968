"""Weights as the JavaScript engine reads them: one tensor after another, little end first. Knows no model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor

Precision = Literal["float32", "float16", "int8"]
MOST_HALF = 65504.0  # the largest number in half precision


def pack_weights(weights: Mapping[str, Tensor], precision: Precision) -> tuple[list[dict[str, Any]], bytes]:
    """Name, shape and kind of each tensor, and all of their bytes. int8: of matrices, with a scale for each row."""
    listed, parts = [], []
    for name, tensor in weights.items():
        values = tensor.detach().cpu().float()
        kind = choose_kind(values, precision)
        listed.append({"name": name, "shape": list(values.shape), "kind": kind})
        if kind == "int8":
            scales, steps = quantize(values)
            parts += [scales.numpy().astype("<f4").tobytes(), steps.numpy().tobytes()]
        else:
            parts.append(values.numpy().astype("<f2" if kind == "float16" else "<f4").tobytes())
    return listed, b"".join(parts)


def round_weights(weights: Mapping[str, Tensor], precision: Precision) -> dict[str, Tensor]:
    """The same weights as they come out of the packed ones."""
    rounded = {}
    for name, tensor in weights.items():
        match choose_kind(tensor, precision):
            case "float16":
                rounded[name] = tensor.half().float()
            case "int8":
                scales, steps = quantize(tensor)
                rounded[name] = (steps.flatten(0, -2).float() * scales[:, None]).view_as(tensor)
            case _:
                rounded[name] = tensor
    return rounded


def choose_kind(values: Tensor, precision: Precision) -> Precision:
    """What a tensor is packed as: vectors are not quantized, and what half precision cannot hold stays single."""
    if precision == "int8" and values.ndim < 2:
        return "float32"
    if precision == "float16" and bool(values.abs().max() > MOST_HALF):
        return "float32"
    return precision


def quantize(values: Tensor) -> tuple[Tensor, Tensor]:
    """The scale of each row (rows,), and the values in steps of it, from -127 to 127."""
    rows = values.flatten(0, -2)  # (rows, columns)
    scales = rows.abs().amax(1).clamp(min=1e-12) / 127  # (rows,)
    return scales, (rows / scales[:, None]).round().to(torch.int8).view_as(values)
