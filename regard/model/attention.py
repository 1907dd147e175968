"""Attention: a weighted average of values, by how well a query matches their keys.

From one query over a set (soft, hard) to many queries at once (scaled dot product) to many heads.
Knows no words, layers or training.
"""

import math
from functools import partial
from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.errors import ConfigError
from regard.model.positions import Rotary
from regard.model.products import apart
from regard.model.taps import MIXED, WEIGHTS

Similarity = Literal["dot", "cosine"]


def soft_attention(
    query: Tensor,
    keys: Tensor,
    values: Tensor | None = None,
    *,
    temperature: float = 1.0,
    may_attend: Tensor | None = None,
    similarity: Similarity = "dot",
) -> tuple[Tensor, Tensor]:
    """A mixture of `values`, weighted by softmax of how well `query` matches each key; and the weights.

    query (..., K), or several of them (..., T, K) · keys (..., N, K) · values (..., N, D), the keys themselves if not
    given -> mixture (..., D) or (..., T, D), weights (..., N) or (..., T, N). Temperature 0 is argmax, infinity is a
    plain average. may_attend as of `attend`. similarity: the dot product, or the cosine of the angle, which leaves the
    lengths out of account and is between -1 and 1, so that it needs a low temperature to prefer one key clearly.
    """
    values = keys if values is None else values
    weights = _weigh(_match(query, keys, may_attend, similarity), temperature)  # (..., N)
    return _mix(weights, values), weights


def hard_attention(
    query: Tensor,
    keys: Tensor,
    values: Tensor | None = None,
    *,
    best: int = 1,
    may_attend: Tensor | None = None,
    similarity: Similarity = "dot",
    differentiable: bool = False,
) -> tuple[Tensor, Tensor]:
    """The one value whose key matches `query` best, or a mixture of the `best` ones; and the weights, 0 for all others.

    Shapes as in `soft_attention`. One key gets the weight 1; several share it by softmax, so that as many as there are
    keys is soft attention. The choice has no gradient, only the shares do. If differentiable, the result is the same
    but gradients flow as if it were soft (straight-through).
    """
    values = keys if values is None else values
    scores = _match(query, keys, may_attend, similarity)  # (..., N)
    weights = _weigh(scores, temperature=0.0) if best == 1 else _weigh(_keep_best(scores, best), 1.0)  # (..., N)
    if differentiable:
        soft = _weigh(scores, temperature=1.0)
        weights = weights.detach() + soft - soft.detach()
    return _mix(weights, values), weights


def linear_attention(
    query: Tensor, keys: Tensor, values: Tensor | None = None, *, may_attend: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The sum of `values`, each times how well `query` matches its key: attention before softmax.

    Shapes as in `soft_attention`. Without softmax, gradients reach all memories at the start of training.
    """
    values = keys if values is None else values
    weights = _match(query, keys, None, "dot")  # (..., N)
    if may_attend is not None:
        if may_attend.dtype != torch.bool:
            raise ConfigError(f"linear attention has no softmax to add a mask to; give a boolean mask, "
                              f"True = may attend, not {may_attend.dtype}")  # fmt: skip
        weights = weights * may_attend
    return _mix(weights, values), weights


def attend(query: Tensor, key: Tensor, value: Tensor, may_attend: Tensor | None, *, is_causal: bool = False) -> Tensor:
    """Weighted average of `value`, by how well each query matches each key: softmax(QK'/sqrt(K))V in one kernel.

    query (B, H, T, K) · key (B, G, S, K), value (B, G, S, any), where G divides H · may_attend, broadcastable to
    (B, H, T, S): True = may attend, or floats added to the scores. With is_causal, query t may attend to keys up to t,
    and only to those that may_attend allows as well. A query that may attend to nothing returns 0.
    """
    if may_attend is not None:
        _refuse_odd_mask(may_attend)
        if is_causal:
            may_attend, is_causal = _and_causal(may_attend, query.shape[2], key.shape[2]), False
    is_grouped = key.shape[1] != query.shape[1]
    fused = partial(F.scaled_dot_product_attention, attn_mask=may_attend, is_causal=is_causal, enable_gqa=is_grouped)
    if may_attend is not None and may_attend.requires_grad:
        return fused(query, key, value)
    return apart(fused, query, key, value)  # (B, H, T, any)


def attend_with_weights(
    query: Tensor, key: Tensor, value: Tensor, may_attend: Tensor | None, *, is_causal: bool = False
) -> tuple[Tensor, Tensor]:
    """The same as `attend`, step by step, and the weights (B, H, T, S)."""
    if key.shape[1] != query.shape[1]:
        key, value = (part.repeat_interleave(query.shape[1] // key.shape[1], dim=1) for part in (key, value))
    precise = torch.float32 if query.dtype in (torch.bfloat16, torch.float16) else query.dtype  # as the kernel does
    scores = query.to(precise) @ key.to(precise).transpose(-1, -2) / math.sqrt(query.shape[-1])  # (B, H, T, S)
    if is_causal:
        causal = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()  # (T, S)
        scores = scores.masked_fill(~causal, -math.inf)
    weights = _softmax(_mask(scores, may_attend))  # (B, H, T, S)
    return (weights @ value.to(precise)).to(query.dtype), weights.to(query.dtype)


class MultiHeadAttention(nn.Module):
    """Multi-head attention, or grouped-query attention with `kv_heads`.

    `read` projects a memory to keys and values, once; `forward` attends to them with queries.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        memory_width: int | None = None,
        key_width: int | None = None,
        value_width: int | None = None,
        kv_heads: int | None = None,
        has_bias: bool = True,
    ) -> None:
        """key_width and value_width are per head; by default the heads share `width`. kv_heads: fewer
        heads of keys and values, each shared by several heads of queries.
        """
        super().__init__()
        _refuse_odd_heads(width, heads, kv_heads, is_shared=key_width is None or value_width is None)
        self.heads = heads
        self.kv_heads = kv_heads or heads
        key_width = key_width or width // heads
        value_width = value_width or width // heads
        self.query = nn.Linear(width, heads * key_width, bias=has_bias)
        self.key = nn.Linear(memory_width or width, self.kv_heads * key_width, bias=has_bias)
        self.value = nn.Linear(memory_width or width, self.kv_heads * value_width, bias=has_bias)
        self.output = nn.Linear(heads * value_width, width, bias=has_bias)

    def read(self, memory: Tensor, rotary: Rotary | None = None, start: int = 0) -> tuple[Tensor, Tensor]:
        """memory (B, S, D) -> key (B, G, S, K), value (B, G, S, K), of G kv_heads. `start` is the position of its
        first row.
        """
        key, value = self._split(self.key(memory), self.kv_heads), self._split(self.value(memory), self.kv_heads)
        return rotary.rotate(key, start) if rotary else key, value

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
        """x (B, T, D) attends to key, value (B, G, S, K) -> (B, T, D)."""
        query = self._split(self.query(x), self.heads)  # (B, H, T, K)
        if rotary:
            query = rotary.rotate(query, start)
        if WEIGHTS.is_open:
            mixed, weights = attend_with_weights(query, key, value, may_attend, is_causal=is_causal)
            WEIGHTS(self, weights)
        else:
            mixed = attend(query, key, value, may_attend, is_causal=is_causal)  # (B, H, T, K)
        mixed = mixed.reshape(len(x), 1, -1) if x.shape[1] == 1 else mixed.transpose(1, 2).flatten(2)  # (B, T, H*K)
        return self.output(MIXED(self, mixed))  # (B, T, D)

    def _split(self, x: Tensor, heads: int) -> Tensor:
        rows, length, width = x.shape
        if length == 1:  # a step of decoding, where every call shows in its time
            return x.view(rows, heads, 1, width // heads)
        return x.view(rows, length, heads, width // heads).transpose(1, 2)  # (B, S, H*K) -> (B, H, S, K)


def _refuse_odd_heads(width: int, heads: int, kv_heads: int | None, *, is_shared: bool) -> None:
    for name, number in (("width", width), ("heads", heads), ("kv_heads", heads if kv_heads is None else kv_heads)):
        if number < 1:
            raise ConfigError(f"{name}={number}: it must be at least 1")
    if is_shared and width % heads:
        raise ConfigError(f"width={width} cannot be shared equally by heads={heads}; "
                          f"try width={width + heads - width % heads}, or give key_width and value_width")  # fmt: skip
    if heads % (kv_heads or heads):
        raise ConfigError(f"heads={heads} cannot be shared equally by kv_heads={kv_heads}; it must divide heads")


def _refuse_odd_mask(may_attend: Tensor) -> None:
    if may_attend.dtype != torch.bool and not may_attend.is_floating_point():
        raise ConfigError(f"a mask of {may_attend.dtype} is ambiguous; give booleans, True = may attend, "
                          f"or floats that are added to the scores")  # fmt: skip


def _and_causal(may_attend: Tensor, queries: int, keys: int) -> Tensor:
    """Both masks as one: booleans, or floats to be added."""
    causal = torch.ones(queries, keys, dtype=torch.bool, device=may_attend.device).tril()  # (T, S)
    return may_attend & causal if may_attend.dtype == torch.bool else may_attend.masked_fill(~causal, -math.inf)


def _mask(scores: Tensor, may_attend: Tensor | None) -> Tensor:
    """Scores (..., S), minus infinity where a boolean mask is False, or plus a mask of floats."""
    if may_attend is None:
        return scores
    _refuse_odd_mask(may_attend)
    if may_attend.dtype == torch.bool:
        return scores.masked_fill(~may_attend, -math.inf)
    return scores + may_attend


def _softmax(scores: Tensor) -> Tensor:
    """Over the last dimension; a fully masked row is all 0, and so are its gradients."""
    is_blind = scores.isneginf().all(dim=-1, keepdim=True)  # (..., 1)
    return scores.masked_fill(is_blind, 0).softmax(dim=-1).masked_fill(is_blind, 0)


def _match(query: Tensor, keys: Tensor, may_attend: Tensor | None, similarity: Similarity) -> Tensor:
    if similarity not in get_args(Similarity):
        raise ConfigError(f"similarity={similarity!r} is not one of {', '.join(get_args(Similarity))}")
    if similarity == "cosine":
        query, keys = F.normalize(query, dim=-1), F.normalize(keys, dim=-1)  # of a zero vector, every cosine is 0
    is_one = query.ndim < keys.ndim
    scores = (keys @ query.unsqueeze(-1)).squeeze(-1) if is_one else query @ keys.transpose(-1, -2)  # (..., N)
    return _mask(scores, may_attend)


def _weigh(scores: Tensor, temperature: float) -> Tensor:
    if temperature < 0:
        raise ValueError(f"temperature={temperature} is below zero; 0 takes the best, larger values mix more evenly")
    if temperature == 0:
        best = F.one_hot(scores.argmax(dim=-1), scores.shape[-1]).to(scores.dtype)
        return best.masked_fill(scores.isneginf(), 0)
    if math.isinf(temperature):
        scores = torch.where(scores.isneginf(), scores, torch.zeros_like(scores))
        temperature = 1.0
    return _softmax(scores / temperature)


def _keep_best(scores: Tensor, best: int) -> Tensor:
    """Minus infinity for all but the largest; of equal scores, no more than `best` are kept."""
    if best < 1:
        raise ConfigError(f"best={best}: hard attention chooses at least 1 key")
    chosen = scores.topk(min(best, scores.shape[-1]), dim=-1).indices  # (..., best)
    return scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).scatter(-1, chosen, False), -math.inf)


def _mix(weights: Tensor, values: Tensor) -> Tensor:
    if weights.ndim == values.ndim:
        return weights @ values  # (..., T, N) @ (..., N, D) -> (..., T, D)
    return (weights.unsqueeze(-2) @ values).squeeze(-2)  # (..., 1, N) @ (..., N, D) -> (..., D)
