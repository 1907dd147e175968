"""Batches: everything once per epoch, within the budget, in an order that only seed and epoch decide."""

from itertools import islice

import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.data.collate import collate_pairs
from regard.data.loader import Loader
from regard.data.tokens import TokenLists

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
    from_start = list(islice(loader.batches(0), position + 5))[position:]
    from_there = list(islice(loader.batches(position), 5))
    assert [b.tolist() for b in from_start] == [b.tolist() for b in from_there]


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
