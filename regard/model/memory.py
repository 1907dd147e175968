"""The end-to-end memory network: a question reads a story in hops, each a soft attention over its sentences.

After Sukhbaatar, Szlam, Weston and Fergus (2015). Several networks with different fresh weights are trained side by
side (restarts) and share the work on the text: R is their number, F the number of features of a sentence.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.config import ModelConfig
from regard.model.attention import linear_attention, soft_attention
from regard.model.hop import Hop

SPREAD = 0.2  # standard deviation of fresh weights


class MemoryNetwork(nn.Module):
    """Sentences are bags of words with position and age encodings; each hop attends to them with its state.

    A sentence's vector is linear in its words, so it is never computed: the state is projected to a query over words
    and ages instead, and the weighted average of bags is projected back.
    """

    slope: Tensor
    chosen: Tensor
    answer_temperature: Tensor

    def __init__(self, config: ModelConfig, pad_id: int) -> None:
        super().__init__()
        self.config, self.pad_id = config, pad_id
        is_adjacent = config.tying == "adjacent"
        shape = config.restarts, config.vocab_size, config.width
        ages = config.restarts, config.max_positions, config.width
        # adjacent: a hop's output table is the next one's input table; the first also embeds the question, and the last
        # predicts the answer. layer-wise: all hops share two tables, with a linear map of the state between them.
        tables = config.hops + 1 if is_adjacent else 4
        self.words = nn.ParameterList(torch.randn(shape) * SPREAD for _ in range(tables))  # (R, V, D) each
        times = config.hops + 1 if is_adjacent else 2
        self.times = nn.ParameterList(torch.randn(ages) * SPREAD for _ in range(times))  # (R, ages, D) each
        self.between = None if is_adjacent else nn.Parameter(torch.eye(config.width).repeat(config.restarts, 1, 1))
        self.hops = nn.ModuleList(Hop() for _ in range(config.hops))
        self.register_buffer("chosen", torch.zeros(1, dtype=torch.int64))  # the network to keep
        self.register_buffer("answer_temperature", torch.ones(config.restarts, 1, 1))  # chosen on held-out stories
        slope = torch.arange(1, config.width + 1, device="cpu") / config.width  # (D,); not learned, so never left out
        self.register_buffer("slope", slope, persistent=False)
        with torch.no_grad():
            for table in self.words:
                if (
                    not is_adjacent
                ):  # a word matches itself at first; from unequal tables it learned 40 %, from equal all
                    table.copy_(self.words[0])
                table[:, pad_id] = 0

    def forward(self, sentences: Tensor, ages: Tensor, questions: Tensor, is_linear: bool = False) -> Tensor:
        """sentences (B, M, L) · ages (B, M) · questions (B, Q) -> logits (R, B, V)."""
        story, may_attend = self._features(sentences, ages)  # (B, M + 1, F), (B, 1, M + 1)
        first = self.words[0 if self.between is None else 2]
        state = self._bags(questions) @ self._with_places(first)  # (B, 2V) @ (R, 2V, D) -> (R, B, D)
        if self.config.controller == "zero":  # a control: the first hop is a plain average, and no question is read
            state = torch.zeros_like(state)
        attention = linear_attention if is_linear else soft_attention
        for number, hop in enumerate(self.hops):
            inward, outward = (number, number + 1) if self.between is None else (0, 1)
            query = state @ self._table(inward).transpose(1, 2)  # (R, B, F)
            found, weights = attention(query.transpose(0, 1), story, may_attend=may_attend)  # (B, R, F), (B, R, M + 1)
            hop(weights[..., :-1])
            if self.between is not None:
                state = state @ self.between  # (R, B, D)
            state = state + found.transpose(0, 1) @ self._table(outward)  # (R, B, D)
        return state @ self.words[-1].transpose(1, 2) / self.answer_temperature  # (R, B, V)

    def _features(self, sentences: Tensor, ages: Tensor) -> tuple[Tensor, Tensor]:
        """sentences (B, M, L) · ages (B, M) -> bags of words with their age (B, M + 1, F), and a mask.

        The last memory is empty: a query that matches nothing attends to it and retrieves 0.
        """
        oldest = self.config.max_positions
        bags = self._bags(sentences)  # (B, M, 2V)
        is_age = F.one_hot(ages.clamp(max=oldest - 1), oldest).to(bags.dtype)  # (B, M, ages)
        story = F.pad(torch.cat([bags, is_age], dim=-1), (0, 0, 0, 1))  # (B, M + 1, F)
        may_attend = F.pad((sentences != self.pad_id).any(dim=-1), (0, 1), value=True)  # (B, M + 1)
        return story, may_attend[:, None]

    def _bags(self, words: Tensor) -> Tensor:
        """Each word's weight for value k of D is (1 - j/J) - (k/D)(1 - 2j/J) at place j of J: two bags, the second of
        which meets the table times k/D. words (..., L) -> (..., 2V)"""
        is_word = (words != self.pad_id).float()  # (..., L)
        places = torch.arange(1, words.shape[-1] + 1, device=words.device)  # (L,)
        share = places / is_word.sum(dim=-1, keepdim=True).clamp(min=1)  # (..., L)
        size = self.config.vocab_size
        bags = torch.zeros(*words.shape[:-1], 2 * size, device=words.device)  # (..., 2V)
        bags.scatter_add_(-1, words, (1 - share) * is_word)
        return bags.scatter_add_(-1, words + size, (2 * share - 1) * is_word)

    def _table(self, number: int) -> Tensor:
        """What each feature of a sentence adds to its vector: (R, F, D)."""
        return torch.cat([self._with_places(self.words[number]), self.times[number]], dim=1)

    def _with_places(self, table: Tensor) -> Tensor:
        return torch.cat([table, table * self.slope], dim=1)  # (R, V, D) -> (R, 2V, D)


def keep_chosen(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """The weights of the one network to keep, of those that were trained side by side."""
    number = int(weights["chosen"])
    kept = {name: tensor[number : number + 1].clone() for name, tensor in weights.items() if name != "chosen"}
    return kept | {"chosen": torch.zeros_like(weights["chosen"])}
