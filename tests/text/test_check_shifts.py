"""The check finds where two files of pairs are no longer parallel, or were given in the wrong order."""

import random

import numpy as np
import pytest
from test_check import ENGLISH, GERMAN, pair, run, write

from regard.text.check import check_pairs
from regard.text.corpus import PairFiles
from regard.text.shifts import UNRELATED, _without_noise, find_shifts


@pytest.mark.parametrize("place", [300, 2500, 5000])
def test_the_place_where_lines_shift_is_named(tmp_path, place):
    report = check_pairs(pair(tmp_path, [*ENGLISH[:place], "An extra line here.", *ENGLISH[place:]]))
    found = report.findings["unequal"].examples[0]
    assert found["file"] == "a.en" and abs(found["line"] - place) <= 40 and "6001 lines against 6000" in found["text"]


@pytest.mark.parametrize("moved", [1, -1, 3, -20, 20])
def test_a_shift_in_the_middle_of_files_of_equal_length_is_found(tmp_path, moved):
    extra = ["Das ist eine Zeile mehr."] * abs(moved)
    target = (
        [*GERMAN[:1000], *extra, *GERMAN[1000:2500]]
        if moved > 0
        else [*GERMAN[:1000], *GERMAN[1000 - moved : 2500], *extra]
    )
    report = check_pairs(pair(tmp_path, ENGLISH[:2500], target[:2500]))
    found = report.findings["shift"]
    assert abs(found.examples[0]["line"] - 1001) <= 20 and abs(found.count - 1500) <= 40
    assert (
        f"translations are {abs(moved)} line{'s' * (abs(moved) > 1)} further {'down' if moved > 0 else 'up'} in a.de"
        in found.examples[0]["text"]
    )


def test_a_side_that_was_sorted_or_shuffled_is_found_and_shuffled_pairs_are_not():
    order = random.Random(1).sample(range(3000), 3000)
    assert (find_shifts(ENGLISH[:3000], sorted(GERMAN[:3000])) == UNRELATED).mean() > 0.9
    assert not find_shifts([ENGLISH[n] for n in order], [GERMAN[n] for n in order]).any()
    assert not find_shifts(["1 2 3"] * 500, ["3 2 1"] * 500).any()
    assert not find_shifts([""] * 500, [""] * 500).any() and not len(find_shifts([], []))


def alternating(lines):
    """Long and short lines by turns, as captions by two people."""
    return [line + " (1)" * 9 if number % 2 else line for number, line in enumerate(lines)]


@pytest.mark.parametrize(("source", "target"), [
    (ENGLISH[:2000], GERMAN[1999::-1]),
    (alternating(ENGLISH[:2000]), alternating(GERMAN[:2000])[::-1]),
    (sorted(ENGLISH[:2000], key=len), sorted(GERMAN[:2000], key=len)[::-1]),
])  # fmt: skip
def test_a_reversed_side_fits_nowhere_and_no_shift_is_made_up(source, target):
    assert (find_shifts(source, target) == UNRELATED).all()


@pytest.mark.parametrize("size", [15, 50, 300])
def test_blocks_that_changed_places_are_found_and_nothing_around_them(size):
    target = [*GERMAN[:700], *GERMAN[700 + size : 700 + 2 * size], *GERMAN[700 : 700 + size], *GERMAN[700 + 2 * size :]]
    found = find_shifts(ENGLISH[:2000], target[:2000]) != 0
    assert found[703 : 697 + 2 * size].all() and not found[:690].any() and not found[710 + 2 * size :].any()


def test_tasks_that_are_no_translations_are_neither_shifted_nor_unrelated():
    chance = random.Random(1)
    numbers = [(chance.randrange(100), chance.randrange(100)) for _ in range(2000)]
    digits = [" ".join(chance.choices("0123456789", k=chance.randrange(3, 9))) for _ in range(2000)]
    tasks = [
        ([f"{a}+{b}" for a, b in numbers], [str(a + b) for a, b in numbers]),
        ([f"{a} plus {b} is" for a, b in numbers], [str(a + b) for a, b in numbers]),
        ([str(a * b) for a, b in numbers], [hex(a * b) for a, b in numbers]),
        (digits, [line[::-1] for line in digits]),
        (ENGLISH[:2000], [chance.choice(["good", "bad"]) for _ in digits]),
    ]
    assert not any(find_shifts(*task).any() for task in tasks)


def test_files_whose_names_are_swapped_and_sides_unlike_those_to_validate_on_are_found(tmp_path):
    source, target = write(tmp_path, GERMAN[:500], ENGLISH[:500])
    assert "by its name or key it is en, by its words de" in run(source, target).output
    (tmp_path / "valid").mkdir()
    valid = write(tmp_path / "valid", ENGLISH[500:700], GERMAN[500:700])
    for name, words in (("good", (valid[0], valid[1])), ("bad", (valid[1], valid[0]))):
        source, target = write(tmp_path, ENGLISH[:500], GERMAN[:500])
        page = run(source, target, "--against", words[0], "--against", words[1]).output
        assert ("the other way round" in page) == (name == "bad")


@pytest.mark.parametrize("kind", ["files", "tsv"])
def test_what_a_shift_brings_about_is_not_reported_within_it(tmp_path, kind):
    long = "A very long line that says much about many things, one after the other, " * 4
    odd = {n: (long + str(n), long.replace("A very", "Eine sehr") + str(n)) for n in range(20, 2500, 40)}
    rows = [odd.get(n, row) for n, row in enumerate(zip(ENGLISH[:2500], GERMAN[:2500], strict=True))]
    rows[10] = ("Yes.", "Ja, " + "das ist wirklich ganz genau so " * 8)
    target = [row[1] for row in rows]
    target = [*target[:1000], "Das ist eine Zeile mehr.", *target[1000:-1]]
    files = pair(tmp_path, [row[0] for row in rows], target)
    if kind == "tsv":
        (tmp_path / "a.tsv").write_text("".join(f"{row[0]}\t{mine}\n" for row, mine in zip(rows, target, strict=True)))
        files = PairFiles(tmp_path / "a.tsv")
    report = check_pairs(files)
    assert abs(report.findings["shift"].count - 1500) <= 20
    assert [one["line"] for one in report.findings["ratio"].examples] == [11] and report.findings["ratio"].count == 1
    fix = report.findings["shift"].words(report.shape)["fix"]
    assert ("both files" in fix) == (kind == "files")


@pytest.mark.parametrize(
    ("shift", "lines", "is_kept"), [(20, 21, False), (-20, 18, False), (20, 60, True), (1, 3, True)]
)
def test_a_few_lines_that_fit_far_away_between_others_that_do_not_are_no_shift(shift, lines, is_kept):
    """Sorted text has blocks of lines that begin alike, and fit each other at many places."""
    path = np.zeros(500, np.int64)
    path[200 : 200 + lines] = shift
    assert (_without_noise(path.copy()) == path).all() == is_kept
