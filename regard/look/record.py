"""Records what a model looks at, for as long as somebody looks; nothing is slower before or after."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor, nn

from regard.model.attention import MultiHeadAttention
from regard.model.hop import Hop
from regard.model.stack import Stack

# Name of an attention -> its weights (B, H, T, S), or (B, H, M) of a hop over a story; one entry per forward.
Recorded = dict[str, list[Tensor]]


@contextmanager
def record_attention(model: nn.Module) -> Iterator[Recorded]:
    """While inside, every attention of the model adds its weights to what is yielded, under its name."""
    attentions = {name: part for name, part in model.named_modules() if isinstance(part, MultiHeadAttention | Hop)}
    seen: Recorded = {name: [] for name in attentions}
    before = {name: attention.record for name, attention in attentions.items()}
    try:
        for name, attention in attentions.items():
            attention.record = seen[name].append
        yield seen
    finally:
        for name, attention in attentions.items():
            attention.record = before[name]


@contextmanager
def record_hidden(model: nn.Module) -> Iterator[Recorded]:
    """While inside, every stack of the model tells its hidden states: under its name, a list for each forward joined
    one after another: what goes into the first block, and what comes out of each; (B, T, D). The last is after the last
    norm, if there is one.
    """
    seen: Recorded = {}
    hooks = []
    for name, stack in model.named_modules():
        if isinstance(stack, Stack):
            found = seen.setdefault(name, [])

            def keep(_module: nn.Module, _given: object, out: Tensor, found: list[Tensor] = found) -> None:
                found.append(out)

            def replace_last(_module: nn.Module, _given: object, out: Tensor, found: list[Tensor] = found) -> None:
                found[-1] = out

            hooks += [module.register_forward_hook(keep) for module in (stack.dropout, *stack.blocks)]
            hooks.append(stack.norm.register_forward_hook(replace_last))
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()
