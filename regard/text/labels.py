"""Texts and their labels: a column or key of each in a file of rows, a file of lines for each label, or a folder.

A text may have several labels. Knows nothing of models.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from regard.errors import ConfigError, CorpusError
from regard.text.corpus import LeftOut, open_rows
from regard.text.lines import LONGEST_RUNNING, read_lines, read_whole
from regard.text.readers import JSONL, find_kind
from regard.text.readers.folders import files_below, is_hidden
from regard.text.readers.jsonl import each_object, text_under
from regard.text.readers.packed import without_packing
from regard.text.readers.rows import Choice, Table, one_line

LABEL_NAMES = ("label", "labels", "class", "category", "target", "tag", "tags", "intent", "sentiment")
TEXT_NAMES = ("text", "sentence", "content", "document", "body", "comment", "question", "review", "title")
MOST_SHOWN = 5  # labels that a message names


class Labelled(NamedTuple):
    """A text and its labels, and where it is."""

    labels: tuple[str, ...]
    text: str
    where: str = ""


@dataclass(frozen=True)
class LabelFiles:
    """Where labelled texts are: files of rows, or a file or a folder for each label."""

    paths: tuple[Path, ...]
    of_label: tuple[str | None, ...]  # of each file, the label of all texts in it; None: it is a file of rows
    whole: frozenset[Path] = frozenset()  # files that are one text each
    wanted: Choice | None = None  # columns or keys: label, text
    separator: str | None = None  # between the labels of a text

    @classmethod
    def of(
        cls, files: str | Path | Sequence[str | Path], wanted: Choice | None = None, separator: str | None = None
    ) -> LabelFiles:
        """The same from names, one or several."""
        names = [Path(files)] if isinstance(files, str | Path) else [Path(name) for name in files]
        if not names:
            raise CorpusError("no file of labelled texts was given; name at least one")
        if wanted is not None and len(wanted) != 2:
            raise ConfigError(
                f"--columns {','.join(map(str, wanted))}: two are wanted, label and text, as in label,text"
            )
        paths, labels, whole = list[Path](), list[str | None](), set[Path]()
        for name in names:
            for path, label, is_whole in _files_in(name):
                paths.append(path)
                labels.append(label)
                whole |= {path} if is_whole else set()
        return cls(tuple(paths), tuple(labels), frozenset(whole), wanted, separator)

    @property
    def reading(self) -> dict[str, str]:
        """How the files are read, for a run that is resumed."""
        found = {"separator": self.separator} if self.separator else {}
        tables = [path for path, label in zip(self.paths, self.of_label, strict=True) if label is None]
        if not tables:
            return found
        table = open_rows(tables[0], self.wanted, LONGEST_RUNNING)
        names = [table.names[place] for place in choose_label_and_text(table, self.wanted)]
        return {"columns": ",".join(map(str, self.wanted or names)), **found}

    def __iter__(self) -> Iterator[Labelled]:
        """Every text, also those without a label or without words."""
        for path, label in zip(self.paths, self.of_label, strict=True):
            if label is None:
                is_jsonl = find_kind(path) == JSONL
                yield from self._objects(path) if is_jsonl else self._rows(path)
            elif path in self.whole:
                yield Labelled((label,), one_line(read_whole(path)), str(path))
            else:
                for number, line in enumerate(read_lines(path, longest=LONGEST_RUNNING), start=1):
                    yield Labelled((label,), line, f"{path} line {number}")

    def _rows(self, path: Path) -> Iterator[Labelled]:
        table = open_rows(path, self.wanted, LONGEST_RUNNING)
        unit = find_kind(path).unit  # type: ignore[union-attr]
        for number, (labels, text) in table.rows(choose_label_and_text(table, self.wanted)):
            yield self._labelled(labels, text, f"{path} {unit} {number}")

    def _objects(self, path: Path) -> Iterator[Labelled]:
        """Of JSON Lines, where labels may be numbers or lists."""
        table = open_rows(path, self.wanted, LONGEST_RUNNING)
        keys = [table.names[place] for place in choose_label_and_text(table, self.wanted)]
        for number, entry in each_object(path, read_lines(path, longest=LONGEST_RUNNING), keys):
            where = f"{path} line {number}"
            given, text = (text_under(entry, key) for key in keys)
            labels = given if isinstance(given, list) else [given]
            if (
                not isinstance(text, str)
                or keys[0] not in entry
                or not all(isinstance(one, str | int) for one in labels)
            ):
                raise CorpusError(f"{where} has no text under {keys[1]!r}, or under {keys[0]!r} no label; a label is a "
                                  f"text or a whole number, or a list of them")  # fmt: skip
            yield self._labelled(self.separator.join(map(str, labels)) if self.separator else labels, text, where)

    def _labelled(self, labels: str | list[str | int], text: str, where: str) -> Labelled:
        if isinstance(labels, str):
            labels = [*labels.split(self.separator)] if self.separator else [labels]
        found = dict.fromkeys(clean_label(str(one)) for one in labels)
        return Labelled(tuple(one for one in found if one), one_line(text), where)


def _files_in(name: Path) -> Iterator[tuple[Path, str | None, bool]]:
    """The files of a name: path, the label of all texts in it if it has one, and whether it is one text."""
    if not name.is_dir():
        yield name, None if find_kind(name) else clean_label(without_packing(name).stem), False
        return
    below = sorted(path for path in files_below(name) if path.is_file() and not is_hidden(path, name))
    if not below:
        raise CorpusError(f"{name} is a folder without a file in it; give a folder or a file for each label")
    is_nested = any(path.parent != name for path in below)
    for path in below:
        if is_nested and path.parent != name:
            yield path, clean_label(path.relative_to(name).parts[0]), True
        elif not is_nested:
            yield from _files_in(path)


def clean_label(name: str) -> str:
    """A label without blanks around it, and with single ones within."""
    return " ".join(name.split())


def choose_label_and_text(table: Table, wanted: Choice | None) -> list[int]:
    """The places of label and text: as chosen, by their names, or the first two columns."""
    if wanted:
        return table.choose(wanted, 2)
    plain = [name.strip().lower() for name in table.names]
    label = next((plain.index(name) for name in LABEL_NAMES if name in plain), None)
    text = next((plain.index(name) for name in TEXT_NAMES if name in plain), None)
    if label is not None and text is not None:
        return [label, text]
    if table.usual == 2 or (len(table.names) == 2 and table.word == "columns"):
        return [1, 0] if label == 1 or text == 0 else [0, 1]
    option = "columns" if table.word == "columns" else "keys"
    raise CorpusError(f"{table.path} has the {table.word} {', '.join(table.names[:30])}; say which two are label and "
                      f"text with --{option} label,text")  # fmt: skip


def read_labelled(files: LabelFiles) -> tuple[list[Labelled], list[LeftOut]]:
    """All texts that have words and a label, and how many have not."""
    found: list[Labelled] = []
    without: dict[str, list[Labelled]] = {"an empty text": [], "no label": []}
    for one in files:
        if not one.text.strip():
            without["an empty text"].append(one)
        elif not one.labels:
            without["no label"].append(one)
        else:
            found.append(one)
    if not found:
        raise CorpusError(
            f"{', '.join(map(str, files.paths[:3]))}: no text has a label; there is nothing to learn from"
        )
    left_out = [LeftOut(why, len(some), some[0].where) for why, some in without.items() if some]
    return found, left_out


def name_labels(examples: Iterable[Labelled], known: Sequence[str] = ()) -> list[str]:
    """Every label, those that are known first and then by name; an error where they cannot be distinguished.

    known: of a model that learns more.
    """
    counts = Counter(label for one in examples for label in one.labels)
    names = [*known, *sorted(set(counts) - set(known))]
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(name.casefold(), []).append(name)
    if twins := [group for group in alike.values() if len(group) > 1]:
        shown = "; ".join(" and ".join(f"{name!r} ({counts[name]})" for name in group) for group in twins[:MOST_SHOWN])
        raise CorpusError(f"labels that differ by case alone would be kept apart: {shown}; write each label one way")
    return names


def refuse_one_label(examples: Sequence[Labelled]) -> None:
    """An error where there is nothing to choose between."""
    if len(names := {label for one in examples for label in one.labels}) < 2:
        raise CorpusError(f"every text has the label {min(names)!r}; at least two labels are needed")


def refuse_swapped(examples: Sequence[Labelled]) -> None:
    """An error where nearly every text has a label of its own: the columns are probably the other way round."""
    labels = {one.labels for one in examples}
    texts = {one.text for one in examples}
    if len(examples) >= 20 and len(labels) > 0.9 * len(examples) and len(texts) < len(labels):
        raise CorpusError(f"{len(labels)} of {len(examples)} texts have a label of their own, such as "
                          f"{examples[0].labels[0]!r:.60}; if label and text are the other way round, say which is "
                          f"which with --columns 2,1")  # fmt: skip


def hold_out_labelled(examples: list[Labelled], count: int, seed: int) -> tuple[list[Labelled], list[Labelled]]:
    """Splits off about `count` examples, of each label about its share; copies of a text stay on one side.

    A label with one text keeps it for training.
    """
    groups: dict[str, list[Labelled]] = {}
    for one in examples:
        groups.setdefault(one.text, []).append(one)
    order = list(groups)
    random.Random(seed).shuffle(order)
    totals, share = Counter(label for one in examples for label in one.labels), count / len(examples)
    most = {label: min(total - 1, int(share * total) + 1) for label, total in totals.items()}
    taken, held = Counter[str](), set[str]()
    for text in order:
        labels = Counter(label for one in groups[text] for label in one.labels)
        if sum(taken.values()) < count and all(taken[one] + labels[one] <= most[one] for one in labels):
            held.add(text)
            taken += labels
    if not held:
        raise CorpusError(f"there are {len(groups)} different texts, one for each label; at least one label needs two, "
                          f"one of them to validate on")  # fmt: skip
    return [one for one in examples if one.text not in held], [one for one in examples if one.text in held]
