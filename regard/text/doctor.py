"""A corpus doctor: what is wrong with text, where, whether it hurts, what training does about it, and how to mend it.

Reads files as a stream of lines, however large; of each line only a few bytes are kept. Never raises for what a line
holds: that is what it is here to tell.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from regard.text.ailments import LONGEST_LETTERS, LONGEST_WORDS, WORDS
from regard.text.corpus import UTF8_MARK, PairFiles
from regard.text.raws import raw_lines, raw_pairs

Tick = Callable[[int, int], None]  # (lines, bytes) that were read
TICK = 5000  # lines from one tick to the next
EXAMPLES = 3  # of each finding
MOST_KNOWN = 5_000_000  # lines that repetitions are found among; 60 bytes each
LEARNED_FROM = 5000  # lines that tell what is usual here
COMMON = 150  # words that a language is known by
STRANGE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffd]|\r")
MARKUP = re.compile(r"</?[a-zA-Z][^<>]*>|&(?:[a-zA-Z]{2,8}|#\d{1,6});")
TWO_SCRIPTS = re.compile(
    "[A-Za-z][\u0400-\u04ff]|[\u0400-\u04ff][A-Za-z]|[A-Za-z][\u0370-\u03ff]|[\u0370-\u03ff][A-Za-z]"
)


@dataclass
class Finding:
    """Something about a corpus: how often, and where."""

    kind: str
    count: int = 0
    examples: list[dict[str, str | int]] = field(default_factory=list)

    @property
    def words(self) -> tuple[str, str, str, str]:
        """What it is, whether it hurts, what training does about it, how to mend it."""
        return WORDS[self.kind]


@dataclass
class Report:
    """What a doctor says."""

    files: list[str]
    lines: int = 0
    findings: dict[str, Finding] = field(default_factory=dict)

    def note(self, kind: str, path: Path, line: int, shown: str) -> None:
        """Counts something, and keeps the first few as examples."""
        found = self.findings.setdefault(kind, Finding(kind))
        found.count += 1
        if len(found.examples) < EXAMPLES:
            clean = "".join(letter if letter.isprintable() else "�" for letter in shown[:80])
            found.examples.append({"file": path.name, "line": line, "text": clean})


class Side:
    """What is known of one file while it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lengths = array("H")  # of each line in characters, at most 65535
        self.counted: Counter[str] = Counter()
        self.common: frozenset[str] = frozenset()

    def learn(self, text: str) -> None:
        """Words of the first lines tell the language."""
        if len(self.lengths) < LEARNED_FROM:
            self.counted.update(set(text.lower().split()))
        elif not self.common:
            self.common = frozenset(word for word, _ in self.counted.most_common(COMMON) if any(map(str.isalpha, word)))


def check_pairs(
    files: PairFiles, held_out: frozenset[int] = frozenset(), tick: Tick = lambda lines, read: None,
    most: int | None = None,
) -> Report:  # fmt: skip
    """Pairs of lines. tick: hears how many lines and bytes were read, now and then. most: lines read at most."""
    report = Report([path.name for path in files.paths])
    sides = Side(files.source), Side(files.target or files.source)
    known: set[int] = set()
    usual = Usual()
    read = 0
    ends = None
    for number, raws in raw_pairs(files, lambda number, raw: report.note("columns", files.source, number, raw)):
        if None in raws:  # one file has ended
            ends = [number - 1 + (raw is not None) for raw in raws]
            break
        if report.lines == most:
            break
        report.lines = number
        read += sum(map(len, raws))  # type: ignore[arg-type]
        if number % TICK == 0:
            tick(number, read)
        texts = [look_at(report, side, number, raw) for side, raw in zip(sides, raws, strict=True)]  # type: ignore[arg-type]
        look_at_pair(report, sides, texts, known, usual, held_out)
    if ends:
        longer = int(ends[1] > ends[0])
        ends[longer] = sum(1 for _ in raw_lines(files.paths[longer]))
        _find_shift(report, sides, ends)
    return report


def check_text(
    paths: list[Path], held_out: frozenset[int] = frozenset(), tick: Tick = lambda lines, read: None,
    most: int | None = None,
) -> Report:  # fmt: skip
    """Files of running text."""
    report = Report([path.name for path in paths])
    known: set[int] = set()
    read = 0
    for path in paths:
        side = Side(path)
        for number, raw in enumerate(raw_lines(path), start=1):
            if most is not None and report.lines >= most:
                break
            report.lines += 1
            read += len(raw)
            if report.lines % TICK == 0:
                tick(report.lines, read)
            text = look_at(report, side, number, raw)
            if text.strip():
                _note_repeats(report, path, number, text, known, held_out)
                if side.common and is_foreign(text, side.common, frozenset()):
                    report.note("language", path, number, text)
    return report


def look_at(report: Report, side: Side, number: int, raw: bytes) -> str:
    """One line: what is strange in it is noted; its text as training would read it."""
    line = raw.removesuffix(b"\n")
    if line.endswith(b"\r"):
        line = line[:-1]
        report.note("windows", side.path, number, "")
    if number == 1 and line.startswith(UTF8_MARK):
        line = line[len(UTF8_MARK) :]
        report.note("mark", side.path, number, "")
    try:
        text = line.decode()
    except UnicodeDecodeError as problem:
        text = line.decode(errors="replace")
        report.note(
            "not utf-8", side.path, number, f"byte {line[problem.start]:#04x} at offset {problem.start}: {text}"
        )
        text = text.replace("\ufffd", "")
    if STRANGE.search(text):
        _note_strange(report, side.path, number, text)
    if len(text) > LONGEST_LETTERS or (len(text) > LONGEST_WORDS and text.count(" ") >= LONGEST_WORDS):
        report.note("long", side.path, number, text)
    if ("<" in text or "&" in text) and MARKUP.search(text):
        report.note("markup", side.path, number, text)
    if not text.isascii() and TWO_SCRIPTS.search(text):
        report.note("scripts", side.path, number, text)
    side.learn(text)
    side.lengths.append(min(len(text), 65535))
    return text


def look_at_pair(
    report: Report, sides: tuple[Side, Side], texts: list[str], known: set[int], usual: Usual, held_out: frozenset[int]
) -> None:
    """A line of both files together."""
    source, target = texts
    path, number = sides[0].path, report.lines
    if not source.strip() or not target.strip():
        if source.strip() or target.strip():
            report.note("empty", sides[not target.strip()].path, number, source or target)
        else:
            report.note("empty", path, number, "")
        return
    if source == target:
        report.note("copy", path, number, source)
    if usual.is_odd(len(source), len(target)):
        report.note("ratio", path, number, f"{source[:36]} … | {target[:36]} …")
    _note_repeats(report, path, number, f"{source}\t{target}", known, held_out, source)
    for side, other, text in ((sides[0], sides[1], source), (sides[1], sides[0], target)):
        if side.common and is_foreign(text, side.common, other.common):
            words = set(text.lower().split())
            report.note("swapped" if len(words & other.common) >= 2 else "language", side.path, number, text)


class Usual:
    """How long translations usually are; a pair is odd if it is far from that."""

    def __init__(self) -> None:
        self._total = [0, 0]

    def is_odd(self, mine: int, theirs: int) -> bool:
        """Whether one side is more than three times as long as usual, and more than a few words."""
        self._total[0] += mine
        self._total[1] += theirs
        expected = mine * self._total[1] / self._total[0]
        return max(mine, theirs) > 40 and (theirs > 3 * expected + 20 or expected > 3 * theirs + 20)


def is_foreign(text: str, common: frozenset[str], others: frozenset[str]) -> bool:
    """Whether a longer line has none of the words its language is known by (but maybe those of the other)."""
    words = text.lower().split()
    if len(words) < 4 or not common.isdisjoint(words):
        return False
    return len(words) >= 8 or len(others.intersection(words)) >= 2


def _note_strange(report: Report, path: Path, number: int, text: str) -> None:
    for kind, letters in (
        ("nul", "\0"), ("line separator", "\u2028\u2029\x85"), ("carriage return", "\r"), ("mark", "\ufeff"),
        ("replaced", "\ufffd"),
    ):  # fmt: skip
        if any(letter in text for letter in letters):
            report.note(kind, path, number, text)
    if re.search("[\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]", text):
        report.note("control", path, number, text)


def _note_repeats(
    report: Report,
    path: Path,
    number: int,
    text: str,
    known: set[int],
    held_out: frozenset[int],
    source: str | None = None,
) -> None:
    key = hash(text)
    if key in known:
        report.note("repeated", path, number, text)
    elif len(known) < MOST_KNOWN:
        known.add(key)
    if held_out and hash(source if source is not None else text) in held_out:
        report.note("overlap", path, number, source or text)


def hashes_of(paths: list[Path]) -> frozenset[int]:
    """The lines of the text to validate or test on, as far as they say anything."""
    found = set()
    for path in paths:
        for raw in raw_lines(path):
            text = raw.removesuffix(b"\n").removesuffix(b"\r").decode(errors="replace")
            if text.strip():
                found.add(hash(text))
    return frozenset(found)


def _find_shift(report: Report, sides: tuple[Side, Side], counts: list[int]) -> None:
    """Where the shift probably starts: from there on lengths fit better if one side is moved by the difference."""
    gap = counts[1] - counts[0]
    mine, theirs = sides[0].lengths, sides[1].lengths
    shared = min(len(mine), len(theirs))
    window, place = 20, shared
    totals = sum(mine) or 1, sum(theirs) or 1
    factor = totals[1] / totals[0]

    def misfit(first: int, moved: int) -> float:
        total = 0.0
        for row in range(first, first + window):
            left, right = (row, row + moved) if moved >= 0 else (row - moved, row)
            if left < len(mine) and right < len(theirs):
                total += abs(mine[left] * factor - theirs[right]) / (1 + mine[left] * factor + theirs[right])
        return total

    for first in range(0, max(1, shared - window - abs(gap)), max(1, window // 4)):
        if misfit(first, gap) < 0.7 * misfit(first, 0):
            place = first
            break
    longer = sides[gap > 0].path
    report.note(
        "unequal",
        longer,
        place + 1,
        f"{counts[0]} lines against {counts[1]}; the shift probably starts near line {place + 1}",
    )
