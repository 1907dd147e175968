"""The batch scheduler of a model: what requests ask for is queued here, and run in batches that they share.

Where all requests are computed in one process, short ones have a worker of their own, so that interactive
requests never wait behind a document. The queue is bounded in tokens: what does not fit is refused at once. Work whose
client is gone is not computed.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from regard.machine import malloc_trim
from regard.serve.limits import Limits, RequestError

QUICK_ITEMS, QUICK_TOKENS = 4, 256  # a request up to this size is a quick one
BATCH_TOKENS = 1024  # that a worker takes at a time, divided by what each costs
GATHER = 0.004  # seconds
REST = 1.0  # seconds without work, after which the memory of batches goes back to the system
PATIENCE = 0.5  # of the time an answer is waited for, that the queue may take to be done
UNTRIED = 32 * BATCH_TOKENS  # tokens that may wait where it is not known yet how fast the model is
SPARE = 0.1  # of the queue, kept for quick requests: documents that fill it do not keep people out
STALE = 0.2  # weight of the newest batch in what is known of the speed

# What a worker calls: items, options, and whether an item is still wanted.
Run = Callable[[list[Any], Hashable, Callable[[int], bool]], list[Any]]


@dataclass(eq=False)
class Work:
    """What one request asked for."""

    items: Sequence[Any]
    sizes: list[int]  # tokens of each
    options: Hashable  # items with equal ones may share a batch
    cost: int  # how many times a token is computed: beams
    deadline: float
    answered: Callable[[Work], None]
    results: list[Any] = field(default_factory=list)
    taken: int = 0  # items that were given to a worker
    left: int = 0  # items that are not answered yet
    problem: BaseException | None = None
    is_gone: bool = False  # its client is gone

    @property
    def is_quick(self) -> bool:
        """Whether a person may be waiting for it."""
        return is_quick(len(self.items), self.waiting_tokens)

    @property
    def is_wanted(self) -> bool:
        """Whether its client still waits and the deadline is not over."""
        return not self.is_gone and time.monotonic() < self.deadline

    @property
    def waiting_tokens(self) -> int:
        """Of the items that no worker has taken."""
        return sum(self.sizes[self.taken :])


def is_quick(items: int, tokens: int) -> bool:
    """Whether a person may be waiting for so much."""
    return items <= QUICK_ITEMS and tokens <= QUICK_TOKENS


class BatchScheduler:
    """Runs one model in workers; the first worker takes quick work only, if that is asked for and there are several."""

    def __init__(
        self, name: str, run: Run, workers: int, limits: Limits, *, batches: bool, has_quick_worker: bool = True
    ) -> None:
        self.name, self._run, self._limits, self._batches = name, run, limits, batches
        self._has_quick_worker = has_quick_worker and workers > 1
        self._quick: deque[Work] = deque()
        self._slow: deque[Work] = deque()
        self._lock = threading.Lock()
        self._first, self._others = (
            threading.Condition(self._lock) for _ in range(2)
        )  # where its workers wait for work
        self._is_closed = False
        self._tokens = 0  # that wait or are being computed
        self._load = 0  # the same, each as many times as it is computed
        self._pace: float | None = None  # of that a worker does in a second, as seen of late
        self.batches = self.items = 0  # that were run
        self._is_warm = False  # whether it holds what the last batches needed
        self._running = 0  # workers that compute, but for that of quick work
        self._threads = [
            threading.Thread(
                target=self._work, args=(number == 0 and self._has_quick_worker,), daemon=True, name=f"{name} {number}"
            )
            for number in range(workers)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def queued_tokens(self) -> int:
        """Tokens of all that was accepted and is not answered."""
        return self._tokens

    async def ask(self, items: Sequence[Any], sizes: list[int], options: Hashable, cost: int = 1) -> list[Any]:
        """The answers to all items, in order. What is cancelled is not computed further."""
        loop = asyncio.get_running_loop()
        done = loop.create_future()

        def answered(work: Work) -> None:
            def resolve() -> None:
                if not done.done():
                    done.set_exception(work.problem) if work.problem else done.set_result(work.results)

            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(resolve)

        work = self._admit(items, sizes, options, cost, answered)
        if work is None:
            return []
        try:
            return list(await asyncio.wait_for(done, self._limits.seconds))
        except TimeoutError:
            raise RequestError(503, f"no answer within {self._limits.seconds:.0f} s", 1.0) from None
        finally:
            self._forget(work)

    def _admit(
        self, items: Sequence[Any], sizes: list[int], options: Hashable, cost: int, answered: Callable[[Work], None]
    ) -> Work | None:
        if not items:
            return None
        work = Work(items, sizes, options, cost, time.monotonic() + self._limits.seconds, answered)
        work.results, work.left = [None] * len(items), len(items)
        total = sum(sizes)
        with self._lock:
            if self._is_closed:
                raise RequestError(503, "the server is shutting down", 1.0)
            self.check_room(len(items), total, cost)
            self._tokens += total
            self._load += total * cost
            if work.is_quick:
                self._quick.append(work)
                self._first.notify()
            else:
                self._slow.append(work)
            if not work.is_quick or self._may_help:
                self._others.notify()
        return work

    def check_room(self, items: int, tokens: int, cost: int) -> None:
        """Raises if there is no room for so much; asked with a guess that is too low, it may spare counting."""
        if self._tokens and self._is_full(items, tokens, cost):
            wait = min(30.0, max(1.0, self._seconds(0)))
            raise RequestError(429, f"{self._tokens} tokens are waiting already; try again later", math.ceil(wait))

    def _is_full(self, items: int, tokens: int, cost: int) -> bool:
        """Whether there is no room for more, or it would hardly be answered in time; quick work has room of its own."""
        if is_quick(items, tokens):
            most = self._limits.queued_tokens
            return self._tokens + tokens > most * (1 + SPARE) and self._waiting_quick() + tokens > most * SPARE
        room = self._limits.queued_tokens if self._pace else min(self._limits.queued_tokens, UNTRIED)
        return self._tokens + tokens > room or self._seconds(tokens * cost) > PATIENCE * self._limits.seconds

    def _waiting_quick(self) -> int:
        return sum(work.waiting_tokens for work in self._quick)

    def _seconds(self, more: int) -> float:
        """How long all that waits will take, and so much more."""
        return (self._load + more) / (self._pace * (len(self._threads) - self._has_quick_worker)) if self._pace else 0.0

    def close(self) -> None:
        """No more is taken; what was taken is answered."""
        with self._lock:
            self._is_closed = True
            self._wake_all()

    def join(self, seconds: float) -> bool:
        """After `close`: waits for the workers to end, for so long at most; whether they have."""
        end = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _forget(self, work: Work) -> None:
        """Frees the room of what was not begun."""
        with self._lock:
            if not work.is_gone:
                work.is_gone = True
                self._tokens -= work.waiting_tokens
                self._load -= work.waiting_tokens * work.cost
                for queue in (self._quick, self._slow):
                    if work in queue:
                        queue.remove(work)

    def _work(self, only_quick: bool) -> None:
        shared = 0  # requests in the last batch
        while True:
            if shared > 2:
                time.sleep(GATHER)  # clients just answered are about to ask again: they may share a batch
            batch = self._wait(only_quick)
            if batch is None:
                return
            if not batch:
                malloc_trim()
                continue
            shared = len({id(work) for work, _ in batch})
            self._answer(batch, only_quick)
            with self._lock:
                self._running -= not only_quick

    def _wait(self, only_quick: bool) -> list[tuple[Work, int]] | None:
        """Items for one batch, as soon as there are some; none, once, after a rest; None when it is over."""
        mine = self._first if only_quick else self._others
        with self._lock:
            while not (batch := self._take(only_quick)):
                if self._is_closed and not self._quick and not self._slow:
                    self._wake_all()
                    return None
                was_woken = mine.wait(REST if self._is_warm else None)
                if not was_woken and self._is_warm and not self._tokens:
                    self._is_warm = False
                    return []
            self._running += not only_quick
            self._is_warm = True
            if self._slow or (self._quick and not self._has_quick_worker):
                self._others.notify()  # there is more than one worker took
            return batch

    @property
    def _may_help(self) -> bool:
        """Whether a worker of documents may take quick work: more workers than cores at the same thing, the first one's
        included, only make batches smaller.
        """
        return not self._has_quick_worker or self._running < len(self._threads) - 2

    def _wake_all(self) -> None:
        self._first.notify_all()
        self._others.notify_all()

    def _take(self, only_quick: bool) -> list[tuple[Work, int]]:
        """Items for one batch: from the oldest work and from all that can share with it."""
        queue = self._quick if only_quick or not self._slow else self._slow
        if not self._has_quick_worker and self._quick and self._slow:  # first come, first served
            queue = min(self._quick, self._slow, key=lambda waiting: waiting[0].deadline)
        if not queue or (not only_quick and queue is self._quick and not self._may_help):
            return []
        first = queue[0]
        room = max(1, BATCH_TOKENS // first.cost)
        batch: list[tuple[Work, int]] = []
        for work in list(queue):
            if work.options != first.options or room <= 0:
                continue
            while work.taken < len(work.items) and (room > 0 or not batch):
                batch.append((work, work.taken))
                room -= work.sizes[work.taken]
                work.taken += 1
                if not self._batches:
                    room = 0
            if work.taken == len(work.items):
                queue.remove(work)
        return batch

    def _answer(self, batch: list[tuple[Work, int]], by_quick: bool) -> None:
        now = time.monotonic()
        alive = [(work, index) for work, index in batch if work.is_wanted]
        problem: BaseException | None = None
        found: list[Any] = []
        if alive:
            try:
                items = [work.items[index] for work, index in alive]
                found = self._run(items, alive[0][0].options, lambda place: alive[place][0].is_wanted)
            except BaseException as trouble:
                problem = trouble
        tokens = sum(work.sizes[index] for work, index in batch)
        with self._lock:
            self._tokens -= tokens
            self._load -= sum(work.sizes[index] * work.cost for work, index in batch)
            self.batches += 1
            self.items += len(alive)
            if alive and problem is None and not by_quick:
                done = sum(work.sizes[index] * work.cost for work, index in alive)
                pace = done / max(1e-4, time.monotonic() - now)
                self._pace = pace if self._pace is None else self._pace + STALE * (pace - self._pace)
        for place, (work, index) in enumerate(alive):
            if problem is None:
                work.results[index] = found[place]
            else:
                work.problem = problem
            work.left -= 1
            if work.left == 0 or work.problem is not None:
                work.answered(work)
