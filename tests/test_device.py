"""Where numbers are computed: what a run changes in its process is as before when the run is over."""

import ctypes
import os
import platform
import subprocess
import sys
import threading

import pytest
import torch

from regard.device import deterministic
from regard.machine import _SchedAttr, lower_priority, set_turn


def settings():
    options = torch.utils.deterministic
    return (
        os.environ.get("CUBLAS_WORKSPACE_CONFIG"),
        options.fill_uninitialized_memory,
        torch.get_deterministic_debug_mode(),
        torch.get_num_threads(),
    )


@pytest.mark.parametrize("mode", ["default", "warn"])
@pytest.mark.parametrize("workspace", [None, ":16:8"])
def test_a_deterministic_run_leaves_the_settings_of_its_process_as_they_were(mode, workspace, monkeypatch):
    if workspace:
        monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", workspace)
    else:
        monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    torch.set_deterministic_debug_mode(mode)
    try:
        before = settings()
        with pytest.raises(MemoryError), deterministic(3):
            assert torch.are_deterministic_algorithms_enabled() and torch.get_num_threads() == 3
            assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == (workspace or ":4096:8")
            raise MemoryError
        assert settings() == before
    finally:
        torch.set_deterministic_debug_mode("default")


@pytest.mark.skipif(sys.platform != "linux", reason="glibc keeps memory only where there is glibc")
def test_after_a_deterministic_run_memory_goes_back_to_the_system_again():
    code = """
import torch
from regard.device import deterministic
from regard.machine import _SchedAttr, lower_priority, set_turn
from regard.machine import held_memory
with deterministic(1):
    torch.ones(20_000_000)
before = held_memory()
for _ in range(3):
    torch.ones(20_000_000)
print(held_memory() - before < 40_000_000)
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "True"


@pytest.mark.skipif(
    sys.platform != "linux"
    or platform.machine() != "x86_64"
    or tuple(map(int, platform.release().split(".")[:2])) < (6, 12),
    reason="Linux 6.12 and later",
)
def test_short_turns_are_inherited_by_threads_and_given_up_again():
    """As the kernel itself reports them, by sched_getattr."""

    def turn():
        found = _SchedAttr()
        ctypes.CDLL(None).syscall(315, 0, ctypes.byref(found), ctypes.sizeof(found), 0)
        return found.runtime, found.nice

    def in_thread(work):
        found = []
        thread = threading.Thread(target=lambda: found.append(work()))
        thread.start()
        thread.join()
        return found[0]

    def short():
        set_turn(0.0002)
        inherited = in_thread(turn)
        lower_priority(2)
        lowered = turn()
        set_turn(0)
        return inherited, lowered, turn()

    usual, nice = in_thread(turn)
    assert in_thread(short) == ((200_000, nice), (200_000, nice + 2), (usual, nice + 2))
