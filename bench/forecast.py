"""Forecasts of scores, fitted to recorded curves and tested on each without it. Trains nothing.

Goals: over at least twelve runs on several texts, the truth at the end inside the 80 % interval in nine or more after a
quarter of the run, and the median interval at most 4 BLEU wide. --fit prints the constants of training/forecast.py.
More runs may be given as files of metrics (metrics.jsonl).
"""

import json
import statistics
import sys
from pathlib import Path
from typing import Any

import numpy as np
from measure import arguments, record

from regard.training.forecast import FIRST, ON_RECORD, SHARE, Curve, Growth, gain_factors, score_at, spread

RESULTS = Path(__file__).parent / "results" / "quality.json"
NOT_FRESH = ("lowercased en-de further", "lowercased en-de paper further", "lowercased en-de r-drop")
SAME = "ten minutes en-de"  # the first ten minutes of "default en-de", with two workers
COVER = 0.8


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("metrics", type=Path, nargs="*", help="metrics.jsonl of further runs")
    parser.add_argument("--fit", action="store_true", help="print the constants, fitted to all runs")
    given = parser.parse_args()
    runs = recorded() | {str(path): read_metrics(path) for path in given.metrics}
    if given.fit:
        print(fit(list(runs.values())))
        return
    rows = {name: leave_out(name, runs) for name in runs}
    of_others = {}
    for name in runs:
        others = {one: other for one, other in runs.items() if one == name or text_of(one) != text_of(name)}
        of_others[name] = leave_out(name, others)
    for name, found in rows.items():
        print(f"{name[:52]:52}", *(f"{when}: {text(one)}" for when, one in found.items()), sep="  ")
    whens = ("half", "end", "double", "before")
    found = {when: add_up(rows, when) for when in whens}
    found["from_other_texts"] = {when: add_up(of_others, when) for when in whens}
    record("forecast", {"runs": len(runs), **found, "table": rows, "constants": vars(ON_RECORD["bleu"])}, given.json)


def recorded() -> dict[str, Curve]:
    """Curves of runs with fresh weights, each once."""
    runs: dict[str, Curve] = {}
    for name, found in json.loads(RESULTS.read_text(encoding="utf-8")).items():
        if name == SAME or name.removesuffix(", stopped early") in NOT_FRESH:
            continue
        if "curve" in found:
            runs[name] = [(one["step"], one["valid_bleu"]) for one in found["curve"]]
        elif "curve_minutes_step_valid_bleu" in found:
            runs[name] = [(step, bleu) for _, step, bleu in found["curve_minutes_step_valid_bleu"]]
        elif "curve_step_valid_bleu_valid_loss" in found:
            runs[name] = [(step, bleu) for step, bleu, _ in found["curve_step_valid_bleu_valid_loss"]]
    return runs


def text_of(name: str) -> str:
    """Which text a recorded run is on; raw and lowercased captions are one."""
    return next((text for text in ("all tatoeba", "tatoeba", "de-en") if text in name), "en-de")


def read_metrics(path: Path) -> Curve:
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [(one["step"], one["bleu"]) for one in lines if "bleu" in one]


def tasks(curve: Curve) -> list[tuple[Curve, int, float]]:
    """What could have been forecast in the course of a run: of which beginning, for when, and the truth."""
    return [
        (curve[: number + 1], step, score)
        for number, (last, _) in enumerate(curve)
        if last >= FIRST
        for step, score in curve[number + 1 :]
        if step >= 1.4 * last
    ]


def solve(curves: list[Curve]) -> tuple[float, float, float]:
    """Least squares, in which every run counts alike and errors count less where larger ones are to be expected."""
    rows, gains, weights = [], [], []
    for curve in curves:
        found = tasks(curve)
        for seen, step, score in found:
            rows.append(gain_factors(seen, step))
            gains.append(score - seen[-1][1])
            weights.append(1 / len(found) / spread(seen[-1][0], step) ** 2)
    x, y, w = np.array(rows), np.array(gains), np.array(weights)
    a, b, c = np.linalg.solve(x.T @ (x * w[:, None]), x.T @ (y * w)).tolist()
    return a, b, c


def fit(curves: list[Curve]) -> Growth:
    """Weights of all curves; the error is that of forecasts of each without it, which 80 % stay below."""
    errors = []
    for number, curve in enumerate(curves):
        weights = solve(curves[:number] + curves[number + 1 :])
        found = tasks(curve)
        for seen, step, score in found:
            expected = seen[-1][1] + float(np.dot(weights, gain_factors(seen, step)))
            errors.append((abs(score - expected) / spread(seen[-1][0], step), 1 / len(found)))
    errors.sort()
    shares = np.cumsum([share for _, share in errors])
    error = float(np.interp(COVER, shares / shares[-1], [one for one, _ in errors]))
    known = []
    for step in (256, 512, 1024, 2048, 4096, 8192):
        scores = [score_at(curve, step) for curve in curves if 0.85 * step <= curve[-1][0]]
        known.append((step, round(min(scores), 1), round(max(scores), 1)))
    return Growth(tuple(round(one, 4) for one in solve(curves)), round(error, 3), tuple(known))


def leave_out(name: str, runs: dict[str, Curve]) -> dict[str, list[Any]]:
    """Forecasts of a run after a quarter of it, of its half and end, and of its end as double the time; before it, of
    its end. Interval and truth.
    """
    curve = runs[name]
    growth, end = fit([other for one, other in runs.items() if one != name]), curve[-1][0]
    found: dict[str, list[Any]] = {}
    for when, share, step in (("half", SHARE, end // 2), ("end", SHARE, end), ("double", SHARE / 2, end)):
        seen = [point for point in curve if point[0] <= share * end]
        if interval := growth.interval(seen, step):
            found[when] = [*(round(one, 1) for one in interval), round(score_at(curve, step), 1)]
    if interval := growth.before(end):
        found["before"] = [*interval, curve[-1][1]]
    return found


def add_up(rows: dict[str, dict[str, list[Any]]], when: str) -> dict[str, Any]:
    found = [row[when] for row in rows.values() if when in row]
    inside = sum(low <= truth <= high for low, high, truth in found)
    return {"runs": len(found), "inside": inside,
            "median_width": round(statistics.median(high - low for low, high, _ in found), 2)}  # fmt: skip


def text(one: list[Any]) -> str:
    low, high, truth = one
    return f"{low:.1f} to {high:.1f}, was {truth:.1f}{'' if low <= truth <= high else ' (!)'}"


if __name__ == "__main__":
    sys.exit(main())
