"""Points inside a network whose tensors can be read, or replaced, for a while.

What is open belongs to the moment, not to the model: another thread that runs the same network neither sees it nor is
seen. Knows nothing of what is done with the tensors.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from torch import Tensor, nn

Tap = Callable[[nn.Module, Tensor], Tensor]  # the module that computed a tensor, and the tensor -> what takes its place


class Point:
    """One kind of tensor, wherever a network computes it."""

    def __init__(self, name: str) -> None:
        self._taps: ContextVar[tuple[Tap, ...]] = ContextVar(name, default=())

    @property
    def is_open(self) -> bool:
        """Whether this thread has a tap here."""
        return bool(self._taps.get())

    def __call__(self, module: nn.Module, tensor: Tensor) -> Tensor:
        """The tensor, or what the taps make of it, the first that was opened first."""
        for tap in self._taps.get():
            tensor = tap(module, tensor)
        return tensor

    @contextmanager
    def open(self, tap: Tap) -> Iterator[None]:
        """While inside, `tap` is given every tensor that this thread computes here."""
        self._taps.set((*self._taps.get(), tap))
        try:
            yield
        finally:
            self._taps.set(tuple(one for one in self._taps.get() if one is not tap))


EMBEDDED = Point("embedded")  # vectors of tokens as they are in the table, (B, T, D); the module is an Embedding
WEIGHTS = Point("weights")  # of a MultiHeadAttention (B, H, T, S), of a Hop (B, H, M)
MIXED = Point("mixed")  # what the heads of a MultiHeadAttention found, side by side, (B, T, H * K)
HIDDEN = Point("hidden")  # of a Stack: into its first block, out of each, and the last after the last norm, (B, T, D)
RESIDUAL = Point("residual")  # what a Residual adds to its sub-layer's output, (B, T, D)
POINTS = (EMBEDDED, WEIGHTS, MIXED, HIDDEN, RESIDUAL)
