"""Records what a model looks at, for as long as somebody looks; nothing is slower before or after."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from regard.look.seen import Kind, Seen
from regard.model.attention import MultiHeadAttention
from regard.model.hop import Hop
from regard.model.stack import Stack
from regard.model.transformer import CausalLM, EncoderDecoder, TextEncoder
from regard.text.tokenizer import Tokenizer

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


@torch.inference_mode()
def look_at_pair(model: EncoderDecoder, tokenizer: Tokenizer, source: str, target: str) -> Seen:
    """What the model looks at while it reads `source` and is made to say `target`."""
    model.eval()
    device = next(model.parameters()).device
    source_ids, target_ids = tokenizer.encode(source), tokenizer.encode_targets([target])[0]
    start = [model.start_id, *target_ids[:-1]]
    with record_attention(model) as recorded:
        model(torch.tensor([source_ids], device=device), torch.tensor([start], device=device))
    source_tokens, target_tokens = tokenizer.tokens(source_ids), tokenizer.tokens(target_ids)
    return Seen(
        {
            "cross": Kind(target_tokens, source_tokens, _stack(recorded, "decoder.", "cross_attention")),
            "encoder": Kind(source_tokens, source_tokens, _stack(recorded, "encoder.", "self_attention")),
            "decoder": Kind(target_tokens, target_tokens, _stack(recorded, "decoder.", "self_attention")),
        }
    )


@torch.inference_mode()
def look_at_text(model: CausalLM | TextEncoder, tokenizer: Tokenizer, ids: list[int]) -> Seen:
    """What each token of a text looks at."""
    model.eval()
    with record_attention(model) as recorded:
        model(torch.tensor([ids], device=next(model.parameters()).device))
    tokens = tokenizer.tokens(ids)
    return Seen({"text": Kind(tokens, tokens, _stack(recorded, "stack.", "self_attention"))})


def _stack(recorded: Recorded, part: str, kind: str) -> Tensor:
    """The weights of one kind of attention in one part of a model, of the first row: (layers, H, T, S)."""
    found = [entries[0][0] for name, entries in recorded.items() if name.startswith(part) and name.endswith(kind)]
    return torch.stack(found).cpu()
