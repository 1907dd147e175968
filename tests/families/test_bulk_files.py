"""Folders of files through a model: as many lines out as in, whatever happens in between."""

import bz2
import gzip
import lzma
import signal
import subprocess
import sys
import time

import pytest
from conftest import write_lines
from typer.testing import CliRunner

from regard.cli.commands import app
from regard.families import bulk

LINES = [f"The {animal} sees {number} {color} cats." for number in range(8) for animal in ("dog", "cat", "bird")
         for color in ("red", "blue")]  # fmt: skip


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    monkeypatch.setattr(bulk, "PART", 16)


def run(*words):
    """A command in this process: (exit code, stderr)."""
    result = CliRunner().invoke(app, ["translate", *map(str, words)])
    return result.exit_code, result.stderr


def write_folder(folder):
    """Files as people have them; each with the lines that are in it."""
    (folder / "deep").mkdir(parents=True)
    text = "".join(f"{line}\n" for line in LINES).encode()
    contents = {
        "a.en": text,
        "deep/b.en.gz": gzip.compress(text),
        "c.xz": lzma.compress(text),
        "d.bz2": bz2.compress(text),
        "windows.txt": text.replace(b"\n", b"\r\n"),
        "no_end.txt": text.removesuffix(b"\n"),
        "few.txt": b"\xef\xbb\xbfA red house.\n\n\nThe dog sleeps.\n\n",
        "exact.txt": b"".join(text.splitlines(keepends=True)[:32]),
        "empty.txt": b"",
        ".hidden": b"nothing\n",
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    lines = dict.fromkeys(list(contents)[:6], LINES)
    return lines | {
        "few.txt": ["A red house.", "", "", "The dog sleeps.", ""],
        "exact.txt": LINES[:32],
        "empty.txt": [],
    }


def read_folder(folder):
    """Relative names and lines of the files in a folder that are not hidden."""
    openers = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
    found = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder)
        if path.is_file() and not any(part.startswith(".") for part in name.parts):
            with openers.get(path.suffix, open)(path, "rt", encoding="utf-8", newline="\n") as file:
                text = file.read()
            assert text == "" or text.endswith("\n")
            found[name.as_posix()] = text.split("\n")[:-1]
    return found


def test_a_folder_comes_out_as_it_went_in_line_by_line(folder, translator, tmp_path):
    lines = write_folder(tmp_path / "in")
    code, err = run(folder, tmp_path / "in", "--to", tmp_path / "out")
    assert code == 0, err
    assert read_folder(tmp_path / "out") == {name: translator(texts) for name, texts in lines.items()}
    assert {path.name for path in (tmp_path / "out").iterdir() if path.name.startswith(".")} - {".notes.txt"} == {
        ".regard",
        ".regard.json",
    }
    assert ".hidden is left out: hidden" in err and f"{sum(map(len, lines.values()))} lines" in err
    code, err = run(folder, tmp_path / "in", "--to", tmp_path / "out")
    assert code == 0 and "9 of 9 files are there already" in err and "0 lines" in err


def test_a_single_file_and_bytes_that_are_not_utf8(folder, tmp_path):
    (tmp_path / "a.txt").write_bytes(b"The dog sleeps.\nThe \xff cat.\n")
    code, err = run(folder, tmp_path / "a.txt", "--to", tmp_path / "out")
    notes = (tmp_path / "out" / ".notes.txt").read_text()
    assert code == 0 and f"{tmp_path / 'a.txt'} line 2: byte 5 is not UTF-8" in notes
    assert f"{notes.count(chr(10))} notes on lines are in {tmp_path / 'out' / '.notes.txt'}" in err
    assert len((tmp_path / "out" / "a.txt").read_text().splitlines()) == 2


def test_zstandard_comes_out_as_zstandard(folder, translator, tmp_path):
    zstandard = pytest.importorskip("zstandard")
    (tmp_path / "a.zst").write_bytes(zstandard.compress("".join(f"{line}\n" for line in LINES).encode()))
    assert run(folder, tmp_path / "a.zst", "--to", tmp_path / "out")[0] == 0
    with zstandard.open(tmp_path / "out" / "a.zst", "rt", encoding="utf-8") as file:
        assert file.read().splitlines() == translator(LINES)


def test_a_parquet_data_set_gets_one_column_more_and_keeps_the_others(folder, translator, tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    texts = [*LINES, None, "A red\nhouse.", ""]
    table = arrow.table({"id": range(len(texts)), "text": texts, "more": [[number] for number in range(len(texts))]})
    (tmp_path / "in").mkdir()
    for name in ("train-00000-of-00002.parquet", "train-00001-of-00002.parquet"):
        parquet.write_table(table, tmp_path / "in" / name, row_group_size=20)
    code, err = run(folder, tmp_path / "in", "--to", tmp_path / "out", "--columns", "text")
    assert code == 0, err
    for name in ("train-00000-of-00002.parquet", "train-00001-of-00002.parquet"):
        found = parquet.read_table(tmp_path / "out" / name)
        assert found.select(table.column_names).equals(table)
        plain = [(text or "").replace("\n", " ") for text in texts]
        assert found["translation"].to_pylist() == translator(plain)
    code, err = run(folder, tmp_path / "out", "--to", tmp_path / "again")
    assert code == 1 and "has a column 'translation', which is the name of the one to be added; rename it" in err
    code, err = run(folder, tmp_path / "in", "--to", tmp_path / "third", "--columns", "words")
    assert code == 1 and "has no column 'words'; it has text" in err


def test_killed_in_the_middle_it_resumes_and_does_not_repeat_what_is_there(folder, translator, tmp_path):
    (tmp_path / "in").mkdir()
    for name in "ab":
        write_lines(tmp_path / "in" / name, LINES * 20)
    code = "import sys; from regard.families import bulk; bulk.PART = 16; from regard.cli.commands import main; main()"
    words = [folder, tmp_path / "in", "--to", tmp_path / "out", "--beam", 4]
    killed = subprocess.Popen([sys.executable, "-c", code, "translate", *map(str, words)], stderr=subprocess.DEVNULL)
    parts = tmp_path / "out" / ".parts" / "a"
    while not list(parts.glob("00000?")) and killed.poll() is None:
        time.sleep(0.01)
    killed.send_signal(signal.SIGKILL)
    assert killed.wait() == -signal.SIGKILL and not (tmp_path / "out" / "b").exists()
    (parts / "000000").write_text("kept\n" * 16)
    code, err = run(*words)
    assert code == 0, err
    expected = translator(LINES * 20, beam=4)
    assert read_folder(tmp_path / "out") == {"a": ["kept"] * 16 + expected[16:], "b": expected}


def test_answers_of_other_models_options_and_texts_are_not_mixed(folder, tmp_path):
    text, to = write_lines(tmp_path / "a.txt", LINES), tmp_path / "out"
    assert run(folder, text, "--to", to, "--beam", 1)[0] == 0
    code, err = run(folder, text, "--to", to, "--beam", 2)
    assert code == 1 and f"{to} was begun with other options (beam: 1 -> 2); give the same to resume" in err
    code, err = run(folder, text, "--to", to, "--beam", 1, "--engine", "torch")
    assert code == 1 and "was begun with other engine" in err
    write_lines(text, LINES[:-1])
    code, err = run(folder, text, "--to", to, "--beam", 1)
    assert code == 1 and "was begun with other a.txt" in err
    (to / ".regard.json").write_text("[]")
    code, err = run(folder, text, "--to", to, "--beam", 1)
    assert code == 1 and ".regard.json cannot be read" in err


@pytest.mark.parametrize("name", [".parts", ".parts/deep", "deep"])
def test_links_in_the_folder_are_not_followed(folder, tmp_path, name):
    """A folder of a stranger may carry our mark, and lead to where the user's files are."""
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "in" / "deep" / "a.en").write_text("A red house.\n")
    for mine in ("a.en", "deep/a.en"):
        (tmp_path / "mine" / mine).mkdir(parents=True)
    link = tmp_path / "out" / name
    link.parent.mkdir(parents=True)
    (tmp_path / "out" / ".regard").touch()
    link.symlink_to(tmp_path / "mine")
    before = sorted((tmp_path / "mine").rglob("*"))
    code, err = run(folder, tmp_path / "in", "--to", tmp_path / "out")
    assert code == 1 and "it is a link, and only folders are written here: move it away" in err
    assert sorted((tmp_path / "mine").rglob("*")) == before


def test_two_processes_do_not_write_into_one_folder(folder, tmp_path):
    text, to = write_lines(tmp_path / "a.txt", LINES), tmp_path / "out"
    with bulk.owned(to, []):
        code, err = run(folder, text, "--to", to)
    assert code == 1 and f"another process is writing into {to}" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--on", "ray"], "--on ray is for files that are translated into a folder; add --to FOLDER"),
        (["--glob", "*.txt"], "--glob is for files that are translated into a folder"),
        (["--to", "out"], "--to is for a file or a folder of files; name it after the model"),
        (["--to", "out", "--text", "A dog."], "--to and --text cannot go together"),
        (["in", "--to", "out", "--json"], "--to and --json cannot go together"),
        (["in", "--to", "out", "--n-best", "2"], "--to and --n-best cannot go together"),
        (["in"], "in cannot be read: Is a directory; name a file, or add --to FOLDER"),
        (["in", "--to", "in/out"], "in/out is where the text is read from; choose another folder"),
        (["in", "--to", "others"], "others cannot be written: it holds files that were not made here"),
        (["pairs", "--to", "out"], "pairs/a.tsv is a file of rows; lines of text and .parquet are read here"),
        (["in", "--to", "out", "--glob", "*.md"], "in has no file that matches *.md"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused_with_a_remedy(folder, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    for name in ("in/a.txt", "others/mine.txt", "pairs/a.tsv"):
        (tmp_path / name).parent.mkdir()
        write_lines(tmp_path / name, ["The dog sleeps.\tLe chien dort."])
    code, err = run(folder, *words)
    assert code == 1 and message in err and not (tmp_path / "out" / "a.txt").exists()


def test_without_ray_the_error_names_what_to_install(folder, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    code, err = run(folder, write_lines(tmp_path / "a.txt", LINES), "--to", tmp_path / "out", "--on", "ray")
    assert code == 1 and "--on ray needs Ray, which is not installed: pip install 'regard[ray]'" in err
