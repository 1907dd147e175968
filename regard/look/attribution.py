"""Beyond attention: what changes when something is taken away, and which way the numbers would have to move.

Attention shows where information may flow, not what the output depends on. Here: gradient x input, leave-one-out
importance, and head ablation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from regard.look.cancel import check_cancelled
from regard.look.trace import Pair, Translating
from regard.model.attention import MultiHeadAttention
from regard.model.stack import Embedding
from regard.model.taps import EMBEDDED, MIXED

ROWS = 16  # texts with something left out that are read together, at most
LOGITS = 2**24  # numbers that they may take together


@dataclass(frozen=True)
class HeadAblation:
    """What becomes of the answer when one head says nothing."""

    kind: str
    layer: int  # from 1
    head: int  # from 1
    loss: float  # how much less likely the answer is, in nats a token
    probabilities: list[float]  # of each token
    instead: list[str]  # what would be likeliest there


@dataclass(frozen=True)
class Why:
    """Importance of each column for each row, in nats: what its absence costs, and what the gradient says it gives."""

    rows: list[int]  # of the first kind of attention: the query of each generated token
    left_out: list[list[float]]  # (T, S): log-probability lost when the column's word is left out
    gradient: list[list[float]]  # (T, S): gradient x input, a first guess at the same
    off: list[HeadAblation]


@contextmanager
def silence(model: nn.Module, name: str, head: int) -> Iterator[None]:
    """While inside, one head (from 0) of the attention of this name finds nothing, in this thread."""
    attention = dict(model.named_modules())[name]
    assert isinstance(attention, MultiHeadAttention)
    width = attention.output.in_features // attention.heads

    def mute(module: nn.Module, mixed: Tensor) -> Tensor:
        if module is not attention:
            return mixed
        mixed = mixed.clone()  # (B, T, H * K)
        mixed[..., head * width : (head + 1) * width] = 0
        return mixed

    with MIXED.open(mute):
        yield


def heads_of(model: nn.Module) -> Iterator[tuple[str, str, int, int]]:
    """Every head: its kind, the name of its attention, layer and head from 0."""
    counts: dict[str, int] = {}
    for name, part in model.named_modules():
        if isinstance(part, MultiHeadAttention):
            kind = "cross" if name.endswith("cross_attention") else name.split(".")[0]
            kind = "text" if kind == "stack" else kind
            layer = counts.setdefault(kind, 0)
            counts[kind] += 1
            for head in range(part.heads):
                yield kind, name, layer, head


def explain_pair(model: Translating, tokenizer: Any, pair: Pair, words: Sequence[int | None]) -> Why:
    """Why a translator generated each token: by the words of its source."""
    source, target = pair
    start = [model.start_id, *target[:-1]]

    def read(sources: list[list[int]]) -> Tensor:
        longest = max(map(len, sources))
        padded = [ids + [model.pad_id] * (longest - len(ids)) for ids in sources]
        device = next(model.parameters()).device
        hidden = model(torch.tensor(padded, device=device), torch.tensor([start] * len(padded), device=device))
        return model.logits(hidden).log_softmax(-1)  # (B, T, V)

    return _explain(model, tokenizer, range(len(target)), source, target, words, read)


def explain_text(model: Any, tokenizer: Any, ids: list[int], words: Sequence[int | None]) -> Why:
    """Why a writer foresaw each token: by the words before it. Row 0 is the first that was foreseen.

    A word is replaced by the token that texts begin with, so that all others keep their positions.
    """
    target = ids[1:]

    def read(variants: list[list[int]]) -> Tensor:
        device = next(model.parameters()).device
        return model.logits(model(torch.tensor(variants, device=device)))[:, :-1].log_softmax(-1)  # (B, T - 1, V)

    return _explain(model, tokenizer, range(len(target)), ids, target, words, read, instead=tokenizer.begin_id)


def explain_gaps(
    model: Any, tokenizer: Any, ids: list[int], gaps: list[int], filled: list[int], words: Sequence[int | None]
) -> Why:
    """Why a filler would fill each gap so: by the other words; one that is left out becomes another gap."""

    def read(variants: list[list[int]]) -> Tensor:
        device = next(model.parameters()).device
        return model.logits(model(torch.tensor(variants, device=device))[:, gaps]).log_softmax(-1)  # (B, gaps, V)

    return _explain(model, tokenizer, gaps, ids, filled, words, read, instead=tokenizer.mask_id)


def _explain(
    model: Any, tokenizer: Any, rows: Sequence[int], source: list[int], target: list[int],
    words: Sequence[int | None], read: Callable[[list[list[int]]], Tensor], instead: int | None = None,
) -> Why:  # fmt: skip
    """read: log-probabilities (B, T, V) of the target for each of several sources. instead: the token that
    replaces a word; None: it is removed."""
    model.eval()
    labels = torch.tensor(target, device=next(model.parameters()).device)  # (T,)
    with torch.inference_mode():
        found = read([source])[0]  # (T, V)
        base = found.gather(1, labels[:, None])[:, 0]  # (T,)
        together = max(1, min(ROWS, LOGITS // found.numel()))
        costs = _leave_out(source, words, labels, base, read, instead, together)
        off = []
        for kind, name, layer, head in heads_of(model):
            check_cancelled()
            with silence(model, name, head):
                muted = read([source])[0]  # (T, V)
            log_probs = muted.gather(1, labels[:, None])[:, 0]  # (T,)
            best = tokenizer.tokens(muted.argmax(-1).tolist())
            off.append(
                HeadAblation(
                    kind, layer + 1, head + 1, float((base - log_probs).mean()), log_probs.exp().tolist(), best
                )
            )
    return Why(list(rows), costs, _gradients(model, source, labels, read), off)


def _leave_out(
    source: list[int], words: Sequence[int | None], labels: Tensor, base: Tensor,
    read: Callable[[list[list[int]]], Tensor], instead: int | None, together: int,
) -> list[list[float]]:  # fmt: skip
    """What each source token's word is worth: log-probability of each target token with it, less without it. (T, S)"""
    there = sorted({word for word in words if word is not None})
    variants = []
    for removed in there:
        pairs = zip(source, words, strict=True)
        kept = [
            (number if word != removed else instead) for number, word in pairs if word != removed or instead is not None
        ]
        variants.append([number for number in kept if number is not None])
    costs = torch.zeros(len(labels), len(source))
    by_length: dict[int, list[int]] = {}
    for index, variant in enumerate(variants):
        by_length.setdefault(len(variant), []).append(index)
    for indexes in by_length.values():  # alike in length: no padding, and nothing depends on the company
        for first in range(0, len(indexes), together):
            check_cancelled()
            chunk = indexes[first : first + together]
            found = read([variants[index] for index in chunk])  # (B, T, V)
            own = found.gather(2, labels.expand(len(chunk), -1)[..., None])[..., 0]  # (B, T)
            for index, log_probs in zip(chunk, own, strict=True):
                places = [place for place, word in enumerate(words) if word == there[index]]
                costs[:, places] = (base - log_probs).cpu()[:, None]
    found_costs: list[list[float]] = costs.tolist()
    return found_costs


def _gradients(
    model: nn.Module, source: list[int], labels: Tensor, read: Callable[[list[list[int]]], Tensor]
) -> list[list[float]]:
    """Gradient x input: how the log-probability of each target token would move if a source vector grew. (T, S)"""
    table = next(part for part in model.modules() if isinstance(part, Embedding))
    vectors: list[Tensor] = []

    def keep(module: nn.Module, found: Tensor) -> Tensor:
        if module is not table:
            return found
        vectors.append(found.detach().requires_grad_())
        return vectors[-1]

    with torch.enable_grad(), EMBEDDED.open(keep):
        own = read([source])[0].gather(1, labels[:, None])[:, 0]  # (T,)
    rows = []
    for log_prob in own:
        check_cancelled()
        (grad,) = torch.autograd.grad(log_prob, vectors[0], retain_graph=True)  # (1, S, D)
        rows.append((grad * vectors[0].detach()).sum(-1)[0].tolist())
    return rows
