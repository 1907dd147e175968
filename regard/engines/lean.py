"""A finished network with its parts called as plain functions: the same forward passes, without nn.Module's overhead.

For few rows, looking for hooks and attributes costs about as much as the products do (docs/explanation/engines.md).
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

from torch import nn

from regard.model.taps import POINTS

M = TypeVar("M", bound=nn.Module)
# Walking the parts of a model takes as long as a token, so they are kept, beside the lean model, as long as it lives.
_known: WeakKeyDictionary[nn.Module, tuple[list[nn.Module], Any]] = WeakKeyDictionary()


def make_lean(model: M) -> M:
    """The same network with the same weights, for a search. The model itself while it trains, or has hooks or taps."""
    if model.training or any(point.is_open for point in POINTS):
        return model
    if model not in _known:
        _known[model] = [part for child in model.children() for part in child.modules()], _copy(model)
    parts, lean = _known[model]
    every: list[nn.Module] = [model, *parts]
    is_hooked = any(part._forward_hooks or part._forward_pre_hooks for part in every)
    return model if is_hooked else cast("M", lean)


def _copy(module: nn.Module) -> Any:
    """A module whose weights and parts are plain attributes, found at once, and whose call is its forward."""
    kind: Any = type(module)
    lean: Any = object.__new__(_call_forward(kind))
    parts = {name: None if part is None else _copy(part) for name, part in module._modules.items()}
    lean.__dict__ |= vars(module) | module._parameters | parts | {"_modules": parts}
    return lean


@cache
def _call_forward(kind: Any) -> Any:
    return type(kind.__name__, (kind,), {"__call__": kind.forward})
