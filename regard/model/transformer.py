"""Ways to stack a Block. Here: the encoder-decoder of the paper.

Knows ids and hidden states; what the ids mean and how weights get better is somebody else's.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.config import ModelConfig
from regard.model.attention import MultiHeadAttention
from regard.model.blocks import Block, Dropout, FeedForward
from regard.model.cache import KeyValueCache, LayerCache
from regard.model.masks import causal_mask, padding_mask
from regard.model.positions import Learned, Rotary, Sinusoidal

NEVER = -1e9  # a logit so low that softmax gives it exactly nothing; finite, so that sums stay finite


class Embedding(nn.Module):
    """Ids to vectors with their position, and vectors back to logits with the same table (tied)."""

    never: Tensor

    def __init__(self, config: ModelConfig, pad_id: int) -> None:
        super().__init__()
        self.table = nn.Embedding(config.vocab_size, config.width, padding_idx=pad_id)  # padding is the zero vector
        self.scale = math.sqrt(config.width)
        never = torch.zeros(config.vocab_size)
        never[pad_id] = NEVER
        self.register_buffer("never", never, persistent=False)  # (V,) nobody says padding

    def forward(self, ids: Tensor) -> Tensor:
        """ids (B, T) -> (B, T, D)."""
        return self.table(ids) * self.scale

    def logits(self, hidden: Tensor) -> Tensor:
        """hidden (..., D) -> (..., V)."""
        return F.linear(hidden, self.table.weight, self.never)


class Stack(nn.Module):
    """Positions, then blocks one upon another, then the last norm where norms come first."""

    def __init__(self, config: ModelConfig, *, reads_memory: bool = False) -> None:
        super().__init__()
        self.positions = _positions(config)
        self.dropout = Dropout(config.dropout)
        self.blocks = nn.ModuleList(Block(config, reads_memory=reads_memory) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width) if config.norm == "pre" else nn.Identity()

    def forward(
        self,
        x: Tensor,
        *,
        may_attend: Tensor | None = None,
        is_causal: bool = False,
        memory: Tensor | None = None,
        memory_may_attend: Tensor | None = None,
        cache: KeyValueCache | None = None,
    ) -> Tensor:
        """x (B, T, D) embedded tokens -> (B, T, D). With a cache, x continues what is in it."""
        start = cache.length if cache is not None else 0
        rotary = self.positions if isinstance(self.positions, Rotary) else None
        x = self.dropout(self.positions(x, start))
        for number, block in enumerate(self.blocks):
            x = block(
                x,
                may_attend=may_attend,
                is_causal=is_causal,
                memory=memory,
                memory_may_attend=memory_may_attend,
                rotary=rotary,
                cache=cache.layers[number] if cache is not None else None,
                start=start,
            )
        if cache is not None:
            cache.length += x.shape[1]
        return self.norm(x)


class EncoderDecoder(nn.Module):
    """Reads a text, then writes another while looking at the first."""

    def __init__(self, config: ModelConfig, pad_id: int) -> None:
        super().__init__()
        self.config = config
        self.pad_id = pad_id
        self.embedding = Embedding(config, pad_id)
        self.encoder = Stack(config)
        self.decoder = Stack(config, reads_memory=True)
        self._start_weights()

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
        heads, head_width = self.config.heads, self.config.width // self.config.heads
        layers = []
        for block in self.decoder.blocks:
            assert isinstance(block, Block) and block.cross_attention is not None
            key, value = (memory.new_empty(len(memory), heads, room, head_width) for _ in range(2))
            layers.append(LayerCache(key, value, *block.cross_attention.read(memory)))
        return KeyValueCache(layers, may_attend)

    def advance(self, ids: Tensor, cache: KeyValueCache) -> Tensor:
        """The next tokens of each row, ids (B, T) -> hidden (B, T, D); the cache then holds them too."""
        total = cache.length + ids.shape[1]
        may_attend = causal_mask(ids.shape[1], total, device=ids.device) if ids.shape[1] > 1 else None
        x = self.embedding(ids)
        return self.decoder(x, may_attend=may_attend, memory_may_attend=cache.may_attend, cache=cache)

    @torch.no_grad()
    def _start_weights(self) -> None:
        """Xavier's, but what a sub-layer adds is small at first, so that signals pass through all layers.

        A post-norm network learns little for hundreds of steps without that.
        """
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)
        for module in self.modules():
            if isinstance(module, MultiHeadAttention | FeedForward):
                last = module.output if isinstance(module, MultiHeadAttention) else module.fall
                last.weight *= (2 * self.config.layers) ** -0.5
        table = self.embedding.table
        nn.init.normal_(table.weight, std=self.config.width**-0.5)
        table.weight[self.pad_id] = 0


def _positions(config: ModelConfig) -> nn.Module:
    match config.positions:
        case "sinusoidal":
            return Sinusoidal(config.width, config.max_positions)
        case "learned":
            return Learned(config.width, config.max_positions)
        case "rotary":
            return Rotary(config.width // config.heads, config.max_positions)
