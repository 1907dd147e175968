"""Searches over a transition table: no network needed."""

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.decoding.repetition import cut_repetition
from regard.decoding.search import beam, greedy, top
from regard.decoding.settings import Search

END = 0


class Table:
    """A step that knows only the last token: row = last id, column = next id."""

    def __init__(self, logits: torch.Tensor) -> None:
        self.logits = logits
        self.calls: list[int] = []

    def __call__(self, last: torch.Tensor) -> torch.Tensor:
        self.calls.append(len(last))
        return self.logits[last]

    def keep(self, rows: torch.Tensor) -> None:
        pass


class Remembering(Table):
    """A step whose logits depend on all it was fed, so that rows that are kept wrongly show."""

    def __init__(self, logits: torch.Tensor, rows: int) -> None:
        super().__init__(logits)
        self.history = torch.zeros(rows, dtype=torch.long)

    def __call__(self, last: torch.Tensor) -> torch.Tensor:
        self.history = (self.history * 31 + last) % 997
        noise = torch.sin(self.history[:, None] * torch.arange(1, self.logits.shape[1] + 1))
        return self.logits[last] + noise

    def keep(self, rows: torch.Tensor) -> None:
        self.history = self.history[rows]


def some_table(seed: int, size: int = 6) -> torch.Tensor:
    return torch.randn(size, size, generator=torch.Generator().manual_seed(seed)) * 2


@given(st.integers(0, 10_000), st.integers(1, 12))
@settings(max_examples=60)
def test_a_beam_of_one_is_greedy(seed, limit):
    table, start = some_table(seed), torch.tensor([1, 2, 3])
    one = beam(Remembering(table, 3), start, [END], [limit] * 3, Search(beams=1))
    best = greedy(Remembering(table, 3), start, [END], [limit] * 3)
    for found, wanted in zip(one, best, strict=True):
        assert found[0].ids == wanted.ids
        assert found[0].score == pytest.approx(wanted.score, abs=1e-4)


@given(st.integers(0, 10_000))
@settings(max_examples=40)
def test_a_row_is_answered_alike_alone_and_among_others(seed):
    table, starts = some_table(seed), [1, 2, 3, 4]
    together = beam(Remembering(table, 4), torch.tensor(starts), [END], [9] * 4, Search(beams=3, n_best=3))
    for start, answers in zip(starts, together, strict=True):
        alone = beam(Remembering(table, 1), torch.tensor([start]), [END], [9], Search(beams=3, n_best=3))[0]
        assert [h.ids for h in alone] == [h.ids for h in answers]


@given(st.integers(0, 10_000))
@settings(max_examples=40)
def test_a_wide_beam_finds_the_best_of_all_sequences(seed):
    """With room for every sequence up to 3 tokens, the beam must find what trying all of them finds."""
    table, limit = some_table(seed, size=4), 4
    log_probs = table.log_softmax(-1)

    def score(ids):
        steps = zip([1, *ids], [*ids, END], strict=True)
        return sum(log_probs[a, b].item() for a, b in steps)

    every = [ids for n in range(limit) for ids in itertools.product(range(1, 4), repeat=n)]
    best = max(every, key=lambda ids: score(ids) / (len(ids) + 1))
    answers = beam(Table(table), torch.tensor([1]), [END], [limit], Search(beams=100, n_best=100))[0]
    finished = [h for h in answers if h.is_finished]
    found = finished[0]
    assert found.score == pytest.approx(score(found.ids), abs=1e-4)
    # The same steps in another order are as good: a tie may go either way.
    assert found.score / (len(found.ids) + 1) == pytest.approx(score(best) / (len(best) + 1), abs=1e-5)


@given(st.integers(0, 10_000), st.integers(2, 4), st.sampled_from([0.0, 0.6, 1.0]))
@settings(max_examples=40)
def test_answers_come_best_first_without_repeats(seed, width, penalty):
    search = Search(beams=width, length_penalty=penalty, n_best=width)
    answers = beam(Table(some_table(seed)), torch.tensor([1]), [END], [10], search)[0]
    ranks = [h.rank(penalty) for h in answers]
    assert ranks == sorted(ranks, reverse=True)
    assert len({(*h.ids, h.is_finished) for h in answers}) == len(answers) <= width


def test_limits_are_each_rows_own_and_being_cut_is_told():
    table = torch.full((3, 3), -5.0)
    table[:, 2] = 5.0  # never ends
    answers = greedy(Table(table), torch.tensor([1, 1, 1]), [END], [2, 5, 3])
    assert [len(h.ids) for h in answers] == [2, 5, 3]
    assert not any(h.is_finished for h in answers)


def test_finished_rows_are_dropped():
    table = torch.full((4, 4), -9.0)
    table[1, 2] = table[2, END] = table[3, 3] = 9.0  # row 1 ends after one token, row 3 never
    step = Table(table)
    greedy(step, torch.tensor([1, 3]), [END], [6, 6])
    assert step.calls == [2, 2, 1, 1, 1, 1]


@given(st.lists(st.integers(0, 3), max_size=6), st.lists(st.integers(4, 7), min_size=1, max_size=4), st.integers(4, 9))
def test_a_loop_at_the_end_is_cut_to_one_round(before, loop, rounds):
    cut = cut_repetition(before + loop * rounds)
    assert cut[: len(before)] == before
    assert len(before) < len(cut) <= len(before) + len(loop)


@given(st.lists(st.integers(0, 9), max_size=30, unique=True))
def test_what_does_not_repeat_is_left_alone(ids):
    assert cut_repetition(ids) == ids


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 3, 5), (3, 1, 64), (1, 4, 640), (5, 2, 1000), (4, 4, 333)])
@pytest.mark.parametrize("count", [1, 2, 8])
def test_the_largest_sums_are_those_a_full_sort_finds(shape, count):
    numbers, plus = torch.randn(shape), torch.randn(shape[:2])
    plus[0, 0] = -math.inf  # a dead beam
    sums, places = top(numbers, plus, count)
    everything = (numbers + plus[..., None]).flatten(1)
    assert torch.equal(sums, everything.sort(dim=1, descending=True).values[:, :count])
    assert torch.equal(sums, everything.gather(1, places))


def test_equal_numbers_are_found_as_often_as_there_are():
    sums, places = top(torch.zeros(2, 2, 300), torch.zeros(2, 2), 8)
    assert torch.equal(sums, torch.zeros(2, 8))
    assert all(len(set(row)) == 8 for row in places.tolist())
