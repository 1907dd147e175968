"""Checks labelled texts: what would be learned wrongly, twice, or not at all, and what is also in the text to test on.

Holds what training holds: all texts. Never raises for what a row holds, only for files that cannot be read at all.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from pathlib import Path

from regard.errors import CorpusError
from regard.text.labels import LabelFiles, Labelled, hold_out_labelled, name_labels, refuse_one_label, refuse_swapped
from regard.text.ngrams import split_words
from regard.text.problems import Report
from regard.text.readers import find_kind

PLACE = re.compile(r"(.+) \w+ (\d+)")  # a file, line, and its number
LONGEST_LABEL = 40  # characters, of files that are known for labelled by their labels
TRIED, REPEATED = 2000, 10  # rows by which they are known, and how many have the same label on average


def look_like_labels(path: Path) -> bool:
    """Whether a file of rows has a label and a text in each: the same few short labels again and again."""
    if not path.is_file() or find_kind(path) is None:
        return False
    try:
        some = list(islice(LabelFiles.of(path), TRIED))
    except CorpusError:
        return False
    labels = Counter(label for one in some for label in one.labels)
    is_few = len(some) >= 2 * REPEATED and 0 < len(labels) * REPEATED <= len(some)
    return is_few and all(len(label) <= LONGEST_LABEL for label in labels)


def check_labelled(files: LabelFiles, against: LabelFiles | None = None, most: int | None = None) -> Report:
    """Labelled texts. against: to validate or test on; most: a quick look at so many texts at most. Two texts are the
    same if their words are.
    """
    report = Report([path.name for path in files.paths], "labels")
    tested = {_words(one) for one in against} if against else set()
    first: dict[str, Labelled] = {}  # of each text
    kept = []
    for one in islice(files, most):
        report.lines += 1
        if not (words := _words(one)):
            _note(report, "label empty", one)
        elif not one.labels:
            _note(report, "label missing", one)
        else:
            kept.append(one)
            same = first.setdefault(words, one)
            if same is not one:
                _note(report, "label repeated" if set(same.labels) == set(one.labels) else "label conflict", one)
            if words in tested:
                _note(report, "label overlap", one)
    _note_labels(report, kept)
    if most is None:
        report.stop_for(lambda: verify_labelled(files, kept))
    return report


def verify_labelled(files: LabelFiles, examples: list[Labelled]) -> None:
    """An error where training would stop."""
    if not examples:
        raise CorpusError(f"{files.paths[0]}: no text has a label; there is nothing to learn from")
    refuse_swapped(examples)
    name_labels(examples)
    refuse_one_label(examples)
    hold_out_labelled(examples, 1, 1)


def _note_labels(report: Report, examples: list[Labelled]) -> None:
    """Labels with one text, and labels that differ by case or blanks."""
    counts = Counter(label for one in examples for label in one.labels)
    where = {label: one for one in reversed(examples) for label in one.labels}  # the first text of each
    alike: dict[str, list[str]] = {}
    for label in counts:
        alike.setdefault("".join(label.casefold().split()), []).append(label)
    for group in alike.values():
        if len(group) > 1:
            names = " and ".join(f"{label!r} ({counts[label]})" for label in sorted(group))
            _note(report, "label alike", where[min(group, key=counts.__getitem__)], names)
    for label, count in counts.items():
        if count == 1:
            _note(report, "label once", where[label], f"{label}: {where[label].text}")


def _words(one: Labelled) -> str:
    return " ".join(split_words(one.text))


def _note(report: Report, kind: str, one: Labelled, shown: str | None = None) -> None:
    place = PLACE.fullmatch(one.where)
    path, line = (Path(place[1]), int(place[2])) if place else (Path(one.where), 0)
    report.note(kind, path, line, f"{', '.join(one.labels)}: {one.text[:160]}" if shown is None else shown)
