"""Examples to one batch: pad and shift. Knows ids, not text."""

import torch
from torch import Tensor

from regard.data.batch import PairBatch
from regard.data.tokens import TokenLists


def collate_pairs(sources: TokenLists, targets: TokenLists, indexes: Tensor, pad_id: int) -> PairBatch:
    """The pairs at these indexes. Padding also starts the decoder, as Marian has it."""
    source = sources.pad(indexes, pad_id)  # (B, S)
    labels = targets.pad(indexes, pad_id)  # (B, T)
    start = torch.full((len(indexes), 1), pad_id)  # (B, 1)
    target = torch.cat([start, labels[:, :-1]], dim=1)  # (B, T)
    tokens = int((source != pad_id).sum() + (labels != pad_id).sum())
    return PairBatch(source, target, labels, tokens)
