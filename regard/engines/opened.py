"""What CTranslate2 has opened in this process, and what becomes of it in a fork: threads do not outlive one."""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable
from typing import Any, ClassVar
from weakref import WeakValueDictionary

from regard.errors import RunError

FORK_SECONDS = 1.0  # that a fork waits for engines at work


class Here:
    """What belongs to this process: in a forked one, what the first opened is opened again when it is needed, and never
    closed, which would wait for threads that are not there.
    """

    forks = 0  # between the first process and this one
    opened: ClassVar[WeakValueDictionary[int, Any]] = WeakValueDictionary()
    opening: ClassVar[set[threading.Thread]] = set()
    seeding = threading.Lock()  # there is one seed for all of CTranslate2
    forking = threading.Lock()  # while it is held, no work begins
    was_at_work = False  # when this process was forked: what its threads had locked stays so for ever

    @classmethod
    def wait_for_fork(cls) -> None:
        """Before work begins."""
        with cls.forking:
            pass

    @classmethod
    def is_at_work(cls) -> bool:
        """Whether an engine computes or is being opened."""
        return bool(cls.opening) or any(one.num_active_batches for ref in cls.opened.valuerefs() if (one := ref()))

    @classmethod
    def before_fork(cls) -> None:
        """Lets no work begin, and waits a while for what is at work."""
        cls.forking.acquire()
        end = time.monotonic() + FORK_SECONDS
        while cls.is_at_work() and time.monotonic() < end:
            time.sleep(0.001)

    @classmethod
    def after_fork(cls) -> None:
        """In the process that forked: work may begin."""
        cls.forking.release()

    @classmethod
    def forked(cls) -> None:
        """In the new process."""
        cls.was_at_work = cls.was_at_work or cls.is_at_work()
        for opened in cls.opened.values():
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(opened))
        cls.forks, cls.opened, cls.opening = cls.forks + 1, WeakValueDictionary(), set()
        cls.seeding, cls.forking = threading.Lock(), threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=Here.before_fork, after_in_parent=Here.after_fork, after_in_child=Here.forked)


def open_here(make: Callable[[], Any]) -> Any:
    """An engine that is opened in a thread of its own. Opening computes with OpenMP in the thread that asks for it and
    sets how many threads that has from then on, for torch too, which shares them; and in a forked process OpenMP would
    wait for ever for those that this thread had before.
    """
    if Here.was_at_work:
        raise RunError("this process was forked while CTranslate2 was at work in another thread, so it could wait for "
                       "ever; fork while no model is at work, start processes by spawn, or load with "
                       "engine=\"torch\"")  # fmt: skip
    Here.wait_for_fork()
    made: list[Any] = []
    problems: list[BaseException] = []

    def work() -> None:
        try:
            made.append(make())
        except BaseException as problem:
            problems.append(problem)

    thread = threading.Thread(target=work)
    Here.opening.add(thread)
    try:
        thread.start()
        thread.join()
        Here.opened.update((id(one), one) for one in made)
    finally:
        Here.opening.discard(thread)
    if problems:
        raise problems[0]
    return made[0]
