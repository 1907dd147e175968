"""Everything that can happen to a training from outside, in every family: bit for bit the same, or a clear refusal."""

import os
import random
import subprocess

import faults
import pytest
from families import import_all, small_families

import regard

SETTINGS = {"stop": {"steps": 12}, "threads": 1, "workers": 1,
            "model": {"layers": 1, "width": 32, "ffn_width": 64, "heads": 4},
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


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("faults")
    folder.chmod(0o755)
    import_all(small_families(folder).values(), folder)
    return folder


@pytest.fixture(scope="module", params=["translate", "write", "fill", "answer"])
def family(request, place):
    """A family and its run to which nothing happened."""
    found = small_families(place)[request.param]
    return found, faults.Whole.of(found, place)


@pytest.mark.parametrize("fault", ["kill", "term", "ten_resumes", "epoch_end", "changed_text"])
def test_a_run_to_which_something_happens_ends_with_the_same_bits(family, place, fault, request):
    found, whole = family
    name = request.node.name.replace("[", "-").replace("]", "")
    outcome = getattr(faults, fault)(faults.Trial(found, place / name, whole, random.Random(name)))
    assert outcome.startswith("identical after"), outcome
