"""An encoder reads a text, what it makes of it attends to labels. Knows ids and numbers of labels, not text."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.config import ModelConfig
from regard.model.hop import Hop
from regard.model.taps import WEIGHTS
from regard.model.transformer import SMALL, TextEncoder


class TextClassifier(nn.Module):
    """Soft attention of a text over labels, scaled as everywhere; the query is what an encoder makes of the text.

    Where the encoder's first token stands for the text (cls) it is BERT for sequence classification: a dense layer and
    tanh come between. Else the query is the mean over all tokens.
    """

    temperature: Tensor

    def __init__(self, config: ModelConfig, pad_id: int) -> None:
        super().__init__()
        self.config, self.pad_id = config, pad_id
        self.encoder = TextEncoder(config, pad_id)
        self.pooler = nn.Linear(config.width, config.width) if config.pooling == "cls" else None
        self.dropout = nn.Dropout(config.dropout)
        self.labels = nn.Linear(config.width, len(config.labels))  # its rows are keys, divided by the root of D
        self.attention = Hop()
        self.register_buffer("temperature", torch.ones(1))  # what logits are divided by, chosen on held-out text
        with torch.no_grad():
            if self.pooler is not None:  # at first the token as it is
                nn.init.eye_(self.pooler.weight)
                nn.init.zeros_(self.pooler.bias)
            nn.init.normal_(self.labels.weight, std=SMALL)
            nn.init.zeros_(self.labels.bias)

    @property
    def keys(self) -> Tensor:
        """The keys of the labels, (C, D)."""
        return self.labels.weight * math.sqrt(self.config.width)

    @torch.no_grad()
    def begin_labels(self, vectors: Tensor) -> None:
        """The key of each label begins with what its name differs in from the others, at right angles to theirs where
        there is room. vectors (C, D)
        """
        different = vectors - vectors.mean(0)  # (C, D)
        if len(vectors) <= self.config.width:
            left, _, right = torch.linalg.svd(different, full_matrices=False)
            different = left @ right  # the orthogonal vectors that are nearest to these
        self.labels.weight.copy_(F.normalize(different, dim=1) * SMALL * math.sqrt(self.config.width))

    def query(self, ids: Tensor) -> Tensor:
        """ids (B, T) -> (B, D)."""
        hidden = self.encoder(ids)  # (B, T, D)
        if self.pooler is not None:
            return self.pooler(hidden[:, 0]).tanh()
        is_real = (ids != self.pad_id)[..., None]  # (B, T, 1)
        return (hidden * is_real).sum(1) / is_real.sum(1)

    def match(self, query: Tensor) -> Tensor:
        """query (B, D) -> logits (B, C)."""
        logits = self.labels(self.dropout(query)) / self.temperature
        if WEIGHTS.is_open:
            self.attention(self.probabilities(logits)[:, None])  # (B, 1, C)
        return logits

    def forward(self, ids: Tensor) -> Tensor:
        """ids (B, T) -> logits (B, C)."""
        return self.match(self.query(ids))

    def outputs(self, rows: Tensor) -> Tensor:
        """rows (B, T) -> logits (B, C)."""
        return self(rows)

    def probabilities(self, logits: Tensor) -> Tensor:
        """logits (B, C) -> (B, C)."""
        return logits.sigmoid() if self.config.several_labels else logits.softmax(-1)
