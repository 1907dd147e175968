"""Stopping at a good moment: a signal sets a flag, and work that can stop asks for it."""

from contextlib import AbstractContextManager

from regard.machine import stopped_by_signals


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

    def listening(self) -> AbstractContextManager[None]:
        """Ctrl-C and SIGTERM ask once; a second one interrupts at once, as usual."""
        return stopped_by_signals(self.ask, once=True)
