"""Packed files are read as what is in them, whatever their name; damaged ones and bombs are refused."""

import bz2
import gzip
import lzma
import random
import sys
import zlib

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from limits import run_within

from regard.errors import CorpusError
from regard.text.corpus import PairFiles, guess_languages
from regard.text.lines import read_lines

PACKERS = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}
WORDS = [
    "der",
    "die",
    "das",
    "ein",
    "Haus",
    "Hund",
    "Katze",
    "geht",
    "sieht",
    "und",
    "nicht",
    "schön",
    "alt",
    "grün",
    "über",
]


def text(lines, seed=0):
    draw = random.Random(seed)
    return "".join(" ".join(draw.choices(WORDS, k=9)) + "\n" for _ in range(lines)).encode()


@pytest.mark.parametrize("kind", PACKERS)
def test_a_packed_file_is_read_as_its_text(tmp_path, kind):
    content = text(5_000)
    for name in (f"a.txt.{kind}", "a.txt"):
        path = tmp_path / name
        path.write_bytes(PACKERS[kind](content))
        assert list(read_lines(path)) == content.decode().splitlines()


@pytest.mark.parametrize("kind", PACKERS)
@given(parts=st.lists(st.text("ab\nü", min_size=1), min_size=1, max_size=4))
def test_streams_one_after_another_are_one_text(tmp_path_factory, kind, parts):
    path = tmp_path_factory.mktemp("streams") / f"a.txt.{kind}"
    path.write_bytes(b"".join(PACKERS[kind](part.encode()) for part in parts))
    assert "".join(read_lines(path, keeps_ends=True)) == "".join(parts)


def test_padding_between_streams_of_xz_is_no_text(tmp_path):
    path = tmp_path / "a.txt.xz"
    path.write_bytes(lzma.compress(b"one\n") + bytes(200_000) + lzma.compress(b"two\n") + bytes(8))
    assert list(read_lines(path)) == ["one", "two"]


@pytest.mark.parametrize("kind", PACKERS)
def test_a_damaged_file_is_named_and_never_read_as_if_it_were_whole(tmp_path, kind):
    path = tmp_path / f"a.txt.{kind}"
    packed = PACKERS[kind](text(5_000))
    middle = len(packed) // 2
    for damaged in (packed[:-20], packed[:middle], packed[:middle] + b"damaged!" * 4 + packed[middle + 32 :]):
        path.write_bytes(damaged)
        with pytest.raises(
            CorpusError, match=r"damaged after line \d+ .*; fetch or pack it again|not UTF-8|a NUL byte"
        ):
            list(read_lines(path))


@pytest.mark.parametrize("kind", PACKERS)
@pytest.mark.parametrize("line", [b"a" * 1023 + b"\n", b"a" * 1024])
def test_a_bomb_is_refused_in_bounded_memory(tmp_path, kind, line):
    path = tmp_path / f"bomb.txt.{kind}"
    part = PACKERS[kind](line * 2**14)  # 16 MB
    path.write_bytes(part * 64)
    found = run_within(250, "for _ in read_lines(path): pass", path)
    assert found.startswith("refused:") and ("as no text does" in found or "has more than 1 MB" in found)


@pytest.mark.parametrize("kind", ["xz", "zst"])
def test_a_file_that_asks_for_a_huge_window_is_refused(tmp_path, kind):
    path = tmp_path / f"wide.txt.{kind}"
    if kind == "xz":
        packed = bytearray(lzma.compress(b"text\n"))
        found = packed.index(bytes([0x21, 1]))  # the filter and the size of its properties: one byte for the dictionary
        packed[found + 2] = 38  # 2 GB
        header = packed[12 : 12 + (packed[12] + 1) * 4 - 4]
        packed[12 + len(header) : 12 + len(header) + 4] = zlib.crc32(header).to_bytes(4, "little")
    else:
        packed = bytearray(zstandard.ZstdCompressor().compress(b"text\n"))
        packed = b"\x28\xb5\x2f\xfd" + bytes([0x00, (31 - 10) << 3]) + packed[6:]  # a window of 2 GB
    path.write_bytes(packed)
    found = run_within(250, "for _ in read_lines(path): pass", path)
    assert found.startswith("refused:") and "memory" in found.lower()


def test_without_the_package_its_extra_is_named(tmp_path, monkeypatch):
    path = tmp_path / "a.txt.zst"
    path.write_bytes(PACKERS["zst"](b"text\n"))
    for module in ("zstandard", "compression.zstd"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(CorpusError, match=r"a\.txt\.zst is packed with Zstandard.*pip install 'regard\[zst\]'"):
        list(read_lines(path))


@pytest.mark.parametrize("kind", PACKERS)
def test_languages_come_from_the_names_of_what_is_packed(kind):
    assert guess_languages(PairFiles.of(f"news.de.{kind}", f"news.en.{kind}")) == ("de", "en")


def test_text_that_begins_like_a_packed_file_is_text(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("BZh is not bzip2\n")
    assert list(read_lines(path)) == ["BZh is not bzip2"]


@pytest.mark.parametrize("kind", ["bz2", "xz", "zst"])
@pytest.mark.parametrize("content", [b"", b"a"])
def test_thousands_of_streams_with_nothing_in_them_are_refused(tmp_path, kind, content):
    """Each takes longer to open than a page of text to read."""
    path = tmp_path / f"a.txt.{kind}"
    path.write_bytes(PACKERS[kind](b"text\n") + PACKERS[kind](content) * 3000)
    with pytest.raises(CorpusError, match=r"damaged after line .*its first 1001 packed parts hold hardly anything"):
        list(read_lines(path))
