"""Several files and folders: a pattern chooses files, rows are documents, and resuming compares what was read."""

import json

import pytest
from typer.testing import CliRunner

import regard
from regard.cli.commands import app
from regard.errors import ConfigError, CorpusError, RunError
from regard.families.texts import gather_texts as gather
from regard.text.corpus import PairFiles, read_pairs
from regard.text.given import read_texts
from regard.text.running import TextFiles, read_documents


@pytest.fixture
def tree(tmp_path):
    for name in ("a.py", "b.md", "inner/c.py", "inner/deep/d.py", "inner/e.txt", ".git/f.py"):
        path = tmp_path / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"This is the text of {name}.\n" * 30)
    return tmp_path / "src"


@pytest.mark.parametrize(("glob", "names"), [
    (["*.py"], ["a.py", "inner/c.py", "inner/deep/d.py"]),
    (["*.md", "*.txt"], ["b.md", "inner/e.txt"]),
    (["inner/*.py"], ["inner/c.py", "inner/deep/d.py"]),
    (["inner/**/*.py"], ["inner/c.py", "inner/deep/d.py"]),
    (["[ab].*"], ["a.py", "b.md"]),
])  # fmt: skip
def test_a_pattern_chooses_the_files_of_a_folder(tree, glob, names):
    found = TextFiles.of(tree, glob=glob)
    assert [path.relative_to(tree).as_posix() for path in found.paths] == names
    assert all(reason == "hidden" for _, reason in found.skipped)


def test_files_that_are_named_are_read_beside_those_that_match(tree):
    found = TextFiles.of([tree, tree / "b.md"], glob=["*.txt"])
    assert [path.name for path in found.paths] == ["e.txt", "b.md"]


def test_a_pattern_that_chooses_nothing_is_refused(tree):
    with pytest.raises(
        CorpusError, match=r"has no file that matches \*\.rs; it has files that end in \.md, \.py, \.txt"
    ):
        TextFiles.of(tree, glob=["*.rs"])
    with pytest.raises(ConfigError, match=r"--glob .* chooses files of a folder, and none was given"):
        TextFiles.of(tree / "a.py", glob=["*.py"])
    with pytest.raises(ConfigError, match=r"chooses files of a folder, and .* is none"):
        PairFiles.of(tree / "a.py", glob=["*.py"])


def test_pairs_of_all_files_that_match_are_read(tmp_path):
    for number in range(3):
        (tmp_path / f"{number}.jsonl").write_text(json.dumps({"de": f"Haus {number}", "en": f"house {number}"}) + "\n")
    (tmp_path / "notes.txt").write_text("Notes.\n")
    files = PairFiles.of(tmp_path, glob=["*.jsonl"])
    assert [pair.target for pair in read_pairs(files)[0]] == ["house 0", "house 1", "house 2"]
    with pytest.raises(CorpusError, match=r"is a folder without a data set; .* --glob"):
        PairFiles.of(tmp_path)


def test_rows_of_a_file_are_documents_and_their_lines_texts(tmp_path):
    entries = [{"id": "1", "text": "One line.\nAnother line."}, {"id": "2", "text": "A second document."}]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    files, _ = gather([path])
    assert read_documents(files) == [entry["text"] for entry in entries]
    assert read_texts(files) == ["One line.", "Another line.", "A second document."]
    assert read_documents(gather([path], keys="id")[0]) == ["1", "2"]
    csv = tmp_path / "a.csv"
    csv.write_text('title,body\nfirst,"One, and\ntwo."\nsecond,Three words here.\n')
    assert read_documents(gather([csv], columns="body")[0]) == ["One, and\ntwo.", "Three words here."]
    with pytest.raises(CorpusError, match="has the columns title, body; say which one is the text"):
        read_documents(gather([csv])[0])
    with pytest.raises(ConfigError, match="one is wanted"):
        gather([csv], columns=("title", "body"))
    with pytest.raises(ConfigError, match="leave it out"):
        gather([tmp_path], columns="body")
    found = CliRunner().invoke(app, ["check", str(csv), "--columns", "body"])
    assert found.exit_code == 0 and "2 lines" in found.output


def test_files_of_a_folder_are_text_as_they_are(tmp_path):
    (tmp_path / "a.json").write_text('{"key": 1}\n')
    (tmp_path / "b.csv").write_text("a,b\n")
    assert read_documents(TextFiles.of(tmp_path)) == ['{"key": 1}\n', "a,b\n"]


def test_resuming_notices_other_files_by_another_pattern(tree, tmp_path):
    options = {"to": tmp_path / "model", "settings": {"size": "tiny", "stop": {"steps": 1}}}
    regard.train("write", text=tree, glob="*.py", **options)
    with pytest.raises(RunError, match=r"glob: \*\.py -> \*\.txt"):
        regard.train("write", text=tree, glob="*.txt", **options)


def test_hidden_files_are_no_pairs_and_links_are_not_followed(tmp_path):
    folder = tmp_path / "pairs"
    (folder / ".cache").mkdir(parents=True)
    for name in ("a.tsv", ".b.tsv", ".cache/c.tsv"):
        (folder / name).write_text(f"one {name}\teins {name}\n")
    assert [path.name for path in PairFiles.of(folder, glob=["*.tsv"]).paths] == ["a.tsv"]
    (folder / "z.tsv").symlink_to(folder / "a.tsv")
    with pytest.raises(CorpusError, match=r"z\.tsv is a link, pipe or device, which --glob does not follow"):
        PairFiles.of(folder, glob=["*.tsv"])
