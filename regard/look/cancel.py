"""Lets a long computation be cancelled by whoever asked for it: what computes checks between its passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_check: ContextVar[Callable[[], None]] = ContextVar("check", default=lambda: None)


@contextmanager
def cancelled_by(check: Callable[[], None]) -> Iterator[None]:
    """While inside, and in this thread, passes begin with `check`, which raises to cancel."""
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


def check_cancelled() -> None:
    """Raises if nobody wants the rest."""
    _check.get()()
