"""Finds where line N of one side no longer translates line N of the other: a line lost here, one added there.

Which words translate each other is counted from the pairs themselves, each pair scored by the counts of all others;
words that are equal on both sides (names, numbers) help, and so do lengths. What a score is worth is measured on the
same text: how often pairs have it, and how often lines a little further away. Then the most probable path of shifts
is found (Viterbi). Knows no language. Takes a block of pairs at a time: time is linear, memory bounded.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from itertools import count, pairwise

import numpy as np
from numpy.typing import NDArray

BLOCK = 10_000  # pairs processed together; up to twice as many at the end
FEWEST = 100  # pairs needed
NEAR = 100  # neighbouring lines: a word in more than a quarter of them is no evidence there
SAMPLE = 3000  # pairs by which the first guess of the shift is made
REACH = 20  # largest shift that is named
APART = (-31, 30)  # shifts at which nothing is a translation, one odd and one even: texts may alternate
NO_SPACES = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"  # scripts read by character
WORD = re.compile(f"[{NO_SPACES}]|[^\\W{NO_SPACES}]+")
STEM = 5  # letters of a word that count
LETTERS = 300  # of a line that are read
VOCABULARY, PER_LINE = 1000, 10  # words of a side; of a line, the rarest of these
SMOOTHING = 0.5  # added to seen and expected counts
INFORMATIVE = 2.0  # association (log) with some word of the other side, without which a word is no evidence
COGNATE = 2.0  # added to the count of a word with itself
LEVELS, MOST = 16, 3.0  # bins of scores; log odds that one line adds at most
SWITCH = 12.0  # log odds that a change of shift must earn
WITH_EVIDENCE = 0.02  # share of pairs that must have evidence, for their score to count
CLEAR = 0.8  # share of comparisons with wrong pairs won by true ones: then no other start is tried
RELATED = 0.62  # share of comparisons won, without which the sides have nothing to do with each other
BETTER = 0.03  # by how much the best shift must win more than a quarter of all do: lines that alternate fit at many
SHORTEST = 25  # lines in a row that fit nowhere, to be reported: a few may be free translations
PER_SHIFT = 3  # lines in a row that fit elsewhere, for each by which they are shifted
UNRELATED = REACH + 1  # the shift of lines that fit nowhere

Array = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Stretch:
    """Lines whose translation is elsewhere: `shift` lines further down in the target, or (None) nowhere near."""

    first: int
    last: int
    count: int
    shift: int | None


class ShiftFinder:
    """Takes the pairs of a corpus block by block and finds the stretches of them that do not belong together."""

    def __init__(self) -> None:
        self.found: list[Stretch] = []

    def add(self, lines: list[int], sources: list[str], targets: list[str]) -> None:
        """A block of pairs and the numbers of their lines."""
        shifts = find_shifts(sources, targets)
        for start, end in _runs(shifts):
            if shifts[start] != 0:
                shift = None if shifts[start] == UNRELATED else int(shifts[start])
                self._note(Stretch(lines[start], lines[end - 1], end - start, shift))

    def _note(self, new: Stretch) -> None:
        last = self.found[-1] if self.found else None
        if last and last.shift == new.shift and new.first <= last.last + SHORTEST:  # it began in the block before
            self.found[-1] = Stretch(last.first, new.last, last.count + new.count, new.shift)
        else:
            self.found.append(new)


def find_shifts(sources: list[str], targets: list[str]) -> Ints:
    """(N,) by how many lines the translation of each line is shifted; UNRELATED where it is nowhere near."""
    path = np.zeros(len(sources), np.int64)
    if len(sources) < FEWEST:
        return path
    block = _Block(sources, targets)
    won = block.learn(path)
    if won < CLEAR:
        every = len(path) // SAMPLE + 1
        shares = {shift: block.learn(path + shift, every) for shift in range(-REACH, REACH + 1)}
        best = max(shares, key=lambda shift: (shares[shift], -abs(shift)))
        if shares[best] < max(RELATED, np.quantile([*shares.values()], 0.75) + BETTER):
            return path + UNRELATED if block.is_rich() else path
        path += best
    for _ in range(4):
        block.learn(path)
        before, path = path, _most_probable(block.evidence(path))
        if (path == before).all():
            break
    return _without_noise(path)


class _Block:
    """Pairs of lines as words, and what is known of which words go together."""

    def __init__(self, sources: list[str], targets: list[str]) -> None:
        self.lengths = [np.array([len(line) + 10 for line in lines]) for lines in (sources, targets)]  # (N,) each
        counted = [_count_words(lines) for lines in (sources, targets)]
        mine, theirs = (set(stems) for stems, _, _ in counted)
        (self.source, first), (self.target, second) = (_table(*c, len(sources), mine & theirs) for c in counted)
        places = {stem: place for place, stem in enumerate(second)}
        same = [(place, places[stem]) for place, stem in enumerate(first) if stem in places]
        self.same = tuple(np.array(same, np.int64).reshape(-1, 2).T)
        self.sizes = len(first) + 1, len(second) + 1  # with the filling

    def is_rich(self) -> bool:
        """Whether lines have enough words to decide whether they belong together."""
        sides = zip((self.source, self.target), self.sizes, strict=True)
        return all(np.median((side < size - 1).sum(1)) >= 2 for side, size in sides)

    def learn(self, path: Ints, every: int = 1) -> float:
        """Counts which words go together, and what scores are worth. The share of wrong pairs that true ones beat."""
        rows = np.flatnonzero(path != UNRELATED)[::every]
        rows, others = self._inside(rows, rows + path[rows])
        together = np.zeros(self.sizes[0] * self.sizes[1])
        for part in np.array_split(np.arange(len(rows)), len(rows) // 5000 + 1):
            keys = self.source[rows[part]][:, :, None] * self.sizes[1] + self.target[others[part]][:, None, :]
            together += np.bincount(keys.ravel(), minlength=len(together))
        seen = together.reshape(self.sizes).astype(np.float32)  # (V, W)
        alone = [
            np.bincount(side[lines].ravel(), minlength=size).astype(np.float32)
            for side, lines, size in ((self.source, rows, self.sizes[0]), (self.target, others, self.sizes[1]))
        ]
        expected = np.outer(alone[0], alone[1]) / np.float32(max(1, len(rows))) + np.float32(SMOOTHING)  # (V, W)
        seen[self.same] += COGNATE
        self._tables = [_association(seen - own, expected) for own in (0, 1)]
        self._informative = [
            (self._tables[0].max(axis) > INFORMATIVE).astype(np.float32) for axis in (1, 0)
        ]  # (V,), (W,)
        unrelated = [self._inside(rows, rows + path[rows] + shift) for shift in APART]
        wrong = tuple(np.concatenate(side) for side in zip(*unrelated, strict=True))
        self._ratio = float(np.median(self._log_ratio(rows, others)))
        true_words, wrong_words = self._words(rows, others, own=True), self._words(*wrong)
        self._worth_words = _Worth(true_words, wrong_words)
        self._worth_lengths = _Worth(self._fit(rows, others), self._fit(*wrong))
        return max(_share_won(true_words, wrong_words), _share_won(self._fit(rows, others), self._fit(*wrong)))

    def evidence(self, path: Ints) -> Array:
        """(N, 2 REACH + 2) log odds that a line belongs to the one at each shift; the last column is for none."""
        count = len(path)
        found = np.full((count, 2 * REACH + 2), -1.0, np.float32)  # the default where nothing is compared
        found[:, -1] = 0
        rows, others = self._inside(np.arange(count), np.arange(count) + np.where(path == UNRELATED, 0, path))
        found[rows, others - rows + REACH] = self._odds(rows, others, own=path[rows] != UNRELATED)
        here = np.zeros(count, np.float32)
        here[rows] = found[rows, others - rows + REACH]
        doubtful = np.convolve(here, np.ones(5), "same") < 2
        doubtful |= path == UNRELATED
        wide = np.flatnonzero(np.convolve(doubtful, np.ones(2 * REACH + 21), "same") > 0.5)
        for shift in range(-REACH, REACH + 1):
            rows, others = self._inside(wide, wide + shift)
            found[rows, shift + REACH] = self._odds(rows, others, own=path[rows] == shift)
        return found

    def _odds(self, rows: Ints, others: Ints, own: NDArray[np.bool_]) -> Array:
        words = np.where(own, self._words(rows, others, own=True), self._words(rows, others))
        return self._worth_words(words) + self._worth_lengths(self._fit(rows, others))

    def _words(self, rows: Ints, others: Ints, *, own: bool = False) -> Array:
        """(R,) how well the words of these lines go together, or NaN. own: the pairs were counted, and are not now."""
        found = [np.zeros(0, np.float32)]
        for part in np.array_split(np.arange(len(rows)), len(rows) // 5000 + 1):
            mine, theirs = self.source[rows[part]], self.target[others[part]]  # (R, K) each
            links = self._tables[own][mine[:, :, None], theirs[:, None, :]]  # (R, K, K)
            weights = self._informative[0][mine], self._informative[1][theirs]  # (R, K) each
            total = (links.max(2) * weights[0]).sum(1) + (links.max(1) * weights[1]).sum(1)  # (R,)
            counts = weights[0].sum(1), weights[1].sum(1)  # (R,) each
            total[(counts[0] == 0) | (counts[1] == 0)] = np.nan  # no evidence
            found.append(total / np.sqrt(np.maximum(counts[0] + counts[1], 1)))
        return np.concatenate(found)

    def _fit(self, rows: Ints, others: Ints) -> Array:
        """(R,) how close the lengths are to what is usual."""
        return -np.abs(self._log_ratio(rows, others) - self._ratio)

    def _log_ratio(self, rows: Ints, others: Ints) -> Array:
        return np.log(self.lengths[1][others] / self.lengths[0][rows]).astype(np.float32)

    def _inside(self, rows: Ints, others: Ints) -> tuple[Ints, Ints]:
        is_there = (others >= 0) & (others < len(self.target))
        return rows[is_there], others[is_there]


class _Worth:
    """What a score is worth: log odds of true pairs against wrong ones, never less for a higher score."""

    def __init__(self, true: Array, wrong: Array) -> None:
        true, wrong = true[~np.isnan(true)], wrong[~np.isnan(wrong)]
        self.edges = np.quantile(np.concatenate([true, wrong, [0]]), np.arange(1, LEVELS) / LEVELS)
        shares = [
            (np.bincount(np.searchsorted(self.edges, side), minlength=LEVELS) + 1) / (len(side) + LEVELS)
            for side in (true, wrong)
        ]
        odds = np.log(shares[0] / shares[1])
        rising = (np.maximum.accumulate(odds) + np.minimum.accumulate(odds[::-1])[::-1]) / 2
        self.odds = np.clip(rising, -MOST, MOST).astype(np.float32)

    def __call__(self, scores: Array) -> Array:
        return np.where(np.isnan(scores), 0, self.odds[np.searchsorted(self.edges, scores) % LEVELS])


def _count_words(lines: list[str]) -> tuple[list[str], Ints, Ints]:
    """Beginnings of words; and, once for each line they are in, the line and the number of the beginning."""
    stems: dict[str, int] = defaultdict(count().__next__)  # numbered as they come
    found = [{word[:STEM]: None for word in WORD.findall(line[:LETTERS].lower())} for line in lines]
    ids = np.fromiter((stems[stem] for line in found for stem in line), np.int64)  # (U,)
    rows = np.repeat(np.arange(len(lines)), [len(line) for line in found])  # (U,)
    return list(stems), rows, ids


def _table(stems: list[str], rows: Ints, ids: Ints, lines: int, shared: set[str]) -> tuple[Ints, list[str]]:
    """(N, PER_LINE) words of each line by number, filled up with the number after the last; and the words."""
    parts = rows // NEAR * len(stems) + ids  # (U,) the word among lines that stand together
    is_rare = np.bincount(parts)[parts] <= NEAR // 4 if len(parts) else np.zeros(0, bool)
    rows, ids = rows[is_rare], ids[is_rare]
    counts = np.bincount(ids, minlength=len(stems))  # (V,) lines that have it
    is_shared = np.array([stem in shared for stem in stems], bool)
    used = np.flatnonzero((counts >= 3) | (is_shared & (counts > 0)))
    used = used[np.argsort(-counts[used], kind="stable")][:VOCABULARY]
    number = np.full(len(stems), -1)
    number[used] = np.arange(len(used))
    ids = number[ids]
    rows, ids = rows[ids >= 0], ids[ids >= 0]
    order = np.lexsort((-ids, rows))  # the rarest of each line first
    rows, ids = rows[order], ids[order]
    places = np.arange(len(rows)) - np.searchsorted(rows, rows)
    is_kept = places < PER_LINE
    table = np.full((lines, PER_LINE), len(used))
    table[rows[is_kept], places[is_kept]] = ids[is_kept]
    return table, [stems[place] for place in used]


def _association(seen: Array, expected: Array) -> Array:
    """(V, W) log of how much more often words occur together than by chance, at least -1; -1 for the filling."""
    found = np.log(np.maximum(seen + SMOOTHING, 1e-3) / expected)
    found[-1], found[:, -1] = -1, -1
    return np.maximum(found, -1)


def _share_won(true: Array, wrong: Array) -> float:
    """How often a true pair scores higher than a wrong one (area under the ROC curve). A few pairs prove nothing."""
    counts = len(true), len(wrong)
    true, wrong = true[~np.isnan(true)], np.sort(wrong[~np.isnan(wrong)])
    if len(true) <= WITH_EVIDENCE * counts[0] or len(wrong) <= WITH_EVIDENCE * counts[1]:
        return 0.5
    places = np.searchsorted(wrong, true, "left") + np.searchsorted(wrong, true, "right")
    return float(places.mean() / 2 / len(wrong))


def _most_probable(evidence: Array) -> Ints:
    """(N,) the path of shifts with the most evidence, each change of shift at a cost."""
    count, states = evidence.shape
    jumped = np.zeros((count, states), bool)
    origin = np.zeros(count, np.int64)
    total = np.full(states, -SWITCH, np.float32)
    total[REACH] = 0
    for line in range(count):
        origin[line] = total.argmax()
        jumped[line] = total < total[origin[line]] - SWITCH
        total = np.maximum(total, total[origin[line]] - SWITCH) + evidence[line]
    path = np.zeros(count, np.int64)
    state = int(total.argmax())
    for line in range(count - 1, -1, -1):
        path[line] = state
        if jumped[line, state]:
            state = int(origin[line])
    return path - REACH


def _without_noise(path: Ints) -> Ints:
    """A few lines that fit nowhere are no shift; nor are a few that fit far away while those on both sides are where
    they belong: sorted text has blocks of lines that begin alike. (Of blocks that changed places, one follows another.)
    """
    for start, end in _runs(path):
        before = path[start - 1] if start else 0
        if path[start] == UNRELATED:
            is_noise = end - start < SHORTEST
        else:
            is_between = end < len(path) and path[end] == before
            is_noise = is_between and end - start < PER_SHIFT * abs(path[start] - before)
        if is_noise:
            path[start:end] = before
    return path


def _runs(path: Ints) -> list[tuple[int, int]]:
    """Runs of equal values: the first place, and the one after the last."""
    bounds = [0, *(np.flatnonzero(np.diff(path)) + 1).tolist(), len(path)]
    return [(start, end) for start, end in pairwise(bounds) if start < end]
