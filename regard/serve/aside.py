"""Long work in Python, in one thread beside the event loop and in pieces. Knows texts, no models.

There is one interpreter: with several threads at work in it, the loop waits for its turn behind each of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

LETTERS_AT_ONCE = 2000  # work on up to so many is done at once, without another thread
LETTERS_OF_A_PIECE = 4000  # texts that are worked on before it is another request's turn; a longer one is for itself

T = TypeVar("T")
_one_thread = ThreadPoolExecutor(1, "aside")


async def aside(work: Callable[[], T], letters: int) -> T:
    """What work of so many letters gives; where it may take long, others are answered meanwhile."""
    if letters <= LETTERS_AT_ONCE:
        return work()
    return await asyncio.get_running_loop().run_in_executor(_one_thread, work)


async def aside_in_pieces(work: Callable[[list[str]], T], texts: Sequence[str]) -> list[T]:
    """What work on some of the texts gives, and on the next, and so on: requests take turns."""
    letters = sum(map(len, texts))
    return [await aside(lambda some=some: work(some), letters) for some in pieces(texts)]  # type: ignore[misc]


def pieces(texts: Sequence[str]) -> list[list[str]]:
    """The texts in order, as many together as make a piece."""
    found: list[list[str]] = []
    letters = 0  # of the last piece
    for text in texts:
        if not found or letters + len(text) > LETTERS_OF_A_PIECE:
            found.append([])
            letters = 0
        found[-1].append(text)
        letters += len(text)
    return found
