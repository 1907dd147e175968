"""Weights are read as arrays, each header compared with its file before anything is allocated."""

import json
import os

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from regard.errors import FolderError
from regard.formats.weights import copy_weights, list_weights, read_arrays, waves
from regard.model.positions import sinusoids

SMALL = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


def write(path, header, data=b"\0" * 8):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_every_float_is_read_as_float32_with_the_same_value(kind, tmp_path):
    weights = {"a": torch.randn(5, 7).to(kind), "b": torch.randn(3).to(kind), "none": torch.empty(0, 4).to(kind)}
    save_file(weights, tmp_path / "w")
    found = read_arrays(list_weights([tmp_path / "w"]))
    assert found.keys() == weights.keys()
    for name, tensor in weights.items():
        assert found[name].dtype == np.float32
        assert np.array_equal(found[name], tensor.float().numpy())


def test_several_files_are_put_into_one_as_they_are(tmp_path):
    weights = {"a": torch.randn(5, 7).bfloat16(), "b": torch.randn(3), "c": torch.arange(4), "d": torch.ones(2) > 0}
    save_file({name: weights[name] for name in "ab"}, tmp_path / "1")
    save_file({name: weights[name] for name in "cd"}, tmp_path / "2")
    copy_weights(list_weights([tmp_path / "1", tmp_path / "2"]), tmp_path / "all")
    back = load_file(tmp_path / "all")
    assert back.keys() == weights.keys()
    assert all(torch.equal(back[name], tensor) and back[name].dtype == tensor.dtype for name, tensor in weights.items())
    with pytest.raises(FolderError, match=r"weight [ab] is in 1 too"):
        list_weights([tmp_path / "1", tmp_path / "all"])


@pytest.mark.parametrize(
    ("header", "data", "why"),
    [
        (b"[]", b"", "not a JSON object"),
        (b"{" * 100_000, b"", "JSON|nested|Expecting"),
        ({"a": SMALL}, b"\0" * 7, "end at byte"),
        ({"a": SMALL}, b"\0" * 9, "end at byte"),
        ({"a": SMALL, "b": SMALL}, b"\0" * 8, "gap or lie over each other"),
        ({"a": SMALL, "b": SMALL | {"data_offsets": [4, 12]}}, b"\0" * 12, "gap or lie over each other"),
        ({"a": SMALL | {"data_offsets": [4, 12]}}, b"\0" * 12, "gap or lie over each other"),
        (b'{"a": %s, "a": %s}' % ((json.dumps(SMALL).encode(),) * 2), b"\0" * 8, "twice"),
        ({"a": SMALL | {"shape": [3]}}, b"\0" * 8, "bytes for it"),
        ({"a": SMALL | {"shape": [2**40, 2**40]}}, b"\0" * 8, "bytes for it"),
        ({"a": SMALL | {"shape": [-2]}}, b"\0" * 8, "shape"),
        ({"a": SMALL | {"shape": [True, 2]}}, b"\0" * 8, "shape"),
        ({"a": SMALL | {"shape": [1] * 70 + [2]}}, b"\0" * 8, "shape"),
        ({"a": SMALL | {"shape": "2"}}, b"\0" * 8, "shape"),
        ({"a": SMALL | {"data_offsets": 8}}, b"\0" * 8, "shape"),
        ({"a": SMALL | {"data_offsets": [0, 1e400]}}, b"\0" * 8, "Infinity"),
        ({"a": SMALL | {"dtype": "F8_E4M3", "shape": [8]}}, b"\0" * 8, "F8_E4M3.*only F64, F32"),
        ({"a": SMALL | {"dtype": "C64", "shape": [1]}}, b"\0" * 8, "C64"),
        ({"a": SMALL | {"more": 1}}, b"\0" * 8, "other keys than dtype"),
        ({"a": None}, b"\0" * 8, "other keys than dtype"),
    ],
)
def test_a_header_that_does_not_fit_its_file_is_refused_in_words(header, data, why, tmp_path):
    with pytest.raises(FolderError, match=why) as problem:
        list_weights([write(tmp_path / "w", header, data)])
    assert "\n" not in str(problem.value) and str(tmp_path / "w") in str(problem.value)


@pytest.mark.parametrize("length", [2**63, 2**40, 3])
def test_a_header_longer_than_its_file_is_refused(length, tmp_path):
    (tmp_path / "w").write_bytes(length.to_bytes(8, "little") + b"{}")
    with pytest.raises(FolderError, match="header would have"):
        list_weights([tmp_path / "w"])


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), 1e300])
def test_a_weight_that_is_not_a_number_is_refused_by_name(value, tmp_path):
    save_file({"odd": torch.tensor([1.0, value, 2.0], dtype=torch.float64)}, tmp_path / "w")
    with pytest.raises(FolderError, match="odd has a weight that is not a number"):
        read_arrays(list_weights([tmp_path / "w"]))


def test_a_table_without_numbers_is_read(tmp_path):
    save_file({"none": torch.zeros(0, 3)}, tmp_path / "w")
    assert read_arrays(list_weights([tmp_path / "w"]))["none"].shape == (0, 3)


def test_what_is_not_a_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FolderError, match="named pipe"):
        list_weights([tmp_path / "pipe"])


def test_a_file_that_becomes_shorter_is_an_error_and_not_the_end_of_the_process(tmp_path):
    save_file({"a": torch.ones(1000)}, tmp_path / "w")
    listed = list_weights([tmp_path / "w"])
    os.truncate(tmp_path / "w", 500)
    with pytest.raises(FolderError, match="shorter"):
        read_arrays(listed)


def test_waves_are_those_of_the_model():
    assert np.allclose(waves(500, 64), sinusoids(torch.arange(500), 64).numpy(), atol=1e-7)
