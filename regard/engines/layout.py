"""How work is shared out: workers and threads by measurement, and rows in batches. Imports no torch."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter

from regard.machine import count_cores, name_processor

TURNS = 3  # each layout is tried so often, in turns; its best time counts
SAME = 32  # limits of translations are rounded up to a multiple of this
HOPELESS, HOPELESS_AT_FIRST = 3, 10  # times the fastest of a turn, and of the one to warm up


@dataclass(frozen=True)
class Layout:
    """So many workers side by side, each with so many threads."""

    workers: int = 1
    threads: int = 1


def candidates() -> list[Layout]:
    """Layouts that use all cores, from one worker for each core to one for all."""
    cores = count_cores()
    return [
        Layout(cores // threads, threads) for threads in (1, 2, 4, 8, 16) if cores % threads == 0 and threads <= cores
    ]


def fastest(layouts: Sequence[Layout], work: Callable[[Layout], None]) -> Layout:
    """The layout that does the work soonest. The first time of each is to warm up; one that is hopelessly slower, as
    threads that wait for each other are on a busy machine, is not tried again."""
    best = dict.fromkeys(layouts, float("inf"))
    for turn in range(TURNS + 1):
        times = {}
        for layout in best:
            began = perf_counter()
            work(layout)
            times[layout] = perf_counter() - began
        most = (HOPELESS if turn else HOPELESS_AT_FIRST) * min(times.values())
        best = {layout: min(best[layout], seconds) if turn else best[layout]
                for layout, seconds in times.items() if seconds <= most}  # fmt: skip
        if len(best) == 1:
            break
    return min(best, key=best.__getitem__)


def this_machine() -> str:
    """What a measurement is good for."""
    return f"{name_processor()}, {count_cores()} cores"


def group(lengths: Sequence[int], tokens: int) -> list[list[int]]:
    """Indexes in groups of like length, longest first, each within the budget of tokens."""
    groups: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if groups and (len(groups[-1]) + 1) * lengths[groups[-1][0]] <= tokens:
            groups[-1].append(index)
        else:
            groups.append([index])
    return groups


def default_limit(source_length: int) -> int:
    """Most tokens of a translation, the end included: more than any real one needs, and a bound on repetition.

    Sources of like length have the same, so that they can share a batch.
    """
    return -(-(3 * source_length + 20) // SAME) * SAME
