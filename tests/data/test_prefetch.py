"""Batches come in order, an error is raised where it belongs, and the thread ends with its owner."""

import gc
import threading
from itertools import count

import pytest

from regard.data.prefetch import Prefetcher


def test_everything_comes_in_order_and_then_nothing():
    assert list(Prefetcher(lambda position: position * 2, range(20))) == list(range(0, 40, 2))
    assert list(Prefetcher(lambda position: position, [])) == []


def test_a_problem_is_told_at_its_place():
    batches = Prefetcher(lambda position: 1 // (3 - position), count())
    assert [next(batches) for _ in range(3)] == [0, 0, 1]
    with pytest.raises(ZeroDivisionError):
        next(batches)


def test_whoever_lets_go_of_it_lets_go_of_its_thread():
    before = set(threading.enumerate())
    batches = [Prefetcher(lambda position: position, count()) for _ in range(5)]
    assert [next(one) for one in batches] == [0] * 5
    threads = [thread for thread in threading.enumerate() if thread not in before]
    assert len(threads) == 5
    del batches
    gc.collect()
    for thread in threads:
        thread.join(timeout=10)
        assert not thread.is_alive()
