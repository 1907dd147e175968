"""Batches: everything once per epoch, within the budget, in an order that only seed and epoch decide."""

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regard.data import loader
from regard.data.collate import collate_blocks, collate_pairs, collate_stories
from regard.data.loader import Blocks, Loader, Mixture
from regard.data.permutation import Permutation
from regard.data.tokens import EncodedStories, TokenLists

lengths = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=60)


def make(pairs, budget=100, seed=1):
    return Loader([torch.tensor([s for s, _ in pairs]), torch.tensor([t for _, t in pairs])], budget, seed)


@given(lengths, st.integers(16, 200), st.integers(0, 5))
def test_an_epoch_has_every_example_once_and_keeps_to_the_budget(pairs, budget, epoch):
    batches = make(pairs, budget).epoch(epoch)
    assert sorted(torch.cat(batches).tolist()) == list(range(len(pairs)))
    for batch in batches:
        rows = [pairs[i] for i in batch.tolist()]
        padded = len(rows) * (max(s for s, _ in rows) + max(t for _, t in rows))
        assert padded <= budget or len(rows) == 1


@given(lengths, st.integers(0, 40))
def test_position_is_one_integer(pairs, position):
    """Starting at a position gives what taking that many batches first would have given."""
    loader = make(pairs)
    from_start = [loader.at(place).tolist() for place in range(position + 5)][position:]
    again = make(pairs)
    assert from_start == [again.at(place).tolist() for place in range(position, position + 5)]


def test_order_is_a_function_of_seed_and_epoch():
    pairs = [(i % 7 + 3, i % 5 + 3) for i in range(200)]
    assert [b.tolist() for b in make(pairs).epoch(3)] == [b.tolist() for b in make(pairs).epoch(3)]
    assert [b.tolist() for b in make(pairs).epoch(3)] != [b.tolist() for b in make(pairs).epoch(4)]
    assert [b.tolist() for b in make(pairs).epoch(3)] != [b.tolist() for b in make(pairs, seed=2).epoch(3)]
    assert len(make(pairs).epoch(0)) == len(make(pairs).epoch(9)) == len(make(pairs))


@given(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=6), min_size=1, max_size=8))
def test_packed_lists_come_back_and_pad_to_the_longest(lists):
    packed = TokenLists.of(lists)
    assert [packed[i].tolist() for i in range(len(packed))] == lists
    rows = packed.pad(torch.arange(len(lists)), pad_id=-1)
    assert rows.shape == (len(lists), max(map(len, lists)))
    assert [[t for t in row if t >= 0] for row in rows.tolist()] == lists


def test_the_decoder_reads_what_it_should_say_one_place_later():
    sources, targets = TokenLists.of([[5, 6, 0], [7, 0]]), TokenLists.of([[1, 0], [2, 3, 4, 0]])
    batch = collate_pairs(sources, targets, torch.tensor([0, 1]), pad_id=9)
    assert batch.source.tolist() == [[5, 6, 0], [7, 0, 9]]
    assert batch.labels.tolist() == [[1, 0, 9, 9], [2, 3, 4, 0]]
    assert batch.target.tolist() == [[9, 1, 0, 9], [9, 2, 3, 4]]
    assert batch.tokens == 5 + 6


@given(st.integers(9, 400), st.integers(1, 5), st.integers(0, 99))
def test_blocks_lie_apart_inside_the_stream_and_move_from_epoch_to_epoch(tokens, rows, seed):
    length = 8
    blocks = Blocks(tokens, length, rows, seed)
    for number in (0, 1):
        starts = torch.cat(blocks.epoch(number)).sort().values
        assert len(blocks.epoch(number)) == len(blocks) and len(starts) >= 1
        assert starts[0] >= 0 and starts[-1] + length + 1 <= tokens  # with the token after it
        assert (starts.diff() == length).all()
        assert len(starts) >= (tokens - length) // length
    position = len(blocks) + len(blocks) // 2
    later = blocks.at(position)
    assert torch.equal(later, blocks.epoch(1)[len(blocks) // 2])


def test_every_place_of_a_block_predicts_the_next():
    batch = collate_blocks(np.arange(50, dtype=np.uint16), torch.tensor([3, 20]), 6)
    assert batch.ids.tolist() == [[3, 4, 5, 6, 7, 8], [20, 21, 22, 23, 24, 25]]
    assert torch.equal(batch.labels, batch.ids + 1) and batch.tokens == 12


def test_empty_sentences_make_the_others_older_and_are_the_same_for_the_same_seed():
    stories = EncodedStories(
        table=torch.tensor([[0, 0], [5, 6], [7, 0]]),
        tales=TokenLists.of([[1, 2, 1], [2]]),
        questions=TokenLists.of([[5], [6, 7]]),
        answers=torch.tensor([3, 4]),
    )
    plain = collate_stories(stories, torch.tensor([0, 1]), 0)
    assert plain.ages.tolist() == [[2, 1, 0], [0, 0, 0]]
    assert plain.sentences[0].tolist() == [[5, 6], [7, 0], [5, 6]] and plain.sentences[1, 1:].eq(0).all()
    assert plain.answers.tolist() == [3, 4] and plain.tokens == 5 + 1 + 1 + 2
    gaps = [collate_stories(stories, torch.tensor([0] * 200), 0, time_noise=0.3, seed=seed).ages for seed in (1, 1, 2)]
    assert torch.equal(gaps[0], gaps[1]) and not torch.equal(gaps[0], gaps[2])
    assert (gaps[0] >= plain.ages[0]).all() and (gaps[0].diff(dim=1) < 0).all()
    assert (gaps[0] - plain.ages[0]).float().mean(0).tolist() == pytest.approx([0.9, 0.6, 0.3], abs=0.15)


@given(st.integers(1, 3000), st.integers(0, 9))
def test_a_permutation_has_every_number_once_and_any_part_of_it_is_computed_alone(count, seed):
    permuted = Permutation(count, seed)(np.arange(count))
    assert sorted(permuted.tolist()) == list(range(count))
    part = np.arange(count // 3, count // 2 + 1)[:count]
    assert (Permutation(count, seed)(part) == permuted[part]).all()


def test_a_permutation_is_not_the_order_it_was_given():
    permuted = Permutation(10_000, 1)(np.arange(10_000))
    assert abs(np.corrcoef(permuted, np.arange(10_000))[0, 1]) < 0.05
    assert (permuted != Permutation(10_000, 2)(np.arange(10_000))).mean() > 0.99


@pytest.fixture
def small_windows(monkeypatch):
    monkeypatch.setattr(loader, "WINDOW", 64)


@given(lengths.filter(lambda pairs: len(pairs) > 3), st.integers(60, 200), st.integers(0, 3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_many_windows_have_every_example_once_and_one_number_of_batches(small_windows, pairs, budget, epoch):
    pairs = pairs * (300 // len(pairs))
    order = make(pairs, budget)
    batches = order.epoch(epoch)
    assert len(batches) == len(order) and min(map(len, batches)) > 0
    assert sorted(torch.cat(batches).tolist()) == list(range(len(pairs)))


def test_a_window_is_drawn_from_all_over_the_corpus(small_windows):
    order = make([(5, 5)] * 6400, budget=100)
    first = torch.cat([order.at(place) for place in range(7)])
    assert first.max() - first.min() > 4000


def test_a_corpus_comes_as_often_as_its_weight_and_all_of_it_in_turn():
    taken = [Mixture([(100, 1.0), (50, 0.3), (10, 2.0)], 0).at(np.arange(135), epoch) for epoch in range(10)]
    for numbers in taken:
        assert sorted(numbers[numbers < 100].tolist()) == list(range(100))
        assert ((numbers >= 100) & (numbers < 150)).sum() == 15
        assert sorted(numbers[numbers >= 150].tolist()) == sorted([*range(150, 160)] * 2)
    seconds = np.concatenate([numbers[(numbers >= 100) & (numbers < 150)] for numbers in taken])
    assert np.bincount(seconds - 100).tolist() == [3] * 50
