"""The score to expect of a run at a later update, as an 80 % interval: from its validations so far and runs on record.

From one update to a later one a score gains the more, the more its last doubling of the updates has gained, the lower
it is and the further they lie apart; what each doubling adds becomes less. The constants are fitted to recorded runs by
bench/forecast.py, which also prints how often the truth is inside for a run that was left out.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

FIRST = 256  # updates; before them a score says little of what will come
SHARE = 0.25  # of a run that is observed before its end is forecast
DECAY = 0.6  # of what a doubling of the updates adds
FEWEST = 14_500  # examples: half of the fewest on record; a model overfits fewer long before such scores
EARLY, FAR = 0.7, 0.5  # how the error grows with fewer updates observed, and with doublings until those forecast

Curve = Sequence[tuple[int, float]]  # updates, and the score after them
Interval = tuple[float, float]


def gain_factors(curve: Curve, step: int) -> tuple[float, float, float]:
    """What the gain until a later update is a weighted sum of."""
    last, score = curve[-1]
    share = 1 - 2 ** (-DECAY * math.log2(step / last))
    return share, share * (score - score_at(curve, last / 2)), share * score


def spread(last: int, step: int) -> float:
    """How large errors are to be expected after so many updates of those at a later one, to a constant."""
    return float((1024 / last) ** EARLY * math.log2(step / last) ** FAR)


def score_at(curve: Curve, step: float) -> float:
    """The score after so many updates, between validations in proportion to the logarithm of the updates."""
    before = next((point for point in reversed(curve) if point[0] <= step), curve[0])
    after = next((point for point in curve if point[0] >= step), curve[-1])
    if after[0] <= before[0]:
        return before[1]
    share = math.log(step / before[0]) / math.log(after[0] / before[0])
    return before[1] + share * (after[1] - before[1])


@dataclass(frozen=True)
class Growth:
    """How a score grows, fitted to runs on record."""

    weights: tuple[float, float, float]  # of the factors above
    error: float  # half of the interval, times the spread
    known: tuple[tuple[int, float, float], ...]  # updates, and between which scores all runs on record were

    def interval(self, curve: Curve, step: int) -> Interval | None:
        """Between which scores a run will be at a later update, in 80 of 100; None where it is too early."""
        if not curve or curve[-1][0] < FIRST or step <= curve[-1][0] or curve[0][0] > curve[-1][0] / 2:
            return None
        factors = gain_factors(curve, step)
        expected = curve[-1][1] + sum(weight * one for weight, one in zip(self.weights, factors, strict=True))
        error = self.error * spread(curve[-1][0], step)
        return max(0.0, expected - error), min(100.0, max(expected, curve[-1][1]) + error)

    def before(self, step: int) -> Interval | None:
        """Between which scores runs on record were after so many updates; None beyond them."""
        if not self.known[0][0] <= step <= 2 * self.known[-1][0]:
            return None
        low, high = ([(at, one[side]) for at, *one in self.known] for side in (0, 1))
        return score_at(low, step), score_at(high, step)


def forecast(name: str, curve: Curve, end: float) -> dict[str, Interval]:
    """What to expect of a score at half of a run, at its end and at double its updates, where a quarter of it is
    over. end: its updates.
    """
    growth = ON_RECORD.get(name)
    if growth is None or not curve or not math.isfinite(end) or curve[-1][0] < SHARE * end:
        return {}
    steps = {"half": round(end / 2), "end": round(end), "double": round(2 * end)}
    found = {when: growth.interval(curve, step) for when, step in steps.items()}
    return {when: one for when, one in found.items() if one is not None}


# By the name of the score. On record are translators of captions and of short sentences, English and German.
ON_RECORD = {
    "bleu": Growth(
        weights=(34.7043, 0.5527, -0.8406),
        error=1.412,
        known=((256, 3.7, 14.4), (512, 12.4, 27.0), (1024, 20.7, 34.6), (2048, 25.7, 38.9), (4096, 31.0, 41.2),
               (8192, 32.4, 41.5)),
    )
}  # fmt: skip
