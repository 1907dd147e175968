"""Vectors of texts, and look-up in one's own lines."""

import json
import math

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.numpy import save_file
from typer.testing import CliRunner

import regard
from regard.cli.commands import app
from regard.errors import ConfigError
from regard.families.encode import network
from regard.families.encode.index import make_index, read_index

LINES = ["The dog sees a cat.", "", "My father reads a letter.", "The dog sees a cat.", "A cat sleeps."]


@pytest.fixture(scope="module")
def filler(filler_folder):
    return regard.load(filler_folder, family=regard.Filler)


@pytest.fixture
def lines_file(tmp_path):
    (tmp_path / "lines.txt").write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    return tmp_path / "lines.txt"


def run(*words, given: str | None = None):
    return CliRunner().invoke(app, [str(word) for word in words], input=given)


def test_a_text_has_the_same_vector_alone_and_in_company(filler):
    together = filler.encode(LINES)
    assert together.shape == (5, filler.model.config.width)
    for line, vector in zip(LINES, together, strict=True):
        assert torch.allclose(filler.encode(line), vector, atol=1e-5)
    assert torch.allclose(together.norm(dim=1), torch.ones(5), atol=1e-5)


def test_batches_side_by_side_give_what_one_text_alone_does_and_a_recording_has_all(filler, monkeypatch):
    monkeypatch.setattr(network, "TOKENS_ON_CPU", 16)
    monkeypatch.setattr(network, "count_cores", lambda: 4)
    before = torch.get_num_threads()
    together = filler.encode(LINES * 20)
    assert torch.get_num_threads() == before
    assert torch.allclose(together, torch.stack([filler.encode(line) for line in LINES * 20]), atol=1e-5)
    with regard.record_attention(filler) as seen:
        assert torch.allclose(filler.encode(LINES * 20), together, atol=1e-5)
    assert {sum(len(weights) for weights in layer) for layer in seen.values()} == {len(LINES) * 20}


def test_the_nearest_lines_are_those_of_the_largest_cosine_and_blank_ones_are_never_found(filler):
    found = filler.index(LINES).search("The cat sees a dog.", top=4)
    vectors, query = filler.encode(LINES), filler.encode("The cat sees a dog.")
    expected = {number + 1: float(vectors[number] @ query) for number in (0, 2, 3, 4)}
    assert {match.line: pytest.approx(match.score, abs=1e-5) for match in found} == expected
    assert [match.score for match in found] == sorted((match.score for match in found), reverse=True)
    assert all(match.text == LINES[match.line - 1] for match in found)


def test_a_line_finds_itself_first_and_of_equals_the_earlier(filler):
    index = filler.index(LINES)
    assert [match.line for match in index.search(LINES[0], top=2)] == [1, 4]
    assert index.search(LINES[2], top=1)[0].score == pytest.approx(1, abs=1e-5)
    assert len(index.search(LINES[2], top=100)) == 4


@pytest.mark.parametrize(("query", "top", "words"), [(" ", 1, "query is empty"), ("a", 0, "at least 1")])
def test_a_search_for_nothing_is_refused(filler, query, top, words):
    with pytest.raises(ConfigError, match=words):
        filler.index(LINES).search(query, top=top)


def test_an_index_is_used_only_for_its_lines_and_its_model_and_replaces_no_other_file(filler, tmp_path):
    index, path = filler.index(LINES), tmp_path / "lines.index"
    index.save(path)
    kept = read_index(filler, LINES, path)
    assert kept is not None and np.array_equal(kept.vectors, index.vectors)
    assert read_index(filler, [*LINES[:-1], "A dog sleeps."], path) is None
    index.save(path)
    path.write_text("my own notes")
    for use in (lambda: index.save(path), lambda: read_index(filler, LINES, path)):
        with pytest.raises(ConfigError, match="is not an index of regard"):
            use()
    assert path.read_text() == "my own notes"


ODD_VECTORS = {
    "no numbers": lambda v: v * np.float32("nan"),
    "one that is no number": lambda v: np.where(np.arange(len(v))[:, None] == 3, np.float32("nan"), v),
    "narrow": lambda v: np.ascontiguousarray(v[:, :5]),
    "without width": lambda v: np.ascontiguousarray(v[:, :0]),
    "too long": lambda v: v * np.float32(3),
    "of other lines": lambda v: np.ascontiguousarray(v[::-1]),
    "half": lambda v: v.astype(np.float16),
    "whole": lambda v: v.astype(np.int32),
    "flat": np.ravel,
    "few": lambda v: np.ascontiguousarray(v[:2]),
}


@pytest.mark.parametrize("change", ODD_VECTORS.values(), ids=ODD_VECTORS)
def test_an_index_that_was_edited_is_made_again(change, filler, tmp_path):
    path, lines = tmp_path / "lines.index", [f"{line} {number}" for number, line in enumerate(LINES)]
    expected = filler.index(lines)
    expected.save(path)
    with safe_open(path, "np") as file:
        metadata, vectors = file.metadata(), file.get_tensor("vectors")
    save_file({"vectors": change(vectors)}, path, metadata)
    found = read_index(filler, lines, path)
    vectors = expected.vectors if found is None else found.vectors
    assert vectors.dtype == np.float32 and np.allclose(vectors, expected.vectors, atol=1e-3)


@pytest.mark.parametrize(("name", "dtype", "size"), [
    ("vectors", "BF16", 2), ("vectors", "F8_E4M3", 1), ("x", "F32", 4),
])  # fmt: skip
def test_an_index_of_other_numbers_or_under_another_name_is_made_again(name, dtype, size, filler, tmp_path):
    path = tmp_path / "lines.index"
    filler.index(LINES).save(path)
    with safe_open(path, "np") as file:
        metadata = file.metadata()
    shape = [len(LINES), filler.model.config.width]
    entry = {"dtype": dtype, "shape": shape, "data_offsets": [0, size * math.prod(shape)]}
    header = json.dumps({"__metadata__": metadata, name: entry}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(size * math.prod(shape)))
    assert read_index(filler, LINES, path) is None


def test_an_index_in_a_folder_that_is_not_there_is_refused_before_anything_is_computed(filler, tmp_path):
    with pytest.raises(ConfigError, match="no folder"):
        read_index(filler, LINES, tmp_path / "none" / "lines.index")


def test_a_row_of_a_table_is_one_text_whatever_line_ends_it_has(filler, filler_folder, tmp_path):
    (tmp_path / "rows.csv").write_text('text\n"A dog\nsleeps."\nA cat sleeps.\n', encoding="utf-8")
    texts = ["A dog sleeps.", "A cat sleeps."]
    found = run("embed", filler_folder, tmp_path / "rows.csv", "--columns", "text")
    vectors = [json.loads(line)["vector"] for line in found.stdout.splitlines()]
    assert np.allclose(vectors, filler.encode(texts).numpy(), atol=1e-5)
    found = run("search", filler_folder, tmp_path / "rows.csv", texts[1], "--columns", "text", "--json")
    assert json.loads(found.stdout)["matches"][0] | {"score": 1} == {"line": 2, "text": texts[1], "score": 1}


def test_an_index_tells_lines_apart_that_have_line_ends_in_them(filler, tmp_path):
    make_index(filler, ["A dog\nsleeps.", "A cat."], lambda done: None).save(tmp_path / "an.index")
    assert read_index(filler, ["A dog", "sleeps.\nA cat."], tmp_path / "an.index") is None
    assert read_index(filler, ["A dog\nsleeps.", "A cat."], tmp_path / "an.index") is not None


def test_lines_without_text_are_refused(filler):
    with pytest.raises(ConfigError, match="no line with text"):
        make_index(filler, ["", " "], lambda done: None)


def test_the_commands_give_what_the_library_gives(filler, filler_folder, lines_file, tmp_path):
    told = run("search", filler_folder, lines_file, LINES[2], "--top", "2", "--json", "--index", tmp_path / "i")
    assert told.exit_code == 0, told.output
    expected = filler.index(LINES).search(LINES[2], top=2)
    matches = json.loads(told.stdout)["matches"]
    assert [(one["line"], one["text"]) for one in matches] == [(match.line, match.text) for match in expected]
    again = run(
        "search",
        filler_folder,
        lines_file,
        "--index",
        tmp_path / "i",
        "--top",
        "1",
        given=f"{LINES[2]}\n\n{LINES[4]}\n",
    )
    assert [line.split("\t")[1] for line in again.stdout.splitlines()] == ["3", "5"]


def test_as_many_vectors_come_out_as_lines_went_in(filler, filler_folder, lines_file, tmp_path):
    assert run("embed", filler_folder, lines_file, "--to", tmp_path / "v.npy").exit_code == 0
    vectors = np.load(tmp_path / "v.npy", allow_pickle=False)
    assert vectors.dtype == np.float32 and vectors.shape == (5, filler.model.config.width)
    assert np.allclose(vectors, filler.encode(LINES).numpy(), atol=1e-5)
    told = run("embed", filler_folder, given="".join(f"{line}\n" for line in LINES))
    rows = [json.loads(line) for line in told.stdout.splitlines()]
    assert [row["line"] for row in rows] == [1, 2, 3, 4, 5]
    assert np.allclose([row["vector"] for row in rows], vectors, atol=1e-5)


def test_files_and_models_that_do_not_suit_are_refused(filler_folder, writer_folder, lines_file, tmp_path):
    (tmp_path / "v.npy").write_text("mine")
    for words, rule in [
        (("embed", filler_folder, lines_file, "--to", tmp_path / "v.npy"), "is there already"),
        (("embed", filler_folder, lines_file, "--to", tmp_path / "v.csv"), "must end in .npy"),
        (("search", writer_folder, lines_file, "a"), "makes no vectors of texts"),
        (("search", filler_folder, lines_file, "a", "--index", tmp_path / "v.npy"), "is not an index of regard"),
    ]:
        told = run(*words)
        assert told.exit_code == 1 and rule in told.output, told.output
    assert (tmp_path / "v.npy").read_text() == "mine"


def test_a_classifier_makes_vectors_of_ngrams_by_which_lines_and_training_texts_are_found(
    classifier_folder, lines_file, family_files
):
    classifier = regard.load(classifier_folder, family=regard.Classifier)
    vectors = classifier.encode(LINES)
    assert vectors.shape == (5, 512) and torch.allclose(classifier.encode(LINES[2]), vectors[2], atol=1e-6)
    assert torch.allclose(vectors.norm(dim=1), torch.ones(5), atol=1e-5)
    assert torch.allclose(regard.load(classifier_folder, engine="torch").encode(LINES), vectors, atol=1e-6)
    found = run("search", classifier_folder, lines_file, "my father's letter", "--top", 1)
    assert found.exit_code == 0 and found.stdout.split("\t")[1] == "3", found.output
    texts = family_files["classify"]["text"].read_text(encoding="utf-8").splitlines()
    label, text = texts[100].split("\t")
    near = classifier.nearest(text, family_files["classify"]["text"], top=3)
    assert near[0].labels == (label,) and near[0].text == text and near[0].score == pytest.approx(1, abs=1e-5)
    assert near[0].score >= near[1].score >= near[2].score
    shown = run("classify", classifier_folder, text, "--nearest", family_files["classify"]["text"])
    assert shown.exit_code == 0 and shown.stdout.splitlines()[1] == f"1.0000\t{label}\t{text}", shown.output
    assert run("classify", classifier_folder, "--nearest", lines_file, given=text).exit_code == 1
