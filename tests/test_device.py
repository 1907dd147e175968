"""Where numbers are computed: what a run changes in its process is as before when the run is over."""

import os
import subprocess
import sys

import pytest
import torch

from regard.device import deterministic


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
