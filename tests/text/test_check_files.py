"""The check names every file it cannot read, with the reason, and takes bounded memory whatever it is given."""

import gzip
import json
import os
import random
import resource
import subprocess
import sys

import pytest
from test_check import run

from regard.errors import CorpusError
from regard.text.lines import read_lines
from regard.text.running import TextFiles, read_documents

MEMORY = 1_200_000_000  # of addresses, for a check that imports numpy


@pytest.mark.parametrize("name", ["bomb.gz", "line.gz", "line.txt"])
def test_a_line_without_end_takes_bounded_memory(tmp_path, name):
    path = tmp_path / name
    if name.endswith("gz"):
        with gzip.open(path, "wb", compresslevel=9) as file:
            for _ in range(30):
                file.write((b"a" * 1023 + (b"\n" if name == "bomb.gz" else b"a")) * 1024)
    else:
        with path.open("wb") as file:
            file.truncate(3 * 2**30)  # holes: NUL bytes without end
    other = tmp_path / "other.txt"
    other.write_text("a\n")
    for words in ([path], [path, other]):
        done = subprocess.run(
            [sys.executable, "-m", "regard", "check", *map(str, words)], capture_output=True, text=True, timeout=120,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)), check=False,
        )  # fmt: skip
        assert done.returncode == 1 and "Training would stop" in done.stdout and "Traceback" not in done.stderr, done
        assert name in done.stdout.split("Training would stop")[1]


def test_pipes_and_devices_are_refused_with_the_remedy(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero"):
        found = run(path)
        assert found.exit_code == 1 and "write it to a file first" in found.output
        with pytest.raises(CorpusError, match="read more than once"):
            list(read_lines(tmp_path / "pipe"))


@pytest.mark.parametrize(("raw", "kind", "message"), [
    (b"a\0b\n", "nul", "bad.txt line 51 has a NUL byte"),
    ("Straße\n".encode("latin1"), "encoding", "bad.txt line 51 is not UTF-8"),
    ("naïve ".encode("latin1") * 3 + b"\0\n", "nul", "bad.txt line 51 is not UTF-8"),
])  # fmt: skip
@pytest.mark.parametrize("before", [50, 0])
def test_damaged_text_in_a_folder_is_named_by_its_line_as_if_it_were_given(tmp_path, raw, kind, message, before):
    (tmp_path / "good.txt").write_text("Good text.\n" * 20)
    (tmp_path / "bad.txt").write_bytes(b"A line of text.\n" * before + raw + b"And another one.\n" * 9)
    message = message.replace("51", str(before + 1))
    found = run(tmp_path)
    assert found.exit_code == 1 and message in found.output and f"bad.txt line {before + 1}: " in found.output
    assert kind in {one["kind"] for one in json.loads(run(tmp_path, "--json").output)["findings"]}
    with pytest.raises(CorpusError, match=message):
        read_documents(TextFiles.of(tmp_path))


def test_every_file_of_a_folder_that_is_not_read_is_named_with_the_reason(tmp_path):
    texts = tmp_path / "t"
    texts.mkdir()
    (texts / "good.txt").write_text("Good text.\n" * 20)
    (texts / "thai.txt").write_text("ภาษาไทย" * 1000)
    (texts / ".hidden").write_text("hidden\n")
    assert run(texts, "--strict").exit_code == 0 and "1 hidden file" in run(texts).output
    (tmp_path / "elsewhere").mkdir()
    (texts / "folder").symlink_to(tmp_path / "elsewhere")
    (texts / "noise.bin").write_bytes(random.Random(1).randbytes(3000))
    (texts / "paper.pdf").write_bytes(b"%PDF-1.4\n" + b"1 0 obj\n" * 900)
    (texts / "wide.txt").write_bytes("Text.\n".encode("utf-16-le") * 20)
    (texts / "packed.gz").write_bytes(gzip.compress(b"Text.\n" * 20)[:-20])
    (texts / "empty.txt").write_text("")
    found = run(texts)
    assert found.exit_code == 0 and run(texts, "--strict").exit_code == 1
    assert "6 files of the folder that are not read" in found.output
    for name, why in (("folder", "a link"), ("noise.bin", "binary"), ("paper.pdf", "a PDF"), ("wide.txt", "binary"),
                      ("packed.gz", "cannot be read"), ("empty.txt", "empty")):  # fmt: skip
        assert f"{texts / name}: {why}" in found.output
    (texts / "marked.txt").write_text("Text.\n" * 20, encoding="utf-16")
    found = run(texts)
    assert found.exit_code == 1 and "marked.txt is UTF-16" in found.output and "noise.bin: binary" in found.output
