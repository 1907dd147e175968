"""Drawing tokens: what may be drawn, how often, and the same again with the same seed."""

import math
from itertools import islice

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.decoding.sample import draw, keep_top_k, keep_top_p, sample, shape
from regard.decoding.settings import Sampling
from regard.errors import ConfigError

LOGITS = torch.tensor([[0.5, 0.2, 0.2, 0.06, 0.04]]).log()


def left(logits):
    return (~logits.isneginf()).sum().item()


def test_top_k_keeps_the_k_likeliest():
    assert left(keep_top_k(LOGITS, 1)) == 1
    assert left(keep_top_k(LOGITS, 4)) == 4
    assert left(keep_top_k(LOGITS, 99)) == 5


@pytest.mark.parametrize(("share", "count"), [(0.1, 1), (0.5, 1), (0.51, 2), (0.71, 3), (0.95, 4), (1.0, 5)])
def test_top_p_keeps_as_few_as_reach_the_share(share, count):
    assert left(keep_top_p(LOGITS, share)) == count


@given(st.integers(0, 999), st.floats(0.01, 1.0))
def test_top_p_never_leaves_nothing_and_keeps_the_order(seed, share):
    torch.manual_seed(seed)
    logits = torch.randn(3, 7)
    kept = keep_top_p(logits, share)
    assert ((~kept.isneginf()).sum(-1) >= 1).all()
    for row, whole in zip(kept, logits, strict=True):
        here = row[~row.isneginf()]
        assert here.softmax(-1).shape[0] and whole.softmax(-1)[~row.isneginf()].sum() >= share - 1e-5
        assert here.min() >= whole[row.isneginf()].max() if row.isneginf().any() else True


def test_tokens_are_drawn_as_often_as_they_are_likely():
    generator = torch.Generator().manual_seed(0)
    drawn = draw(LOGITS.expand(20_000, -1), generator)
    shares = torch.bincount(drawn, minlength=5) / 20_000
    assert torch.allclose(shares, LOGITS.exp()[0], atol=0.015)


def test_what_was_ruled_out_is_never_drawn():
    logits = torch.tensor([[-math.inf, 0.0, -math.inf, 0.0, -math.inf]]).expand(5000, -1)
    assert set(draw(logits, torch.Generator().manual_seed(1)).tolist()) == {1, 3}


def test_temperature_goes_from_the_likeliest_to_all_alike():
    assert left(shape(LOGITS, Sampling(temperature=0))) == 1
    assert torch.allclose(shape(LOGITS, Sampling(temperature=1e6)).softmax(-1), torch.full((1, 5), 0.2), atol=1e-4)
    assert torch.equal(shape(LOGITS, Sampling(temperature=1)), LOGITS)


class Chain:
    """A step function made of a table: row i has the logits of what follows i."""

    table = torch.tensor([[0.0, 1.0, 2.0], [2.0, 0.0, 1.0], [1.0, 2.0, 0.0]])

    def __call__(self, last):
        return self.table[last]

    def keep(self, rows):
        raise AssertionError("one text has no rows to choose from")


def test_the_same_seed_draws_the_same_tokens():
    def once(seed):
        return list(islice(sample(Chain(), Chain.table[:1], Sampling(), torch.Generator().manual_seed(seed)), 50))

    assert once(1) == once(1) != once(2)
    best = sample(Chain(), Chain.table[:1], Sampling(temperature=0), torch.Generator())
    assert list(islice(best, 4)) == [2, 1, 0, 2]


@pytest.mark.parametrize("wrong", [{"temperature": -1}, {"top_k": 0}, {"top_p": 0.0}, {"top_p": 1.1}])
def test_what_cannot_be_is_told(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        Sampling(**wrong)
