"""What a filler does with torch: its network is read, fills gaps, and predicts the masked tokens of given texts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import nn

from regard.data.masking import encode_texts, make_masking, masked_batches
from regard.engines.network import read_network
from regard.engines.score import score_masked
from regard.engines.stored import Layout, choose_layout
from regard.folder import ModelFolder
from regard.formats import bert, own
from regard.model.transformer import MaskedLM
from regard.text.given import given_texts, read_texts
from regard.text.readers.rows import Choice
from regard.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from regard.families.fill.pipeline import Filler

LAYOUTS: dict[str, Layout] = {"bert": bert, "regard-fill": own}  # by model_type


def read(folder: ModelFolder, tokenizer: Tokenizer) -> nn.Module:
    """The network in a filler's folder."""
    return read_network(folder, tokenizer, choose_layout(folder, LAYOUTS), lambda config, t: MaskedLM(config, t.pad_id))


def predict(filler: Filler, ids: list[int], gaps: list[int], top: int) -> list[list[tuple[int, float]]]:
    """For each gap, the `top` likeliest tokens with their probabilities, the likeliest first."""
    with torch.inference_mode():
        hidden = filler.model(torch.tensor([ids], device=filler.device))[0, gaps]  # (gaps, D)
        probabilities = filler.model.logits(hidden).softmax(dim=-1)  # (gaps, V)
        probabilities[:, list(filler.tokenizer.special_ids)] = 0  # a gap is never filled with one of these
        best = probabilities.topk(min(top, probabilities.shape[1]), dim=-1)
    rows = zip(best.indices.tolist(), best.values.tolist(), strict=True)
    return [list(zip(tokens, values, strict=True)) for tokens, values in rows]


def evaluate(filler: Filler, files: Sequence[str | Path], wanted: Choice | str | None) -> dict[str, float | str | int]:
    """Accuracy on masked tokens over all lines of the files; the same tokens are masked every time."""
    train = filler.info.settings["train"]
    share, whole_words = train.get("mask_rate", train.get("hidden")), train["whole_words"]  # hidden: of 0.1
    lines = read_texts(given_texts(files, wanted))
    texts = encode_texts(lines, filler.tokenizer, filler.model.config.max_positions)
    batches = masked_batches(texts, filler.tokenizer, make_masking(filler.tokenizer, share, whole_words))
    accuracy, loss, count = score_masked(filler.model, batches, lambda: None)
    unknown = sum(filler.tokenizer.has_unknown([number]) for number in texts.flat.tolist())
    way = "whole words, " if whole_words else ""
    return {
        "accuracy": accuracy,
        "loss": loss,
        "hidden_tokens": count,
        "texts": len(texts),
        "unknown_tokens": unknown,
        "signature": f"{share:.0%} hidden, {way}80/10/10, seed 0",
    }
