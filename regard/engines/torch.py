"""The torch engine: any device, a cache, finished rows dropped, attention on request. Knows ids, not text."""

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol

import torch
from torch import Tensor

from regard.decoding.constrained import beam_with, compare_forced
from regard.decoding.found import Finding, Hypothesis
from regard.decoding.sample import SeededRows
from regard.decoding.search import beam, greedy
from regard.decoding.settings import CONSENSUS_TEMPERATURE, SUPPRESSED_LOGIT, Sampling, Search
from regard.engines.layout import group
from regard.engines.lean import make_lean
from regard.model.cache import KeyValueCache
from regard.model.capture import record_attention
from regard.model.transformer import CausalLM, EncoderAndDecoder, EncoderDecoder

Translating = EncoderDecoder | EncoderAndDecoder

NARROW = 512
WIDE_THREADS = 2  # for the one product that is wide in a narrow network; more were not measured
FIRST_ROOM = 256  # tokens a writer's cache has room for at first; it grows with the text, for some see a million
TOKENS_PER_BATCH = 2048  # source tokens times beams, padding included


class _Threads:
    """How many threads torch had when the first of those inside few_threads came, and how many are inside."""

    lock = threading.Lock()
    before = inside = 0

    @classmethod
    def forked(cls) -> None:
        """A new process has none of the other threads."""
        cls.lock, cls.inside = threading.Lock(), 0


os.register_at_fork(after_in_child=_Threads.forked)


@contextmanager
def few_threads(width: int) -> Iterator[int]:
    """While inside, narrow networks use one thread: several would only wait for each other at every product.

    Gives how many the product with the whole vocabulary is worth. The number belongs to the process: a thread that
    comes while others are inside would find theirs, so all go back to what the first of them found.
    """
    with _Threads.lock:
        if not _Threads.inside:
            _Threads.before = torch.get_num_threads()
        _Threads.inside += 1
        before = _Threads.before
        torch.set_num_threads(1 if width < NARROW else before)
    try:
        yield min(before, WIDE_THREADS) if width < NARROW else before
    finally:
        with _Threads.lock:
            _Threads.inside -= 1
            torch.set_num_threads(before)


class DecoderStep:
    """The step function of a translator: one token per row, from a cache."""

    def __init__(
        self, model: Translating, source: Tensor, room: int, wide_threads: int, prefix: Sequence[int] = ()
    ) -> None:
        """source (B, S) · wide_threads: for logits · prefix: ids that every row begins with, after its start."""
        self._model, self._wide_threads = make_lean(model), wide_threads
        memory, may_attend = self._model.encode(source)
        self._cache: KeyValueCache = self._model.open_cache(memory, may_attend, room)
        self._prefix = torch.tensor(list(prefix), dtype=torch.long, device=source.device)  # (P,)

    def __call__(self, last: Tensor) -> Tensor:
        """last (B,) -> logits (B, V)"""
        newest = last[:, None]  # (B, 1)
        if len(self._prefix) and not self._cache.length:
            newest = torch.cat([newest, self._prefix.expand(len(last), -1)], dim=1)  # (B, 1 + P)
        hidden = self._model.advance(newest, self._cache)  # (B, 1, D), or of the whole prefix
        return self._logits(hidden[:, -1])

    def _logits(self, hidden: Tensor) -> Tensor:
        """hidden (B, D) -> (B, V)"""
        before = torch.get_num_threads()
        torch.set_num_threads(self._wide_threads)
        try:
            return self._model.logits(hidden)
        finally:
            torch.set_num_threads(before)

    def keep(self, rows: Tensor) -> None:
        """rows (new B,)"""
        self._cache.keep(rows)


class TextStep:
    """The step function of a writer: one token per row, without a limit.

    A sliding context window: when it is full, its older half is dropped and the newer half read again.
    """

    def __init__(self, model: CausalLM, ids: Tensor, suppressed: Sequence[int] = ()) -> None:
        """ids (B, T): what is there already, one token at least. suppressed: ids that are never generated."""
        self._model, self._room, self._suppressed = make_lean(model), model.config.max_positions, list(suppressed)
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
                if self._cache.is_full:
                    self._cache.grow(min(2 * self._ids.shape[1], self._room))
                hidden = self._model.advance(last[:, None], self._cache)  # (B, 1, D)
                self.logits = self._allowed(hidden[:, 0])
            return self.logits

    def keep(self, rows: Tensor) -> None:
        """rows (new B,)"""
        self._ids = self._ids[rows]
        self._cache.keep(rows)

    def _read(self) -> Tensor:
        with torch.inference_mode():
            rows, length = self._ids.shape
            self._cache = self._model.open_cache(rows, min(max(2 * length, FIRST_ROOM), self._room))
            hidden = self._model.advance(self._ids, self._cache)  # (B, T, D)
            return self._allowed(hidden[:, -1])

    def _allowed(self, hidden: Tensor) -> Tensor:
        """hidden (B, D) -> logits (B, V)"""
        logits = self._model.logits(hidden)
        logits[:, self._suppressed] = SUPPRESSED_LOGIT
        return logits


class Engine(Protocol):
    """An engine that runs a translator."""

    def begin(
        self, sources: Sequence[list[int]], limits: Sequence[int], search: Search, prefixes: Sequence[list[int]] = ()
    ) -> Finding:
        """Begins to translate; the result yields the best translations of each source."""
        ...


class NativeTranslator:
    """A translator that is run by torch."""

    name = "torch"

    def __init__(
        self, model: Translating, ends: Sequence[int], alignment: dict[str, Any], places: int = sys.maxsize
    ) -> None:
        """ends: any of them ends a translation. alignment: the layer and the heads, both from 0, whose attention
        aligns tokens. places: most tokens of a translation, as the fast engine has them.
        """
        self._model, self._ends, self._alignment, self._places = model, ends, alignment, places

    def begin(
        self, sources: Sequence[list[int]], limits: Sequence[int], search: Search, prefixes: Sequence[list[int]] = (),
        choose: Callable[[list[Hypothesis]], list[Hypothesis]] | None = None,
    ) -> Finding:  # fmt: skip
        """Runs when its result is read: the best translations of each source, or what is chosen of them.

        limits: most tokens of each translation, the end included. prefixes: what each must begin with.
        """
        limits = [min(limit, self._places) for limit in limits]

        def work() -> Iterator[tuple[int, list[Hypothesis]]]:
            for prefix in {tuple(prefix) for prefix in prefixes or [[]]}:  # rows that begin alike share their batches
                rows = [row for row in range(len(sources)) if not prefixes or tuple(prefixes[row]) == prefix]
                mine = [sources[row] for row in rows]
                found = translate_ids(
                    self._model, mine, [limits[row] for row in rows], self._ends, search, prefix=prefix
                )
                found = [choose(some) for some in found] if choose else found
                yield from zip(rows, self.trace(mine, found) if search.return_attention else found, strict=True)

        return work

    def begin_with(
        self, other: Engine, sources: Sequence[list[int]], limits: Sequence[int], search: Search,
        phrases: Sequence[Sequence[list[int]]],
    ) -> Finding:  # fmt: skip
        """As `begin`, where a translation must contain the phrases of its source; the rest go to `other`."""
        plain = [row for row, wanted in enumerate(phrases) if not wanted]
        forced = [row for row, wanted in enumerate(phrases) if wanted]
        wait = other.begin([sources[row] for row in plain], [limits[row] for row in plain], search)
        freely = replace(search, n_best=1, with_scores=True, return_attention=False)
        wait_free = other.begin([sources[row] for row in forced], [limits[row] for row in forced], freely)

        def work() -> Iterator[tuple[int, list[Hypothesis]]]:
            for number, (free, *_) in wait_free():
                row = forced[number]
                room = limits[row] + sum(map(len, phrases[row]))
                found = self._contain(sources[row], room, search, phrases[row])
                best = found[0]
                found[0] = replace(best, notes=compare_forced(best, free, phrases[row]))
                yield row, self.trace([sources[row]], [found])[0] if search.return_attention else found
            for number, found in wait():
                yield plain[number], found

        return work

    @torch.inference_mode()
    def _contain(self, source: list[int], limit: int, search: Search, phrases: Sequence[list[int]]) -> list[Hypothesis]:
        device, limit = next(self._model.parameters()).device, min(limit, self._model.longest)
        with few_threads(self._model.config.width) as wide_threads:
            step = DecoderStep(self._model, torch.tensor([source], device=device), limit, wide_threads)
            start = torch.tensor([self._model.start_id], device=device)  # (1,)
            return beam_with(step, start, self._ends, limit, search, phrases)

    @torch.inference_mode()
    def trace(self, sources: Sequence[list[int]], found: list[list[Hypothesis]]) -> list[list[Hypothesis]]:
        """The same hypotheses with their attention, from one forced pass over each."""
        layer, heads = self._alignment["layer"], self._alignment["heads"]
        flat = [(row, number) for row, hypotheses in enumerate(found) for number in range(len(hypotheses))]
        sizes = [len(sources[row]) + len(found[row][number].ids) for row, number in flat]
        traced = [list(hypotheses) for hypotheses in found]
        device = next(self._model.parameters()).device
        for indexes in group(sizes, TOKENS_PER_BATCH):
            rows = [flat[index] for index in indexes]
            hypotheses = [found[row][number] for row, number in rows]
            source = _pad([sources[row] for row, _ in rows], self._model.pad_id).to(device)  # (B, S)
            forced = [[self._model.start_id, *one.ids][: self._model.longest] for one in hypotheses]
            target = _pad(forced, self._model.pad_id).to(device)  # (B, T)
            with record_attention(self._model) as recorded:
                self._model(source, target)
            weights = recorded[f"{self._model.DECODER}blocks.{layer}.cross_attention"][0][:, heads].mean(
                dim=1
            )  # (B, T, S)
            for (row, number), one, rows_seen in zip(rows, hypotheses, weights.tolist(), strict=True):
                attention = [line[: len(sources[row])] for line in rows_seen[: len(one.ids) + one.is_finished]]
                traced[row][number] = replace(one, attention=attention)
        return traced


@torch.inference_mode()
def translate_ids(
    model: Translating,
    sources: Sequence[list[int]],
    limits: Sequence[int],
    ends: Sequence[int],
    search: Search,
    between_batches: Callable[[], None] = lambda: None,
    prefix: Sequence[int] = (),
) -> list[list[Hypothesis]]:
    """The best translations of each source, in the order of the sources; rows of like length share a batch.

    limits: most tokens of each translation, the end included. prefix: what all begin with; its tokens are not scored.
    """
    if model.training:  # calling eval() again takes as long as a token
        model.eval()
    answers: list[list[Hypothesis]] = [[] for _ in sources]
    for indexes in group([len(ids) for ids in sources], TOKENS_PER_BATCH // max(search.beams, search.samples)):
        between_batches()
        rows, most = [sources[i] for i in indexes], [limits[i] for i in indexes]
        with few_threads(model.config.width) as wide_threads:
            found = _search(model, rows, most, ends, search, wide_threads, prefix)
        for index, hypotheses in zip(indexes, found, strict=True):
            answers[index] = hypotheses
    return answers


def _search(
    model: Translating, sources: list[list[int]], limits: list[int], ends: Sequence[int], search: Search,
    wide_threads: int, prefix: Sequence[int],
) -> list[list[Hypothesis]]:  # fmt: skip
    """The best translations of the rows of one batch."""
    device = next(model.parameters()).device
    limits = [min(max(limit, len(prefix) + 1), model.longest) for limit in limits]
    step = DecoderStep(model, _pad(sources, model.pad_id).to(device), max(limits), wide_threads, prefix)
    start = torch.full((len(sources),), model.start_id, device=device)  # (B,)
    if search.samples:
        return _sample(step, start, sources, limits, ends, search, prefix)
    if search.beams == 1:
        return [[best] for best in greedy(step, start, ends, limits, prefix, with_scores=search.with_scores)]
    return beam(step, start, ends, limits, search, prefix)


def _sample(
    step: DecoderStep, start: Tensor, sources: list[list[int]], limits: list[int], ends: Sequence[int], search: Search,
    prefix: Sequence[int],
) -> list[list[Hypothesis]]:  # fmt: skip
    """Translations of each row of one batch, drawn with the seed and the row's own source: the same in any batch."""
    count = search.samples
    seeds = [f"{search.seed} {number} {source}" for source in sources for number in range(count)]
    step.keep(torch.arange(len(start), device=start.device).repeat_interleave(count))
    found = greedy(
        step, start.repeat_interleave(count), ends, [limit for limit in limits for _ in range(count)], prefix,
        pick=SeededRows(seeds, Sampling(CONSENSUS_TEMPERATURE)),
    )  # fmt: skip
    return [found[first : first + count] for first in range(0, len(found), count)]


def _pad(rows: list[list[int]], pad_id: int) -> Tensor:
    longest = max(map(len, rows))
    return torch.tensor([row + [pad_id] * (longest - len(row)) for row in rows])
