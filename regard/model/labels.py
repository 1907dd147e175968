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


class LabelAttention(nn.Module):
    """Soft attention of a text over labels, scaled as everywhere.

    The key of a label begins from the n-grams of its name, and its name's n-grams begin with that key. Keys are
    orthogonal where there are no more labels than dimensions, and stay as they are: learning the table is then a convex
    problem, logistic regression. Where a text may have several labels, each is matched against none of its own: softmax
    over the two is a sigmoid.
    """

    keys: Tensor
    temperature: Tensor
    row_weights: Tensor

    def __init__(self, config: ModelConfig, names: Sequence[Tensor] = ()) -> None:
        """names: of each label the rows of its name's n-grams; without them, all is zero."""
        super().__init__()
        self.config = config
        self.table = nn.Parameter(torch.zeros(config.buckets, config.width))  # (buckets, D)
        self.bias = nn.Parameter(torch.zeros(len(config.labels)))  # (C,)
        self.attention = Hop()
        self.register_buffer("keys", torch.zeros(len(config.labels), config.width))  # (C, D)
        self.register_buffer("temperature", torch.ones(1))  # what logits are divided by, chosen on held-out text
        self.register_buffer("row_weights", torch.ones(config.buckets))  # by the training text
        if names:
            self._begin(names)

    @torch.no_grad()
    def _begin(self, names: Sequence[Tensor]) -> None:
        code = torch.randn(self.config.buckets, self.config.width)  # (buckets, D)
        sums = torch.stack([code[rows].sum(0) for rows in names])  # (C, D)
        if len(names) <= self.config.width:
            left, _, right = torch.linalg.svd(sums, full_matrices=False)
            sums = left @ right  # the orthogonal vectors that are nearest to these
        directions = F.normalize(sums, dim=1)  # (C, D)
        self.keys.copy_(directions * math.sqrt(self.config.width))
        for direction, rows in zip(directions, names, strict=True):
            self.table.index_add_(0, rows, direction.expand(len(rows), -1))

    @property
    def is_tuned(self) -> bool:
        """Of a network in training, whether it took over another: n-grams of a fresh one are weighed in its batches."""
        return bool((self.row_weights != 1).any())

    @torch.no_grad()
    def adopt(self, weights: dict[str, Tensor], names: Sequence[Tensor]) -> None:
        """Takes over a network that has the first of these labels: it gives them the logits that they had.

        The keys of the other labels begin from the n-grams of their names, orthogonal to the rest where there is room.
        """
        old, width = weights["keys"].shape
        scale = weights["temperature"]  # logits are no longer divided by it
        self.table[:, :width] = weights["table"] / scale
        self.table[:, width:] = 0
        self.bias[:old] = weights["bias"] / scale
        self.row_weights.copy_(weights["row_weights"])
        directions = self.keys / math.sqrt(self.config.width)  # (C, D)
        directions[:old, :width], directions[:old, width:] = weights["keys"] / math.sqrt(width), 0
        for label, rows in enumerate(names[old:], start=old):
            rest = directions[label]
            if label < self.config.width:  # what is left of it when its part along the others is taken away
                basis = torch.linalg.qr(directions[:label].T)[0]  # (D, labels before it)
                rest = rest - basis @ (basis.T @ rest)
            directions[label] = F.normalize(rest, dim=0)
            self.table.index_add_(0, rows, directions[label].expand(len(rows), -1))
        self.keys.copy_(directions * math.sqrt(self.config.width))

    def query(self, ngrams: Tensor, weights: Tensor, sizes: Tensor) -> Tensor:
        """ngrams, weights (all n-grams,), sizes (blocks, B) -> (B, D)."""
        starts = sizes.flatten().cumsum(0) - sizes.flatten()  # (blocks * B,)
        found = F.embedding_bag(ngrams, self.table, starts, per_sample_weights=weights, mode="sum")
        return found.view(*sizes.shape, -1).sum(0)

    def match(self, query: Tensor) -> Tensor:
        """query (B, D) -> logits (B, C)."""
        logits = (query @ self.keys.T / math.sqrt(self.config.width) + self.bias) / self.temperature
        if WEIGHTS.is_open:
            self.attention(self.probabilities(logits)[:, None])  # (B, 1, C)
        return logits

    def forward(self, ngrams: Tensor, weights: Tensor, sizes: Tensor) -> Tensor:
        """ngrams, weights (all n-grams,), sizes (blocks, B) -> logits (B, C)."""
        return self.match(self.query(ngrams, weights, sizes))

    def probabilities(self, logits: Tensor) -> Tensor:
        """logits (B, C) -> (B, C)."""
        return logits.sigmoid() if self.config.several_labels else logits.softmax(-1)
