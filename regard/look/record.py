"""Records what a model looks at, for as long as somebody looks; nothing is slower before or after."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from regard.look.seen import Seen
from regard.model.attention import MultiHeadAttention
from regard.model.transformer import EncoderDecoder
from regard.text.tokenizer import Tokenizer

Recorded = dict[str, list[Tensor]]  # name of an attention -> its weights (B, H, T, S), one entry per forward


@contextmanager
def record_attention(model: nn.Module) -> Iterator[Recorded]:
    """While inside, every attention of the model adds its weights to what is yielded, under its name."""
    attentions = {name: part for name, part in model.named_modules() if isinstance(part, MultiHeadAttention)}
    seen: Recorded = {name: [] for name in attentions}
    before = {name: attention.record for name, attention in attentions.items()}
    try:
        for name, attention in attentions.items():
            attention.record = seen[name].append
        yield seen
    finally:
        for name, attention in attentions.items():
            attention.record = before[name]


@torch.inference_mode()
def look_at_pair(model: EncoderDecoder, tokenizer: Tokenizer, source: str, target: str) -> Seen:
    """What the model looks at while it reads `source` and is made to say `target`."""
    model.eval()
    device = next(model.parameters()).device
    source_ids, target_ids = tokenizer.encode(source), tokenizer.encode(target)
    start = [model.pad_id, *target_ids[:-1]]
    with record_attention(model) as recorded:
        model(torch.tensor([source_ids], device=device), torch.tensor([start], device=device))
    kinds = {
        "encoder": [w for name, w in recorded.items() if name.startswith("encoder.")],
        "decoder": [
            w for name, w in recorded.items() if name.endswith("self_attention") and name.startswith("decoder.")
        ],
        "cross": [w for name, w in recorded.items() if name.endswith("cross_attention")],
    }
    return Seen(
        source=tokenizer.tokens(source_ids),
        target=tokenizer.tokens(target_ids),
        weights={kind: torch.stack([entries[0][0] for entries in found]).cpu() for kind, found in kinds.items()},
    )
