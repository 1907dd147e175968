"""Attention: look at a set with a query, take home a mixture of what is there.

From one query over a set (soft, hard) to many queries at once (scaled dot product) to many heads.
Knows nothing of words, layers or training.
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.model.positions import Rotary


def soft_attention(
    query: Tensor,
    keys: Tensor,
    values: Tensor | None = None,
    *,
    temperature: float = 1.0,
    may_attend: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """A mixture of `values`, weighted by softmax of how well `query` matches each key; and the weights.

    query (..., K), or several of them (..., T, K) · keys (..., N, K) · values (..., N, D), the keys themselves if not
    given -> mixture (..., D) or (..., T, D), weights (..., N) or (..., T, N). Temperature 0 is argmax, infinity is a
    plain average.
    """
    values = keys if values is None else values
    weights = _weigh(_match(query, keys, may_attend), temperature)  # (..., N)
    return _mix(weights, values), weights


def hard_attention(
    query: Tensor,
    keys: Tensor,
    values: Tensor | None = None,
    *,
    may_attend: Tensor | None = None,
    differentiable: bool = False,
) -> tuple[Tensor, Tensor]:
    """The one value whose key matches `query` best; and the choice as weights, one 1 among 0s.

    Shapes as in `soft_attention`. If differentiable, the result is the same but gradients flow as if it were soft
    (straight-through): the choice itself has no slope to follow.
    """
    values = keys if values is None else values
    scores = _match(query, keys, may_attend)  # (..., N)
    weights = _weigh(scores, temperature=0.0)  # (..., N)
    if differentiable:
        soft = _weigh(scores, temperature=1.0)
        weights = weights + soft - soft.detach()
    return _mix(weights, values), weights


def linear_attention(
    query: Tensor, keys: Tensor, values: Tensor | None = None, *, may_attend: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The sum of `values`, each times how well `query` matches its key: attention before softmax.

    Shapes as in `soft_attention`. It has no favourites yet, so a network in the making learns more evenly from it.
    """
    values = keys if values is None else values
    weights = _match(query, keys, None)  # (..., N)
    if may_attend is not None:
        weights = weights * may_attend
    return _mix(weights, values), weights


def attend(query: Tensor, key: Tensor, value: Tensor, may_attend: Tensor | None, *, is_causal: bool = False) -> Tensor:
    """Weighted average of `value`, by how well each query matches each key: softmax(QK'/sqrt(K))V in one kernel.

    query (B, H, T, K) · key (B, H, S, K) · value (B, H, S, any) · may_attend, broadcastable to (B, 1, T, S)
    """
    return F.scaled_dot_product_attention(
        query, key, value, attn_mask=may_attend, is_causal=is_causal
    )  # (B, H, T, any)


def attend_with_weights(
    query: Tensor, key: Tensor, value: Tensor, may_attend: Tensor | None, *, is_causal: bool = False
) -> tuple[Tensor, Tensor]:
    """The same as `attend`, step by step, and the weights (B, H, T, S)."""
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])  # (B, H, T, S)
    if is_causal:
        may_attend = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()  # (T, S)
    if may_attend is not None:
        scores = scores.masked_fill(~may_attend, -math.inf)
    weights = scores.softmax(dim=-1)  # (B, H, T, S)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    """Several attentions side by side, each in its own small space.

    `read` turns what is looked at into keys and values, once; `forward` looks at them with queries.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        memory_width: int | None = None,
        key_width: int | None = None,
        value_width: int | None = None,
        key_heads: int | None = None,
        has_bias: bool = True,
    ) -> None:
        """key_width and value_width are per head; by default the heads share `width`. With key_heads, so many heads of
        keys and values are each looked at by several heads.
        """
        super().__init__()
        self.heads = heads
        self.key_heads = key_heads or heads
        key_width = key_width or width // heads
        value_width = value_width or width // heads
        self.query = nn.Linear(width, heads * key_width, bias=has_bias)
        self.key = nn.Linear(memory_width or width, self.key_heads * key_width, bias=has_bias)
        self.value = nn.Linear(memory_width or width, self.key_heads * value_width, bias=has_bias)
        self.output = nn.Linear(heads * value_width, width, bias=has_bias)
        self.record: Callable[[Tensor], None] | None = None  # set by look.record_attention while somebody looks

    def read(self, memory: Tensor, rotary: Rotary | None = None, start: int = 0) -> tuple[Tensor, Tensor]:
        """memory (B, S, D) -> key (B, H, S, K), value (B, H, S, K). `start` is the position of its first row."""
        key, value = (self._split(part(memory), self.key_heads) for part in (self.key, self.value))  # (B, H, S, K)
        key = rotary.turn(key, start) if rotary else key
        if self.key_heads != self.heads:
            key, value = (part.repeat_interleave(self.heads // self.key_heads, dim=1) for part in (key, value))
        return key, value

    def forward(
        self,
        x: Tensor,
        key: Tensor,
        value: Tensor,
        may_attend: Tensor | None = None,
        *,
        is_causal: bool = False,
        rotary: Rotary | None = None,
        start: int = 0,
    ) -> Tensor:
        """x (B, T, D) looks at key, value (B, H, S, K) -> (B, T, D)."""
        query = self._split(self.query(x), self.heads)  # (B, H, T, K)
        if rotary:
            query = rotary.turn(query, start)
        if self.record is None:
            mixed = attend(query, key, value, may_attend, is_causal=is_causal)  # (B, H, T, K)
        else:
            mixed, weights = attend_with_weights(query, key, value, may_attend, is_causal=is_causal)
            self.record(weights)
        return self.output(mixed.transpose(1, 2).flatten(2))  # (B, T, D)

    def _split(self, x: Tensor, heads: int) -> Tensor:
        return x.view(*x.shape[:-1], heads, -1).transpose(1, 2)  # (B, S, H*K) -> (B, H, S, K)


def _match(query: Tensor, keys: Tensor, may_attend: Tensor | None) -> Tensor:
    is_one = query.ndim < keys.ndim
    scores = (keys @ query.unsqueeze(-1)).squeeze(-1) if is_one else query @ keys.transpose(-1, -2)  # (..., N)
    return scores if may_attend is None else scores.masked_fill(~may_attend, -math.inf)


def _weigh(scores: Tensor, temperature: float) -> Tensor:
    if temperature < 0:
        raise ValueError(f"temperature={temperature} is below zero; 0 takes the best, larger values mix more evenly")
    if temperature == 0:
        return F.one_hot(scores.argmax(dim=-1), scores.shape[-1]).to(scores.dtype)
    if math.isinf(temperature):
        scores = torch.where(scores.isneginf(), scores, torch.zeros_like(scores))
        temperature = 1.0
    return (scores / temperature).softmax(dim=-1)


def _mix(weights: Tensor, values: Tensor) -> Tensor:
    if weights.ndim == values.ndim:
        return weights @ values  # (..., T, N) @ (..., N, D) -> (..., T, D)
    return (weights.unsqueeze(-2) @ values).squeeze(-2)  # (..., 1, N) @ (..., N, D) -> (..., D)
