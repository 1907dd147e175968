"""Encoded text on disk: part by part, resumed after the last whole one, never trusted when damaged."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data import store as stores
from regard.data.store import INDEX, TokenStore
from regard.data.tokens import EncodedPairs, TokenLists, pack

lists = st.lists(st.lists(st.integers(0, 300), min_size=1, max_size=9), min_size=1, max_size=200)


def keep(folder, parts):
    """A store of lists, a part at a time."""
    store = TokenStore(folder)
    for number, part in enumerate(parts[store.parts :], start=store.parts):
        flat, sizes = pack(part, 301, 9)
        store.append({"text.flat": flat, "text.sizes": sizes}, {"part": number})
    store.finish()
    return store


def content(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@given(st.lists(lists, min_size=1, max_size=4))
@settings(max_examples=30, deadline=None)
def test_lists_come_back_from_a_store_whatever_the_parts(tmp_path_factory, parts):
    folder = tmp_path_factory.mktemp("store")
    keep(folder, parts)
    found = TokenLists.named("text", TokenStore(folder).arrays())
    every = [ids for part in parts for ids in part]
    assert [found[i].tolist() for i in range(len(found))] == every
    assert found.flat.dtype == np.uint16 and found.sizes.dtype == np.uint8


def test_anchors_are_right_over_many_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(stores, "BLOCK", 128)
    parts = [[[i % 7] * (i % 5 + 1) for i in range(1000)]]
    keep(tmp_path, parts)
    found = TokenLists.named("text", TokenStore(tmp_path).arrays())
    assert [found[i].tolist() for i in range(0, 1000, 37)] == parts[0][::37]


@pytest.mark.parametrize("done", [1, 2, 3])
def test_an_interrupted_store_continues_and_ends_with_the_same_bytes(tmp_path, done):
    parts = [[[i, j] for j in range(50)] for i in range(4)]
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    whole.mkdir()
    cut.mkdir()
    keep(whole, parts)
    store = TokenStore(cut)
    for number, part in enumerate(parts[:done]):
        flat, sizes = pack(part, 301, 9)
        store.append({"text.flat": flat, "text.sizes": sizes}, {"part": number})
    with (cut / "tokens.text.flat.bin").open("ab") as file:  # killed in the middle of the next part
        file.write(b"half a part")
    again = TokenStore(cut)
    assert again.parts == done and not again.is_finished and not again.is_whole()
    keep(cut, parts)
    assert content(cut) == content(whole) and TokenStore(cut).is_whole()


def test_a_damaged_store_is_noticed(tmp_path):
    keep(tmp_path, [[[1, 2], [3]]])
    path = tmp_path / "tokens.text.flat.bin"
    path.write_bytes(bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:])
    assert TokenStore(tmp_path).is_finished and not TokenStore(tmp_path).is_whole()
    (tmp_path / INDEX).write_text("{")
    assert TokenStore(tmp_path).parts == 0


@pytest.mark.parametrize("change", [{"shape": [-5]}, {"shape": [1.5]}, {"shape": [1]}, {"shape": [3, 1, 2]},
                                    {"dtype": "|O"}, {"dtype": "|i1"}])  # fmt: skip
def test_an_index_that_does_not_fit_its_files_counts_for_nothing(tmp_path, change):
    keep(tmp_path, [[[1, 2], [3]]])
    index = json.loads((tmp_path / INDEX).read_text())
    index["arrays"]["text.flat"] |= change
    (tmp_path / INDEX).write_text(json.dumps(index))
    assert TokenStore(tmp_path).parts == 0 and not TokenStore(tmp_path).is_whole()


def test_a_link_in_the_place_of_a_file_is_not_followed(tmp_path):
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "tokens.text.flat.bin").symlink_to(tmp_path / "mine")
    with pytest.raises(OSError, match="link"):
        keep(tmp_path / "run", [[[1, 2]]])
    assert (tmp_path / "mine").read_text() == "mine"


def test_clearing_removes_the_store_and_nothing_else(tmp_path):
    store = keep(tmp_path, [[[1, 2]]])
    (tmp_path / "notes.txt").write_text("mine")
    store.clear()
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_sample_of_pairs_is_made_of_pairs():
    flat, sizes = pack([[i, side] for i in range(100) for side in (7, 8)], 301, 9)
    arrays = {"pairs.flat": flat, "pairs.sizes": sizes, "pairs.anchors": TokenLists.of([[0, 0]] * 200).anchors}
    pairs = EncodedPairs.named("pairs", arrays)
    assert len(pairs) == 100 and pairs.sources[3].tolist() == [3, 7] and pairs.targets[3].tolist() == [3, 8]
    few = pairs.sample(10)
    assert [few.sources[i].tolist()[0] for i in range(10)] == [few.targets[i].tolist()[0] for i in range(10)]
    assert json.dumps([few.sources[i].tolist()[0] for i in range(10)]) == json.dumps(list(range(0, 100, 10)))
