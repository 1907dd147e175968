"""The story Transformer: a vector per sentence, attention between sentences, and a question that reads them in hops.

Two kinds of heads: the usual softmax over all matches, and one that takes the newest match, because the latest
statement is the one that holds. Both may attend to nothing.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.config import ModelConfig
from regard.model.blocks import Dropout, FeedForward, Residual, make_norm
from regard.model.hop import Hop
from regard.model.memory import MemoryNetwork
from regard.model.positions import sinusoids

WORDS = 32  # positions in a sentence; later words share the last
FAR = 1e4  # subtracted from masked scores


class StoryTransformer(nn.Module):
    """Reads a story of sentences, then a question about it; the answer is one entry of the vocabulary.

    The searching hops share their weights. The last one answers, and the answer is only what it adds: otherwise earlier
    hops would answer directly, and never learn to chain facts.
    """

    answer_temperature: Tensor

    def __init__(self, config: ModelConfig, pad_id: int) -> None:
        super().__init__()
        self.config, self.pad_id = config, pad_id
        width = config.width
        self.embedding = nn.Embedding(config.vocab_size, width, padding_idx=pad_id)
        self.places = nn.Parameter(1 + 0.3 * torch.randn(WORDS, width))  # (words, D) scale of a word at each position
        self.question_places = nn.Parameter(1 + 0.3 * torch.randn(WORDS, width))  # (words, D)
        self.norm, self.question_norm = make_norm(config), make_norm(config)
        self.age = nn.Linear(width, width, bias=False)
        self.dropout = Dropout(config.dropout)
        self.blocks = nn.ModuleList(StoryBlock(config) for _ in range(config.layers))
        self.memory_norm = make_norm(config)
        self.search, self.reply = StoryBlock(config), StoryBlock(config)
        self.steps = nn.Parameter(0.1 * torch.randn(config.hops, width))  # (hops, D) which hop this is
        self.hops = nn.ModuleList(Hop() for _ in range(config.hops))
        self.answer_norm = make_norm(config)
        self.answer_bias = nn.Parameter(torch.zeros(config.vocab_size))
        self.register_buffer("answer_temperature", torch.ones(1, 1, 1))  # chosen on held-out stories
        nn.init.normal_(self.embedding.weight, std=1.0)
        nn.init.zeros_(self.embedding.weight[pad_id])
        nn.init.normal_(self.age.weight, std=0.1 / math.sqrt(width))  # order matters less than words, at first

    def forward(self, sentences: Tensor, ages: Tensor, questions: Tensor, is_linear: bool = False) -> Tensor:
        """sentences (B, M, L), oldest first · ages (B, M), newest smallest · questions (B, Q) -> logits (1, B, V)."""
        assert not is_linear, "only a memory network starts without softmax"
        is_real = (sentences != self.pad_id).any(dim=-1)  # (B, M)
        memory = self._read(sentences, ages, is_real)  # (B, M, D)
        may_attend = is_real[:, None, None]  # (B, 1, 1, M)
        state = self.question_norm(self._encode(questions, self.question_places))[:, None]  # (B, 1, D)
        seen = {block: block.attention.read(memory) for block in (self.search, self.reply)}  # (B, H, M, K) each
        asked = state
        for number, hop in enumerate(self.hops):
            block = self.reply if number == len(self.hops) - 1 else self.search
            asked = state + self.steps[number]  # (B, 1, D)
            state, weights = block(asked, may_attend, may_attend, seen[block])  # (B, 1, D), (B, H, 1, M)
            hop(weights.squeeze(2))
        answer = self.answer_norm((state - asked).squeeze(1)) / math.sqrt(self.config.width)  # (B, D)
        return F.linear(answer, self.embedding.weight, self.answer_bias)[None] / self.answer_temperature  # (1, B, V)

    def _read(self, sentences: Tensor, ages: Tensor, is_real: Tensor) -> Tensor:
        """sentences (B, M, L) · ages (B, M) · is_real (B, M) -> memory (B, M, D)."""
        waves = sinusoids(torch.arange(int(ages.max()) + 1, device=ages.device), self.config.width)  # (ages, D)
        x = self.norm(self._encode(sentences, self.places)) + F.embedding(ages, self.age(waves))  # (B, M, D)
        x = self.dropout(x)
        is_earlier = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).tril(-1)  # (M, M)
        may_attend = is_real[:, None, None]  # (B, 1, 1, M)
        earlier, others = is_earlier & may_attend, (is_earlier | is_earlier.T) & may_attend  # (B, 1, M, M), not itself
        for block in self.blocks:
            x, _ = block(x, earlier, others)
        return self.memory_norm(x)

    def _encode(self, words: Tensor, places: Tensor) -> Tensor:
        """The sum of the words, each scaled by its position: (..., L) -> (..., D)."""
        order = torch.arange(words.shape[-1], device=words.device).clamp(max=WORDS - 1)  # (L,)
        is_word = (words != self.pad_id).unsqueeze(-1)  # (..., L, 1); the table is that of the answers too, and learned
        return (self.embedding(words) * places[order] * is_word).sum(dim=-2)


class StoryBlock(nn.Module):
    """Attention and feed-forward, each with its residual: sentences to sentences, or the question to sentences."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.attention = StoryAttention(config.width, config.heads)
        self.attention_residual = Residual(config)
        self.feed_forward = FeedForward(config)
        self.feed_residual = Residual(config)
        nn.init.zeros_(self.feed_forward.down.weight)  # the identity at first

    def forward(
        self, x: Tensor, newest: Tensor, others: Tensor, seen: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        """x (B, T, D) attends to `seen`, key and value, or else to itself -> (B, T, D), weights (B, H, T, S).

        newest, others (B, 1, T, S): what each kind of head may attend to.
        """
        given = self.attention_residual.before(x)
        key, value = seen or self.attention.read(given)  # (B, H, S, K)
        found, weights = self.attention(given, key, value, newest, others)
        x = self.attention_residual.after(x, found)
        return self.feed_residual.after(x, self.feed_forward(self.feed_residual.before(x))), weights


class StoryAttention(nn.Module):
    """Attention over sentences in order: half of the heads take the newest match, the others a mixture."""

    def __init__(self, width: int, heads: int) -> None:
        """Every head has the whole width, and queries start equal to keys, so that equal words match from the start."""
        super().__init__()
        self.heads, self.recent = heads, heads // 2
        self.query, self.key = nn.Linear(width, heads * width), nn.Linear(width, heads * width)
        self.value, self.output = nn.Linear(width, width), nn.Linear(width, width)
        self.patience = nn.Parameter(torch.full((self.recent, 1, 1), -8.0))  # the lower, the further back it reaches
        with torch.no_grad():
            for head in self.query.weight.chunk(heads):
                nn.init.orthogonal_(head, gain=1.4)
            self.key.weight.copy_(self.query.weight)
            nn.init.orthogonal_(self.value.weight)
            self.output.weight.copy_(self.value.weight.T)  # value and output start as inverses
            for linear in (self.query, self.key, self.value, self.output):
                nn.init.zeros_(linear.bias)

    def read(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """memory (B, S, D) -> key (B, H, S, D), value (B, H, S, D / H)."""
        return self._split(self.key(memory)), self._split(self.value(memory))

    def forward(self, x: Tensor, key: Tensor, value: Tensor, newest: Tensor, others: Tensor) -> tuple[Tensor, Tensor]:
        """x (B, T, D) attends to key and value -> (B, T, D), weights (B, H, T, S), whose sums are at most 1."""
        query = self._split(self.query(x)) / math.sqrt(x.shape[-1])  # (B, H, T, D)
        scores = query @ key.transpose(-1, -2)  # (B, H, T, S)
        first = scores[:, : self.recent] + self.patience - FAR * ~newest  # (B, H / 2, T, S)
        rest = scores[:, self.recent :] - FAR * ~others  # (B, H / 2, T, S)
        weights = torch.cat([newest_match(first), mixture(rest)], dim=1)  # (B, H, T, S)
        return self.output((weights @ value).transpose(1, 2).flatten(2)), weights

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)  # (B, S, H * K) -> (B, H, S, K)


def newest_match(scores: Tensor) -> Tensor:
    """Walks from the newest sentence to the oldest and stops at each with probability sigmoid(score).

    scores (..., S), newest last -> weights (..., S), whose sum is at most 1: the rest attends to nothing.
    """
    weights: Tensor = _NewestMatch.apply(scores)  # type: ignore[no-untyped-call]
    return weights


def mixture(scores: Tensor) -> Tensor:
    """Softmax beside an empty place of score 0: scores (..., S) -> weights (..., S), whose sum is below 1."""
    return F.pad(scores, (0, 1)).softmax(dim=-1)[..., :-1]


class _NewestMatch(torch.autograd.Function):
    """With its own backward: autograd through a product over many sentences is slow and unstable."""

    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, scores: Tensor) -> Tensor:
        stops = scores.sigmoid()  # (..., S)
        passes = F.softplus(scores)  # (..., S) minus the log of 1 - stops
        came_here = (passes.cumsum(dim=-1) - passes.sum(dim=-1, keepdim=True)).exp()  # (..., S) passed all newer ones
        weights = came_here * stops  # (..., S)
        ctx.save_for_backward(stops, weights)
        return weights

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, *grads: Tensor) -> Tensor:
        """Stopping here takes weight from all older sentences."""
        stops, weights = ctx.saved_tensors  # type: ignore[attr-defined]
        gain = grads[0] * weights  # (..., S)
        return gain - stops * gain.cumsum(dim=-1)


def build_network(config: ModelConfig, pad_id: int) -> nn.Module:
    """The network of this kind that answers questions, with fresh weights."""
    return MemoryNetwork(config, pad_id) if config.kind == "memory" else StoryTransformer(config, pad_id)
