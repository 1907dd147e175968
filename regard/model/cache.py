"""The key-value cache of a decoder: a step costs one token, not the whole text.

Owned by the caller, advanced by the model once per forward. Rows can be dropped, repeated and reordered.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.errors import ConfigError


@dataclass
class LayerCache:
    """Keys and values of one layer: of the tokens so far, and of the memory it reads."""

    key: Tensor  # (B, G, room, K) of G kv_heads, used up to the cache's length
    value: Tensor  # (B, G, room, any)
    memory_key: Tensor | None = None  # (M, G, S, K): rows that come from one source, B / M of them, share theirs
    memory_value: Tensor | None = None  # (M, G, S, any)

    def extend(self, key: Tensor, value: Tensor, length: int) -> tuple[Tensor, Tensor]:
        """Puts new keys and values (B, G, T, K) after the first `length`; all of them so far, (B, G, length + T, K)."""
        end = length + key.shape[2]
        self.key[:, :, length:end] = key
        self.value[:, :, length:end] = value
        return self.key[:, :, :end], self.value[:, :, :end]


@dataclass
class KeyValueCache:
    """All layers of a decoder."""

    keys: Tensor  # (L, B, G, room, K): of all layers, so that rows are reordered at once
    values: Tensor  # (L, B, G, room, any)
    layers: list[LayerCache]
    may_attend: Tensor | None  # (M, 1, 1, S): which places of the memory are real; None: all of them
    length: int = 0  # tokens so far, the same for every row

    def check_room(self, rows: int, tokens: int) -> None:
        """Refuses more rows or tokens than fit."""
        here, room = self.keys.shape[1], self.keys.shape[3]
        if rows != here:
            raise ConfigError(f"the cache is of {here} rows and {rows} are given; choose its rows with `keep`, "
                              f"or open it for {rows}")  # fmt: skip
        if self.length + tokens > room:
            raise ConfigError(f"the cache has room for {room} tokens, {self.length} are in it and {tokens} more do not "
                              f"fit; open it with room={self.length + tokens} at least")  # fmt: skip

    @property
    def is_full(self) -> bool:
        """Whether there is no room for another token."""
        return self.length == self.keys.shape[3]

    def grow(self, room: int) -> None:
        """Makes room for so many tokens in all."""
        self.keys, self.values = self._with_room(self.keys, room), self._with_room(self.values, room)
        self._share_out()

    def _with_room(self, held: Tensor, room: int) -> Tensor:
        wider = held.new_empty(*held.shape[:3], room, held.shape[4])
        wider[..., : self.length, :] = held[..., : self.length, :]
        return wider

    def _share_out(self) -> None:
        for number, layer in enumerate(self.layers):
            layer.key, layer.value = self.keys[number], self.values[number]

    def keep(self, rows: Tensor) -> None:
        """Row i becomes what row `rows[i]` was. rows (new B,)"""
        before = self.keys.shape[1]
        self.keys, self.values = self._choose(self.keys, rows), self._choose(self.values, rows)
        self._share_out()
        memory = self.layers[0].memory_key
        if memory is not None and len(memory) > 1:
            self._keep_memory(rows // (before // len(memory)), len(memory))

    def _choose(self, held: Tensor, rows: Tensor) -> Tensor:
        layers, _, *shape = held.shape
        chosen = held.new_empty(layers, len(rows), *shape)
        # Only what is used is copied; the room behind it is left as it comes.
        chosen[..., : self.length, :] = held[..., : self.length, :].index_select(1, rows)
        return chosen

    def _keep_memory(self, owners: Tensor, sources: int) -> None:
        """owners (new B,): the source of each row. Adjacent rows share their source's memory if all have as many."""
        kept, counts = torch.unique_consecutive(owners, return_counts=True)  # (new M,) each
        if int(counts.min()) != int(counts.max()):
            kept = owners
        if len(kept) == sources and torch.equal(kept, torch.arange(len(kept), device=kept.device)):
            return
        self.may_attend = None if self.may_attend is None else self.may_attend.index_select(0, kept)
        for layer in self.layers:
            assert layer.memory_key is not None and layer.memory_value is not None
            layer.memory_key = layer.memory_key.index_select(0, kept)
            layer.memory_value = layer.memory_value.index_select(0, kept)
