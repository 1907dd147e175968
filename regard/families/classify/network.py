"""What a classifier does with torch: its network is read, gives logits, and is calibrated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from regard.data.batch import LabelBatch
from regard.data.labelled import NO_LABEL, word_batch
from regard.engines.labels import refuse_labels
from regard.engines.network import read_network
from regard.engines.stored import choose_layout
from regard.folder import ModelFolder
from regard.formats import own
from regard.model.labels import LabelAttention
from regard.model.loss import fit_temperature
from regard.text.tokenizer import Tokenizer


def read(folder: ModelFolder, tokenizer: Tokenizer) -> nn.Module:
    """The network in a classifier's folder."""
    layout = choose_layout(folder, {"regard-classify": own})
    model = read_network(folder, tokenizer, layout, lambda config, _: LabelAttention(config))
    assert isinstance(model, LabelAttention)
    refuse_labels(folder, model.config.labels, float(model.temperature))
    return model


@torch.inference_mode()
def find_logits(model: LabelAttention, batches: Iterable[LabelBatch], check: Callable[[], None]) -> Tensor:
    """The logits of all texts, (texts, C)."""
    model.eval()
    found = []
    for batch in batches:
        check()
        here = batch.to(model.table.device)
        found.append(model(here.ngrams, here.weights, here.sizes).cpu())
    return torch.cat(found)


def logits_of(model: LabelAttention, texts: Sequence[list[str]]) -> NDArray[Any]:
    """The same of texts that are split into words."""
    return find_logits(model, [word_batch(texts, model.row_weights.cpu().numpy())], lambda: None).numpy()


def label_loss(logits: Tensor, labels: Tensor, several: bool, smoothing: float = 0.0) -> Tensor:
    """Cross-entropy in nats, summed over texts. logits (B, C), labels (B, most labels of a text), NO_LABEL at padding.

    A text whose label is none of the model's costs nothing.
    """
    if not several:
        return F.cross_entropy(logits, labels[:, 0], ignore_index=NO_LABEL, reduction="sum", label_smoothing=smoothing)
    truth = torch.zeros_like(logits).scatter_(1, labels.clamp(min=0), (labels != NO_LABEL).float())  # (B, C)
    return F.binary_cross_entropy_with_logits(logits, truth * (1 - smoothing) + smoothing / 2, reduction="sum")


def calibrate(logits: Tensor, batches: Sequence[LabelBatch], *, several: bool) -> tuple[float, float]:
    """The temperature by which the loss of these logits is smallest, and that loss in nats a text."""
    most = max(batch.labels.shape[1] for batch in batches)
    labels = torch.cat([F.pad(batch.labels, (0, most - batch.labels.shape[1]), value=NO_LABEL) for batch in batches])

    def loss(temperature: float) -> float:
        return float(label_loss(logits / temperature, labels, several))

    best = fit_temperature(loss)
    return best, loss(best) / len(labels)
