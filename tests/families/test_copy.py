"""The fast engine's copy in a stranger's folder is run only if it is what we would write; nothing else is touched."""

import json
import os
import shutil
import struct

import pytest

import regard
from regard.cache import PLACE, keep, recall
from regard.engines.cache import NAME, CTranslate2Cache
from regard.files import hash_file, locked

SENTENCE = "The dog sees the cat."


@pytest.fixture
def trial(folder, tmp_path, monkeypatch):
    """A model's folder with its copy, before a user who knows nothing of it yet."""
    monkeypatch.setenv(PLACE, str(tmp_path / "home" / "cache"))
    shutil.copytree(folder, tmp_path / "m", ignore=shutil.ignore_patterns("run"))
    if not (tmp_path / "m" / NAME).exists():
        regard.load(tmp_path / "m")
        shutil.rmtree(tmp_path / "home")
    return tmp_path / "m"


def records(content):
    """Where each variable of a model.bin lies: name -> (start of its shape, its rank, start of its numbers, size)."""
    found, place = {}, 4
    place += 2 + struct.unpack_from("<H", content, place)[0] + 4
    (count,) = struct.unpack_from("<I", content, place)
    place += 4
    for _ in range(count):
        (length,) = struct.unpack_from("<H", content, place)
        name = content[place + 2 : place + 1 + length].decode()
        shape = place + 2 + length
        rank = content[shape]
        (size,) = struct.unpack_from("<I", content, shape + 1 + 4 * rank + 1)
        start = shape + 1 + 4 * rank + 5
        found[name] = shape, rank, start, size
        place = start + size
    return found


def crafted(content):
    """Variants whose records are consistent, with other numbers."""
    found = records(content)
    for name, (shape, rank, start, size) in found.items():
        if rank == 0:
            for value in (b"\0" * size, b"\xff" * size, b"\x7f" * size):
                yield f"{name}={value.hex()}", content[:start] + value + content[start + size :]
        elif rank == 2:
            rows, columns = struct.unpack_from("<2I", content, shape + 1)
            for other in ((columns, rows), (1, rows * columns), (rows * columns, 1)):
                yield f"{name} as {other}", content[: shape + 1] + struct.pack("<2I", *other) + content[shape + 9 :]
        if rank:
            yield f"{name} with infinities", content[:start] + b"\0\0\x80\x7f" * (size // 4) + content[start + size :]
            yield f"{name} as int8", content[: shape + 1 + 4 * rank] + b"\1" + content[shape + 2 + 4 * rank :]
    yield "no aliases", content[: -len(content) + max(start + size for _, _, start, size in found.values())] + b"\0" * 4
    yield "cut", content[:-1]
    yield "longer", content + b"\0"


def test_a_crafted_copy_is_never_run_but_made_again(trial, folder):
    expected, good = regard.load(folder)(SENTENCE), (trial / NAME / "model.bin").read_bytes()
    opened = regard.load(trial, engine="torch")
    tried = 0
    for what, content in list(crafted(good))[::3]:
        if content == good:
            continue
        (trial / NAME / "model.bin").write_bytes(content)
        copy = CTranslate2Cache(opened._folder)
        assert not copy.is_known(), what
        tried += 1
    assert tried > 30
    assert regard.load(trial)(SENTENCE) == expected
    assert (trial / NAME / "model.bin").read_bytes() == good


@pytest.mark.parametrize("name", ["config.json", "shared_vocabulary.json", "vmap.txt", "vocabulary.json"])
def test_every_file_of_a_copy_counts(trial, folder, name):
    before = {path.name: hash_file(path) for path in (trial / NAME).iterdir()}
    path = trial / NAME / name
    path.write_bytes(path.read_bytes().replace(b"a", b"b") if path.exists() else b"[]")
    assert regard.load(trial)(SENTENCE) == regard.load(folder)(SENTENCE)
    assert {path.name: hash_file(path) for path in (trial / NAME).iterdir()} == before


THEIRS = ["notes.txt", "plots/loss.txt", "regard.json", "vocabulary.txt", "shared_vocabulary.txt",
          "source_vocabulary.json", "target_vocabulary.json", "target_vocabulary.txt"]  # fmt: skip


@pytest.mark.parametrize("name", THEIRS)
def test_a_file_of_the_user_in_a_copy_is_neither_read_nor_removed(trial, folder, name):
    path = trial / NAME / name
    path.parent.mkdir(exist_ok=True)
    path.write_text('["mine"]')
    opened = regard.load(trial)
    assert opened.engine == "ctranslate2" and opened(SENTENCE) == regard.load(folder)(SENTENCE)
    (trial / NAME / "model.bin").write_bytes(b"another")
    before = sorted(trial.rglob("*"))
    with pytest.warns(RuntimeWarning, match=rf"ctranslate2/{name.split('/')[0]} was not made by regard: move it away"):
        assert regard.load(trial).engine == "torch"
    assert path.read_text() == '["mine"]' and sorted(trial.rglob("*")) == before
    shutil.move(trial / NAME / name.split("/")[0], trial / "aside")
    assert regard.load(trial).engine == "ctranslate2"


@pytest.mark.parametrize("content", ["mine", "{}", '{"made_of": 1}', None])
def test_a_folder_without_a_mark_is_replaced_only_if_it_is_an_older_copy(trial, content):
    place = trial / NAME
    (place / ".regard").unlink()
    (place / "model.bin").write_bytes(b"older")
    older = json.dumps({"made_of": {}, "sha256": {"model.bin": "0"}, "facts": {}})
    (place / "regard.json").write_text(older if content is None else content)
    before = {path.name: hash_file(path) for path in place.iterdir()}
    if content is None:
        assert regard.load(trial).engine == "ctranslate2" and not (place / "regard.json").exists()
        return
    with pytest.warns(RuntimeWarning, match="ctranslate2 was not made by regard: move it away"):
        assert regard.load(trial).engine == "torch"
    assert {path.name: hash_file(path) for path in place.iterdir()} == before


def test_a_copy_that_is_right_is_run_as_it_is_and_known_from_then_on(trial):
    stamp = (trial / NAME / "model.bin").stat().st_mtime_ns
    assert regard.load(trial).engine == "ctranslate2"
    assert (trial / NAME / "model.bin").stat().st_mtime_ns == stamp
    assert CTranslate2Cache(regard.load(trial)._folder).is_known()


def test_the_cache_holds_numbers_alone_and_the_folder_stays_as_it_was(trial, tmp_path):
    before = {path: hash_file(path) for path in trial.rglob("*") if path.is_file()}
    regard.load(trial)(SENTENCE)
    assert {path: hash_file(path) for path in trial.rglob("*") if path.is_file()} == before
    kept = list((tmp_path / "home" / "cache").iterdir())
    assert kept
    for path in kept:
        assert all(type(one) is int for numbers in json.loads(path.read_text()).values() for one in numbers)


@pytest.mark.parametrize("kind", ["folder", "model.bin", "shared_vocabulary.json", "regard.json", ".regard"])
def test_links_in_a_strangers_copy_lead_nowhere(trial, folder, tmp_path, kind):
    mine = tmp_path / "home" / "mine"
    mine.parent.mkdir(exist_ok=True)
    if kind == "folder":
        shutil.move(trial / NAME, mine)
        (trial / NAME).symlink_to(mine)
    else:
        mine.write_text("mine")
        (trial / NAME / kind).unlink(missing_ok=True)
        (trial / NAME / kind).symlink_to(mine)
    before = {path: hash_file(path) for path in [mine, *mine.rglob("*")] if path.is_file()}
    with pytest.warns() if kind == "folder" else _nothing():
        assert regard.load(trial)(SENTENCE) == regard.load(folder)(SENTENCE)
    assert {path: hash_file(path) for path in [mine, *mine.rglob("*")] if path.is_file()} == before


@pytest.mark.parametrize("name", ["model.bin", "config.json", "vmap.txt", "other"])
def test_a_pipe_in_a_copy_is_not_waited_for(trial, folder, name):
    (trial / NAME / name).unlink(missing_ok=True)
    os.mkfifo(trial / NAME / name)
    assert regard.load(trial)(SENTENCE) == regard.load(folder)(SENTENCE)


@pytest.mark.parametrize(
    "told",
    [{"layer": 99, "heads": [0]}, {"layer": 0, "heads": [99]}, {"layer": 0, "heads": []}, {"layer": -1, "heads": [0]},
     {"layer": 0, "heads": [0, 0]}, {"layer": True, "heads": [0]}, "x", [1], 5],
)  # fmt: skip
def test_an_alignment_that_cannot_be_is_refused(trial, told):
    about = json.loads((trial / "regard.json").read_text())
    (trial / "regard.json").write_text(json.dumps(about | {"alignment": told}))
    with pytest.raises(regard.FolderError, match="alignment"):
        regard.load(trial)


@pytest.mark.parametrize("told", [10**12, -1, "5", True, [1]])
@pytest.mark.parametrize("name", ["longest_source", "sentences_per_line", "length_ratio"])
def test_a_measure_of_the_data_that_cannot_be_is_refused(trial, name, told):
    about = json.loads((trial / "regard.json").read_text())
    (trial / "regard.json").write_text(json.dumps(about | {"data": about["data"] | {name: told}}))
    with pytest.raises(regard.FolderError, match=name):
        regard.load(trial)


@pytest.mark.parametrize("place", ["a file", "a link", "open to all", "nowhere"])
def test_a_cache_that_cannot_be_used_is_done_without(trial, folder, tmp_path, monkeypatch, place):
    cache = tmp_path / "place"
    monkeypatch.setenv(PLACE, str(cache))
    (tmp_path / "elsewhere").mkdir()
    match place:
        case "a file":
            cache.write_text("mine")
        case "a link":
            cache.symlink_to(tmp_path / "elsewhere")
        case "open to all":
            cache.mkdir()
            cache.chmod(0o777)
        case "nowhere":
            monkeypatch.setenv(PLACE, "/proc/nowhere/at/all")
    keep({"a": [1]}, "something")
    assert recall("something") is None
    assert regard.load(trial)(SENTENCE) == regard.load(folder)(SENTENCE)
    assert not list((tmp_path / "elsewhere").iterdir())


def test_the_cache_believes_no_links_and_nothing_but_numbers(tmp_path, monkeypatch):
    monkeypatch.setenv(PLACE, str(tmp_path / "cache"))
    keep({"a": [1, 2]}, "x", "y")
    assert recall("x", "y") == {"a": [1, 2]} and recall("x") is None
    (kept,) = (tmp_path / "cache").iterdir()
    for content in ('{"a": ["b"]}', '{"a": [-1]}', '{"a": [true]}', '{"a": 5}', "[]", "{", "", '{"a": [1e999]}'):
        kept.write_text(content)
        assert recall("x", "y") is None, content
    kept.rename(tmp_path / "other")
    (tmp_path / "other").write_text('{"a": [1]}')
    kept.symlink_to(tmp_path / "other")
    assert recall("x", "y") is None
    keep({"a": [3]}, "x", "y")  # the link is replaced, not followed
    assert recall("x", "y") == {"a": [3]} and (tmp_path / "other").read_text() == '{"a": [1]}'


def _nothing():
    from contextlib import nullcontext

    return nullcontext()


def test_copies_that_a_killed_process_left_are_removed_and_those_being_made_are_not(trial, tmp_path):
    left, making, mine, link = (trial / f".{NAME}.{number}0000000.new" for number in "abcd")
    for path in (left, making, mine):
        path.mkdir()
        (path / ".regard").touch()
        (path / "model.bin").write_bytes(b"half")
    (mine / "notes.txt").write_text("mine")
    link.symlink_to(tmp_path / "home")
    shutil.rmtree(trial / NAME)
    lock = locked(making / ".regard")
    assert regard.load(trial).engine == "ctranslate2"
    os.close(lock)
    assert not left.exists() and (making / "model.bin").exists() and link.is_symlink()
    assert (mine / "notes.txt").read_text() == "mine"
