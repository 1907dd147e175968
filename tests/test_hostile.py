"""Folders from strangers: damaged, swapped or crafted files give an error of ours or a model that works."""

import json
import random
import struct
import sys
from pathlib import Path

import pytest

import regard
from regard.errors import RegardError

sys.path.insert(0, str(Path(__file__).parent.parent / "bench"))

from hostile import FINE, MORE_KB, REFUSED, SECONDS, mutate, run_apart, use


@pytest.mark.parametrize("task", ["translate", "write", "fill", "answer"])
def test_a_hundred_mutations_are_refused_or_survived(
    task, folder, writer_folder, filler_folder, answerer_folder, tmp_path
):
    intact = {"translate": folder, "write": writer_folder, "fill": filler_folder, "answer": answerer_folder}[task]
    use(intact)
    most = run_apart(intact)[2] + MORE_KB
    chance = random.Random(task)
    for number in range(25):
        what = mutate(intact, tmp_path / str(number), chance)
        code, seconds, memory = run_apart(tmp_path / str(number))
        assert code in {FINE, REFUSED}, what
        assert seconds < 2 * SECONDS and memory < most, what


HUGE = (
    b'{"model.shared.weight": {"dtype": "F32", "shape": [1099511627776, 1048576], "data_offsets": [0, 4611686018427]}}'
)


@pytest.mark.parametrize(
    "header",
    [struct.pack("<Q", 2**63) + b"{}", struct.pack("<Q", 2) + b"{}", struct.pack("<Q", len(HUGE)) + HUGE],
    ids=["size", "nothing", "huge"],
)
def test_weights_that_promise_too_much_are_refused(folder, tmp_path, header):
    regard.load(folder).save(tmp_path / "m")
    (tmp_path / "m" / "model.safetensors").write_bytes(header)
    about = json.loads((tmp_path / "m" / "regard.json").read_text())
    from regard.files import hash_file

    about["weights_sha256"] = hash_file(tmp_path / "m" / "model.safetensors")  # somebody took care of the hash
    (tmp_path / "m" / "regard.json").write_text(json.dumps(about))
    with pytest.raises(RegardError):
        regard.load(tmp_path / "m", engine="torch")


def test_a_folder_cannot_reach_outside_its_place(folder, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("mine")
    regard.load(folder).save(tmp_path / "m")
    (tmp_path / "m" / "regard.json").unlink()  # a folder of Hugging Face's, whose index names its files
    (tmp_path / "m" / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "../secret"}}))
    with pytest.raises(RegardError, match="does not tell which file"):
        regard.load(tmp_path / "m")
    regard.load(folder).save(tmp_path / "n")
    (tmp_path / "n" / "extra.json").symlink_to(secret)
    regard.load(tmp_path / "n").save(tmp_path / "copy")
    assert secret.read_text() == "mine"
    assert not (tmp_path / "copy" / "extra.json").exists()


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff", b"\t\n", b"no tab"])
def test_a_shortlist_that_is_none_is_left_alone(folder, tmp_path, content):
    regard.load(folder).save(tmp_path / "m")
    (tmp_path / "m" / "shortlist.txt").write_bytes(content)
    assert run_apart(tmp_path / "m")[0] == FINE
    with pytest.raises(RegardError, match="shortlist"):
        regard.load(tmp_path / "m")("The dog.", fast=True)
