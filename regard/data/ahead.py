"""Batches are made ready while earlier ones are computed on."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
AHEAD = 2


def prepare_ahead(make: Callable[[int], T], positions: Iterable[int]) -> Iterator[T]:
    """What `make` makes of each position, in order; a thread is always some positions ahead."""
    with ThreadPoolExecutor(1, thread_name_prefix="batches") as pool:
        waiting: deque[Future[T]] = deque()
        for position in positions:
            waiting.append(pool.submit(make, position))
            if len(waiting) > AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
