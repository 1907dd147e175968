"""Checks a corpus: what is wrong with text, where, whether it hurts, what training does about it, and how to fix it.

Reads files as a stream of lines, however large; memory is bounded (at most about 400 MB). Never
raises for what a line holds, only for files that cannot be read as lines at all.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from regard.errors import CorpusError
from regard.files import hash_file
from regard.text.byte_lines import Raws, raw_lines, raw_pairs, raw_pieces
from regard.text.check_lines import Side
from regard.text.corpus import PairFiles, counted, guess_languages, kind_of, open_rows, verify_pairs
from regard.text.duplicates import Duplicates
from regard.text.languages import FUNCTION_WORDS, count_words, find_foreign, guess_language, likeness, words_of
from regard.text.lines import UTF8_MARK
from regard.text.problems import Report
from regard.text.readers import find_kind
from regard.text.running import TextFiles, verify_documents
from regard.text.stories import look_like_stories, verify_stories

Tick = Callable[[int, int], None]  # (lines, bytes) that were read
TICK = 5000  # lines from one tick to the next
LONG_ENOUGH = 40  # characters of a line that is not there twice by chance
QUICK, QUICK_SHARE = 10_000, 10  # pairs that a quick look has compared as a whole; then 500 of each ten times as many
QUOTED = re.compile(r'"(?:[^"]|"")*"')


def check_pairs(
    files: PairFiles, held_out: frozenset[int] = frozenset(), tick: Tick = lambda lines, read: None,
    most: int | None = None, valid: PairFiles | None = None,
) -> Report:  # fmt: skip
    """Pairs of lines. tick: hears how many lines and bytes were read, now and then. most: a quick look at so many lines
    at most, which compares a sample. valid: pairs to validate or test on, which should be the same way round."""
    shape = "files" if files.target else kind_of(files).name
    report = Report([path.name for path in files.paths], shape, folder=files.source if files.parts else None)
    checks = _PairChecks(report, files, held_out)
    for path in files.parts or (files.source,):
        _note_header(report, files, path)
    read = 0
    ends = None
    for number, raws in checks.each_pair():
        source, target = raws
        if source is None or target is None:  # one file has ended
            ends = [number - 1 + (raw is not None) for raw in raws]
            break
        if report.lines == most:
            break
        report.lines += 1
        read += len(source) + len(target)
        if report.lines % TICK == 0:
            tick(report.lines, read)
        is_sampled = most is None or number <= QUICK or number // 500 % QUICK_SHARE == 0
        checks.add(number, source, target, is_compared=is_sampled)
    checks.finish(valid)
    if ends:
        longer = int(ends[1] > ends[0])
        ends[longer] = sum(1 for _ in raw_lines(files.paths[longer]))
        places = [stretch.first for stretch in checks.shifts.found]
        where = f"the shift probably starts near line {places[0]}" if places else "no shift was found before the end"
        line = places[0] if places else min(ends) + 1
        report.note("unequal", files.paths[longer], line, f"{counted(ends[0], 'lines')} against {ends[1]}; {where}")
    if most is None:
        report.stop_for(lambda: verify_pairs(files))
    return report


def text_pieces(files: TextFiles, path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a file, or the texts of its rows, with their numbers; what cannot be read is for training to say."""
    if path not in files.tables:
        yield from raw_pieces(path)
        return
    with suppress(CorpusError):
        yield from ((number, text.encode()) for number, text in files.rows(path))


def check_text(
    files: TextFiles | list[Path], held_out: frozenset[int] = frozenset(), tick: Tick = lambda lines, read: None,
    most: int | None = None,
) -> Report:  # fmt: skip
    """Files of running text, or of stories. Lines that repeat are in their nature: only whole files are compared."""
    files = files if isinstance(files, TextFiles) else TextFiles(tuple(files))
    paths = list(files.paths)
    is_stories = look_like_stories(paths)
    report = Report([path.name for path in paths], "stories" if is_stories else "text")
    shared: set[int] = set()
    read = 0
    for path in paths:
        side = Side(report, path)
        last = 0
        for number, raw in text_pieces(files, path):
            if number != last:
                if report.lines == most:
                    break
                report.lines += 1
            last = number
            read += len(raw)
            if report.lines % TICK == 0:
                tick(report.lines, read)
            text = side.add(number, raw, is_sentence=False)
            if held_out and not is_stories and len(text) >= LONG_ENOUGH and hash(text) in held_out:
                if hash(text) not in shared and 10 * len(shared) >= len(held_out):
                    report.note("overlap", path, number, text)
                shared.add(hash(text))
        side.finish()
    _note_same_files(report, paths)
    if most is None:
        verify = (lambda: verify_stories(paths)) if is_stories else (lambda: verify_documents(files))
        report.stop_for(verify)
    return report


class _PairChecks:
    """Checks of pairs: of each by itself, and of many together."""

    def __init__(self, report: Report, files: PairFiles, held_out: frozenset[int]) -> None:
        from regard.text.shifts import ShiftFinder  # numpy takes its time to import

        self.report, self.files, self.held_out = report, files, held_out
        self.sides: tuple[Side, ...] = ()
        self._starts: list[tuple[int, Path]] = []  # how many lines there are before each file of a folder
        self.shifts = ShiftFinder()
        self._known = Duplicates()
        self._lengths = [0, 0]
        self._waiting: list[tuple[str, int, int, str]] = []  # notes on sides until shifts are known
        self._pairs: list[tuple[int, str, str]] = []
        self._words: tuple[Counter[str], Counter[str]] = Counter(), Counter()

    def each_pair(self) -> Iterator[tuple[int, Raws]]:
        """Both sides of each line, as `raw_pairs` has them; those of a folder are numbered on from file to file."""
        last = 0
        for path in self.files.parts or (self.files.source,):
            before = last
            self._starts.append((before, path))
            self._finish_sides()
            self.sides = Side(self.report, path), Side(self.report, self.files.target or path)
            one = replace(self.files, source=path, parts=())
            for number, raws in raw_pairs(one, partial(self._note_line, path)):
                last = before + number
                yield last, raws

    def _note_line(self, path: Path, kind: str, line: int, shown: str) -> None:
        self.report.note(kind, path, line, shown)

    def _place(self, side: int, number: int) -> tuple[Path, int]:
        """The file of one side of a pair, and its line there."""
        if self.files.target:
            return (self.files.source, self.files.target)[side], number
        before, path = self._starts[bisect_left(self._starts, number, key=lambda start: start[0]) - 1]
        return path, number - before

    def _note(self, kind: str, side: int, number: int, shown: str, count: int = 1) -> None:
        path, line = self._place(side, number)
        self.report.note(kind, path, line, shown, count)

    def add(self, number: int, *raws: bytes, is_compared: bool) -> None:
        """One pair."""
        line = self._place(0, number)[1]
        source, target = (side.add(line, raw, is_sentence=True) for side, raw in zip(self.sides, raws, strict=True))
        if not source.strip() or not target.strip():
            self._note("empty", bool(source.strip()), number, source or target)
            return
        shown = f"{source[:76]} ||| {target[:76]}"
        if self.report.shape == "tsv" and any('""' in one[1:-1] and QUOTED.fullmatch(one) for one in (source, target)):
            self._note("quoted", 0, number, shown)
        if source == target:
            self._waiting.append(("copy", 0, number, source))
        if self._is_odd(len(source), len(target)):
            self._waiting.append(("ratio", 0, number, shown))
        if count := self._known.add(f"{source}\t{target}"):
            self._note("repeated", 0, number, shown, count)
        if self.held_out and hash(source) in self.held_out:
            self._note("overlap", 0, number, source)
        if is_compared:
            self._pairs.append((number, source, target))
            self._compare(whole=False)

    def _finish_sides(self) -> None:
        for side in self.sides:
            side.finish()

    def finish(self, valid: PairFiles | None) -> None:
        """Checks that need many pairs."""
        self._compare(whole=True)
        if "repeated" in self.report.findings:
            self.report.findings["repeated"].is_estimate = self._known.one_in > 1
        self._finish_sides()
        for stretch in self.shifts.found:
            target = self.files.target
            if stretch.shift is None:
                where = "they fit neither here nor within 20 lines"
            else:
                way = "further down" if stretch.shift > 0 else "further up"
                where = f"translations are {counted(abs(stretch.shift), 'lines')} {way}" + (
                    f" in {target.name}" if target else ""
                )
            path, line = self._place(0, stretch.first)
            end, last = self._place(0, stretch.last)
            until = last if end == path else f"{last} of {self.report.name_of(end)}"
            shown = f"lines {line} to {until}, {counted(stretch.count, 'pairs')}: {where}"
            self.report.note("shift", path, line, shown, stretch.count)
        self._check_names()
        if valid:
            self._check_direction(valid)

    def _compare(self, *, whole: bool) -> None:
        from regard.text.shifts import BLOCK

        if not whole and len(self._pairs) < 2 * BLOCK:
            return
        pairs = self._pairs if whole else self._pairs[:BLOCK]
        sides = [source for _, source, _ in pairs], [target for _, _, target in pairs]
        self.shifts.add([number for number, _, _ in pairs], *sides)
        words = list(map(words_of, sides[0])), list(map(words_of, sides[1]))
        counts = count_words(words[0]), count_words(words[1])
        for place, side, kind in find_foreign(sides, words, counts):
            self._waiting.append((kind, side, pairs[place][0], sides[side][place]))
        self._note_waiting(None if whole else pairs[-1][0])
        self._words = self._words if self._words[0] else counts
        del self._pairs[: len(pairs)]

    def _note_waiting(self, last: int | None) -> None:
        """Notes what was seen up to a line, but not what only a shift brings about."""
        for kind, side, number, shown in self._waiting:
            stretch = next((one for one in self.shifts.found if one.first <= number <= one.last), None)
            is_of_shift = stretch is not None and (kind == "ratio" or stretch.shift is not None)
            if not is_of_shift and (last is None or number <= last):
                self._note(kind, side, number, shown)
        self._waiting = [one for one in self._waiting if last is not None and one[2] > last]

    def _is_odd(self, mine: int, theirs: int) -> bool:
        """Whether one side is more than three times as long as usual, and more than a few words."""
        self._lengths[0] += mine
        self._lengths[1] += theirs
        expected = mine * self._lengths[1] / self._lengths[0]
        return max(mine, theirs) > 40 and (theirs > 3 * expected + 20 or expected > 3 * theirs + 20)

    def _check_names(self) -> None:
        """Whether files are in the languages that their names, or the keys, say."""
        if min(words.total() for words in self._words) < 1000:
            return
        names = [(name or "").lower().replace("_", "-").split("-")[0] for name in guess_languages(self.files)]
        named = [name if name in FUNCTION_WORDS else None for name in names]
        guessed = [
            guess_language(words, name) if name else None for words, name in zip(self._words, named, strict=True)
        ]
        for side, (name, guess) in enumerate(zip(named, guessed, strict=True)):
            if name and guess and name != guess:
                self._note("exchanged", side, 1, f"by its name or key it is {name}, by its words {guess}")

    def _check_direction(self, valid: PairFiles) -> None:
        """Whether pairs to validate on are the same way round."""
        lines: tuple[list[set[str]], list[set[str]]] = [], []
        for number, raws in raw_pairs(valid, lambda *line: None):
            if None in raws or number > 2000:
                break
            for side, raw in zip(lines, raws, strict=True):
                side.append(words_of((raw or b"").decode(errors="replace")))
        theirs = [count_words(side) for side in lines]
        same = sum(likeness(mine, their) for mine, their in zip(self._words, theirs, strict=True))
        other = sum(likeness(mine, their) for mine, their in zip(self._words, theirs[::-1], strict=True))
        if other > 1.5 * same and other > 0.3:
            self.report.note("exchanged", valid.source, 1, "its sides are the other way round than those to train on")


def _note_header(report: Report, files: PairFiles, path: Path) -> None:
    with suppress(CorpusError):
        table = open_rows(path, files.wanted) if not files.target else None
        if table and (table.header or table.may_be_header):
            kind = "header" if table.header else "likely header"
            report.note(kind, path, 1, table.header or table.may_be_header or "")


def _note_same_files(report: Report, paths: list[Path]) -> None:
    """Files of one size are compared by their hashes."""
    sizes = Counter(path.stat().st_size for path in paths)
    known: dict[str, Path] = {}
    for path in paths:
        if sizes[path.stat().st_size] > 1 and path.stat().st_size:
            first = known.setdefault(hash_file(path), path)
            if first is not path:
                report.note("same file", path, 1, f"the same as {first}")


def hashes_of(paths: list[Path], like: PairFiles | None = None) -> frozenset[int]:
    """The lines of text to validate or test on; of pairs in one file, their sources; of running text, long lines."""
    found = set()
    for path in paths:
        if like and find_kind(path):
            pairs = PairFiles(path, None, like.columns, like.keys)
            raws = (raw[0] or b"" for _, raw in raw_pairs(pairs, lambda *line: None))
        else:
            raws = (raw for _, raw in raw_pieces(path))
        for raw in raws:
            text = raw.removesuffix(b"\n").removesuffix(b"\r").removeprefix(UTF8_MARK).decode(errors="replace")
            if text.strip() and (like or len(text) >= LONG_ENOUGH):
                found.add(hash(text))
    return frozenset(found)
