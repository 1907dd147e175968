"""Chooses the layer and the heads of a translator that tell best where a token was read from. Needs no gold.

On held-out pairs each head is asked which source token belongs to a target token, and a lexicon how likely that is
among the tokens of the source: the choice that finds the likely ones most often is taken.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from regard.engine.lexicon import Lexicon
from regard.look.record import record_attention
from regard.model.transformer import EncoderDecoder

PAIRS = 200  # held-out pairs that are looked at


@torch.inference_mode()
def choose_heads(
    model: EncoderDecoder, pairs: Sequence[tuple[list[int], list[int]]], lexicon: Lexicon
) -> dict[str, Any]:
    """The layer and its heads, both from 0, best first. pairs: ids of sources and targets, each with its end."""
    model.eval()
    layers, heads = len(model.decoder.blocks), model.config.heads
    maps: list[list[Tensor]] = [[] for _ in range(layers)]  # of each layer and pair: (H, T, S)
    truths = []
    for source, target in pairs[:PAIRS]:
        with record_attention(model) as recorded:
            model(torch.tensor([source]), torch.tensor([[model.pad_id, *target[:-1]]]))
        for layer in range(layers):
            seen = recorded[f"decoder.blocks.{layer}.cross_attention"][0][0]  # (H, T, S)
            maps[layer].append(seen[:, 1:, :-1])  # the step after a token; the end of the source is nothing to find
        chances = lexicon.look_up(torch.tensor(source[:-1]), torch.tensor(target[:-1]))  # (T - 1, S - 1)
        truths.append(chances / chances.sum(dim=1, keepdim=True).clamp(min=1e-9))
    best: tuple[float, int, list[int]] = (-1.0, 0, [0])
    for layer in range(layers):
        alone = [_found([seen[[head]] for seen in maps[layer]], truths) for head in range(heads)]
        order = sorted(range(heads), key=lambda head: -alone[head])
        for count in range(1, heads + 1):
            chosen = order[:count]
            found = _found([seen[chosen] for seen in maps[layer]], truths)
            best = max(best, (found, layer, chosen), key=lambda one: one[0])
    return {"layer": best[1], "heads": best[2], "found": round(best[0], 4)}


def _found(maps: list[Tensor], truths: list[Tensor]) -> float:
    """How much of what the lexicon thinks is where the mean of these heads looks most. maps (H, T, S), truths (T, S)"""
    total, count = 0.0, 0
    for seen, truth in zip(maps, truths, strict=True):
        if truth.numel():
            total += float(truth.gather(1, seen.mean(dim=0).argmax(dim=1, keepdim=True)).sum())
            count += len(truth)
    return total / max(1, count)
