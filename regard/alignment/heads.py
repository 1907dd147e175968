"""Chooses the moment, the layer and the heads of a translator that tell best where a token was read from.

Needs no gold: on held-out pairs, a choice is as good as it makes the target likely, if each of its tokens comes from a
source token that was looked at, by the chances of a lexicon (its usual likelihood, with attention as the prior).
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from regard.alignment.lexical_table import LexicalTable
from regard.alignment.links import FLOOR
from regard.model.capture import record_attention
from regard.model.transformer import EncoderAndDecoder, EncoderDecoder

PAIRS = 200  # held-out pairs that are looked at
CLEARLY = 0.05  # nats a token that a head must cost to be left out: many eyes err less than what judges them


@torch.inference_mode()
def choose_heads(
    model: EncoderDecoder | EncoderAndDecoder, pairs: Sequence[tuple[list[int], list[int]]], lexicon: LexicalTable
) -> dict[str, Any]:
    """The layer and its heads, both from 0; and whether the step after a token tells, or its own.

    pairs: ids of sources and targets, each with its end.
    """
    model.eval()
    layers, heads = model.config.decoder_layers or model.config.layers, model.config.heads
    maps: list[list[Tensor]] = [[] for _ in range(layers)]  # of each layer and pair: (H, T, S), of the end too
    chances = []
    for source, target in pairs[:PAIRS]:
        with record_attention(model) as recorded:
            model(torch.tensor([source]), torch.tensor([[model.start_id, *target[:-1]]]))
        for layer in range(layers):
            maps[layer].append(recorded[f"{model.DECODER}blocks.{layer}.cross_attention"][0][0, :, :, :-1])
        chances.append(torch.from_numpy(lexicon.of(source[:-1], target[:-1])))  # (T - 1, S - 1)
    best: tuple[float, int, list[int], bool] = (-1e9, 0, [0], True)
    for layer in range(layers):
        for is_after in (True, False):
            rows = [seen[:, 1:] if is_after else seen[:, :-1] for seen in maps[layer]]  # (H, T - 1, S - 1) each
            likelihood, chosen = select_heads(rows, chances, heads)
            best = max(best, (likelihood, layer, chosen, is_after), key=lambda one: one[0])
    return {"layer": best[1], "heads": best[2], "is_after": best[3], "likelihood": round(best[0], 4)}


def select_heads(rows: list[Tensor], chances: list[Tensor], heads: int) -> tuple[float, list[int]]:
    """All heads but those that are worse than none: one after another leaves, as long as that helps clearly."""
    chosen = list(range(heads))
    best = _likelihood(rows, chances)
    while len(chosen) > 1:
        tried = {
            head: _likelihood([seen[[one for one in chosen if one != head]] for seen in rows], chances)
            for head in chosen
        }
        head = max(tried, key=tried.__getitem__)
        if tried[head] <= best + CLEARLY:
            break
        best = tried[head]
        chosen.remove(head)
    return best, chosen


def _likelihood(maps: list[Tensor], chances: list[Tensor]) -> float:
    """Mean logarithm of how likely a target token is, if it comes from where these heads look on average.

    maps (H, T, S), chances (T, S)
    """
    total, count = 0.0, 0
    for seen, likely in zip(maps, chances, strict=True):
        if likely.numel():
            looked = seen.mean(0) + FLOOR  # (T, S)
            total += float(((looked * likely).sum(1) / looked.sum(1)).log().sum())
            count += len(likely)
    return total / max(1, count)
