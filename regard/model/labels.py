"""A text attends to labels: its n-grams add up to a query, every label has a key, and softmax gives their weights.

Knows rows of a table and numbers of labels, not text or training.
"""

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.config import ModelConfig
from regard.model.hop import Hop
from regard.model.taps import WEIGHTS

SPREAD = 0.025  # standard deviation of a fresh table of n-grams
HALF = 0.5  # probability from which on a text has a label, where it may have several


class LabelAttention(nn.Module):
    """Soft attention of a text over labels, scaled as everywhere; a label's key begins from the n-grams of its name.

    Where a text may have several labels, each is matched against none of its own: softmax over the two is a sigmoid.
    """

    temperature: Tensor
    rarity: Tensor

    def __init__(self, config: ModelConfig, names: Sequence[Tensor] = ()) -> None:
        """names: of each label the n-grams of its name; without them, keys are random."""
        super().__init__()
        self.config = config
        self.table = nn.Parameter(torch.randn(config.buckets, config.width) * SPREAD)  # (buckets, D)
        self.keys = nn.Parameter(torch.randn(len(config.labels), config.width))  # (C, D)
        self.bias = nn.Parameter(torch.zeros(len(config.labels)))  # (C,)
        self.attention = Hop()
        self.register_buffer("temperature", torch.ones(1))  # what logits are divided by, chosen on held-out text
        self.register_buffer("rarity", torch.ones(config.buckets))  # what each row weighs, by the training text
        with torch.no_grad():
            for key, ngrams in zip(self.keys, names, strict=False):
                key.copy_(F.normalize(self.table[ngrams].sum(0), dim=0) * math.sqrt(config.width))

    def query(self, ngrams: Tensor, weights: Tensor) -> Tensor:
        """ngrams, weights (B, N) -> (B, D)."""
        weights = F.dropout(weights, self.config.dropout, self.training)
        return F.embedding_bag(ngrams, self.table, per_sample_weights=weights, mode="sum")

    def match(self, query: Tensor) -> Tensor:
        """query (B, D) -> logits (B, C)."""
        logits = (query @ self.keys.T / math.sqrt(self.config.width) + self.bias) / self.temperature
        if WEIGHTS.is_open:
            self.attention(self.probabilities(logits)[:, None])  # (B, 1, C)
        return logits

    def forward(self, ngrams: Tensor, weights: Tensor) -> Tensor:
        """ngrams, weights (B, N) -> logits (B, C)."""
        return self.match(self.query(ngrams, weights))

    def probabilities(self, logits: Tensor) -> Tensor:
        """logits (B, C) -> (B, C)."""
        return logits.sigmoid() if self.config.several_labels else logits.softmax(-1)

    def decide(self, logits: Tensor) -> list[tuple[str, ...]]:
        """logits (B, C) -> the likeliest label of each text; or all that are more likely than not, and one at least."""
        names, best = self.config.labels, logits.argmax(-1).tolist()
        if not self.config.several_labels:
            return [(names[number],) for number in best]
        likely = (self.probabilities(logits) >= HALF).tolist()
        found = [tuple(name for name, is_one in zip(names, row, strict=True) if is_one) for row in likely]
        return [row or (names[number],) for row, number in zip(found, best, strict=True)]
