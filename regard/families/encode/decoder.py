"""A decoder by itself: a text so far and a memory in, the probability of each next token out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.families.encode.pipeline import PlainPart

if TYPE_CHECKING:
    from torch import Tensor


class Decoder(PlainPart):
    """A model that predicts the next token of a text with cross-attention to a memory, such as hidden states."""

    network = "regard.families.encode.network:read_decoder"

    def logits(self, ids: Tensor, memory: Tensor, memory_may_attend: Tensor | None = None) -> Tensor:
        """How likely each token is after each of these: ids (B, T), memory (B, S, D) -> (B, T, V)."""
        from regard.families.encode.network import decode

        return decode(self.model, ids, memory, memory_may_attend)
