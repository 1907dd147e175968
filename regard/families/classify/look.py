"""What `regard look` traces of a classifier: the text's attention over labels, and each label's over the words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from regard.data.labelled import word_batches
from regard.look.attribution import Why
from regard.look.cancel import check_cancelled
from regard.look.inspection import Inspection, Kind, TokenScore
from regard.model.attention import soft_attention
from regard.model.capture import record_attention
from regard.text.ngrams import find_places, hash_ngrams, split_words

if TYPE_CHECKING:
    from regard.families.classify.pipeline import Classifier
    from regard.model.labels import LabelAttention

MOST_LABELS, MOST_WORDS = 30, 400  # that are shown
PROBES = 3  # texts of a snapshot


def look_at_labels(classifier: Classifier, text: str, why: bool) -> Inspection:
    """The attention of a text over the labels, and of its label over the words."""
    model: LabelAttention = classifier.model.eval()
    names, words = model.config.labels, split_words(text)
    notes = [f"only the first {MOST_WORDS} of {len(words)} words are shown"] if len(words) > MOST_WORDS else []
    with torch.inference_mode():
        with record_attention(model) as recorded:
            logits = _logits(model, words)  # (1, C)
        weights = recorded["attention"][0][0]  # (1, C)
        best = logits[0].argsort(descending=True, stable=True)[:MOST_LABELS]  # (shown labels,)
        vectors = _word_vectors(model, words)  # (words, D)
        scale = model.config.width**0.5 * model.temperature
        _, attended = soft_attention(model.keys[best] / scale, vectors)  # (shown labels, words)
    shown, found = [names[number] for number in best.tolist()], classifier.classify(text, top=8)
    if len(names) > MOST_LABELS:
        notes.append(f"only the likeliest {MOST_LABELS} of {len(names)} labels are shown")
    notes += ["most of its words were never seen in training"] if found.is_unlike else []
    rows, places = list(range(len(shown))), list(range(min(len(words), MOST_WORDS)))
    kinds = {
        "words": Kind(shown, words[:MOST_WORDS], attended[None, None, :, :MOST_WORDS].cpu(), rows, places),
        "labels": Kind(["text"], shown, weights[None, None, :, best].cpu(), [0], rows),
    }  # fmt: skip
    others = [(label.name, label.probability) for label in found.labels]
    scores = [TokenScore(0, *others[0], others)]
    reasons = _explain(model, words, int(best[0])) if why else None
    answer = ", ".join(found.given) or shown[0]
    return Inspection("classify", text, answer, kinds, scores, why=reasons, notes=notes)


def _explain(model: LabelAttention, words: list[str], label: int) -> Why:
    """What each word is worth for a label: by leaving it out, and by gradient x input."""
    most = min(len(words), MOST_WORDS)
    with torch.inference_mode():
        base = _log_probability(model, words, label)  # (1,)
        lost = []
        for place in range(most):
            check_cancelled()
            rest = words[:place] + words[place + 1 :]
            lost.append(float(base - _log_probability(model, rest, label)))
        vectors = _word_vectors(model, words)  # (words, D)
    query = vectors.sum(0).clone().requires_grad_()  # (D,)
    logits = model.match(query[None])  # (1, C)
    _log_probs(model, logits)[0, label].backward()
    assert query.grad is not None
    gradient = (vectors @ query.grad)[:most].tolist()
    return Why([0], [lost], [gradient], [])


def _log_probability(model: LabelAttention, words: list[str], label: int) -> Tensor:
    return _log_probs(model, _logits(model, words))[:, label]


def _log_probs(model: LabelAttention, logits: Tensor) -> Tensor:
    several = model.config.several_labels
    return torch.nn.functional.logsigmoid(logits) if several else logits.log_softmax(-1)  # (B, C)


def _logits(model: LabelAttention, words: list[str]) -> Tensor:
    """(1, C)"""
    (batch,) = word_batches([words], model.rarity.cpu().numpy())
    here = batch.to(model.table.device)
    return model(here.ngrams, here.weights)


def _word_vectors(model: LabelAttention, words: list[str]) -> Tensor:
    """What each word adds to the query, (words, D): an n-gram of several words is shared by them equally."""
    (batch,) = word_batches([words], model.rarity.cpu().numpy())
    shares, start = torch.zeros(len(words), model.config.width), 0
    for hashes, places in zip(hash_ngrams(words), find_places(words), strict=True):
        rows = [number % model.config.buckets for number in hashes]
        counts = Counter(rows)
        block = slice(start, start := start + max(1, len(counts)))  # a row has a weight of its own in each block
        weight = dict(zip(batch.ngrams[0, block].tolist(), batch.weights[0, block].tolist(), strict=True))
        each = torch.tensor([weight[row] / counts[row] for row in rows])  # (n-grams,)
        vectors = model.table[rows].cpu() * each[:, None]  # (n-grams, D)
        for mine, vector in zip(places, vectors, strict=True):
            shares[list(mine)] += vector / max(1, len(mine))
    return shares.to(model.table.device)


def snapshot_labels(model: Any, texts: Sequence[str]) -> list[dict[str, Any]]:
    """The attention of a few texts over the labels, for the log of a training."""
    model.eval()
    found = []
    for text in texts[:PROBES]:
        with torch.inference_mode(), record_attention(model) as recorded:
            _logits(model, split_words(text))
        weights = recorded["attention"][0][0, 0]  # (C,)
        best = sorted(weights.argsort(descending=True, stable=True)[:MOST_LABELS].tolist())
        names = [model.config.labels[number] for number in best]
        found.append({"rows": [text[:60]], "columns": names, "maps": [[[round(float(weights[n]), 3) for n in best]]]})
    return found
