"""What a model is trained on in one go."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class PairBatch:
    """Texts and their translations, as rows of ids."""

    source: Tensor  # (B, S) padded
    target: Tensor  # (B, T) what the decoder reads: start, then all but the last token of `labels`
    labels: Tensor  # (B, T) what it should say at each place, the end included; padded
    tokens: int  # source and target tokens that are not padding

    def to(self, device: torch.device) -> "PairBatch":
        """The same batch on a device."""
        if device.type == self.source.device.type:
            return self
        source, target, labels = (t.to(device, non_blocking=True) for t in (self.source, self.target, self.labels))
        return PairBatch(source, target, labels, self.tokens)
