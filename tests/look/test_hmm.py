"""Forward and backward is what all ways to align together say."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.alignment.hmm import ANYTHING, NOWHERE, WIDEST, counted_jumps, first_jumps, follow


def by_hand(likely, jumps):
    """All ways in which target tokens may come from source tokens, or from nowhere, each by its probability."""
    steps, places = likely.shape
    total, found = 0.0, np.zeros((steps, places))
    made = np.zeros(2 * WIDEST + 1)
    shares = np.array([[jumps[np.clip(to - at, -WIDEST, WIDEST) + WIDEST] for to in range(places)]
                       for at in range(places)])  # fmt: skip
    shares /= shares.sum(1, keepdims=True)
    for way in itertools.product(itertools.product(range(places), (False, True)), repeat=steps):
        chance = 1.0
        for step, (place, is_nowhere) in enumerate(way):
            if step == 0:
                chance *= 1 / places
            elif is_nowhere:
                chance *= place == way[step - 1][0]
            else:
                chance *= shares[way[step - 1][0], place]
            chance *= NOWHERE * ANYTHING if is_nowhere else (1 - NOWHERE) * likely[step, place]
        total += chance
        for step, (place, is_nowhere) in enumerate(way):
            found[step, place] += 0 if is_nowhere else chance
            if step and not is_nowhere:
                made[place - way[step - 1][0] + WIDEST] += chance
    return found / total, made / total


@given(st.integers(1, 3), st.integers(1, 3), st.integers(0, 10**6))
def test_what_is_followed_is_what_all_ways_together_say(steps, places, seed):
    likely = np.random.default_rng(seed).random((1, steps, places)).astype(np.float32)
    found, made = follow(likely, np.array([steps]), first_jumps())
    expected, jumps = by_hand(likely[0].astype(float), first_jumps().astype(float))
    assert np.allclose(found[0], expected, atol=1e-4) and np.allclose(made, jumps, atol=1e-4)


@given(st.integers(0, 10**6))
def test_longer_rows_beside_it_do_not_change_a_row(seed):
    likely = np.random.default_rng(seed).random((2, 6, 4)).astype(np.float32)
    alone, few = follow(likely[:1, :3], np.array([3]), first_jumps())
    other, many = follow(likely[1:], np.array([6]), first_jumps())
    both, all_of_them = follow(likely, np.array([3, 6]), first_jumps())
    assert np.allclose(both[0, :3], alone[0], atol=1e-6) and not both[0, 3:].any()
    assert np.allclose(both[1], other[0], atol=1e-6) and np.allclose(all_of_them, few + many, atol=1e-4)


def test_jumps_that_were_made_become_likely_and_none_is_impossible():
    counts = np.zeros(2 * WIDEST + 1)
    counts[WIDEST + 2] = 30
    jumps = counted_jumps(counts)
    assert jumps.argmax() == WIDEST + 2 and (jumps > 0).all()
    assert jumps[WIDEST + 2] == pytest.approx(1, abs=0.01)
