"""Reading text: what is there comes in, errors name file and line."""

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import CorpusError
from regard.text.corpus import PairFiles, guess_languages, read_pairs
from regard.text.lines import read_lines


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read(*files, **options):
    return [(pair.source, pair.target) for pair in read_pairs(PairFiles.of(*files, **options))[0]]


def test_parallel_files_pair_line_by_line(tmp_path):
    de, en = write(tmp_path / "a.de", "Ein Haus.\nEin Hund.\n"), write(tmp_path / "a.en", "A house.\nA dog.")
    assert read(de, en) == [("Ein Haus.", "A house."), ("Ein Hund.", "A dog.")]


@pytest.mark.parametrize("inside", ["\u2028", "\x85", "\x0b", "\x0c", "\x1c", "a\rb"])
def test_only_newlines_end_lines(tmp_path, inside):
    path = write(tmp_path / "a.txt", f"one{inside}still one\ntwo\n")
    assert list(read_lines(path)) == [f"one{inside}still one", "two"]


def test_a_byte_order_mark_and_windows_line_ends_are_no_text(tmp_path):
    path = write(tmp_path / "a.txt", b"\xef\xbb\xbfHallo\r\nWelt\r\n")
    assert list(read_lines(path)) == ["Hallo", "Welt"]


def test_gzip_is_read_whatever_its_name(tmp_path):
    de = write(tmp_path / "a.de.gz", gzip.compress(b"Ein Haus.\n"))
    en = write(tmp_path / "a.en", gzip.compress(b"A house.\n"))
    assert read(de, en) == [("Ein Haus.", "A house.")]


def test_columns_and_keys_are_chosen(tmp_path):
    tsv = write(tmp_path / "a.tsv", "A house.\tEin Haus.\tCC-BY\nA dog.\tEin Hund.\tCC-BY\n")
    assert read(tsv, columns=(2, 1))[0] == ("Ein Haus.", "A house.")
    entry = {"id": 1, "en": "A house.", "de": "Ein Haus."}
    jsonl = write(tmp_path / "a.jsonl", json.dumps(entry) + "\n\n" + json.dumps(entry) + "\n")
    assert read(jsonl, keys=("de", "en")) == [("Ein Haus.", "A house.")] * 2
    two = write(tmp_path / "b.jsonl", '{"fr": "Un chien.", "en": "A dog."}\n')
    assert read(two) == [("Un chien.", "A dog.")]


def test_unequal_files_are_refused_with_both_counts(tmp_path):
    de, en = write(tmp_path / "de.txt", "a\nb\nc\n"), write(tmp_path / "en.txt", "a\nb\n")
    with pytest.raises(CorpusError, match=r"de\.txt has 3 lines but .*en\.txt has 2"):
        read(de, en)
    with pytest.raises(CorpusError, match=r"en\.txt has 2 lines but .*de\.txt has 3"):
        read(en, de)


def test_empty_sides_are_left_out_counted_and_shown(tmp_path):
    de, en = write(tmp_path / "a.de", "x\n \ny\nz\n"), write(tmp_path / "a.en", "x\nb\n\nz\n")
    pairs, left_out = read_pairs(PairFiles.of(de, en))
    assert [pair.line for pair in pairs] == [1, 4]
    assert left_out[0].count == 2 and left_out[0].example.endswith("a.de line 2")


BAD = {
    "nul": (b"good\nba\0d\n", "line 2 has a NUL byte"),
    "latin-1": ("gut\nschön\n".encode("latin-1"), r"line 2 is not UTF-8 \(byte 0xf6 at offset 3"),
    "empty": (b"", "is empty"),
    "binary": (bytes(range(256)) * 4, "looks like a binary file"),
    "utf-16": ("a\nb\n".encode("utf-16"), "is UTF-16"),
    "cut gzip": (gzip.compress(b"a\n" * 50_000)[:-20], "is damaged"),
}


@pytest.mark.parametrize("kind", BAD)
def test_what_is_not_text_is_told_with_its_place(tmp_path, kind):
    content, message = BAD[kind]
    with pytest.raises(CorpusError, match=rf"a\.txt.*{message}"):
        list(read_lines(write(tmp_path / "a.txt", content)))


def test_missing_files_and_folders_are_told(tmp_path):
    with pytest.raises(CorpusError, match="does not exist"):
        list(read_lines(tmp_path / "nothing"))
    with pytest.raises(CorpusError, match="is a folder"):
        list(read_lines(tmp_path))
    with pytest.raises(CorpusError, match=r"news\.de does not exist; check the name"):
        read(tmp_path / "news.de")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tsv", "one\n", "line 1 has 1 column, and column 2 is wanted"),
        ("a.jsonl", "{oops\n", "line 1 is not JSON"),
        ("a.jsonl", "[1]\n", "line 1 is not a JSON object"),
        ("a.jsonl", "\n \n", "has no JSON object"),
        ("a.jsonl", '{"a": "x", "b": "y", "c": "z"}\n', "say which two"),
        ("a.jsonl", '{"a": "x", "b": 3}\n', "no text under the key 'b'"),
        ("a.jsonl", '{"a": "x", "b": "\\ud800"}\n', "not text"),
        ("a.txt", "x\n", "give two parallel files"),
    ],
)
def test_files_of_pairs_that_are_not_are_told(tmp_path, name, content, message):
    with pytest.raises(CorpusError, match=message):
        read(write(tmp_path / name, content))


def test_nothing_but_empty_lines_is_told(tmp_path):
    path = write(tmp_path / "a", "\n\n")
    with pytest.raises(CorpusError, match="nothing to learn from"):
        read(path, path)


@pytest.mark.parametrize(
    ("names", "languages"),
    [
        (("news.de", "news.en"), ("de", "en")),
        (("train.lc.tok.de.gz", "train.lc.tok.en"), ("de", "en")),
        (("a.pt-br", "a.zh_Hans"), ("pt-br", "zh_Hans")),
        (("source.txt", "target.txt"), (None, None)),
        (("source", "target"), (None, None)),
    ],
)
def test_languages_come_from_suffixes(names, languages):
    assert guess_languages(PairFiles.of(*names)) == languages


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\0\ufeff")), min_size=1))
def test_lines_written_are_lines_read(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("lines") / "a.txt"
    write(path, "".join(line + "\n" for line in lines))
    try:
        assert list(read_lines(path)) == lines
    except CorpusError as problem:
        assert "binary" in str(problem) or "UTF-16" in str(problem)  # a head of nothing but control characters


def test_files_of_a_folder_whose_likely_headers_are_in_another_order_are_refused(tmp_path):
    rows = "house\tHaus\ndog\tHund\n"  # single words, of which `en` and `de` might be two
    write(tmp_path / "1.tsv", "en\tde\n" + rows)
    write(tmp_path / "2.tsv", "de\ten\nKatze\tcat\n")
    with pytest.raises(CorpusError, match=r"2\.tsv begins with de, en, and a file before it with en, de: .* by name"):
        read(tmp_path, glob=["*.tsv"])
    assert read(tmp_path, glob=["*.tsv"], columns=("en", "de"))[-1] == ("cat", "Katze")
    write(tmp_path / "2.tsv", "en\tde\ncat\tKatze\n")
    assert len(read(tmp_path, glob=["*.tsv"])) == 5  # as rows, which the check names
