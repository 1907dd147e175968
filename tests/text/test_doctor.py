"""The doctor finds what was put into a corpus, names the line, and finds nothing in a clean one."""

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import regard
from regard.cli.commands import app
from regard.text.corpus import PairFiles
from regard.text.doctor import check_pairs, check_text, hashes_of

ENGLISH = [phrase.source for phrase in regard.phrasebook("en", "de", 6000)]
GERMAN = [phrase.target for phrase in regard.phrasebook("en", "de", 6000)]


def write(folder, source=None, target=None):
    for name, lines in (("a.en", source or ENGLISH), ("a.de", target or GERMAN)):
        raw = [line if isinstance(line, bytes) else line.encode("utf-8", "surrogatepass") for line in lines]
        (folder / name).write_bytes(b"".join(line + b"\n" for line in raw))
    return folder / "a.en", folder / "a.de"


def pair(*given):
    return PairFiles(*write(*given))


def changed(lines, places):
    return [places.get(number, line) for number, line in enumerate(lines, start=1)]


def test_a_clean_corpus_has_nothing_wrong(tmp_path):
    report = check_pairs(pair(tmp_path))
    assert report.lines == 6000 and report.findings == {}


@pytest.mark.parametrize(("kind", "line"), [
    ("nul", "a\0b"), ("control", "a\x07b"), ("line separator", "a\u2028b"), ("carriage return", "a\rb"),
    ("mark", "a\ufeffb"), ("replaced", "a\ufffdb"), ("not utf-8", b"Stra\xdfe"),
    ("markup", "a <b>word</b>"), ("markup", "this &amp; that"),
    ("scripts", "the wоrd with a Cyrillic o"), ("windows", b"The dog sleeps.\r"), ("long", "word " * 300),
    ("empty", "  "),
    ("ratio", "The dog sleeps. " * 12), ("swapped", "Der alte Mann sieht die Frau und der Hund schläft."),
    ("language", "Il gatto nero dorme sopra il tavolo vicino alla finestra aperta"),
])  # fmt: skip
def test_what_is_wrong_with_a_line_is_found_and_named(tmp_path, kind, line):
    report = check_pairs(pair(tmp_path, changed(ENGLISH, {5500: line})))
    assert report.findings[kind].count == 1
    assert report.findings[kind].examples[0]["line"] == 5500
    what, hurts, training, mend = report.findings[kind].words
    assert what and hurts and training and mend


def test_copies_repetitions_and_overlap_are_counted(tmp_path):
    source = changed(ENGLISH, {100: GERMAN[99], 200: ENGLISH[0]})
    target = changed(GERMAN, {200: GERMAN[0]})
    (tmp_path / "test.en").write_text("\n".join(ENGLISH[10:15]) + "\n")
    report = check_pairs(pair(tmp_path, source, target), hashes_of([tmp_path / "test.en"]))
    assert (report.findings["copy"].count, report.findings["copy"].examples[0]["line"]) == (1, 100)
    assert (report.findings["repeated"].count, report.findings["repeated"].examples[0]["line"]) == (1, 200)
    assert report.findings["overlap"].count == 5


@pytest.mark.parametrize("place", [300, 2500, 5000])
def test_the_place_where_lines_shift_is_named(tmp_path, place):
    report = check_pairs(pair(tmp_path, [*ENGLISH[:place], "An extra line here.", *ENGLISH[place:]]))
    found = report.findings["unequal"].examples[0]
    assert found["file"] == "a.en" and abs(found["line"] - place) <= 40 and "6001 lines against 6000" in found["text"]


@given(st.lists(st.binary(max_size=30).filter(lambda raw: b"\n" not in raw), min_size=1, max_size=20))
def test_no_bytes_make_the_doctor_stumble(tmp_path_factory, raws):
    folder = tmp_path_factory.mktemp("bytes")
    (folder / "a").write_bytes(b"x" + b"\n".join(raws) + b"\n")
    (folder / "b").write_bytes(b"y" + b"\n".join(raws[1:]) + b"\n")
    assert check_text([folder / "a"]).lines == len(raws)
    check_pairs(PairFiles(folder / "a", folder / "b"))


def test_the_command_tells_it_on_a_page_and_as_json(tmp_path):
    source, target = write(tmp_path, changed(ENGLISH, {7: "a <i>tag</i>", 9: "a\x07b"}))
    told = CliRunner().invoke(app, ["check", str(source), str(target)])
    assert told.exit_code == 0 and "6000 pairs of lines" in told.output
    assert told.output.index("tags or entities") < told.output.index(
        "control characters"
    )  # what hurts most comes first
    assert "a.en line 7: a <i>tag</i>" in told.output and "to mend:" in told.output
    told = json.loads(CliRunner().invoke(app, ["check", str(source), str(target), "--json"]).output)
    assert {finding["kind"] for finding in told["findings"]} == {"markup", "control"}
    with gzip.open(tmp_path / "a.gz", "wb") as file:
        file.write(source.read_bytes())
    assert CliRunner().invoke(app, ["check", str(tmp_path / "a.gz")]).exit_code == 0
    assert "does not exist" in CliRunner().invoke(app, ["check", str(tmp_path / "none")]).output
    assert "Nothing was found" in CliRunner().invoke(app, ["check", str(target)]).output


@pytest.mark.parametrize("kind", ["tsv", "jsonl"])
def test_pairs_in_one_file_are_looked_over_too(tmp_path, kind):
    rows = list(zip(changed(ENGLISH, {5: "a <i>tag</i>", 9: ""}), GERMAN, strict=True))
    lines = [f"{a}\t{b}" if kind == "tsv" else json.dumps({"en": a, "de": b}) for a, b in rows]
    path = tmp_path / f"a.{kind}"
    path.write_text("\n".join([*lines, "only one text"]) + "\n")
    told = json.loads(CliRunner().invoke(app, ["check", str(path), "--json"]).output)
    found = {finding["kind"]: finding["examples"][0]["line"] for finding in told["findings"]}
    assert found == {"markup": 5, "empty": 9, "columns": 6001}
    swapped = ["--columns", "2,1"] if kind == "tsv" else ["--keys", "de,en"]
    again = json.loads(CliRunner().invoke(app, ["check", str(path), "--json", *swapped]).output)
    assert again["lines"] == told["lines"] == 6000


def test_a_training_begins_with_what_hurts(tmp_path):
    source, target = write(tmp_path, changed(ENGLISH[:200], {7: "a <i>tag</i>"}), GERMAN[:200])
    words = ["train", "translate", source, target, "--to", tmp_path / "m", "--steps", 2, "--workers", 1,
             "--set", "model.layers=1", "--set", "model.width=32", "--set", "text.vocab_size=300"]  # fmt: skip
    told = CliRunner().invoke(app, [str(word) for word in words])
    assert told.exit_code == 0 and "1 x tags or entities left in (a.en line 7)" in told.output
