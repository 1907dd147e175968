"""Prepares batches in a thread while earlier ones are computed on."""

from collections.abc import Callable, Iterable, Iterator
from queue import SimpleQueue
from threading import Thread
from typing import Generic, TypeVar

T = TypeVar("T")
AHEAD = 2


class Prefetcher(Generic[T], Iterator[T]):
    """What `make` makes of each position, in order; a thread is always some positions ahead.

    Dropping the last reference ends the thread. It is never joined: `__del__` may run in any thread, this one included,
    and joining there could deadlock.
    """

    def __init__(self, make: Callable[[int], T], positions: Iterable[int]) -> None:
        self._positions = iter(positions)
        self._wanted: SimpleQueue[int | None] = SimpleQueue()
        self._made: SimpleQueue[tuple[T | None, BaseException | None]] = SimpleQueue()
        self._on_the_way = 0
        Thread(target=_work, args=(make, self._wanted, self._made), name="batches", daemon=True).start()
        for _ in range(AHEAD + 1):
            self._ask()

    def __next__(self) -> T:
        if not self._on_the_way:
            raise StopIteration
        made, problem = self._made.get()
        self._on_the_way -= 1
        if problem is not None:
            raise problem
        self._ask()
        return made  # type: ignore[return-value]

    def __del__(self) -> None:
        self._wanted.put(None)

    def _ask(self) -> None:
        position = next(self._positions, None)
        if position is not None:
            self._on_the_way += 1
            self._wanted.put(position)


def _work(
    make: Callable[[int], T],
    wanted: "SimpleQueue[int | None]",
    made: "SimpleQueue[tuple[T | None, BaseException | None]]",
) -> None:
    while (position := wanted.get()) is not None:
        try:
            made.put((make(position), None))
        except BaseException as problem:  # raised when this position is read
            made.put((None, problem))
