"""Held-out pairs, and how a translator is scored with them while it is trained."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.data.collate import collate_pairs
from regard.data.loader import Loader
from regard.data.tokens import EncodedPairs
from regard.decoding.settings import Search
from regard.engines.torch import translate_ids
from regard.model.loss import token_loss
from regard.model.r_drop import r_drop_loss
from regard.text.corpus import Pair
from regard.text.score import score_translations
from regard.text.tokenizer import Tokenizer
from regard.training.recipe import Check, Sample, Validation

MOST_TRANSLATED = 500  # pairs; the loss is over all of them
SAMPLES, MOST_SHOWN = 3, 24  # pairs that are shown, and tokens of their sources
TOKENS_PER_BATCH = 4096


class HeldOutPairs:
    """Held-out pairs, and how to score with them."""

    def __init__(self, pairs: EncodedPairs, texts: list[Pair], tokenizer: Tokenizer) -> None:
        self._pairs, self._tokenizer = pairs, tokenizer
        self._order = Loader([pairs.sources.lengths, pairs.targets.lengths], TOKENS_PER_BATCH, seed=0).epoch(0)
        count = min(MOST_TRANSLATED, len(pairs))
        chosen = [i * len(pairs) // count for i in range(count)]  # from all over the file: its beginning may be easier
        self._sources = [pairs.sources[i].tolist() for i in chosen]
        self._references = [texts[i].target for i in chosen]
        shown = sorted(chosen, key=lambda i: len(pairs.sources[i]) > MOST_SHOWN)[:SAMPLES]  # in their order, short ones
        self._samples = [(texts[i], pairs.sources[i].tolist()) for i in shown]
        self.signature = (
            f"greedy translations of {len(self._references)} held-out pairs, "
            f"sacrebleu {score_translations(self._references, self._references).signature}"
        )

    def score(self, model: Any, check: Check) -> Validation:
        """BLEU, which training goes by, and the other scores."""
        texts = self._translate(model, self._sources, check)
        scores = score_translations(texts, self._references)
        named = {"bleu": scores.bleu, "chrf": scores.chrf, "exact": scores.exact, "loss": self._loss(model, check)}
        return Validation(named)

    def samples(self, model: Any) -> list[Sample]:
        """(source, translation, reference) of a few."""
        texts = self._translate(model, [ids for _, ids in self._samples], lambda: None)
        return [(pair.source, text, pair.target) for (pair, _), text in zip(self._samples, texts, strict=True)]

    def _translate(self, model: Any, sources: list[list[int]], check: Check) -> list[str]:
        limits = [int(1.5 * len(ids)) + 10 for ids in sources]  # young models find no end: wait less long for it
        found = translate_ids(model, sources, limits, [self._tokenizer.end_id], Search(with_scores=False), check)
        return [self._tokenizer.decode(best[0].ids) for best in found]

    def _loss(self, model: Any, check: Check) -> float:
        pad_id, device = self._tokenizer.pad_id, next(model.parameters()).device
        total, count = 0.0, 0
        model.eval()
        with torch.inference_mode():
            for indexes in self._order:
                check()
                pairs = self._pairs
                batch = collate_pairs(pairs.sources, pairs.targets, indexes, pad_id, model.start_id).to(device)
                hidden = model(batch.source, batch.target)  # (B, T, D)
                summed, labels = real_loss(model, hidden, batch.labels)
                total, count = total + summed.item(), count + labels
        return total / count


def real_loss(
    model: Any, hidden: Tensor, labels: Tensor, smoothing: float = 0.0, r_drop: float = 0.0
) -> tuple[Tensor, int]:
    """Loss of the labels (B, T) that are not padding. hidden (B, T, D)

    For R-Drop, hidden (2B, T, D) is of two passes with different dropout, one after the other.
    """
    is_real, pad_id = labels != model.pad_id, model.pad_id  # (B, T)
    truth, choices, bias = labels[is_real], model.table, model.output_bias  # (N,), (V, D), (V,)
    if not model.can_generate_padding:
        truth = truth - (truth > pad_id).long()  # numbers of the choices: all ids but padding's
        choices, bias = without_row(choices, pad_id), None if bias is None else without_row(bias, pad_id)
    if not r_drop:
        return token_loss(model.transformed(hidden[is_real]), truth, choices, bias=bias, smoothing=smoothing)
    first, second = (model.transformed(half[is_real]) for half in hidden.chunk(2))  # (N, D) each
    return r_drop_loss(first, second, truth, choices, bias=bias, smoothing=smoothing, weight=r_drop)


def without_row(table: Tensor, row: int) -> Tensor:
    """All rows but one; a view where it is the last."""
    return table[:-1] if row == len(table) - 1 else torch.cat([table[:row], table[row + 1 :]])
