"""A decoder by itself: a text so far and a memory in, the probability of each next token out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.engines.network import read_network, read_shape
from regard.engines.options import EngineOptions, refuse_fast
from regard.errors import FolderError
from regard.families.pipeline import Pipeline, load_partial_network
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
            from regard.formats import bert, bert_generation
            from regard.model.transformer import TextDecoder

            if folder.about.get("part"):
                plain = read_shape(folder, bert.import_config)
                if not plain.tie_embeddings:
                    raise FolderError(f"{folder.folder} has an output table of its own (tie_word_embeddings is "
                                      f"false in config.json), which a decoder has not")  # fmt: skip
                config = plain.model_copy(update={"kind": "bert-generation", "token_types": 0})
                return load_partial_network(folder, lambda: TextDecoder(config, tokenizer.pad_id), opened)
            return read_network(folder, tokenizer, bert_generation.DECODER, lambda c, t: TextDecoder(c, t.pad_id))

        opened = cls(folder, read, running)
        return opened.read_now()

    def logits(self, ids: Tensor, memory: Tensor, memory_may_attend: Tensor | None = None) -> Tensor:
        """How likely each token is after each of these: ids (B, T), memory (B, S, D) -> (B, T, V)."""
        import torch

        with torch.inference_mode():
            return self.model.logits(self.model(ids, memory, memory_may_attend))
