"""Records attention weights and hidden states inside a context; outside it nothing is slower.

A recording belongs to the thread (or asyncio task) that opened it: what others run at the same time, with the same
network, is neither recorded nor changed. Recordings may be nested; each gets everything.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from torch import Tensor, nn

from regard.errors import ConfigError
from regard.model.attention import MultiHeadAttention
from regard.model.hop import Hop
from regard.model.stack import Stack
from regard.model.taps import HIDDEN, WEIGHTS, Point

# Name of an attention -> its weights (B, H, T, S), or (B, H, M) of a hop over a story; one entry per forward.
Recorded = dict[str, list[Tensor]]
_recorded: ContextVar[tuple[nn.Module, ...]] = ContextVar("recorded", default=())


@contextmanager
def record_attention(model: Any) -> Iterator[Recorded]:
    """Inside this context, every attention of the model appends its weights to the yielded dict, under its name.

    model: a network (an nn.Module with our attention in it), or what `regard.load(folder, engine="torch")` gives. Names
    count layers from 0; heads are a dimension of the weights.
    """
    with _recording(WEIGHTS, model, (MultiHeadAttention, Hop), "attention") as seen:
        yield seen


@contextmanager
def record_hidden(model: Any) -> Iterator[Recorded]:
    """Inside this context, every stack of the model appends its hidden states (B, T, D) to the yielded dict, under its
    name: per forward, the input of the first block and the output of each; the last is after the final norm, if there
    is one. model: as of `record_attention`.
    """
    with _recording(HIDDEN, model, (Stack,), "hidden states") as seen:
        yield seen


def is_recorded(network: nn.Module) -> bool:
    """Whether this thread has a recording of this network open."""
    return any(one is network for one in _recorded.get())


@contextmanager
def _recording(point: Point, model: Any, kinds: tuple[type[nn.Module], ...], what: str) -> Iterator[Recorded]:
    network = model if isinstance(model, nn.Module) else getattr(model, "model", None)
    if not isinstance(network, nn.Module):
        raise ConfigError(f"{type(model).__name__} is no network; give an nn.Module, or what regard.load gives")
    names = {part: name for name, part in network.named_modules() if isinstance(part, kinds)}
    if not names:
        ours = " or ".join(kind.__name__ for kind in kinds)
        raise ConfigError(f"{type(network).__name__} has no {ours} of regard.model in it, so no {what} can be "
                          f"recorded; build it from these parts")  # fmt: skip
    seen: Recorded = {name: [] for name in names.values()}

    def keep(module: nn.Module, tensor: Tensor) -> Tensor:
        if module in names:
            seen[names[module]].append(tensor)
        return tensor

    _recorded.set((*_recorded.get(), network))
    try:
        with point.open(keep):
            yield seen
    finally:
        others = list(_recorded.get())
        others.remove(network)
        _recorded.set(tuple(others))
    if not any(seen.values()):
        warnings.warn(f"nothing was recorded: {type(network).__name__} did not run in this thread meanwhile",
                      RuntimeWarning, stacklevel=5)  # fmt: skip
