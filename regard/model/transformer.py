"""Networks of Blocks: the encoder-decoder of the paper, the causal and the masked language model.

Knows ids and hidden states, not text or training.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.config import ModelConfig
from regard.decoding.settings import SUPPRESSED_LOGIT
from regard.model.blocks import ACTIVATIONS, make_norm
from regard.model.cache import KeyValueCache
from regard.model.masks import padding_mask
from regard.model.stack import Embedding, Stack, start_weights

SMALL = 0.02  # standard deviation of a fresh table of tokens that is not scaled up when it is read


class EncoderDecoder(nn.Module):
    """The encoder-decoder Transformer of the paper."""

    DECODER = "decoder."  # where the blocks of its decoder are
    can_generate_padding = False

    def __init__(
        self, config: ModelConfig, pad_id: int, start_id: int | None = None, suppressed: Sequence[int] | None = None
    ) -> None:
        """start_id: what the decoder reads first; padding if it is not given. suppressed: ids of probability 0; padding
        alone if they are not given.
        """
        super().__init__()
        self.config = config
        self.pad_id, self.start_id = pad_id, pad_id if start_id is None else start_id
        self.longest = config.longest
        suppressed = (pad_id,) if suppressed is None else suppressed
        self.embedding = Embedding(config, scale=math.sqrt(config.width), pad_id=pad_id, suppressed=suppressed)
        self.encoder = Stack(config)
        self.decoder = Stack(
            config.model_copy(update={"layers": config.decoder_layers or config.layers}), reads_memory=True
        )
        self.output = None if config.tie_embeddings else nn.Linear(config.width, config.vocab_size, bias=False)
        self.output_bias = nn.Parameter(torch.zeros(config.vocab_size)) if config.has_output_bias else None  # (V,)
        start_weights(self, config, table_std=config.width**-0.5)

    @property
    def table(self) -> Tensor:
        """The output embeddings, (V, D)."""
        return self.embedding.table.weight if self.output is None else self.output.weight

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """source (B, S) -> memory (B, S, D), and which places of it are real (B, 1, 1, S)."""
        may_attend = padding_mask(source == self.pad_id)
        return self.encoder(self.embedding(source), may_attend=may_attend), may_attend

    def decode(self, target: Tensor, memory: Tensor, memory_may_attend: Tensor) -> Tensor:
        """target (B, T), memory (B, S, D) -> hidden (B, T, D); place t has seen target[:, :t + 1] only.

        Padding at the end of a row needs no mask: attention is causal.
        """
        x = self.embedding(target)
        return self.decoder(x, is_causal=True, memory=memory, memory_may_attend=memory_may_attend)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """source (B, S), target (B, T) -> hidden (B, T, D)."""
        memory, may_attend = self.encode(source)
        return self.decode(target, memory, may_attend)

    def transformed(self, hidden: Tensor) -> Tensor:
        """Hidden states as the output layer receives them."""
        return hidden

    def logits(self, hidden: Tensor) -> Tensor:
        """hidden (..., D) -> (..., V)."""
        found = F.linear(hidden, self.table, self.embedding.suppress_bias)
        return found if self.output_bias is None else found + self.output_bias

    def open_cache(self, memory: Tensor, may_attend: Tensor, room: int) -> KeyValueCache:
        """An empty cache for `room` tokens a row, with the memory's keys and values computed once."""
        return self.decoder.open_cache(len(memory), room, memory, may_attend)

    def advance(self, ids: Tensor, cache: KeyValueCache) -> Tensor:
        """The next tokens of each row, ids (B, T) -> hidden (B, T, D); the cache then holds them too."""
        return self.decoder.advance(self.embedding(ids), cache)

    def outputs(self, rows: Tensor) -> Tensor:
        """rows (B, T) as sources, and in reverse order as targets -> logits (B, T, V)."""
        return self.logits(self(rows, rows.flip(0)))


class EncoderAndDecoder(nn.Module):
    """An encoder-decoder made of two pretrained models: a text encoder, and a decoder with cross-attention to it."""

    DECODER = "decoder.stack."  # where the blocks of its decoder are
    can_generate_padding = True  # as in `transformers`: a token like others

    def __init__(self, config: ModelConfig, pad_id: int, suppressed: Sequence[int] = ()) -> None:
        """config: the shape of the decoder, with that of the encoder inside. suppressed: ids of probability 0."""
        super().__init__()
        self.suppressed = list(suppressed)
        assert config.encoder is not None and config.start_id is not None, "made of two"
        self.config, self.pad_id, self.start_id = config, pad_id, config.start_id
        self.longest = config.max_positions  # of its output
        self.encoder, self.decoder = TextEncoder(config.encoder, pad_id), TextDecoder(config, pad_id)
        self.bridge = nn.Linear(config.encoder.width, config.width) if config.encoder.width != config.width else None
        if self.bridge is not None:
            nn.init.normal_(self.bridge.weight, std=SMALL)
            nn.init.zeros_(self.bridge.bias)

    @property
    def table(self) -> Tensor:
        """The output embeddings, (V, D)."""
        return self.decoder.embedding.table.weight

    @property
    def output_bias(self) -> Tensor:
        """The bias of the logits, (V,)."""
        return self.decoder.bias

    def transformed(self, hidden: Tensor) -> Tensor:
        """Hidden states after the head's transform; (..., D) -> (..., D)."""
        return self.decoder.transformed(hidden)

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """source (B, S) -> memory (B, S, D), and which places of it are real (B, 1, 1, S)."""
        memory = self.encoder(source)
        return memory if self.bridge is None else self.bridge(memory), padding_mask(source == self.pad_id)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """source (B, S), target (B, T) -> hidden (B, T, D)."""
        memory, may_attend = self.encode(source)
        return self.decoder(target, memory, may_attend)

    def logits(self, hidden: Tensor) -> Tensor:
        """hidden (..., D) -> (..., V)."""
        found = self.decoder.logits(hidden)
        ids = torch.tensor(self.suppressed, device=found.device)
        return found.index_fill(-1, ids, SUPPRESSED_LOGIT) if self.suppressed else found

    def open_cache(self, memory: Tensor, may_attend: Tensor, room: int) -> KeyValueCache:
        """An empty cache for `room` tokens a row, with the memory's keys and values computed once."""
        return self.decoder.stack.open_cache(len(memory), room, memory, may_attend)

    def advance(self, ids: Tensor, cache: KeyValueCache) -> Tensor:
        """The next tokens of each row, ids (B, T) -> hidden (B, T, D); the cache then holds them too."""
        return self.decoder.stack.advance(self.decoder.embed(ids), cache)

    def outputs(self, rows: Tensor) -> Tensor:
        """rows (B, T) as sources, and in reverse order as targets -> logits (B, T, V)."""
        return self.logits(self(rows, rows.flip(0)))


class CausalLM(nn.Module):
    """A causal language model: every place predicts the next token from those before it."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = Embedding(config)
        self.stack = Stack(config)
        self.output = None if config.tie_embeddings else nn.Linear(config.width, config.vocab_size, bias=False)
        start_weights(self, config, table_std=SMALL)

    @property
    def table(self) -> Tensor:
        """The output embeddings, (V, D)."""
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

    def outputs(self, rows: Tensor) -> Tensor:
        """rows (B, T) -> logits (B, T, V)."""
        return self.logits(self(rows))


class TextEncoder(nn.Module):
    """A bidirectional encoder: BERT without its prediction head."""

    def __init__(self, config: ModelConfig, pad_id: int) -> None:
        super().__init__()
        self.config = config
        self.pad_id = pad_id
        self.embedding = Embedding(config)
        # Which of several texts a token belongs to:
        self.token_types = nn.Embedding(config.token_types, config.width) if config.token_types else None
        self.stack = Stack(config, norms_input=True)
        self._start(config)

    def _start(self, config: ModelConfig) -> None:
        start_small(self, config)

    def forward(self, ids: Tensor, token_types: Tensor | None = None, wanted: Tensor | None = None) -> Tensor:
        """ids (B, T) -> hidden (B, T, D), or at the wanted places (B, N) only (B, N, D).

        token_types (B, T); all 0 if not given.
        """
        x = self.embedding(ids)  # (B, T, D)
        if self.token_types is not None:
            x = x + (self.token_types.weight[0] if token_types is None else self.token_types(token_types))  # (B, T, D)
        return self.stack(x, may_attend=padding_mask(ids == self.pad_id), wanted=wanted)

    def outputs(self, rows: Tensor) -> Tensor:
        """rows (B, T) -> hidden (B, T, D)."""
        return self(rows)


class TextDecoder(nn.Module):
    """BERT as a decoder: causal self-attention, cross-attention to a memory, and next-token prediction."""

    def __init__(self, config: ModelConfig, pad_id: int) -> None:
        super().__init__()
        self.config = config
        self.pad_id = pad_id
        self.embedding = Embedding(config)
        is_bert = config.kind == "bert"  # with token types, and a transform before the output layer
        self.token_types = nn.Embedding(config.token_types, config.width) if is_bert else None
        self.stack = Stack(config, reads_memory=True, norms_input=True)
        self.head_dense = nn.Linear(config.width, config.width) if is_bert else None
        self.head_norm = make_norm(config) if is_bert else None
        start_small(self, config)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))

    def forward(self, ids: Tensor, memory: Tensor, memory_may_attend: Tensor | None = None) -> Tensor:
        """ids (B, T), memory (B, S, D) with its mask (B, 1, 1, S) -> hidden (B, T, D).

        Padding at the end of a row needs no mask: attention is causal.
        """
        return self.stack(self.embed(ids), is_causal=True, memory=memory, memory_may_attend=memory_may_attend)

    def embed(self, ids: Tensor) -> Tensor:
        """ids (B, T) -> (B, T, D)."""
        x = self.embedding(ids)
        return x if self.token_types is None else x + self.token_types.weight[0]

    def transformed(self, hidden: Tensor) -> Tensor:
        """Hidden states after the head's transform; (..., D) -> (..., D)."""
        if self.head_dense is None or self.head_norm is None:
            return hidden
        return self.head_norm(ACTIVATIONS[self.config.activation](self.head_dense(hidden)))

    def logits(self, hidden: Tensor) -> Tensor:
        """hidden (..., D) -> (..., V)."""
        return F.linear(self.transformed(hidden), self.embedding.table.weight, self.bias)


def start_small(network: nn.Module, config: ModelConfig) -> None:
    """BERT's initialization: normal with one small standard deviation."""
    start_weights(network, config, table_std=SMALL)
    for module in network.modules():
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=SMALL)


class MaskedLM(TextEncoder):
    """BERT: a bidirectional encoder that predicts masked tokens."""

    def _start(self, config: ModelConfig) -> None:
        self.head_dense, self.activation = nn.Linear(config.width, config.width), ACTIVATIONS[config.activation]
        self.head_norm = make_norm(config)
        self.output = None if config.tie_embeddings else nn.Linear(config.width, config.vocab_size, bias=False)
        super()._start(config)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))

    @property
    def table(self) -> Tensor:
        """The output embeddings, (V, D)."""
        return self.embedding.table.weight if self.output is None else self.output.weight

    def transformed(self, hidden: Tensor) -> Tensor:
        """Hidden states after the head's transform; (..., D) -> (..., D)."""
        return self.head_norm(self.activation(self.head_dense(hidden)))

    def logits(self, hidden: Tensor) -> Tensor:
        """hidden (..., D) -> (..., V)."""
        return F.linear(self.transformed(hidden), self.table, self.bias)

    def outputs(self, rows: Tensor) -> Tensor:
        """rows (B, T) -> logits (B, T, V)."""
        return self.logits(self(rows))
