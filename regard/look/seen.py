"""What a model looked at: tokens and weights, ready to be drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from regard.errors import ConfigError
from regard.look.draw import draw_svg, draw_terminal

if TYPE_CHECKING:
    from torch import Tensor


class Kind(NamedTuple):
    """One kind of attention: who looks (rows), at what (columns), and how much, in all layers and heads."""

    rows: list[str]  # T labels
    columns: list[str]  # S labels
    weights: Tensor  # (layers, H, T, S)


@dataclass(frozen=True)
class Seen:
    """All layers and all heads of every kind of attention, the most telling kind first.

    Of a translator: cross (the translation looks at the source), encoder, decoder. Of a writer and a filler: text. Of
    an answerer: hops (the question looks at the story; a hop is a layer). Row t of a translator's and a writer's map is
    the moment when token t was said or read.
    """

    kinds: dict[str, Kind]

    def map(self, kind: str | None = None, layer: int | None = None, head: int | None = None) -> list[list[float]]:
        """One map, rows are queries: of a layer and a head counted from 1, or the mean over those not given."""
        weights = self._kind(kind).weights  # (layers, H, T, S)
        for name, wanted, there in (("layer", layer, weights.shape[0]), ("head", head, weights.shape[1])):
            if wanted is not None and not 1 <= wanted <= there:
                raise ConfigError(f"{name}={wanted}, but the model has {there} of them, counted from 1")
        weights = weights.mean(0) if layer is None else weights[layer - 1]  # (H, T, S)
        chosen = weights.mean(0) if head is None else weights[head - 1]  # (T, S)
        rows: list[list[float]] = chosen.tolist()
        return rows

    def to_text(self, layer: int | None = None, head: int | None = None, kind: str | None = None) -> str:
        """A map for a terminal."""
        chosen = self._kind(kind)
        return draw_terminal(self.map(kind, layer, head), chosen.rows, chosen.columns)

    def to_svg(self, layer: int | None = None, head: int | None = None, kind: str | None = None) -> str:
        """A map as a picture."""
        chosen = self._kind(kind)
        return draw_svg(self.map(kind, layer, head), chosen.rows, chosen.columns)

    def _kind(self, name: str | None) -> Kind:
        name = next(iter(self.kinds)) if name is None else name
        if name not in self.kinds:
            raise ConfigError(f"there is no attention called {name}; this model has {', '.join(self.kinds)}")
        return self.kinds[name]
