"""Feed-forward, dropout, residual connections, and the Block that all Transformers here are stacked from."""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.config import ModelConfig
from regard.model.attention import MultiHeadAttention
from regard.model.cache import LayerCache
from regard.model.positions import Rotary
from regard.model.taps import RESIDUAL

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_new": partial(F.gelu, approximate="tanh"),
    "silu": F.silu,
}


def make_norm(config: ModelConfig) -> nn.Module:
    """LayerNorm or RMSNorm."""
    kind = nn.LayerNorm if config.norm_kind == "layer" else nn.RMSNorm
    return kind(config.width, eps=config.epsilon)


class Dropout(nn.Module):
    """Dropout, faster on a CPU.

    There one random byte decides about one value, so the share is a multiple of 1/256: drawing floats costs several
    times more, and so does comparing bytes instead of arithmetic on floats.
    """

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share
        self.silent = round(share * 256)  # of 256 byte values

    def forward(self, x: Tensor) -> Tensor:
        """x of any shape -> the same shape."""
        if not self.training or self.silent == 0:
            return x
        if x.device.type != "cpu":
            return F.dropout(x, self.share)
        words = torch.empty((x.numel() + 7) // 8, dtype=torch.int64, device=x.device).random_(-(2**63), None)
        draws = words.view(torch.uint8)[: x.numel()].view(x.shape).to(x.dtype)  # 0 … 255
        stays = draws.sub_(self.silent - 0.5).clamp_(0, 0.5)  # 0 below `silent`, else 0.5: exactly these two
        return x * stays.mul_(512 / (256 - self.silent))


class FeedForward(nn.Module):
    """Position-wise feed-forward network, gated (as in SwiGLU) with `is_gated`."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.up = nn.Linear(config.width, config.ffn_width, bias=config.has_bias)
        self.gate = nn.Linear(config.width, config.ffn_width, bias=config.has_bias) if config.is_gated else None
        self.down = nn.Linear(config.ffn_width, config.width, bias=config.has_bias)
        self.activation = ACTIVATIONS[config.activation]

    def forward(self, x: Tensor) -> Tensor:
        """x (B, T, D) -> (B, T, D)."""
        if self.gate is None:
            return self.down(self.activation(self.up(x)))
        return self.down(self.activation(self.gate(x)) * self.up(x))


class Residual(nn.Module):
    """Residual connection around a sub-layer, with its norm after the sum (post, the paper) or before it (pre)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm = make_norm(config)
        self.dropout = Dropout(config.dropout)
        self.is_pre = config.norm == "pre"

    def before(self, x: Tensor) -> Tensor:
        """The input of the sub-layer."""
        return self.norm(x) if self.is_pre else x

    def after(self, x: Tensor, result: Tensor) -> Tensor:
        """The sum of x and the sub-layer's output."""
        total = RESIDUAL(self, x) + self.dropout(result)
        return total if self.is_pre else self.norm(total)


def pick(x: Tensor, places: Tensor) -> Tensor:
    """The vectors at these places: x (B, T, D), places (B, N) -> (B, N, D)."""
    return x.gather(1, places[..., None].expand(-1, -1, x.shape[-1]))


class Block(nn.Module):
    """Self-attention, cross-attention if there is a memory, feed-forward; each with its residual connection."""

    def __init__(self, config: ModelConfig, *, reads_memory: bool = False) -> None:
        super().__init__()
        make_attention = partial(
            MultiHeadAttention, config.width, config.heads, kv_heads=config.kv_heads, value_width=config.value_width,
            has_bias=config.has_bias,
        )  # fmt: skip
        self.self_attention = make_attention()
        self.self_residual = Residual(config)
        self.cross_attention = make_attention() if reads_memory else None
        self.cross_residual = Residual(config) if reads_memory else None
        self.feed_forward = FeedForward(config)
        self.feed_residual = Residual(config)

    def forward(
        self,
        x: Tensor,
        *,
        may_attend: Tensor | None = None,
        is_causal: bool = False,
        memory: Tensor | None = None,
        memory_may_attend: Tensor | None = None,
        rotary: Rotary | None = None,
        cache: LayerCache | None = None,
        start: int = 0,
        wanted: Tensor | None = None,
    ) -> Tensor:
        """x (B, T, D) at places start, start + 1, … -> (B, T, D). memory (B, S, D), or already in the cache.

        wanted (B, N): only these places are queries; all places are keys -> (B, N, D).
        """
        given = self.self_residual.before(x)
        key, value = self.self_attention.read(given, rotary, start)  # (B, G, T, K)
        if wanted is not None:
            assert rotary is None and cache is None, "wanted places need absolute positions"
            x, given = pick(x, wanted), pick(given, wanted)  # (B, N, D)
        if cache is not None:
            key, value = cache.extend(key, value, start)  # (B, G, start + T, K)
        seen = self.self_attention(given, key, value, may_attend, is_causal=is_causal, rotary=rotary, start=start)
        x = self.self_residual.after(x, seen)  # (B, T, D)

        if self.cross_attention is not None and self.cross_residual is not None:
            if cache is not None and cache.memory_key is not None and cache.memory_value is not None:
                key, value = cache.memory_key, cache.memory_value  # (M, G, S, K)
            else:
                assert memory is not None, "a block that reads a memory needs one"
                key, value = self.cross_attention.read(memory)  # (B, G, S, K)
            queries = self.cross_residual.before(x).reshape(len(key), -1, x.shape[-1])  # (M, B / M * T, D)
            seen = self.cross_attention(queries, key, value, memory_may_attend)  # rows of one source share a product
            x = self.cross_residual.after(x, seen.view_as(x))  # (B, T, D)

        return self.feed_residual.after(x, self.feed_forward(self.feed_residual.before(x)))
