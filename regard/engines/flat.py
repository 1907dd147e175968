"""One decoding step of a translator as plain function calls: the same as its modules compute, faster.

For few rows a module costs Python about as much as its product costs the machine (bench/generate.py, one sentence).
"""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakKeyDictionary

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.model.attention import attend
from regard.model.blocks import Block, Residual
from regard.model.cache import KeyValueCache, LayerCache
from regard.model.positions import Rotary
from regard.model.taps import POINTS
from regard.model.transformer import EncoderDecoder


class FlatDecoder:
    """The decoder of a translator whose blocks are of the plain kind. The weights stay the model's own."""

    def __init__(self, model: EncoderDecoder) -> None:
        self._embedding, self._positions = model.embedding, model.decoder.positions
        self._blocks = [_flat_block(block) for block in model.decoder.blocks if isinstance(block, Block)]
        self._norm = _flat_norm(model.decoder.norm) if model.config.norm == "pre" else None
        self._modules = list(model.decoder.modules())

    @classmethod
    def of(cls, model: nn.Module) -> FlatDecoder | None:
        """The decoder of a model, if it is of this kind and no hook is on its modules."""
        if not isinstance(model, EncoderDecoder) or model.training:
            return None
        if model not in _known:
            _known[model] = cls(model) if _is_plain(model) else None
        known = _known[model]
        return None if known is None or known.is_hooked else known

    @property
    def is_hooked(self) -> bool:
        """Whether a tap or a hook needs the modules themselves to run."""
        return any(point.is_open for point in POINTS) or any(
            module._forward_hooks or module._forward_pre_hooks for module in self._modules
        )

    def advance(self, last: Tensor, cache: KeyValueCache) -> Tensor:
        """The newest token of each row, last (B,) -> hidden (B, D); the cache then holds it too."""
        cache.check_room(len(last), 1)
        x = self._positions(self._embedding(last)[:, None], cache.length)[:, 0]  # (B, D)
        whole = x.shape
        x = x.squeeze(0)  # one row alone is a vector: its products are cheaper
        for block, layer in zip(self._blocks, cache.layers, strict=True):
            x = block(x, layer, cache.length, cache.may_attend)
        cache.length += 1
        return (x if self._norm is None else self._norm(x)).view(whole)


# Walking the modules of a model takes as long as a token, so the result is kept as long as the model lives.
_known: WeakKeyDictionary[nn.Module, FlatDecoder | None] = WeakKeyDictionary()


def _is_plain(model: EncoderDecoder) -> bool:
    config = model.config
    has_plain_blocks = config.norm_kind == "layer" and not config.is_gated and config.kv_heads in (None, config.heads)
    return has_plain_blocks and config.value_width is None and not isinstance(model.decoder.positions, Rotary)


def _flat_block(block: Block) -> Callable[[Tensor, LayerCache, int, Tensor | None], Tensor]:
    """A block as one function of x (B, D) or (D,), its cache, the place of x, and what of the memory is real."""
    looking, reading, feed = block.self_attention, block.cross_attention, block.feed_forward
    assert reading is not None and block.cross_residual is not None, "a translator's decoder reads a memory"
    heads = looking.heads
    query, key, value = _flat_linear(looking.query), _flat_linear(looking.key), _flat_linear(looking.value)
    output, memory_query, memory_output = map(_flat_linear, (looking.output, reading.query, reading.output))
    up, down, activation = _flat_linear(feed.up), _flat_linear(feed.down), feed.activation
    before_self, after_self = _flat_residual(block.self_residual)
    before_memory, after_memory = _flat_residual(block.cross_residual)
    before_feed, after_feed = _flat_residual(block.feed_residual)

    def advance(x: Tensor, cache: LayerCache, place: int, may_attend: Tensor | None) -> Tensor:
        rows = len(cache.key)
        given = before_self(x)
        cache.key[:, :, place] = key(given).view(rows, heads, -1)  # (B, H, K)
        cache.value[:, :, place] = value(given).view(rows, heads, -1)
        asked = query(given).view(rows, heads, 1, -1)  # (B, H, 1, K)
        seen = attend(asked, cache.key[:, :, : place + 1], cache.value[:, :, : place + 1], None)  # (B, H, 1, K)
        x = after_self(x, output(seen.reshape(x.shape)))  # (B, D) or (D,)

        assert cache.memory_key is not None and cache.memory_value is not None
        sources = len(cache.memory_key)  # rows of one source share a product
        asked = memory_query(before_memory(x)).view(sources, rows // sources, heads, -1).transpose(1, 2)
        seen = attend(asked, cache.memory_key, cache.memory_value, may_attend)  # (M, H, B / M, K)
        x = after_memory(x, memory_output(seen.transpose(1, 2).reshape(x.shape)))  # (B, D) or (D,)
        return after_feed(x, down(activation(up(before_feed(x)))))

    return advance


def _flat_linear(linear: nn.Linear) -> Callable[[Tensor], Tensor]:
    weight, product, of_vector = linear.weight, F.linear, torch.addmv
    bias: Tensor | None = linear.bias
    if bias is None:
        return lambda x: product(x, weight)
    return lambda x: of_vector(bias, weight, x) if x.ndim == 1 else product(x, weight, bias)


def _flat_norm(norm: nn.Module) -> Callable[[Tensor], Tensor]:
    assert isinstance(norm, nn.LayerNorm)
    shape, weight, bias, epsilon, apply = norm.normalized_shape, norm.weight, norm.bias, norm.eps, F.layer_norm
    return lambda x: apply(x, shape, weight, bias, epsilon)


def _flat_residual(residual: Residual) -> tuple[Callable[[Tensor], Tensor], Callable[[Tensor, Tensor], Tensor]]:
    """What a sub-layer is given, and what becomes of its result."""
    norm = _flat_norm(residual.norm)
    if residual.is_pre:
        return norm, lambda x, result: x + result
    return lambda x: x, lambda x, result: norm(x + result)
