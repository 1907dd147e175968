"""Files are written whole, links are never followed for writing, and what is not a regular file is not read."""

import os
import resource
import shutil
import socket

import pytest
import torch
from safetensors.torch import save_file

from regard.files import hash_file, open_regular, parse_json, read_regular, write_whole


def special(folder, kind):
    path = folder / kind
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        socket.socket(socket.AF_UNIX).bind(str(path))
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "folder":
        path.mkdir()
    return path


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
@pytest.mark.parametrize("read", [open_regular, hash_file, lambda path: read_regular(path, 10)])
def test_what_is_not_a_regular_file_is_refused_at_once(tmp_path, kind, read):
    with pytest.raises(OSError, match="only regular files are read"):
        read(special(tmp_path, kind))


def test_a_socket_is_refused_at_once(tmp_path):
    with pytest.raises(OSError):
        open_regular(special(tmp_path, "socket"))


def test_a_file_larger_than_allowed_is_refused_with_both_sizes(tmp_path):
    path = tmp_path / "large"
    path.write_bytes(b"12345")
    assert read_regular(path, 5) == b"12345"
    with pytest.raises(OSError, match="5 bytes, and such a file has at most 4"):
        read_regular(path, 4)


def test_a_link_to_a_file_is_read_and_replaced_but_never_written_through(tmp_path):
    other, link = tmp_path / "other", tmp_path / "link"
    other.write_bytes(b"theirs")
    link.symlink_to(other)
    assert read_regular(link, 100) == b"theirs"
    write_whole(link, b"ours")
    assert (other.read_bytes(), link.read_bytes(), link.is_symlink()) == (b"theirs", b"ours", False)


def test_names_of_files_being_written_cannot_be_prepared(tmp_path):
    other = tmp_path / "other"
    other.write_bytes(b"theirs")
    (tmp_path / "file.unfinished").symlink_to(other)
    (tmp_path / ".file.unfinished").symlink_to(other)
    write_whole(tmp_path / "file", b"ours")
    assert other.read_bytes() == b"theirs"


def test_a_function_may_write_the_content_and_a_failure_leaves_nothing_behind(tmp_path):
    write_whole(tmp_path / "file", lambda path: path.write_bytes(b"whole"))
    with pytest.raises(ZeroDivisionError):
        write_whole(tmp_path / "file", lambda path: path.write_bytes(b"half" * (1 // 0)))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"whole"


@pytest.mark.parametrize("written", [0, 2**20])
@pytest.mark.parametrize("read", [open_regular, hash_file, lambda path: read_regular(path, 2**50)])
def test_a_file_that_is_mostly_holes_is_refused_at_once(tmp_path, read, written):
    path = tmp_path / "hollow"
    path.write_bytes(b"x" * written)
    os.truncate(path, 2**38)
    with pytest.raises(OSError, match="mostly holes"):
        read(path)
    os.truncate(path, written)
    read(path)


@pytest.mark.parametrize("text", ['{"a": "\\ud800"}', '{"\\udfff": 1}', '["\\ude00\\ud83d"]'])
def test_half_a_character_in_json_is_refused(text):
    assert parse_json('["\\ud83d\\ude00 \\u00e9"]') == ["😀 é"]
    for content in (text, text.encode()):
        with pytest.raises(ValueError, match="half a character"):
            parse_json(content)


def test_a_full_disk_names_the_file_that_was_to_be_written(tmp_path):
    (tmp_path / "large").write_bytes(bytes(5000))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))  # of a file; to a writer it is as a full disk
    try:
        for content in (
            bytes(5000), lambda path: shutil.copyfile(tmp_path / "large", path),
            lambda path: save_file({"a": torch.zeros(5000)}, path),
        ):  # fmt: skip
            with pytest.raises(OSError, match="File too large") as caught:
                write_whole(tmp_path / "new", content)
            assert caught.value.filename.startswith(str(tmp_path)) and "new" in caught.value.filename
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [path.name for path in tmp_path.iterdir()] == ["large"]
