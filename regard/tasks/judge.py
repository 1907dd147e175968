"""Scores a translator on held-out pairs while it learns: loss per token, BLEU and chrF of its greedy translations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from regard.generate.settings import Search
from regard.tasks.task import Check
from regard.text.score import score_translations

if TYPE_CHECKING:
    from regard.data.tokens import EncodedPairs
    from regard.text.tokenizer import Tokenizer

MOST_TRANSLATED = 500  # pairs; the loss is over all of them
SAMPLES = 3


class Judge:
    """Held-out pairs, and how to score with them."""

    def __init__(self, pairs: EncodedPairs, tokenizer: Tokenizer, tokens_per_batch: int) -> None:
        from regard.data.loader import Loader

        self._pairs, self._tokenizer = pairs, tokenizer
        self._order = Loader([pairs.sources.lengths, pairs.targets.lengths], tokens_per_batch, seed=0).epoch(0)
        self._sources = [pairs.sources[i].tolist() for i in range(min(MOST_TRANSLATED, len(pairs.sources)))]
        self._references = [target for _, target in pairs.texts[: len(self._sources)]]
        self.signature = (
            f"greedy translations of {len(self._references)} held-out pairs, "
            f"sacrebleu {score_translations(self._references, self._references).signature}"
        )

    def score(self, model: Any, check: Check) -> tuple[dict[str, float], list[tuple[str, ...]]]:
        """BLEU, which training goes by, the other scores, and samples: (source, translation, reference)."""
        texts = self._translate(model, check)
        scores = score_translations(texts, self._references)
        named = {"bleu": scores.bleu, "chrf": scores.chrf, "exact": scores.exact, "loss": self._loss(model, check)}
        shown = zip(self._pairs.texts[:SAMPLES], texts, strict=False)
        return named, [(source, text, reference) for (source, reference), text in shown]

    def _translate(self, model: Any, check: Check) -> list[str]:
        from regard.engine.native import translate_ids

        limits = [int(1.5 * len(ids)) + 10 for ids in self._sources]  # young models find no end: wait less long for it
        found = translate_ids(model, self._sources, limits, self._tokenizer.end_id, Search(), check)
        return [self._tokenizer.decode(best[0].ids) for best in found]

    def _loss(self, model: Any, check: Check) -> float:
        import torch

        from regard.data.collate import collate_pairs
        from regard.trainer.loss import token_loss

        pad_id, device = self._tokenizer.pad_id, next(model.parameters()).device
        total, count = 0.0, 0
        model.eval()
        with torch.inference_mode():
            for indexes in self._order:
                check()
                batch = collate_pairs(self._pairs.sources, self._pairs.targets, indexes, pad_id).to(device)
                hidden = model(batch.source, batch.target)  # (B, T, D)
                summed, labels = token_loss(hidden, batch.labels, model.embedding.table.weight, pad_id=pad_id)
                total, count = total + summed.item(), count + labels
        return total / count
