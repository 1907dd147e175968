"""Lets a caller cancel a long computation, which checks for it between its passes."""

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
    """Raises if the caller has cancelled."""
    _check.get()()
