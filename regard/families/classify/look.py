"""What `regard look` traces of a classifier: the text's attention over labels, and each label's over the words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from regard.data.labelled import word_batch
from regard.families.classify.network import queries_of, read_ids
from regard.look.attribution import Why
from regard.look.cancel import check_cancelled
from regard.look.inspection import Inspection, Kind, TokenScore
from regard.look.trace import as_batch, trace_text
from regard.model.attention import soft_attention
from regard.model.capture import record_attention
from regard.model.labels import LabelAttention
from regard.text.ngrams import split_words

if TYPE_CHECKING:
    from regard.families.classify.pipeline import Classifier
    from regard.model.text_classifier import TextClassifier

MOST_LABELS, MOST_WORDS = 30, 400  # that are shown
PROBES = 3  # texts of a snapshot
TOGETHER = 32  # texts, each of them without one of its words


def look_at_labels(classifier: Classifier, text: str, why: bool) -> Inspection:
    """The attention of a text over the labels, and of its label over the words."""
    model: LabelAttention = classifier.model.eval()
    names, words = model.config.labels, split_words(text)
    notes = [f"only the first {MOST_WORDS} of {len(words)} words are shown"] if len(words) > MOST_WORDS else []
    with torch.inference_mode():
        with record_attention(model) as recorded:
            logits = model.match(_query(model, [words]))  # (1, C)
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
        "words": Kind(shown, words[:MOST_WORDS], attended[None, None].cpu(), rows, places),
        "labels": Kind(["text"], shown, weights[None, None, :, best].cpu(), [0], rows),
    }  # fmt: skip
    others = [(label.name, label.probability) for label in found.labels]
    scores = [TokenScore(0, *others[0], others)]
    reasons = _explain(model, words, int(best[0])) if why else None
    answer = ", ".join(found.given) or shown[0]
    return Inspection("classify", text, answer, kinds, scores, why=reasons, notes=notes)


def look_at_tokens(classifier: Classifier, text: str, why: bool) -> Inspection:
    """The attention of a text over the labels, and of its tokens over each other in the encoder."""
    model: TextClassifier = classifier.model.eval()
    ids = read_ids(classifier.tokenizer, text, classifier.longest)
    kinds, _, _ = trace_text(model.encoder, classifier.tokenizer, ids, [])
    with torch.inference_mode(), record_attention(model) as recorded:
        model(as_batch(model, ids))
    weights = recorded["attention"][0][0]  # (1, C)
    best = weights[0].argsort(descending=True, stable=True)[:MOST_LABELS]  # (shown labels,)
    names = model.config.labels
    shown, found = [names[number] for number in best.tolist()], classifier.classify(text, top=8)
    notes = classifier.notes([text])
    if len(names) > MOST_LABELS:
        notes.append(f"only the likeliest {MOST_LABELS} of {len(names)} labels are shown")
    rows = list(range(len(shown)))
    kinds["labels"] = Kind(["text"], shown, weights[None, None, :, best].cpu(), [0], rows)
    others = [(label.name, label.probability) for label in found.labels]
    reasons = _explain_tokens(model, ids, int(best[0])) if why else None
    answer = ", ".join(found.given) or shown[0]
    return Inspection("classify", text, answer, kinds, [TokenScore(0, *others[0], others)], why=reasons, notes=notes)


def _explain_tokens(model: TextClassifier, ids: list[int], label: int) -> Why:
    """What each token is worth for a label: by leaving it out, and by gradient x input; the first and last stay."""
    kept: list[Tensor] = []

    def keep(_: Any, __: Any, output: Tensor) -> Tensor:
        kept.append(output.detach().requires_grad_())
        return kept[0]

    hook = model.encoder.embedding.register_forward_hook(keep)
    with torch.enable_grad():
        chosen = _log_probs(model, model(as_batch(model, ids)))[0, label]
    hook.remove()
    (slope,) = torch.autograd.grad(chosen, kept[0])  # (1, T, D)
    lost = [0.0] * len(ids)
    inner = range(1, len(ids) - 1)
    with torch.inference_mode():
        for first in range(0, len(inner), TOGETHER):
            check_cancelled()
            places = inner[first : first + TOGETHER]
            rows = torch.tensor([ids[:place] + ids[place + 1 :] for place in places], device=slope.device)
            without = _log_probs(model, model(rows))[:, label]  # (places,)
            lost[places[0] : places[-1] + 1] = (chosen.detach() - without).tolist()
    return Why([0], [lost], [(kept[0].detach() * slope)[0].sum(-1).tolist()], [])


def _explain(model: LabelAttention, words: list[str], label: int) -> Why:
    """What each word is worth for a label: by leaving it out, and by gradient x input."""
    vectors = _word_vectors(model, words)  # (words, D)
    query = _query(model, [words])[0].clone().requires_grad_()  # (D,)
    chosen = _log_probs(model, model.match(query[None]))[0, label]
    chosen.backward()
    assert query.grad is not None
    with torch.inference_mode():
        without = _log_probs(model, model.match(query - vectors))[:, label]  # (words,)
        lost = (chosen - without).tolist()
    return Why([0], [lost], [(vectors @ query.grad).tolist()], [])


def _log_probs(model: LabelAttention | TextClassifier, logits: Tensor) -> Tensor:
    several = model.config.several_labels
    return torch.nn.functional.logsigmoid(logits) if several else logits.log_softmax(-1)  # (B, C)


@torch.no_grad()
def _query(model: LabelAttention, texts: list[list[str]]) -> Tensor:
    """(texts, D)"""
    batch = word_batch(texts, model.row_weights.cpu().numpy()).to(model.table.device)
    return model.query(batch.ngrams, batch.weights, batch.sizes)


@torch.no_grad()
def _word_vectors(model: LabelAttention, words: list[str]) -> Tensor:
    """What each word adds to the query, (words, D): the query of the text, without that of the rest."""
    most, found = min(len(words), MOST_WORDS), []
    for first in range(0, most, TOGETHER):
        check_cancelled()
        places = range(first, min(first + TOGETHER, most))
        found.append(_query(model, [words[:place] + words[place + 1 :] for place in places]))
    return _query(model, [words]) - torch.cat(found)


def snapshot_labels(model: Any, tokenizer: Any, texts: Sequence[str]) -> list[dict[str, Any]]:
    """The attention of a few texts over the labels, for the log of a training."""
    model.eval()
    found = []
    for text in texts[:PROBES]:
        is_table = isinstance(model, LabelAttention)
        query = _query(model, [split_words(text)]) if is_table else queries_of(model, tokenizer, [text])
        with torch.inference_mode(), record_attention(model) as recorded:
            model.match(query.to(model.temperature.device))
        weights = recorded["attention"][0][0, 0]  # (C,)
        best = sorted(weights.argsort(descending=True, stable=True)[:MOST_LABELS].tolist())
        names = [model.config.labels[number] for number in best]
        found.append({"rows": [text[:60]], "columns": names, "maps": [[[round(float(weights[n]), 3) for n in best]]]})
    return found
