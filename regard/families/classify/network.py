"""What a classifier does with torch: its network is read, gives logits, and is calibrated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from regard.config import ModelConfig
from regard.data.batch import LabelBatch, LabelledIds
from regard.data.labelled import NO_LABEL, word_batch
from regard.engines.labels import refuse_labels
from regard.engines.layout import group
from regard.engines.network import read_network
from regard.engines.stored import choose_layout
from regard.families.classify.pipeline import MOST_TOKENS
from regard.folder import ModelFolder
from regard.formats import bert_classifier, own
from regard.model.labels import LabelAttention
from regard.model.loss import fit_temperature
from regard.model.text_classifier import TextClassifier
from regard.text.tokenizer import Tokenizer

TOKENS_TOGETHER = 2048  # of texts that it reads side by side


def read(folder: ModelFolder, tokenizer: Tokenizer) -> nn.Module:
    """The network in a classifier's folder: attention over labels by n-grams, or by what an encoder makes of a text."""
    layout = choose_layout(folder, {"regard-classify": own, "bert": bert_classifier})
    model = read_network(folder, tokenizer, layout, lambda config, known: build(config, known.pad_id))
    assert isinstance(model, LabelAttention | TextClassifier)
    refuse_labels(folder, model.config.labels, float(model.temperature))
    return model


def build(config: ModelConfig, pad_id: int, names: Sequence[Tensor] = ()) -> LabelAttention | TextClassifier:
    """A network with fresh weights. names: of each label, the rows of its name's n-grams."""
    return TextClassifier(config, pad_id) if config.kind == "bert" else LabelAttention(config, names)


@torch.inference_mode()
def find_logits(model: nn.Module, batches: Iterable[LabelBatch | LabelledIds], check: Callable[[], None]) -> Tensor:
    """The logits of all texts, (texts, C)."""
    model.eval()
    found, device = [], next(model.parameters()).device
    for batch in batches:
        check()
        found.append(model(*batch.to(device).inputs).cpu())
    return torch.cat(found)


def logits_of(model: LabelAttention, texts: Sequence[list[str]]) -> NDArray[Any]:
    """The same of texts that are split into words."""
    return find_logits(model, [word_batch(texts, model.row_weights.cpu().numpy())], lambda: None).numpy()


def read_ids(tokenizer: Tokenizer, text: str, longest: int) -> list[int]:
    """What an encoder reads of a text: as many of its first tokens as fit, and its last, the mark that closes it."""
    ids = tokenizer.encode(text)
    return [*ids[: longest - 1], ids[-1]] if len(ids) > longest else ids


@torch.inference_mode()
def queries_of(model: TextClassifier, tokenizer: Tokenizer, texts: Sequence[str]) -> Tensor:
    """What an encoder makes of these texts, (texts, D); those of like length are read together."""
    model.eval()
    rows = [read_ids(tokenizer, text, min(MOST_TOKENS, model.config.longest)) for text in texts]
    found, device = torch.empty(len(rows), model.config.width), next(model.parameters()).device
    for indexes in group([len(ids) for ids in rows], TOKENS_TOGETHER):
        longest = max(len(rows[i]) for i in indexes)
        padded = [rows[i] + [tokenizer.pad_id] * (longest - len(rows[i])) for i in indexes]
        found[indexes] = model.query(torch.tensor(padded, device=device)).cpu()
    return found


@torch.inference_mode()
def encoded_logits(model: TextClassifier, tokenizer: Tokenizer, texts: Sequence[str]) -> NDArray[Any]:
    """The logits of these texts, (texts, C)."""
    return model.match(queries_of(model, tokenizer, texts).to(model.labels.weight.device)).cpu().numpy()


def label_loss(logits: Tensor, labels: Tensor, several: bool, smoothing: float = 0.0) -> Tensor:
    """Cross-entropy in nats, summed over texts. logits (B, C), labels (B, most labels of a text), NO_LABEL at padding.

    A text whose label is none of the model's costs nothing.
    """
    if not several:
        return F.cross_entropy(logits, labels[:, 0], ignore_index=NO_LABEL, reduction="sum", label_smoothing=smoothing)
    truth = torch.zeros_like(logits).scatter_(1, labels.clamp(min=0), (labels != NO_LABEL).float())  # (B, C)
    return F.binary_cross_entropy_with_logits(logits, truth * (1 - smoothing) + smoothing / 2, reduction="sum")


def calibrate(logits: Tensor, batches: Sequence[LabelBatch | LabelledIds], *, several: bool) -> tuple[float, float]:
    """The temperature by which the loss of these logits is smallest, and that loss in nats a text."""
    most = max(batch.labels.shape[1] for batch in batches)
    labels = torch.cat([F.pad(batch.labels, (0, most - batch.labels.shape[1]), value=NO_LABEL) for batch in batches])

    def loss(temperature: float) -> float:
        return float(label_loss(logits / temperature, labels, several))

    best = fit_temperature(loss)
    return best, loss(best) / len(labels)
