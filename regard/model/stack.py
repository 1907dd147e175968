"""What all Transformers here are made of: an embedding, positions, and Blocks one upon another."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from regard.config import ModelConfig
from regard.decoding.settings import SUPPRESSED_LOGIT
from regard.model.attention import MultiHeadAttention
from regard.model.blocks import Block, Dropout, FeedForward, make_norm, pick
from regard.model.cache import KeyValueCache, LayerCache
from regard.model.masks import causal_mask
from regard.model.positions import Learned, Rotary, Sinusoidal
from regard.model.taps import EMBEDDED, HIDDEN


class Embedding(nn.Module):
    """Ids to vectors."""

    suppress_bias: Tensor | None

    def __init__(
        self, config: ModelConfig, *, scale: float = 1.0, pad_id: int | None = None, suppressed: Sequence[int] = ()
    ) -> None:
        """With a pad_id, the row of padding starts as zero and is not trained. suppressed: ids of probability 0."""
        super().__init__()
        self.table = nn.Embedding(config.vocab_size, config.width, padding_idx=pad_id)
        self.scale = scale
        bias = torch.zeros(config.vocab_size, device="cpu") if suppressed else None  # not learned
        if bias is not None:
            bias[list(suppressed)] = SUPPRESSED_LOGIT
        self.register_buffer("suppress_bias", bias, persistent=False)  # (V,)

    def forward(self, ids: Tensor) -> Tensor:
        """ids (B, T) -> (B, T, D)."""
        found = EMBEDDED(self, self.table(ids))
        return found if self.scale == 1 else found * self.scale


class Stack(nn.Module):
    """Positions, then blocks one upon another, then the last norm where norms come first."""

    def __init__(self, config: ModelConfig, *, reads_memory: bool = False, norms_input: bool = False) -> None:
        super().__init__()
        self.config = config
        self.positions = _positions(config)
        self.input_norm = make_norm(config) if norms_input else nn.Identity()
        self.dropout = Dropout(config.dropout)
        self.blocks = nn.ModuleList(Block(config, reads_memory=reads_memory) for _ in range(config.layers))
        self.norm = make_norm(config) if config.norm == "pre" else nn.Identity()

    def forward(
        self,
        x: Tensor,
        *,
        may_attend: Tensor | None = None,
        is_causal: bool = False,
        memory: Tensor | None = None,
        memory_may_attend: Tensor | None = None,
        cache: KeyValueCache | None = None,
        wanted: Tensor | None = None,
    ) -> Tensor:
        """x (B, T, D) embedded tokens -> (B, T, D). With a cache, x continues what is in it.

        wanted (B, N): the last block works for these places only -> (B, N, D).
        """
        start = cache.length if cache is not None else 0
        if cache is not None:
            cache.check_room(*x.shape[:2])
        rotary = self.positions if isinstance(self.positions, Rotary) else None
        early = None if rotary is not None else wanted  # rotary positions need the position of each query
        x = self.dropout(self.input_norm(self.positions(x, start)))
        for number, block in enumerate(self.blocks):
            x = HIDDEN(self, x)
            x = block(
                x,
                may_attend=may_attend,
                is_causal=is_causal,
                memory=memory,
                memory_may_attend=memory_may_attend,
                rotary=rotary,
                cache=cache.layers[number] if cache is not None else None,
                start=start,
                wanted=early if number == len(self.blocks) - 1 else None,
            )
        if wanted is not None and early is None:
            x = pick(x, wanted)  # (B, N, D)
        if cache is not None:
            cache.length += x.shape[1]
        return HIDDEN(self, self.norm(x))

    def open_cache(
        self, rows: int, room: int, memory: Tensor | None = None, may_attend: Tensor | None = None
    ) -> KeyValueCache:
        """An empty cache for `room` tokens a row, with the memory's keys and values computed once."""
        heads, key_width = self.config.kv_heads or self.config.heads, self.config.width // self.config.heads
        make = next(self.parameters()).new_empty
        keys = make(len(self.blocks), rows, heads, room, key_width)
        values = make(len(self.blocks), rows, heads, room, self.config.value_width or key_width)
        layers = []
        for number, block in enumerate(self.blocks):
            assert isinstance(block, Block)
            key, value = keys[number], values[number]
            if block.cross_attention is None:
                layers.append(LayerCache(key, value))
            else:
                assert memory is not None, "a stack that reads a memory needs one"
                layers.append(LayerCache(key, value, *block.cross_attention.read(memory)))
        if may_attend is not None and bool(may_attend.all()):
            may_attend = None  # a mask of all True would be converted again at every step
        return KeyValueCache(keys, values, layers, may_attend)

    def advance(self, x: Tensor, cache: KeyValueCache) -> Tensor:
        """The next tokens of each row, embedded (B, T, D) -> hidden (B, T, D); the cache then holds them too."""
        length = x.shape[1]
        may_attend = causal_mask(length, cache.length + length, device=x.device) if length > 1 else None
        return self(x, may_attend=may_attend, memory_may_attend=cache.may_attend, cache=cache)


@torch.no_grad()
def start_weights(network: nn.Module, config: ModelConfig, table_std: float) -> None:
    """Xavier initialization, with a smaller output of each sub-layer, so that signals pass through all layers.

    Without it, a post-norm network learns little for hundreds of steps. Embeddings start with `table_std`.
    """
    for module in network.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    for module in network.modules():
        if isinstance(module, MultiHeadAttention | FeedForward):
            last = module.output if isinstance(module, MultiHeadAttention) else module.down
            last.weight *= (2 * config.layers) ** -0.5
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=table_std)
            if module.padding_idx is not None:
                module.weight[module.padding_idx] = 0


def _positions(config: ModelConfig) -> nn.Module:
    match config.positions:
        case "sinusoidal":
            return Sinusoidal(config.width, config.max_positions)
        case "learned":
            return Learned(config.width, config.max_positions)
        case "rotary":
            return Rotary(config.width // config.heads, config.max_positions, config.rotary_base)
