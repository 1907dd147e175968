"""Documents that hold text but are none: the error says what they are and how to get text out."""

import zipfile

import pytest

from regard.errors import CorpusError
from regard.text.corpus import PairFiles, read_pairs
from regard.text.lines import read_lines
from regard.text.running import TextFiles

ZIPPED = {
    "docx": "pandoc",
    "odt": "pandoc",
    "epub": "pandoc",
    "xlsx": "CSV",
    "ods": "CSV",
    "pptx": "soffice",
    "zip": "unpack",
}
PLAIN = {
    "report.pdf": (b"%PDF-1.7\nsome text\n", "pdftotext report.pdf report.txt"),
    "report.rtf": (b"{\\rtf1 text}", "pandoc .*report.rtf --output report.txt"),
    "report.doc": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "soffice"),
    "data.txt": (b"PAR1" + bytes(200), r"ends in \.parquet"),
}


@pytest.mark.parametrize("ending", ZIPPED)
def test_office_documents_are_refused_with_the_way_to_their_text(tmp_path, ending):
    path = tmp_path / f"report.{ending}"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("content.xml", "<text/>")
    with pytest.raises(CorpusError, match=rf"report\.{ending} is an? .*, not text; .*{ZIPPED[ending]}"):
        list(read_lines(path))
    with pytest.raises(CorpusError, match=rf"report\.{ending} is an? .*, not text; .*{ZIPPED[ending]}"):
        read_pairs(PairFiles.of(path))  # also as the one file of pairs


@pytest.mark.parametrize("name", PLAIN)
def test_other_documents_are_too(tmp_path, name):
    content, remedy = PLAIN[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CorpusError, match=rf"not text; .*{remedy}"):
        list(read_lines(tmp_path / name))


def test_in_a_folder_they_are_left_out_with_what_they_are(tmp_path):
    (tmp_path / "a.txt").write_text("Text.\n")
    (tmp_path / "b.pdf").write_bytes(b"%PDF-1.7\nsome text\n")
    found = TextFiles.of(tmp_path)
    assert [path.name for path in found.paths] == ["a.txt"]
    assert [(path.name, reason) for path, reason in found.skipped] == [("b.pdf", "a PDF")]
