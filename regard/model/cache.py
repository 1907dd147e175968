"""What a decoder has already worked out, so that a step costs one token and not the whole text.

Owned by the caller, advanced by the model once per forward. Rows can be dropped, repeated and reordered.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass
class LayerCache:
    """Keys and values of one layer: of the tokens so far, and of the memory it reads."""

    key: Tensor  # (B, H, room, K), used up to the cache's length
    value: Tensor  # (B, H, room, K)
    memory_key: Tensor | None = None  # (B, H, S, K)
    memory_value: Tensor | None = None  # (B, H, S, K)

    def extend(self, key: Tensor, value: Tensor, length: int) -> tuple[Tensor, Tensor]:
        """Puts new keys and values (B, H, T, K) after the first `length`; all of them so far, (B, H, length + T, K)."""
        end = length + key.shape[2]
        self.key[:, :, length:end] = key
        self.value[:, :, length:end] = value
        return self.key[:, :, :end], self.value[:, :, :end]


@dataclass
class KeyValueCache:
    """All layers of a decoder."""

    layers: list[LayerCache]
    may_attend: Tensor | None  # (B, 1, 1, S): which places of the memory are real
    length: int = 0  # tokens so far, the same for every row

    def keep(self, rows: Tensor) -> None:
        """Row i becomes what row `rows[i]` was. rows (new B,)"""
        for layer in self.layers:
            layer.key = _select(layer.key, rows, self.length)
            layer.value = _select(layer.value, rows, self.length)
            if layer.memory_key is not None and layer.memory_value is not None:
                layer.memory_key = layer.memory_key.index_select(0, rows)
                layer.memory_value = layer.memory_value.index_select(0, rows)
        if self.may_attend is not None:
            self.may_attend = self.may_attend.index_select(0, rows)


def _select(full: Tensor, rows: Tensor, length: int) -> Tensor:
    """Only what is used is copied; the room behind it is left as it comes."""
    chosen = torch.empty((len(rows), *full.shape[1:]), dtype=full.dtype, device=full.device)
    chosen[:, :, :length] = full[:, :, :length].index_select(0, rows)
    return chosen
