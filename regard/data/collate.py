"""Examples to one batch: pad, shift, mask. Knows ids, not text."""

import random
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from regard.data.batch import PairBatch, StoryBatch, TextBatch
from regard.data.exchangeable import Exchangeable
from regard.data.tokens import Array, EncodedStories, TokenLists
from regard.data.unanswerable import Unanswerable


def collate_pairs(
    sources: TokenLists, targets: TokenLists, indexes: Tensor, pad_id: int, start_id: int | None = None
) -> PairBatch:
    """The pairs at these indexes. start_id: what the decoder reads first; if not given padding, as Marian has it."""
    source = sources.pad(indexes, pad_id)  # (B, S)
    labels = targets.pad(indexes, pad_id)  # (B, T)
    start = torch.full((len(indexes), 1), pad_id if start_id is None else start_id)  # (B, 1)
    target = torch.cat([start, labels[:, :-1]], dim=1)  # (B, T)
    tokens = int((source != pad_id).sum() + (labels != pad_id).sum())
    return PairBatch(tokens, source, target, labels)


def collate_blocks(stream: Array, starts: Tensor, length: int) -> TextBatch:
    """Blocks of a stream of ids (N,), each read from its start (B,): every place predicts the next."""
    places = starts.numpy()[:, None] + np.arange(length + 1)  # (B, T + 1)
    rows = torch.from_numpy(stream[places].astype(np.int64))  # (B, T + 1)
    return TextBatch(len(starts) * length, rows[:, :-1].contiguous(), rows[:, 1:].contiguous(), None)


@dataclass(frozen=True)
class TokenMasking:
    """BERT's way to hide tokens: of those chosen, 80 % become the mask, 10 % another token, 10 % stay as they are."""

    share: float  # of the tokens of a row that are chosen; one at least
    mask_id: int
    is_special: Tensor  # (V,) never chosen, and never put in
    starts_word: Tensor | None = None  # (V,) given: all pieces of a word are chosen together

    def __call__(self, rows: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """rows (B, T) -> what the model reads (B, T), and which places it must guess (B, T)."""
        may_choose = ~self.is_special[rows]  # (B, T)
        is_chosen = self._choose(rows, may_choose, generator)  # (B, T)
        fate = torch.rand(rows.shape, generator=generator)  # (B, T)
        ordinary = (~self.is_special).nonzero().squeeze(1)  # (ordinary,)
        others = ordinary[torch.randint(len(ordinary), rows.shape, generator=generator)]  # (B, T)
        read = torch.where(is_chosen & (fate < 0.8), self.mask_id, rows)
        return torch.where(is_chosen & (fate >= 0.9), others, read), is_chosen

    def _choose(self, rows: Tensor, may_choose: Tensor, generator: torch.Generator) -> Tensor:
        """The tokens (or words) with the lowest draws, until the share is reached: (B, T)."""
        draws = torch.rand(rows.shape, generator=generator)  # (B, T)
        if self.starts_word is not None:
            word = (self.starts_word[rows] | ~may_choose).cumsum(dim=1) - 1  # (B, T) number of the word, from 0
            draws = draws.gather(1, word.clamp(min=0))  # one draw a word
        draws = draws.masked_fill(~may_choose, 2.0)
        wanted = (may_choose.sum(dim=1) * self.share).round().clamp(min=1).long()  # (B,)
        limit = draws.sort(dim=1).values.gather(1, wanted[:, None] - 1)  # (B, 1)
        return (draws <= limit) & may_choose


def collate_masked(texts: TokenLists, indexes: Tensor, pad_id: int, masking: TokenMasking, seed: int) -> TextBatch:
    """The texts at these indexes with some tokens masked; which ones is a function of the seed."""
    rows = texts.pad(indexes, pad_id)  # (B, T)
    read, is_masked = masking(rows, torch.Generator().manual_seed(seed))
    return TextBatch(int((rows != pad_id).sum()), read, rows, is_masked)


def collate_stories(
    stories: EncodedStories,
    indexes: Tensor,
    pad_id: int,
    *,
    seed: int = 0,
    is_linear: bool = False,
    time_noise: float = 0.0,
    unanswerable: tuple[Unanswerable, float] | None = None,
    exchange: tuple[Exchangeable, float] | None = None,
) -> StoryBatch:
    """The questions at these indexes with their stories.

    time_noise: the share of gaps inserted between sentences at random, so that the model does not overfit to exact
    ages. A gap has no words: it only makes earlier sentences older. unanswerable: what makes questions that their
    story does not answer, and the share of them. exchange: what exchanges words, and in which share of the questions.
    """
    numbers = stories.tales.pad(indexes, 0)  # (B, M)
    if numbers.shape[1] == 0:
        numbers = torch.zeros(len(indexes), 1, dtype=torch.int64)  # no story: one sentence of padding
    questions, answers = stories.questions.pad(indexes, pad_id), stories.answers[indexes].clone()  # (B, Q), (B,)
    if unanswerable:
        make, share = unanswerable
        make(stories, share, random.Random(seed), (numbers, questions, answers))
    is_real = numbers > 0  # (B, M)
    generator = torch.Generator().manual_seed(seed)
    gaps = torch.rand(numbers.shape, generator=generator) < time_noise  # (B, M)
    passed = (is_real * (1 + gaps.long())).flip(1).cumsum(1).flip(1)  # (B, M) from each sentence to now
    sentences = stories.table[numbers]  # (B, M, L)
    tokens = int((sentences != pad_id).sum() + (questions != pad_id).sum())
    ages = (passed - 1).clamp(min=0)
    if exchange:
        words, exchanged = exchange
        sentences, questions, answers = words((sentences, questions, answers), exchanged, generator)
    return StoryBatch(tokens, sentences, ages, questions, answers, is_linear)
