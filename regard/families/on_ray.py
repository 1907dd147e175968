"""Runs bulk work on Ray: on the cluster at RAY_ADDRESS, or on one that is started on this machine for the while.

Parts are tasks: where a worker or a machine is gone, Ray runs its parts again on another. A worker opens the model
once, for one core. Texts are read and written here; only the model's folder must be seen by all machines.
"""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from typing import Any

from regard.errors import ConfigError, RegardError, RunError
from regard.families.bulk import Answer, Part, Work
from regard.machine import count_cores, limit_cores

RETRIES = 5  # of a part whose worker or machine is gone
AHEAD = 2  # parts for each core of the cluster: while one is computed, the next is on its way
LOCAL, SECONDS = "local", 10  # where RAY_ADDRESS is not set; that a cluster has to answer
STORE = 2**28  # bytes for parts on their way, where Ray is started here


def run_on_ray(work: Work, parts: Iterator[Part]) -> Iterator[tuple[Part, list[Answer]]]:
    """Computes the parts on a cluster, and gives each as it is done."""
    ray = _import_ray()
    with _connected(ray):
        task = ray.remote(num_cpus=1, max_retries=RETRIES)(_compute)
        model = ray.put(work.opened)  # pickled as its folder
        running: dict[Any, Part] = {}
        for part in parts:
            running[task.remote([model], work.answers, work.options, part.texts)] = part
            while len(running) >= AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1))):
                yield _next(ray, running)
        while running:
            yield _next(ray, running)


def _compute(model: list[Any], answers: Any, options: dict[str, Any], texts: list[str]) -> list[Answer]:
    """In a worker: the answers to a part."""
    return list(answers(_open(model[0]), iter([texts]), **options))


@lru_cache(maxsize=1)
def _open(model: Any) -> Any:
    """The model, once in each worker, which has one core."""
    limit_cores(1)
    return _import_ray().get(model)


def _next(ray: Any, running: dict[Any, Part]) -> tuple[Part, list[Answer]]:
    """A part that is done."""
    (done,), _ = ray.wait([*running])
    part = running.pop(done)
    try:
        return part, ray.get(done)
    except ray.exceptions.RayTaskError as problem:
        if isinstance(problem.cause, RegardError):
            raise problem.cause from None
        raise
    except ray.exceptions.RayError as problem:
        why = str(problem).strip().partition("\n")[0]
        raise RunError(f"{part} ended {1 + RETRIES} workers, one after another ({why}); is memory short? "
                       f"The same command resumes") from None  # fmt: skip


@contextmanager
def _connected(ray: Any) -> Iterator[None]:
    """Ray, as it is if this process has it already; one that is started here ends with the work."""
    if ray.is_initialized():
        yield
        return
    address, alone = _address(), {"num_cpus": count_cores(), "include_dashboard": False, "object_store_memory": STORE}
    try:
        host, _, port = address.removeprefix("ray://").rpartition(":")
        if host and port.isdigit():  # Ray itself would try for minutes
            socket.create_connection((host.strip("[]"), int(port)), timeout=SECONDS).close()
        ray.init(address, log_to_driver=False, logging_level="error", **(alone if address == LOCAL else {}))
    except (OSError, RuntimeError, ValueError) as problem:
        why = str(problem).strip().partition("\n")[0]
        raise ConfigError(f"there is no Ray at RAY_ADDRESS={address} ({why}); `ray start --head` starts a cluster, and "
                          f"without RAY_ADDRESS one is started here") from None  # fmt: skip
    try:
        yield
    finally:
        ray.shutdown()


def _address() -> str:
    return os.environ.get("RAY_ADDRESS") or LOCAL


def _import_ray() -> Any:
    """The package. What it reads from the environment is set before: it reports nothing to its makers, and a cluster
    that is started here uses the loopback interface (by default only on macOS and Windows), else any process that
    reaches its ports could run code.
    """
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    if _address() == LOCAL:
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    try:
        return import_module("ray")
    except ImportError:
        raise ConfigError("--on ray needs Ray, which is not installed: pip install 'regard[ray]'") from None
