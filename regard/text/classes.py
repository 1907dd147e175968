"""How well labels were given: accuracy, F1, which was given for which, and how honest probabilities are. No torch."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Labels = tuple[str, ...]
HALF = 0.5  # probability from which on a text has a label, where it may have several
BINS = 15  # of confidence, for the calibration error
MOST_DRAWN = 20  # labels of a table for a terminal


def find_probabilities(logits: NDArray[Any], *, several: bool) -> NDArray[Any]:
    """(texts, C): softmax; where a text may have several labels, each has a probability of its own."""
    if several:
        return 1 / (1 + np.exp(-np.clip(logits, -80, 80)))  # beyond, float32 overflows
    risen = np.exp(logits - logits.max(1, keepdims=True))
    return risen / risen.sum(1, keepdims=True)


def decide(probabilities: NDArray[Any], names: Sequence[str], *, several: bool) -> list[Labels]:
    """Of probabilities (texts, C): the likeliest label of each text; or all that are more likely than not, and one at
    least.
    """
    best: list[Labels] = [(names[number],) for number in probabilities.argmax(1).tolist()]
    if not several:
        return best
    likely = (probabilities >= HALF).tolist()
    found = [tuple(name for name, is_one in zip(names, row, strict=True) if is_one) for row in likely]
    return [row or one for row, one in zip(found, best, strict=True)]


def score_classes(truth: Sequence[Labels], given: Sequence[Labels], names: Sequence[str]) -> dict[str, float]:
    """accuracy: the share of texts with exactly the right labels; macro_f1: the mean F1 of the labels that occur."""
    right, found, there = Counter[str](), Counter[str](), Counter[str]()
    for wanted, got in zip(truth, given, strict=True):
        right.update(set(wanted) & set(got))
        found.update(got)
        there.update(wanted)
    scores = [2 * right[name] / (found[name] + there[name]) for name in {*names, *there} if found[name] + there[name]]
    exact = sum(set(wanted) == set(got) for wanted, got in zip(truth, given, strict=True))
    return {"accuracy": exact / len(truth), "macro_f1": sum(scores) / len(scores)}


def confusion(truth: Sequence[Labels], given: Sequence[Labels]) -> dict[str, dict[str, int]]:
    """Of texts with one label: how often each true label was given as which."""
    counts: dict[str, dict[str, int]] = {}
    for wanted, got in zip(truth, given, strict=True):
        if len(wanted) == len(got) == 1:
            row = counts.setdefault(wanted[0], {})
            row[got[0]] = row.get(got[0], 0) + 1
    return {name: dict(sorted(row.items())) for name, row in sorted(counts.items())}


def calibration_error(probabilities: Sequence[float], is_right: Sequence[bool]) -> float:
    """Expected calibration error: the mean gap between confidence and accuracy over bins of equal width."""
    bins: list[list[tuple[float, bool]]] = [[] for _ in range(BINS)]
    for probability, right in zip(probabilities, is_right, strict=True):
        bins[min(BINS - 1, int(probability * BINS))].append((probability, right))
    gaps = [abs(sum(p for p, _ in one) - sum(right for _, right in one)) for one in bins]
    return sum(gaps) / len(probabilities)


def paired_test(mine: Sequence[bool], theirs: Sequence[bool]) -> dict[str, Any]:
    """McNemar's exact test of two classifiers on the same texts: who alone was right how often, and the p-value."""
    pairs = Counter(zip(mine, theirs, strict=True))
    only_mine, only_theirs = pairs[True, False], pairs[False, True]
    total, less = only_mine + only_theirs, min(only_mine, only_theirs)
    tail = sum(math.comb(total, k) for k in range(less + 1)) / 2**total if total < 1000 else _normal_tail(total, less)
    return {"only_this_right": only_mine, "only_other_right": only_theirs, "p_value": min(1.0, 2 * tail)}


def _normal_tail(total: int, less: int) -> float:
    return 0.5 * math.erfc((total / 2 - less - 0.5) / math.sqrt(total / 2))


def draw_confusion(counts: dict[str, dict[str, int]]) -> str:
    """For a terminal: rows are the true labels, columns the given ones; of many labels, the commonest confusions."""
    names = sorted({*counts, *(name for row in counts.values() for name in row)})
    if len(names) > MOST_DRAWN:
        wrong = [(count, one, other) for one, row in counts.items() for other, count in row.items() if one != other]
        return "\n".join(f"{count}  {one} -> {other}" for count, one, other in sorted(wrong, reverse=True)[:MOST_DRAWN])
    rows = [["", *names], *([one, *(str(counts.get(one, {}).get(other, 0)) for other in names)] for one in names)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(lines)
