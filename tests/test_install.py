"""Writing a model into a folder: what regard did not make there is neither replaced nor removed."""

import os
import resource
import shutil
import tracemalloc

import pytest
from test_folder import contents, marks

import regard
from regard.errors import FolderError
from regard.folder import ModelFolder, write_model


def names(path):
    return sorted(entry.name for entry in path.iterdir())


def test_files_of_the_model_before_go_and_those_of_the_user_stay(tmp_path):
    write_model(tmp_path, {"mark": "old"}, contents("old") | {"README.md": "ours", "shortlist.txt": "old", "x": "old"})
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / ".config.json").write_text("mine")
    (tmp_path / "x").write_text("changed by hand")
    write_model(tmp_path, {"mark": "new"}, contents("new") | {"README.md": "newer"})
    assert names(tmp_path) == sorted([*contents(""), "regard.json", "README.md", ".config.json", "notes.txt", "x"])
    assert (tmp_path / "README.md").read_text() == "newer"
    (tmp_path / "README.md").write_text("my own words")
    for mark in ("third", "fourth"):
        write_model(tmp_path, {"mark": mark}, contents(mark) | {"README.md": "newest"})
        assert (tmp_path / "README.md").read_text() == "my own words" and marks(tmp_path) == {mark}


@pytest.mark.parametrize("name", ["config.json", "regard.json", "tokenizer.json"])
@pytest.mark.parametrize("is_link", [False, True])
def test_a_file_that_is_not_ours_is_not_replaced(tmp_path, name, is_link):
    (tmp_path / "other").write_text("mine")
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / name).symlink_to("../other") if is_link else (tmp_path / "m" / name).write_text("mine")
    with pytest.raises(regard.FolderError, match=rf"{name} .*was not made by regard: move it away"):
        write_model(tmp_path / "m", {"mark": "new"}, contents("new"))
    assert names(tmp_path / "m") == [name] and (tmp_path / "m" / name).read_text() == "mine"


def test_a_model_is_not_written_through_a_link(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "m").symlink_to(tmp_path / "there")
    with pytest.raises(regard.FolderError, match="it is a link, and only folders are written here"):
        write_model(tmp_path / "m", {"mark": "new"}, contents("new"))
    assert not names(tmp_path / "there")


@pytest.mark.parametrize("name", [".new", ".ready"])
@pytest.mark.parametrize("kind", ["folder", "link", "file", "pipe"])
def test_where_a_model_is_prepared_nothing_of_others_is_touched(tmp_path, name, kind):
    write_model(tmp_path / "m", {"mark": "old"}, contents("old"))
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "regard.json").write_text("mine")
    place = tmp_path / "m" / name
    match kind:
        case "folder":
            shutil.copytree(tmp_path / "theirs", place)
        case "link":
            place.symlink_to(tmp_path / "theirs")
        case "file":
            place.write_text("mine")
        case "pipe":
            os.mkfifo(place)
    before = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*"))
    with pytest.raises(regard.FolderError, match=rf"{name} cannot be written: it .*: move it away"):
        write_model(tmp_path / "m", {"mark": "new"}, contents("new"))
    assert sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*")) == before
    assert (tmp_path / "theirs" / "regard.json").read_text() == "mine"


def ready(path, mark, **beside):
    """A model that a killed process left in `.ready`, with a foreign file beside its own."""
    write_model(path / "other", {"mark": mark}, contents(mark))
    (path / "other").rename(path / ".ready")
    for name, content in beside.items():
        (path / ".ready" / name.replace("_", ".")).write_text(content)


def everything(path):
    return {entry: entry.is_file() and entry.read_bytes() for entry in path.rglob("*")}


@pytest.mark.parametrize("name", [".new", ".ready", ".ready without a model"])
@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_file_of_the_user_where_a_model_is_prepared_is_neither_removed_nor_installed(tmp_path, name, kind):
    write_model(tmp_path, {"mark": "old"}, contents("old"))
    (tmp_path / "notes.txt").write_text("mine")
    if name == ".ready":
        ready(tmp_path, "new")
    place = tmp_path / name.split()[0]
    place.mkdir(exist_ok=True)
    (place / ".regard").touch()
    (place / "notes.txt").mkdir() if kind == "folder" else (place / "notes.txt").write_text("a stranger's")
    before = everything(tmp_path)
    with pytest.raises(
        regard.FolderError, match=r"notes\.txt cannot be written: it was not made by regard: move it away"
    ):
        write_model(tmp_path, {"mark": "third"}, contents("third"))
    assert everything(tmp_path) == before


@pytest.mark.parametrize("name", [*contents(""), "regard.json"])
def test_a_model_that_is_ready_is_installed_only_as_it_was_sealed(tmp_path, name):
    write_model(tmp_path, {"mark": "old"}, contents("old"))
    ready(tmp_path, "new")
    (tmp_path / ".ready" / name).write_text("a stranger's")
    before = everything(tmp_path)
    with pytest.raises(regard.FolderError, match=r"cannot be written: it .*: move (it|\.ready) away"):
        write_model(tmp_path, {"mark": "third"}, contents("third"))
    assert everything(tmp_path) == before


def test_a_model_that_is_ready_takes_the_place_of_nothing_that_is_the_users(tmp_path):
    (tmp_path / "config.json").write_text("mine")
    ready(tmp_path, "new")
    before = everything(tmp_path)
    with pytest.raises(
        regard.FolderError, match=r"config\.json cannot be written: .* not made by regard: move it away"
    ):
        write_model(tmp_path, {"mark": "third"}, contents("third"))
    assert everything(tmp_path) == before
    (tmp_path / "config.json").unlink()
    (tmp_path / "README.md").write_text("mine")
    write_model(tmp_path, {"mark": "third"}, contents("third") | {"README.md": "ours"})
    assert marks(tmp_path) == {"third"} and (tmp_path / "README.md").read_text() == "mine"


@pytest.mark.parametrize("name", contents(""))
@pytest.mark.parametrize("kind", ["edited", "a link", "a folder"])
def test_a_file_of_ours_that_was_edited_is_the_users(tmp_path, name, kind):
    write_model(tmp_path / "m", {"mark": "old"}, contents("old"))
    path = tmp_path / "m" / name
    path.rename(tmp_path / "before")
    match kind:
        case "edited":
            path.write_text("mine")
        case "a link":
            path.symlink_to("../before")
        case "a folder":
            path.mkdir()
    before = everything(tmp_path)
    with pytest.raises(regard.FolderError, match=rf"{name} .* it was changed since regard wrote it: move it away"):
        write_model(tmp_path / "m", {"mark": "new"}, contents("new"))
    assert everything(tmp_path) == before
    path.rename(tmp_path / "aside")
    write_model(tmp_path / "m", {"mark": "new"}, contents("new"))
    assert marks(tmp_path / "m") == {"new"}


def test_what_a_killed_process_was_writing_is_removed_by_the_next(tmp_path):
    write_model(tmp_path, {"mark": "old"}, contents("old"))
    (tmp_path / ".config.json.0123abcd.unfinished").write_text("half")
    (tmp_path / "chapter.unfinished").write_text("mine")
    write_model(tmp_path, {"mark": "new"}, contents("new"))
    assert names(tmp_path) == sorted([*contents(""), "regard.json", "chapter.unfinished"])


def test_a_model_is_copied_in_bounded_memory(tmp_path, folder):
    """Weights may be larger than the memory: what is held at a time is a block, not a file."""
    shutil.copytree(folder, tmp_path / "large")
    (tmp_path / "large" / "notes.bin").write_bytes(os.urandom(2**20) * 64)
    model = ModelFolder(tmp_path / "large")
    tracemalloc.start()
    model.copy_to(tmp_path / "copy")
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 2**24
    assert (tmp_path / "copy" / "notes.bin").read_bytes() == (tmp_path / "large" / "notes.bin").read_bytes()


def test_a_copy_that_fails_leaves_nothing(tmp_path, folder):
    shutil.copytree(folder, tmp_path / "mine")
    model = ModelFolder(tmp_path / "mine")
    (tmp_path / "mine" / "model.safetensors").write_bytes(b"other")
    with pytest.raises(FolderError, match=r"model\.safetensors"):
        model.copy_to(tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_a_full_disk_is_said_of_the_copy_and_not_of_the_model(tmp_path, folder):
    model = ModelFolder(folder)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))  # of a file; to a writer it is as a full disk
    try:
        with pytest.raises(FolderError, match=r"copy.* cannot be written: File too large"):
            model.copy_to(tmp_path / "copy")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not (tmp_path / "copy").exists()
