"""Disks that are full and folders that cannot be written."""

import os
import subprocess

import pytest

import regard

SETTINGS = {"stop": {"steps": 12}, "threads": 1, "workers": 1,
            "model": {"layers": 1, "width": 32, "inner": 64, "heads": 4},
            "text": {"vocab_size": 300}, "train": {"tokens_per_batch": 512, "valid_every": 4}}  # fmt: skip


@pytest.fixture
def small_disk(tmp_path):
    """A file system of three megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", place], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("no small file system can be mounted here")
    yield place
    subprocess.run(["umount", "--lazy", place], check=False, capture_output=True)  # a mapped file may still be open


def test_a_full_disk_ends_a_run_clearly_and_the_last_state_is_whole(small_disk, pairs):
    to = small_disk / "m"
    regard.train("translate", to=to, settings=SETTINGS, **pairs)
    before = (to / "model.safetensors").read_bytes()
    filler = small_disk / "filler"
    left = os.statvfs(small_disk)
    filler.write_bytes(b"x" * max(0, left.f_bavail * left.f_frsize - 20_000))
    more = SETTINGS | {"stop": {"steps": 60}}
    with pytest.raises(regard.RegardError, match=r"[Nn]o space|cannot be written"):
        regard.train("translate", to=to, settings=more, **pairs)
    assert (to / "model.safetensors").read_bytes() == before and regard.load(to, engine="torch")("The dog.") is not None
    filler.unlink()
    regard.train("translate", to=to, settings=more, **pairs)
    whole = small_disk.parent / "whole"
    regard.train("translate", to=whole, settings=more, **pairs)
    assert (to / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
