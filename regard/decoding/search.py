"""From a step function to the best sequences: greedy and beam. Knows no network.

Beam search follows CTranslate2's rules, so that both engines find the same: twice as many candidates as beams, a
finished candidate leaves the beam and the next unfinished one takes its place, a row is done when as many candidates
have finished as there are beams, and finished ones are ranked by score / length^penalty (the end counts).
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.decoding.found import Hypothesis
from regard.decoding.settings import Search

BLOCK = 64  # values whose maximum is taken together


Pick = Callable[[Tensor, list[int]], Tensor]  # logits (B, V), and which row of the first each is -> ids (B,)


class Step(Protocol):
    """What a search needs of a model."""

    def __call__(self, last: Tensor) -> Tensor:
        """The newest id of each row, (B,) -> logits of the next, (B, V)."""
        ...

    def keep(self, rows: Tensor) -> None:
        """Reorders the state: row i continues from what row `rows[i]` was. rows (new B,)"""
        ...


def greedy(
    step: Step,
    start: Tensor,
    ends: Sequence[int],
    limits: Sequence[int],
    prefix: Sequence[int] = (),
    *,
    with_scores: bool = True,
    pick: Pick | None = None,
) -> list[Hypothesis]:
    """Greedy search: the likeliest next token, repeatedly; or the one that is picked. start (B,) · ends: any of them
    finishes a row · limits: most tokens of each row, the end included.

    prefix: ids that every row begins with, already known to the step; they count towards the limit, and are not scored.
    """
    rows = list(range(len(start)))  # the hypothesis each active row belongs to
    ids: list[list[int]] = [list(prefix) for _ in rows]
    scores = [0.0] * len(rows)
    is_finished = [False] * len(rows)
    last = start
    while rows:
        logits = step(last)  # (B, V)
        best = pick(logits, rows) if pick else _likeliest(logits)  # (B,)
        losses = F.cross_entropy(logits, best, reduction="none").tolist() if with_scores else [math.nan] * len(rows)
        for row, token, loss in zip(rows, best.tolist(), losses, strict=True):
            scores[row] -= loss
            is_finished[row] = token in ends
            if not is_finished[row]:
                ids[row].append(token)
        active = [i for i, row in enumerate(rows) if not is_finished[row] and len(ids[row]) < limits[row]]
        last = best
        if 0 < len(active) < len(rows):
            kept = torch.tensor(active, device=start.device)
            step.keep(kept)
            last = best[kept]
        rows = [rows[i] for i in active]
    return [Hypothesis(*answer) for answer in zip(ids, scores, is_finished, strict=True)]


def beam(
    step: Step, start: Tensor, ends: Sequence[int], limits: Sequence[int], search: Search, prefix: Sequence[int] = ()
) -> list[list[Hypothesis]]:
    """Beam search: the best sequences of each row, best first. Arguments as of `greedy`."""
    width, length_penalty, n_best = search.beams, search.length_penalty, search.n_best
    rows = [_Row(limit, prefix) for limit in limits]
    active = list(rows)
    last, scores = start, torch.zeros(len(start), 1, device=start.device)  # at first one beam a row
    while active:
        log_probs = step(last).log_softmax(dim=-1).unflatten(0, scores.shape)  # (B, W, V)
        candidates = _best(log_probs, scores, 2 * width)
        beams = [row.advance(found, ends, width) for row, found in zip(active, candidates, strict=True)]
        going = [i for i, row in enumerate(active) if not row.is_done(width, length_penalty, n_best)]
        if going:
            parents = [i * scores.shape[1] + candidate.beam for i in going for candidate in beams[i]]
            if parents != list(range(scores.numel())):  # else every beam stays where it is
                step.keep(torch.tensor(parents, device=start.device))
            last = torch.tensor(
                [candidate.token for i in going for candidate in beams[i]], device=start.device
            )  # (B * W,)
            scores = torch.tensor(
                [[candidate.score for candidate in beams[i]] for i in going], device=start.device
            )  # (B, W)
        active = [active[i] for i in going]
    return [sorted(row.found, key=lambda h: h.rank(length_penalty), reverse=True)[:n_best] for row in rows]


class _Candidate(NamedTuple):
    score: float  # of the whole sequence with this token
    beam: int  # the beam it extends
    token: int


class _Row:
    """The beams of one row, and its finished hypotheses."""

    def __init__(self, limit: int, prefix: Sequence[int]) -> None:
        self.limit = limit
        self.beams: list[list[int]] = [list(prefix)]  # ids of each, best first
        self.found: list[Hypothesis] = []
        self.best_is_finished = False

    def advance(self, candidates: list[_Candidate], ends: Sequence[int], width: int) -> list[_Candidate]:
        """Stores the finished candidates; returns the `width` unfinished ones that stay in the beam."""
        is_last = len(self.beams[0]) + 1 == self.limit
        spare = (candidate for candidate in candidates[width:] if candidate.token not in ends)
        going = []
        for place, candidate in enumerate(candidates[:width]):
            is_end = candidate.token in ends
            if (is_end or is_last) and not math.isinf(candidate.score):
                ids = [*self.beams[candidate.beam], *([] if is_end else [candidate.token])]
                self.found.append(Hypothesis(ids, candidate.score, is_end))
                self.best_is_finished |= place == 0
            dead = _Candidate(-math.inf, candidate.beam, candidate.token)  # where nothing is left to take its place
            going.append(next(spare, dead) if is_end or is_last else candidate)
        self.beams = [[*self.beams[candidate.beam], candidate.token] for candidate in going]
        return going

    def is_done(self, width: int, length_penalty: float, n_best: int) -> bool:
        """Search ends once as many hypotheses have finished as there are beams (or, unpenalised, the best has)."""
        if len(self.beams[0]) == self.limit:
            return True
        if length_penalty == 0:
            return self.best_is_finished and len(self.found) >= n_best
        return len(self.found) >= width


def _best(log_probs: Tensor, scores: Tensor, count: int) -> list[list[_Candidate]]:
    """The best candidates of each row, best first; where there are too few, the rest have probability 0.

    log_probs (B, W, V) · scores (B, W), of the beams so far.
    """
    size = log_probs.shape[-1]
    totals, places = top(log_probs, scores, count)  # (B, count)
    missing = [_Candidate(-math.inf, 0, 0)] * (count - totals.shape[1])
    return [
        [_Candidate(s, place // size, place % size) for s, place in zip(*row, strict=True)] + missing
        for row in zip(totals.tolist(), places.tolist(), strict=True)
    ]


def _likeliest(logits: Tensor) -> Tensor:
    """logits (B, V) -> (B,)"""
    if len(logits) == 1:
        return logits.argmax(dim=-1)
    return top(logits[:, None], logits.new_zeros(len(logits), 1), 1)[1][:, 0]


def top(numbers: Tensor, plus: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The largest sums of each row, largest first, and their places among its W * V; as many as there are, at most.

    numbers (B, W, V) · plus (B, W), added to all V -> (B, count) each. On a CPU, topk costs ten
    times what amax does; so topk runs only over the blocks whose maximum is among the largest.
    """
    rows, beams, size = numbers.shape
    count, blocks = min(count, beams * size), size // BLOCK
    if blocks * beams <= count:
        return (numbers + plus[..., None]).flatten(1).topk(count, dim=1)
    largest = numbers[..., : blocks * BLOCK].unflatten(-1, (blocks, BLOCK)).amax(-1)  # (B, W, blocks)
    chosen = (largest + plus[..., None]).flatten(1).topk(count, dim=1).indices  # (B, count)
    each, starts, rest = (
        torch.arange(*span, device=numbers.device)
        for span in ((0, BLOCK), (0, beams * size, size), (blocks * BLOCK, size))
    )
    firsts = starts[chosen // blocks] + chosen % blocks * BLOCK  # (B, count)
    inside = (firsts[..., None] + each).flatten(1)  # (B, count * BLOCK)
    beyond = (starts[:, None] + rest).flatten().expand(rows, -1)  # what is in no block, (B, W * few)
    places = torch.cat([inside, beyond], dim=1)  # (B, n)
    sums = numbers.flatten(1).gather(1, places) + plus.gather(1, places // size)  # (B, n)
    found, where = sums.topk(count, dim=1)
    return found, places.gather(1, where)
