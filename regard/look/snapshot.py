"""Attention snapshots: the attention of a model in training on a few fixed held-out examples.

Only the mean over the heads of each layer is kept, in thousandths: enough to see it form, and small.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from regard.look.trace import as_batch, stack
from regard.model.capture import Recorded, record_attention
from regard.text.corpus import Pair
from regard.text.stories import Story

PROBES, MOST_TOKENS = 3, 40
Probe = dict[str, Any]  # rows and columns: labels; maps: of each layer (T, S)


def snapshot_pairs(model: Any, pairs: Sequence[Pair], tokenizer: Any) -> list[Probe]:
    """Where each token of the reference reads the source."""
    found, most = [], min(MOST_TOKENS, model.config.longest)
    for pair in pairs:
        source, target = tokenizer.encode(pair.source), tokenizer.encode_targets([pair.target])[0]
        if max(len(source), len(target)) <= most:
            recorded = _record(model, source, [model.start_id, *target[:-1]])
            weights = stack(recorded, "decoder.", "cross_attention")
            found.append(_frame(tokenizer.tokens(target), tokenizer.tokens(source), weights))
        if len(found) == PROBES:
            break
    return found


def snapshot_texts(model: Any, tokenizer: Any, texts: Sequence[list[int]]) -> list[Probe]:
    """The attention of each token of a text."""
    cut = [ids[:MOST_TOKENS] for ids in texts[:PROBES] if len(ids) > 1]
    maps = [stack(_record(model, ids), "stack.", "self_attention") for ids in cut]
    return [_frame(tokens, tokens, weights) for tokens, weights in zip(map(tokenizer.tokens, cut), maps, strict=True)]


def snapshot_stories(model: Any, batch: Any, stories: Sequence[Story]) -> list[Probe]:
    """The attention of each hop to the sentences of a story; batch: the stories as the model reads them."""
    model.eval()
    with torch.inference_mode(), record_attention(model) as recorded:
        model(batch.sentences, batch.ages, batch.questions)
    hops = [weights[-1] for name, weights in recorded.items() if weights and name.startswith("hops.")]  # (B, H, M) each
    if hasattr(model, "chosen"):
        one = int(model.chosen)  # of the networks that are trained side by side
        hops = [weights[:, one : one + 1] for weights in hops]
    attention = torch.stack([weights.mean(1) for weights in hops], dim=1)  # (B, hops, M)
    found = []
    for story, rows in zip(stories, attention.tolist(), strict=True):
        count = len(story.sentences)
        labels = [f"hop {number}" for number in range(1, len(rows) + 1)]
        maps = [[[round(weight, 3) for weight in row[:count]] for row in rows]]
        found.append({"rows": labels, "columns": list(story.sentences), "maps": maps})
    return found


@torch.inference_mode()
def _record(model: Any, *ids: list[int]) -> Recorded:
    """The attention of a pass over these; nothing else is computed."""
    with record_attention(model.eval()) as recorded:
        model(*(as_batch(model, one) for one in ids))
    return recorded


def _frame(rows: list[str], columns: list[str], weights: Tensor) -> Probe:
    means = weights.mean(1)  # (layers, T, S)
    maps = [[[round(weight, 3) for weight in row] for row in layer] for layer in means.tolist()]
    return {"rows": rows, "columns": columns, "maps": maps}
