"""The logs of a run, one JSON object a line: metrics (metrics.jsonl), and outputs and attention of a few held-out
examples (snapshots.jsonl)."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from itertools import islice, takewhile, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.files import append_line, open_regular, read_regular, write_whole

if TYPE_CHECKING:
    from regard.training.loop import Progress

METRICS, SNAPSHOTS = "metrics.jsonl", "snapshots.jsonl"
LAST_STEP = 2**53  # beyond, a page would count otherwise
MOST_BYTES = 2**30  # a larger file is not one of ours
MOST_TAIL_BYTES = 2**23  # read from the end of a log that is followed
BLOCK = 2**16  # bytes read at a time, at least
MOST_POINTS, MOST_MOMENTS = 300, 24  # of a curve, and snapshots, that a page holds


class MetricsLog:
    """The two logs of a run; on resume, entries after the checkpoint are removed, and written again."""

    def __init__(self, run: Path) -> None:
        self._metrics, self._snapshots = run / METRICS, run / SNAPSHOTS
        self._recent: list[Progress] = []

    def resume_from(self, step: int) -> None:
        """Forgets what was written of later steps, and lines that a crash cut short."""
        for path in (self._metrics, self._snapshots):
            if path.exists():
                kept = [line for line, entry in read_entries(path) if entry["step"] <= step]
                write_whole(path, "".join(f"{line}\n" for line in kept))

    def note(self, entry: dict[str, Any]) -> None:
        """Writes numbers of a moment."""
        _append(self._metrics, entry)

    def note_step(self, event: Progress, seconds: float, every: int) -> None:
        """Writes a line for so many steps: their mean loss and their speed."""
        self._recent.append(event)
        if event.step % every:
            return
        steps, self._recent = self._recent, []
        tokens, spent = sum(one.tokens for one in steps), sum(one.seconds for one in steps)
        good = [one.loss for one in steps if not one.is_skipped]
        mean, skipped = sum(good) / len(good) if good else None, len(steps) - len(good)
        entry = {"step": event.step, "seconds": round(seconds, 3), "loss": mean, "learning_rate": event.learning_rate,
                 "tokens_per_second": round(tokens / spent, 1)}  # fmt: skip
        self.note(entry | ({"skipped": skipped} if skipped else {}))

    def note_snapshot(self, step: int, samples: list[tuple[str, ...]], probes: list[dict[str, Any]]) -> None:
        """Writes the outputs of the samples, and the attention of the probes."""
        _append(self._snapshots, {"step": step, "samples": samples, "probes": probes})


def read_entries(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """The lines of such a file that are whole, and what they say."""
    lines = read_regular(path, MOST_BYTES).split(b"\n")
    return [(line.decode(), entry) for line in lines if (entry := _parse(line))]


def read_history(run: Path) -> dict[str, Any] | None:
    """Of a run, what a page shows: metrics and snapshots, early ones closer together; None where there are none."""
    try:
        logged, taken = ([entry for _, entry in read_entries(run / name)] for name in (METRICS, SNAPSHOTS))
    except OSError:
        return None  # a run may be deleted
    kinds = ([entry for entry in logged if ("learning_rate" in entry) is is_step] for is_step in (True, False))
    events = sorted([one for kind in kinds for one in _thin(kind, MOST_POINTS)], key=lambda entry: int(entry["step"]))
    return {"events": events, "snapshots": _thin(taken, MOST_MOMENTS)} if taken else None


def read_example(run: Path) -> dict[str, str]:
    """A held-out example for a page to begin with: `text`, and of a story `story`; empty where the run has none."""
    try:
        taken = read_after(run / SNAPSHOTS, -1, 1)
        for sample, probe in zip_longest(taken[0]["samples"], taken[0]["probes"]):
            if sample and sample[0]:
                is_story = probe is not None and probe["rows"][0].startswith("hop ")
                return {"text": str(sample[0])} | ({"story": "\n".join(probe["columns"])} if is_story else {})
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        pass  # there is no run, or it is none of ours
    return {}


def _thin(entries: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """At most so many, evenly over the logarithm of the step; the first and the last are among them."""
    if len(entries) <= most:
        return entries
    whole, kept = math.log1p(max(1, entries[-1]["step"])), dict[int, dict[str, Any]]()
    for entry in entries:
        kept.setdefault(int((most - 1) * math.log1p(entry["step"]) / whole), entry)
    return list(kept.values())


def read_after(path: Path, step: int, most: int, most_bytes: int = MOST_TAIL_BYTES) -> list[dict[str, Any]]:
    """The newest entries of later steps, at most so many; no more than the last `most_bytes` of the file are read."""
    entries = filter(None, map(_parse, _newest_lines(path, most_bytes)))
    return list(islice(takewhile(lambda entry: entry["step"] > step, entries), most))[::-1]


def read_both_ends(path: Path, most: int, most_bytes: int = MOST_TAIL_BYTES) -> list[dict[str, Any]]:
    """The newest entries, as of `read_after`, and before them those at the beginning of the file, in a quarter of so
    many bytes: the first steps of a long training."""
    newest = read_after(path, -1, most, most_bytes)
    with open_regular(path) as file:
        first = filter(None, map(_parse, file.read(most_bytes // 4).split(b"\n")))
        return [*takewhile(lambda entry: not newest or entry["step"] < newest[0]["step"], first), *newest]


def _newest_lines(path: Path, most: int) -> Iterator[bytes]:
    """The last lines of a file, the newest first, read from the end block by block."""
    with open_regular(path) as file:
        end, begun = os.fstat(file.fileno()).st_size, b""
        least = max(0, end - most)
        while end > least:
            start = max(least, end - max(BLOCK, len(begun)))  # a line of many blocks is not copied for each of them
            file.seek(start)
            begun, *lines = (file.read(end - start) + begun).split(b"\n")
            yield from reversed(lines)
            end = start
        if least == 0:
            yield begun


def _parse(line: bytes) -> dict[str, Any] | None:
    """What a line says, if it is whole: it may have been cut short by a crash, is being written, or is a stranger's."""
    try:
        entry = json.loads(line.decode(), parse_float=_finite, parse_constant=lambda _: None)
        if b"\\u" in line:
            json.dumps(entry, ensure_ascii=False).encode()  # half a character cannot be written anywhere
    except (ValueError, RecursionError):
        return None
    step = entry.get("step") if isinstance(entry, dict) else None
    return entry if type(step) is int and 0 <= step < LAST_STEP else None


def _finite(number: str) -> float | None:
    return value if math.isfinite(value := float(number)) else None


def _append(path: Path, entry: dict[str, Any]) -> None:
    append_line(path, json.dumps(entry))
