"""Stopping at a good moment: a signal sets a flag, and work that can stop asks for it."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Stopped(Exception):  # noqa: N818  nothing went wrong
    """A stop was requested, and this is a safe point."""


class Stopper:
    """Remembers whether a stop was requested."""

    def __init__(self) -> None:
        self.is_asked = False

    def ask(self) -> None:
        """Stop at the next good moment."""
        self.is_asked = True

    def check(self) -> None:
        """Raises Stopped if a stop was requested."""
        if self.is_asked:
            raise Stopped

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Ctrl-C and SIGTERM ask once; a second one interrupts at once, as usual. Only the main thread gets signals."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {int(number): signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

        def ask(number: int, frame: FrameType | None) -> None:
            self.ask()
            signal.signal(number, before[number])

        for number in before:
            signal.signal(number, ask)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
