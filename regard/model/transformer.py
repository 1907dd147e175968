"""Three ways to stack a Block: the encoder-decoder of the paper, the causal and the masked language model.

Knows ids and hidden states; what the ids mean and how weights get better is somebody else's.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.config import ModelConfig
from regard.model.blocks import make_norm
from regard.model.cache import KeyValueCache
from regard.model.masks import padding_mask
from regard.model.stack import Embedding, Stack, start_weights

SMALL = 0.02  # standard deviation of a fresh table of tokens that is not scaled up when it is read


class EncoderDecoder(nn.Module):
    """Reads a text, then writes another while looking at the first."""

    def __init__(self, config: ModelConfig, pad_id: int) -> None:
        super().__init__()
        self.config = config
        self.pad_id = pad_id
        self.embedding = Embedding(config, scale=math.sqrt(config.width), pad_id=pad_id)
        self.encoder = Stack(config)
        self.decoder = Stack(config, reads_memory=True)
        start_weights(self, config, table_std=config.width**-0.5)

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """source (B, S) -> memory (B, S, D), and which places of it are real (B, 1, 1, S)."""
        may_attend = padding_mask(source == self.pad_id)
        return self.encoder(self.embedding(source), may_attend=may_attend), may_attend

    def decode(self, target: Tensor, memory: Tensor, memory_may_attend: Tensor) -> Tensor:
        """target (B, T), memory (B, S, D) -> hidden (B, T, D); place t has seen target[:, :t + 1] only.

        Padding at the end of a row needs no mask: what comes later is never seen.
        """
        x = self.embedding(target)
        return self.decoder(x, is_causal=True, memory=memory, memory_may_attend=memory_may_attend)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """source (B, S), target (B, T) -> hidden (B, T, D)."""
        memory, may_attend = self.encode(source)
        return self.decode(target, memory, may_attend)

    def logits(self, hidden: Tensor) -> Tensor:
        """hidden (..., D) -> (..., V)."""
        return self.embedding.logits(hidden)

    def open_cache(self, memory: Tensor, may_attend: Tensor, room: int) -> KeyValueCache:
        """An empty cache for `room` tokens a row, with the memory's keys and values worked out once."""
        return self.decoder.open_cache(len(memory), room, memory, may_attend)

    def advance(self, ids: Tensor, cache: KeyValueCache) -> Tensor:
        """The next tokens of each row, ids (B, T) -> hidden (B, T, D); the cache then holds them too."""
        return self.decoder.advance(self.embedding(ids), cache)


class CausalLM(nn.Module):
    """Goes on with a text: every place predicts the next, and has seen only what came before."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = Embedding(config)
        self.stack = Stack(config)
        self.output = None if config.is_tied else nn.Linear(config.width, config.vocab_size, bias=False)
        start_weights(self, config, table_std=SMALL)

    @property
    def table(self) -> Tensor:
        """What hidden states are compared with, (V, D)."""
        return self.embedding.table.weight if self.output is None else self.output.weight

    def forward(self, ids: Tensor) -> Tensor:
        """ids (B, T) -> hidden (B, T, D)."""
        return self.stack(self.embedding(ids), is_causal=True)

    def logits(self, hidden: Tensor) -> Tensor:
        """hidden (..., D) -> (..., V)."""
        return F.linear(hidden, self.table)

    def open_cache(self, rows: int, room: int) -> KeyValueCache:
        """An empty cache for `room` tokens in each of `rows` texts."""
        return self.stack.open_cache(rows, room)

    def advance(self, ids: Tensor, cache: KeyValueCache) -> Tensor:
        """The next tokens of each row, ids (B, T) -> hidden (B, T, D); the cache then holds them too."""
        return self.stack.advance(self.embedding(ids), cache)


class TextEncoder(nn.Module):
    """Every place sees the whole text: BERT without anything to guess."""

    def __init__(self, config: ModelConfig, pad_id: int) -> None:
        super().__init__()
        self.config = config
        self.pad_id = pad_id
        self.embedding = Embedding(config)
        self.segments = nn.Embedding(2, config.width)  # which of two texts a token belongs to
        self.stack = Stack(config, norms_input=True)
        self._start(config)

    def _start(self, config: ModelConfig) -> None:
        start_weights(self, config, table_std=SMALL)
        for module in self.modules():
            if isinstance(module, nn.Linear):  # as BERT starts: smaller than Xavier's, all alike
                nn.init.normal_(module.weight, std=SMALL)

    def forward(self, ids: Tensor, segments: Tensor | None = None, wanted: Tensor | None = None) -> Tensor:
        """ids (B, T) -> hidden (B, T, D), or at the wanted places (B, N) only (B, N, D).

        segments (B, T) of 0 and 1; all 0 if not given.
        """
        first = self.segments.weight[0]  # (D,)
        x = self.embedding(ids) + (first if segments is None else self.segments(segments))  # (B, T, D)
        return self.stack(x, may_attend=padding_mask(ids == self.pad_id), wanted=wanted)


class MaskedLM(TextEncoder):
    """BERT: every place sees the whole text, and hidden places are guessed."""

    def _start(self, config: ModelConfig) -> None:
        self.turn = nn.Linear(config.width, config.width)
        self.turn_norm = make_norm(config)
        super()._start(config)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))

    def turned(self, hidden: Tensor) -> Tensor:
        """Hidden states made ready to be compared with the table of tokens; (..., D) -> (..., D)."""
        return self.turn_norm(F.gelu(self.turn(hidden)))

    def logits(self, hidden: Tensor) -> Tensor:
        """hidden (..., D) -> (..., V)."""
        return F.linear(self.turned(hidden), self.embedding.table.weight, self.bias)
