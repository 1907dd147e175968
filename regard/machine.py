"""What this machine has: cores and memory. Imports no torch."""

import ctypes
import os
import platform
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar


class _Here:
    """What belongs to this process."""

    most_cores = 2**16


def count_cores() -> int:
    """Cores this process may use."""
    found = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(found, _Here.most_cores)


def limit_cores(most: int) -> None:
    """From now on this process uses at most so many cores: others have the rest."""
    _Here.most_cores = most


def name_processor() -> str:
    """The processor's name, as far as the system reports it."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def main_memory() -> int:
    """Bytes of memory in all."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):  # not reported by this system
        return 8 * 2**30


def count_bytes_read() -> int:
    """That this process has read from files up to now, where Linux counts them; else 0."""
    with suppress(OSError, ValueError):
        return int(Path("/proc/self/io").read_text().split()[1])
    return 0


def held_memory() -> int:
    """Bytes that this process holds now, what it shares with others counted by its share; elsewhere than on Linux, the
    most it ever held.
    """
    with suppress(OSError):
        lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    try:
        import resource
    except ImportError:  # not reported by this system
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


@contextmanager
def stopped_by_signals(stop: Callable[[], object], *, once: bool = False) -> Iterator[None]:
    """While inside, Ctrl-C and SIGTERM call `stop`; once: a second one does what it did before. Only the main thread
    gets signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {int(number): signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def handle(number: int, frame: object) -> None:
        if once:
            signal.signal(number, before[number])
        stop()

    for number in before:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def child_environment(**more: str) -> dict[str, str]:
    """The variables of a Python process that imports the same regard as this one, wherever it was found."""
    here = str(Path(__file__).resolve().parents[1])
    paths = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
    return os.environ | {"PYTHONPATH": paths} | more


@contextmanager
def tuned_malloc() -> Iterator[None]:
    """While inside, memory that a tensor gives back is kept for the next one: asking the system for fresh pages takes a
    twentieth of a training step. Where there is no glibc, nothing happens.
    """
    _set_malloc(2**30, 2**30)
    try:
        yield
    finally:
        _set_malloc(2**25, 2**26)  # what glibc itself arrives at in a process that uses large arrays
        malloc_trim()


def _set_malloc(mmap_threshold: int, trim_threshold: int) -> None:
    with suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        if hasattr(library, "gnu_get_libc_version"):
            library.mallopt(-3, mmap_threshold)
            library.mallopt(-1, trim_threshold)


def malloc_trim() -> None:
    """Memory that was used and is free again goes back to the system. Where there is no glibc, nothing happens."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def lower_priority(steps: int) -> None:
    """From now on this thread, and those it begins, leave the cores to others that want them, where the system can."""
    if sys.platform == "linux":  # elsewhere a priority is of the whole process
        with suppress(OSError):
            mine = threading.get_native_id()
            os.setpriority(os.PRIO_PROCESS, mine, os.getpriority(os.PRIO_PROCESS, mine) + steps)


class _SchedAttr(ctypes.Structure):
    """What `sched_setattr` of Linux takes, in its first version."""

    _fields_: ClassVar = [
        ("size", ctypes.c_uint32), ("policy", ctypes.c_uint32), ("flags", ctypes.c_uint64), ("nice", ctypes.c_int32),
        ("priority", ctypes.c_uint32), ("runtime", ctypes.c_uint64), ("deadline", ctypes.c_uint64),
        ("period", ctypes.c_uint64),
    ]  # fmt: skip


def set_turn(seconds: float) -> None:
    """From now on this thread, and those it begins, compute for so long at a time where others wait for the core; 0: as
    the system has it. A thread that takes shorter turns than those at work gets a core as soon as it needs one, since
    Linux 6.12; elsewhere nothing happens.
    """
    call = {"x86_64": 314, "aarch64": 274}.get(platform.machine()) if sys.platform == "linux" else None
    with suppress(OSError, AttributeError):
        if call and os.sched_getscheduler(0) == os.SCHED_OTHER:
            nice = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
            wanted = _SchedAttr(size=ctypes.sizeof(_SchedAttr), nice=nice, runtime=int(seconds * 1e9))
            ctypes.CDLL(None).syscall(call, 0, ctypes.byref(wanted), 0)
