"""Prepares batches in a thread while earlier ones are computed on."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

T = TypeVar("T")
AHEAD = 2


class Prefetcher(Generic[T], Iterator[T]):
    """What `make` makes of each position, in order; a thread is always some positions ahead.

    Dropping the last reference ends the thread, as that of any executor.
    """

    def __init__(self, make: Callable[[int], T], positions: Iterable[int]) -> None:
        self._make, self._positions = make, iter(positions)
        self._thread = ThreadPoolExecutor(1, "batches")
        self._made: deque[Future[T]] = deque()
        for _ in range(AHEAD + 1):
            self._ask()

    def __next__(self) -> T:
        if not self._made:
            raise StopIteration
        made = self._made.popleft().result()
        self._ask()
        return made

    def _ask(self) -> None:
        position = next(self._positions, None)
        if position is not None:
            self._made.append(self._thread.submit(self._make, position))
