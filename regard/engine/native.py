"""The torch engine: any device, a cache, finished rows dropped, attention on request. Knows ids, not text."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from regard.generate.search import Hypothesis, beam, greedy
from regard.generate.settings import Search
from regard.model.cache import KeyValueCache
from regard.model.transformer import CausalLM, EncoderDecoder

TOKENS_PER_BATCH = 2048  # source tokens times beams, padding included


class DecoderStep:
    """A translator as a search sees it: it goes on from a cache, one token a row."""

    def __init__(self, model: EncoderDecoder, source: Tensor, room: int) -> None:
        """source (B, S)"""
        self._model = model
        memory, may_attend = model.encode(source)
        self._cache: KeyValueCache = model.open_cache(memory, may_attend, room)

    def __call__(self, last: Tensor) -> Tensor:
        """last (B,) -> logits (B, V)"""
        hidden = self._model.advance(last[:, None], self._cache)  # (B, 1, D)
        return self._model.logits(hidden[:, 0])

    def keep(self, rows: Tensor) -> None:
        """rows (new B,)"""
        self._cache.keep(rows)


class TextStep:
    """A writer as a sampler sees it: it goes on from a text, one token a row, as far as anybody wants.

    When the text is as long as the model can see, its older half is forgotten and the newer half read again.
    """

    def __init__(self, model: CausalLM, ids: Tensor) -> None:
        """ids (B, T): what is there already, one token at least."""
        self._model, self._room = model, model.config.max_positions
        self._ids = ids[:, -self._room :]
        self.logits = self._read()  # (B, V) of what may follow

    def __call__(self, last: Tensor) -> Tensor:
        """last (B,) -> logits (B, V)"""
        with torch.inference_mode():
            if self._ids.shape[1] == self._room:
                self._ids = torch.cat([self._ids[:, self._room // 2 :], last[:, None]], dim=1)  # (B, T)
                self.logits = self._read()
            else:
                self._ids = torch.cat([self._ids, last[:, None]], dim=1)  # (B, T)
                hidden = self._model.advance(last[:, None], self._cache)  # (B, 1, D)
                self.logits = self._model.logits(hidden[:, 0])
            return self.logits

    def keep(self, rows: Tensor) -> None:
        """rows (new B,)"""
        self._ids = self._ids[rows]
        self._cache.keep(rows)

    def _read(self) -> Tensor:
        with torch.inference_mode():
            self._cache = self._model.open_cache(len(self._ids), self._room)
            hidden = self._model.advance(self._ids, self._cache)  # (B, T, D)
            return self._model.logits(hidden[:, -1])


@torch.inference_mode()
def translate_ids(
    model: EncoderDecoder,
    sources: Sequence[list[int]],
    limits: Sequence[int],
    end_id: int,
    search: Search,
    between_batches: Callable[[], None] = lambda: None,
) -> list[list[Hypothesis]]:
    """The best translations of each source, in the order of the sources; rows of like length share a batch.

    limits: most tokens of each translation, the end included.
    """
    model.eval()
    device = next(model.parameters()).device
    answers: list[list[Hypothesis]] = [[] for _ in sources]
    for indexes in _group([len(ids) for ids in sources], TOKENS_PER_BATCH // search.beams):
        between_batches()
        row_limits = [limits[i] for i in indexes]
        source = _pad([sources[i] for i in indexes], model.pad_id).to(device)  # (B, S)
        step = DecoderStep(model, source, room=max(row_limits))
        start = torch.full((len(indexes),), model.pad_id, device=device)  # (B,)
        if search.beams == 1:
            found = [[best] for best in greedy(step, start, end_id, row_limits)]
        else:
            found = beam(step, start, end_id, row_limits, search)
        for index, hypotheses in zip(indexes, found, strict=True):
            answers[index] = hypotheses
    return answers


def default_limit(source_length: int) -> int:
    """Most tokens of a translation, the end included: room for any honest one, an end for one that runs away."""
    return 3 * source_length + 20


def _group(lengths: list[int], tokens: int) -> list[list[int]]:
    """Indexes in groups of like length, longest first, each within the budget of tokens."""
    groups: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if groups and (len(groups[-1]) + 1) * lengths[groups[-1][0]] <= tokens:
            groups[-1].append(index)
        else:
            groups.append([index])
    return groups


def _pad(rows: list[list[int]], pad_id: int) -> Tensor:
    longest = max(map(len, rows))
    return torch.tensor([row + [pad_id] * (longest - len(row)) for row in rows])
