"""Parquet and the folders of `datasets`, written by the real libraries; hostile ones are refused in bounded memory."""

import json
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import Dataset, DatasetDict
from hypothesis import given, settings
from hypothesis import strategies as st
from limits import run_within

from regard.errors import CorpusError
from regard.text.corpus import PairFiles, guess_languages, read_pairs
from regard.text.running import TextFiles, read_documents

PAIRS = [(f"Ein Haus mit {n} Türen.", f"A house with {n} doors.") for n in range(700)]
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)
COLUMNS = {"id": list(range(700)), "de": [de for de, _ in PAIRS], "en": [en for _, en in PAIRS]}
NESTED = {"id": COLUMNS["id"], "translation": [{"de": de, "en": en} for de, en in PAIRS]}


def read(path, **options):
    return [(pair.source, pair.target) for pair in read_pairs(PairFiles.of(path, **options))[0]]


@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd", "brotli", "lz4"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_parquet_of_every_packing_is_read(tmp_path, compression, version):
    path = tmp_path / "a.parquet"
    for table in (pa.table(COLUMNS), pa.table(NESTED)):
        pq.write_table(table, path, compression=compression, data_page_version=version, row_group_size=300,
                       data_page_size=1000)  # fmt: skip
        assert read(path, columns=("de", "en")) == PAIRS
        assert guess_languages(PairFiles.of(path, keys=("de", "en"))) == ("de", "en")


@pytest.mark.parametrize("encoding", ["PLAIN", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
def test_every_encoding_of_texts_is_read(tmp_path, encoding):
    table = pa.table({"de": COLUMNS["de"], "en": pa.array(COLUMNS["en"], pa.large_string())})
    pq.write_table(
        table, tmp_path / "a.parquet", use_dictionary=False, column_encoding=dict.fromkeys(("de", "en"), encoding)
    )
    assert read(tmp_path / "a.parquet") == PAIRS


@settings(max_examples=20)
@given(st.lists(st.tuples(TEXTS, TEXTS | st.none()), min_size=1))
def test_what_is_written_is_read_and_null_is_a_missing_side(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("rows")
    table = pa.table({"text": [text for text, _ in rows], "other": pa.array([other for _, other in rows], pa.string())})
    pq.write_table(table, folder / "a.parquet")
    assert read_documents(TextFiles.of(folder / "a.parquet")) == [text for text, _ in rows]
    complete = sum(other is not None for _, other in rows)
    if complete:
        pairs, left_out = read_pairs(PairFiles.of(folder / "a.parquet"))
        assert len(pairs) == complete and sum(one.count for one in left_out) == len(rows) - complete


def test_columns_are_chosen_or_listed(tmp_path):
    pq.write_table(pa.table(COLUMNS | {"fr": COLUMNS["de"]}), tmp_path / "a.parquet")
    with pytest.raises(CorpusError, match="has the columns de, en, fr; say which two are source and target"):
        read(tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet", columns=(2, 1))[0] == PAIRS[0][::-1]
    with pytest.raises(CorpusError, match="has no column 'it'; it has de, en, fr"):
        read(tmp_path / "a.parquet", keys=("it", "en"))
    with pytest.raises(CorpusError, match="has the columns de, en, fr; say which one is the text with --columns de"):
        read_documents(TextFiles.of(tmp_path / "a.parquet"))
    assert read_documents(TextFiles.of(tmp_path / "a.parquet", ("fr",))) == COLUMNS["de"]
    pq.write_table(pa.table({"id": [1, 2]}), tmp_path / "b.parquet")
    with pytest.raises(CorpusError, match="has no column of text; it has id"):
        read(tmp_path / "b.parquet")


def test_a_folder_that_datasets_saved_is_read_in_its_order(tmp_path):
    Dataset.from_dict(NESTED).save_to_disk(tmp_path / "one", num_shards=3)
    files = PairFiles.of(tmp_path / "one", keys=("de", "en"))
    assert len(files.paths) == 3 and list(files.roles) == ["source_1", "source_2", "source_3"]
    assert read(tmp_path / "one", keys=("de", "en")) == PAIRS
    assert read_documents(TextFiles.of(tmp_path / "one", ("de",))) == COLUMNS["de"]
    DatasetDict(train=Dataset.from_dict(COLUMNS), test=Dataset.from_dict(COLUMNS)).save_to_disk(tmp_path / "two")
    assert read(tmp_path / "two" / "train", columns=("de", "en")) == PAIRS
    for text in (lambda: read(tmp_path / "two"), lambda: TextFiles.of(tmp_path / "two")):
        with pytest.raises(CorpusError, match=r"data set with the splits train, test; name one, as in .*train"):
            text()


def test_shards_as_on_the_hub_are_one_data_set_and_splits_are_not_mixed(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    for number in range(2):
        rows = {name: column[350 * number : 350 * (number + 1)] for name, column in COLUMNS.items()}
        Dataset.from_dict(rows).to_parquet(data / f"train-0000{number}-of-00002.parquet")
    assert read(tmp_path, columns=("de", "en")) == PAIRS
    assert read_documents(TextFiles.of(tmp_path, ("de",))) == COLUMNS["de"]
    Dataset.from_dict(COLUMNS).to_parquet(data / "test-00000-of-00001.parquet")
    for text in (lambda: read(tmp_path, columns=("de", "en")), lambda: TextFiles.of(tmp_path)):
        with pytest.raises(CorpusError, match=r"files of the splits test, train; choose one, as with --glob 'test-\*'"):
            text()
    assert read(tmp_path, columns=("de", "en"), glob=["train-*"]) == PAIRS


def test_without_pyarrow_its_extra_is_named(tmp_path, monkeypatch):
    pq.write_table(pa.table(COLUMNS), tmp_path / "a.parquet")
    for name in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(CorpusError, match=r"is a Parquet file.*pip install 'regard\[parquet\]'"):
        read(tmp_path / "a.parquet")


@pytest.mark.parametrize("place", [0, 4, 300, -20, -6])
def test_a_damaged_file_is_named(tmp_path, place):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table(COLUMNS), path)
    content = bytearray(path.read_bytes())
    for damaged in (content[:place] if place else b"", content[:place] + b"\xff\xff\xff\xff" + content[place:][4:]):
        path.write_bytes(damaged)
        if bytes(damaged) != bytes(content):
            try:
                assert len(read(path, columns=("de", "en"))) <= 700
            except CorpusError as problem:
                assert "a.parquet" in str(problem)


def test_a_state_that_leads_elsewhere_is_refused(tmp_path):
    Dataset.from_dict(COLUMNS).save_to_disk(tmp_path / "one")
    (tmp_path / "one" / "state.json").write_text(json.dumps({"_data_files": [{"filename": "../../etc/passwd"}]}))
    with pytest.raises(CorpusError, match="not a file beside it"):
        read(tmp_path / "one")


def write_hostile(path, kind):
    many = pa.table({"de": ["a" * 100_000] * 20_000, "en": ["b"] * 20_000})
    if kind == "repeated":  # 2 GB of text in a few kilobytes
        pq.write_table(many, path, row_group_size=20_000, compression="zstd")
    elif kind == "packed":  # pages of 1 GB
        pq.write_table(pa.table({"de": ["a" * 2**20 for _ in range(500)], "en": ["b"] * 500}), path, compression="zstd",
                       use_dictionary=False, data_page_size=2**30, write_batch_size=1000)  # fmt: skip
    elif kind == "shared":  # each text is the one before and a letter
        pq.write_table(pa.table({"de": ["a" * 2**20 + str(n) for n in range(1000)], "en": ["b"] * 1000}), path,
                       use_dictionary=False, column_encoding={"de": "DELTA_BYTE_ARRAY", "en": "PLAIN"})  # fmt: skip
    elif kind == "claims":
        pq.write_table(pa.table(COLUMNS), path)
        content = path.read_bytes()
        path.write_bytes(content[:-8] + (2**31 - 1).to_bytes(4, "little") + b"PAR1")
    elif kind == "arrow":
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, many.schema, options=options) as writer:
            writer.write_table(many)


@pytest.mark.parametrize("kind", ["repeated", "packed", "shared", "claims", "arrow"])
def test_a_hostile_file_is_refused_in_bounded_memory(tmp_path, kind):
    path = tmp_path / ("a.arrow" if kind == "arrow" else "a.parquet")
    write_hostile(path, kind)
    assert path.stat().st_size < 2**23
    found = run_within(700, "verify_pairs(PairFiles(path))", path)
    assert (found.startswith("refused:") and "a.parquet" in found) or "a.arrow" in found
