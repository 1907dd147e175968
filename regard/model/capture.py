"""Records attention weights and hidden states inside a context, or cuts residuals; outside it nothing is slower.

A recording belongs to the thread (or asyncio task) that opened it: what others run at the same time, with the same
network, is neither recorded nor changed. Recordings may be nested; each gets everything.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor, nn

from regard.errors import ConfigError
from regard.model.attention import MultiHeadAttention
from regard.model.blocks import Residual
from regard.model.hop import Hop
from regard.model.stack import Stack
from regard.model.taps import HIDDEN, RESIDUAL, WEIGHTS, Point, Tap

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


@contextmanager
def without_residuals(model: Any, *names: str) -> Iterator[list[str]]:
    """Inside this context, residual connections add nothing: only what the sub-layers compute is passed on.

    names: of the residuals, as `named_modules` has them (`encoder.blocks.0.self_residual`), or of parts that hold them
    (`encoder`); all if none is given. Yields the names of those that are cut. model: as of `record_attention`.
    """
    network = _network_of(model)
    every = {name: part for name, part in network.named_modules() if isinstance(part, Residual)}
    if not every:
        raise ConfigError(f"{type(network).__name__} has no Residual of regard.model in it, so none can be cut")
    cut = {} if names else every
    for one in names:
        inside = {name: part for name, part in every.items() if f"{name}.".startswith(f"{one}.")}
        if not inside:
            raise ConfigError(
                f"{type(network).__name__} has no residual connection in {one!r}; it has {', '.join(every)}"
            )
        cut |= inside
    with _open(network, RESIDUAL, lambda module, x: torch.zeros_like(x) if module in cut.values() else x):
        yield list(cut)


def _network_of(model: Any) -> nn.Module:
    network = model if isinstance(model, nn.Module) else getattr(model, "model", None)
    if not isinstance(network, nn.Module):
        raise ConfigError(f"{type(model).__name__} is no network; give an nn.Module, or what regard.load gives")
    return network


def is_recorded(network: nn.Module) -> bool:
    """Whether this thread has a recording of this network open."""
    return any(one is network for one in _recorded.get())


@contextmanager
def _recording(point: Point, model: Any, kinds: tuple[type[nn.Module], ...], what: str) -> Iterator[Recorded]:
    network = _network_of(model)
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

    with _open(network, point, keep):
        yield seen
    if not any(seen.values()):
        warnings.warn(f"nothing was recorded: {type(network).__name__} did not run in this thread meanwhile",
                      RuntimeWarning, stacklevel=5)  # fmt: skip


@contextmanager
def _open(network: nn.Module, point: Point, tap: Tap) -> Iterator[None]:
    """While inside, `tap` is open, and an engine that does not show what it computes refuses to run this network."""
    _recorded.set((*_recorded.get(), network))
    try:
        with point.open(tap):
            yield
    finally:
        others = list(_recorded.get())
        others.remove(network)
        _recorded.set(tuple(others))
