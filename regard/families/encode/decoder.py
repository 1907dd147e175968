"""A decoder by itself: a text so far and a memory in, the probability of each next token out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.engines.options import EngineOptions, refuse_fast
from regard.families.pipeline import Pipeline
from regard.folder import ModelFolder
from regard.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from torch import Tensor, nn


class Decoder(Pipeline):
    """A model that predicts the next token of a text with cross-attention to a memory, such as hidden states."""

    @classmethod
    def open(cls, folder: ModelFolder, running: EngineOptions) -> Decoder:
        """The decoder in a folder; of a plain BERT, with fresh cross-attention."""
        refuse_fast("decode", running)

        def read(tokenizer: Tokenizer) -> nn.Module:
            from regard.families.encode.network import read_decoder

            model, opened.dropped, opened.new = read_decoder(folder, tokenizer)
            return model

        opened = cls(folder, read, running)
        return opened.read_now()

    def logits(self, ids: Tensor, memory: Tensor, memory_may_attend: Tensor | None = None) -> Tensor:
        """How likely each token is after each of these: ids (B, T), memory (B, S, D) -> (B, T, V)."""
        from regard.families.encode.network import decode

        return decode(self.model, ids, memory, memory_may_attend)
