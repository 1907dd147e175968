"""Where numbers are computed: device, threads, seeds. Knows nothing of models."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from regard.errors import ConfigError
from regard.machine import main_memory, tuned_malloc

WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"


def choose_device(name: str) -> torch.device:
    """The device of this name; `auto` takes an accelerator when there is one."""
    present = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if name == "auto":
        return torch.device(next(kind for kind in ("cuda", "mps", "cpu") if present[kind]))
    if not present.get(name, False):
        usable = ", ".join(kind for kind, there in present.items() if there)
        raise ConfigError(f"device={name} was asked for, but this machine has {usable}; leave --device out to choose")
    return torch.device(name)


def is_out_of_memory(problem: BaseException) -> bool:
    """Whether an operation failed for want of memory, on any device."""
    message = str(problem)
    return (
        isinstance(problem, torch.OutOfMemoryError | MemoryError)
        or "allocate memory" in message
        or "not enough memory" in message
        or message.startswith(("could not create a", "could not execute a"))  # oneDNN, which gives no reason
    )


def memory_of(device: torch.device) -> int:
    """Bytes of memory the device has in all."""
    if device.type == "cuda":
        return int(torch.cuda.get_device_properties(device).total_memory)
    return main_memory()


@contextmanager
def deterministic(threads: int) -> Iterator[None]:
    """While inside, results are repeatable: this many threads, and only operations that add up in a fixed order."""
    options: Any = torch.utils.deterministic
    workspace, fills = os.environ.get(WORKSPACE), options.fill_uninitialized_memory
    mode, threads_before = torch.get_deterministic_debug_mode(), torch.get_num_threads()
    os.environ.setdefault(WORKSPACE, ":4096:8")  # what CUDA asks for before it promises an order
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(True)
    options.fill_uninitialized_memory = False  # a debugging aid that would cost time on every tensor
    try:
        with tuned_malloc():
            yield
    finally:
        options.fill_uninitialized_memory = fills
        torch.set_deterministic_debug_mode(mode)
        torch.set_num_threads(threads_before)
        if workspace is None:
            os.environ.pop(WORKSPACE, None)


def derive_seed(*parts: object) -> int:
    """A seed that is a pure function of these parts, and of nothing else."""
    digest = hashlib.sha256(repr(parts).encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1  # torch takes 63 bits
