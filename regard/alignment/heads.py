"""Selects the layer and the cross-attention heads of a translator that align best.

Needs no gold alignment: a choice is scored by the likelihood of held-out targets under a lexicon, with attention as the
prior over source tokens.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from regard.alignment.lexical_table import LexicalTable
from regard.alignment.links import FLOOR
from regard.model.capture import record_attention
from regard.model.transformer import EncoderAndDecoder, EncoderDecoder

PAIRS = 200  # held-out pairs used
CLEARLY = 0.05  # nats per token that dropping a head must gain: averages over more heads are more robust


@torch.inference_mode()
def choose_heads(
    model: EncoderDecoder | EncoderAndDecoder, pairs: Sequence[tuple[list[int], list[int]]], lexicon: LexicalTable
) -> dict[str, Any]:
    """The layer and its heads, both from 0; and whether the attention of the step after a token aligns it, or its own.

    pairs: ids of sources and targets, each with its end.
    """
    model.eval()
    layers, heads = model.config.decoder_layers or model.config.layers, model.config.heads
    maps: list[list[Tensor]] = [[] for _ in range(layers)]  # of each layer and pair: (H, T, S), of the end too
    probabilities = []
    for source, target in pairs[:PAIRS]:
        with record_attention(model) as recorded:
            model(torch.tensor([source]), torch.tensor([[model.start_id, *target[:-1]]]))
        for layer in range(layers):
            maps[layer].append(recorded[f"{model.DECODER}blocks.{layer}.cross_attention"][0][0, :, :, :-1])
        probabilities.append(torch.from_numpy(lexicon.of(source[:-1], target[:-1])))  # (T - 1, S - 1)
    best: tuple[float, int, list[int], bool] = (-1e9, 0, [0], True)
    for layer in range(layers):
        for is_after in (True, False):
            rows = [seen[:, 1:] if is_after else seen[:, :-1] for seen in maps[layer]]  # (H, T - 1, S - 1) each
            likelihood, chosen = select_heads(rows, probabilities, heads)
            best = max(best, (likelihood, layer, chosen, is_after), key=lambda one: one[0])
    return {"layer": best[1], "heads": best[2], "is_after": best[3], "likelihood": round(best[0], 4)}


def select_heads(rows: list[Tensor], probabilities: list[Tensor], heads: int) -> tuple[float, list[int]]:
    """Backward selection: drops one head after another, as long as that helps clearly."""
    chosen = list(range(heads))
    best = _likelihood(rows, probabilities)
    while len(chosen) > 1:
        tried = {
            head: _likelihood([seen[[one for one in chosen if one != head]] for seen in rows], probabilities)
            for head in chosen
        }
        head = max(tried, key=tried.__getitem__)
        if tried[head] <= best + CLEARLY:
            break
        best = tried[head]
        chosen.remove(head)
    return best, chosen


def _likelihood(maps: list[Tensor], probabilities: list[Tensor]) -> float:
    """Mean log-likelihood of a target token, given the mean attention of these heads.

    maps (H, T, S), probabilities (T, S)
    """
    total, count = 0.0, 0
    for seen, likely in zip(maps, probabilities, strict=True):
        if likely.numel():
            attention = seen.mean(0) + FLOOR  # (T, S)
            total += float(((attention * likely).sum(1) / attention.sum(1)).log().sum())
            count += len(likely)
    return total / max(1, count)
