"""The check of labelled texts finds what was put into them, names the line, and finds nothing in clean ones."""

import json

import pytest
from conftest import write_labelled, write_lines
from typer.testing import CliRunner

from regard.cli.commands import app
from regard.text.check_labels import check_labelled, look_like_labels
from regard.text.labels import LabelFiles

CLEAN = [f"{label}\tthe {word} number {n}" for n in range(30) for label, word in (("x", "cat"), ("y", "dog"))]


def check(*arguments):
    return CliRunner().invoke(app, ["check", *map(str, arguments)])


def test_clean_texts_have_nothing_wrong_and_are_known_for_labelled(tmp_path):
    path = write_lines(tmp_path / "a.tsv", CLEAN)
    assert look_like_labels(path) and look_like_labels(write_labelled(tmp_path / "b.tsv", 40))
    done = check(path, "--strict")
    assert done.exit_code == 0 and done.stdout == "a.tsv: 60 texts\nNo problems found.\n"
    pairs = write_lines(tmp_path / "pairs.tsv", [f"the cat {n}\tle chat {n}" for n in range(60)])
    assert not look_like_labels(pairs) and "60 pairs" in check(pairs).stdout


@pytest.mark.parametrize(("kind", "line"), [
    ("label empty", "x\t  "), ("label missing", " \ta text"), ("label repeated", "x\tThe cat  number 3"),
    ("label conflict", "y\tthe cat number 3"), ("label overlap", "x\tThis is tested."), ("label alike", "X \tone more"),
    ("label once", "z\tonly here"),
])  # fmt: skip
def test_what_is_wrong_with_a_text_is_found_and_named(tmp_path, kind, line):
    path = write_lines(tmp_path / "a.tsv", [*CLEAN, line])
    test = write_lines(tmp_path / "test.tsv", ["x\tthis is tested .", "y\tan other"])
    report = check_labelled(LabelFiles.of(path), LabelFiles.of(test))
    assert report.findings[kind].count == 1 and report.findings[kind].examples[0]["line"] == 61
    assert set(report.findings) == {kind} | ({"label once"} if kind == "label alike" else set())
    assert (report.stops is not None) == (kind == "label alike")
    done = check(path, "--against", test, "--strict")
    assert done.exit_code == (kind != "label empty") and "a.tsv line 61" in done.stdout, done.stdout


@pytest.mark.parametrize(("lines", "words"), [
    (["x\tone", "x\ttwo"], "every text has the label 'x'"), ([" \tone", "x\t "], "no text has a label"),
    (["x\tone", "y\ttwo"], "at least one label needs two"),
])  # fmt: skip
def test_what_training_would_refuse_is_said_in_its_words(tmp_path, lines, words):
    done = check(write_lines(tmp_path / "a.tsv", lines), "--labels", "--json")
    assert done.exit_code == 1 and words in json.loads(done.stdout)["stops"]


def test_labels_of_several_are_separated_and_those_that_differ_by_blanks_are_named(tmp_path):
    path = write_lines(tmp_path / "a.tsv", ["sci fi,old\ta b", "scifi\ta c", "old\td", "old,scifi\te", "sci fi\tf"])
    done = check(path, "--separator", ",")
    assert done.exit_code == 0 and "'sci fi' (2) and 'scifi' (2)" in done.stdout, done.stdout
