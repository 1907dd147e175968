"""What a model looked at: tokens and weights, ready to be drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from regard.errors import ConfigError
from regard.look.draw import draw_svg, draw_terminal

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Seen:
    """All layers and all heads of one text and its translation.

    Row t of a map is the moment when token t was said; `target` ends with the end.
    """

    source: list[str]  # S tokens
    target: list[str]  # T tokens
    weights: dict[str, Tensor]  # encoder (layers, H, S, S) · decoder (layers, H, T, T) · cross (layers, H, T, S)

    def map(self, kind: str = "cross", layer: int | None = None, head: int | None = None) -> list[list[float]]:
        """One map, rows are queries: of a layer and a head counted from 1, or the mean over those not given."""
        if kind not in self.weights:
            raise ConfigError(f"there is no attention called {kind}; this model has {', '.join(self.weights)}")
        weights = self.weights[kind]  # (layers, H, T, S)
        for name, wanted, there in (("layer", layer, weights.shape[0]), ("head", head, weights.shape[1])):
            if wanted is not None and not 1 <= wanted <= there:
                raise ConfigError(f"{name}={wanted}, but the model has {there} of them, counted from 1")
        weights = weights.mean(0) if layer is None else weights[layer - 1]  # (H, T, S)
        chosen = weights.mean(0) if head is None else weights[head - 1]  # (T, S)
        rows: list[list[float]] = chosen.tolist()
        return rows

    def to_text(self, layer: int | None = None, head: int | None = None) -> str:
        """The cross-attention as a map for a terminal."""
        return draw_terminal(self.map("cross", layer, head), self.target, self.source)

    def to_svg(self, layer: int | None = None, head: int | None = None) -> str:
        """The cross-attention as a picture."""
        return draw_svg(self.map("cross", layer, head), self.target, self.source)
