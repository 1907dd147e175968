"""Several trainings, one after another, that share the time of one: what each may take, and what is kept of that.

The record is the run.json of the folder they share. What a stage that is over was given stays as it was, so that what
follows from it does: more time is for the last.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.config import Settings
from regard.errors import RunError
from regard.files import read_regular
from regard.training.prepare import EVENING, FORMAT, PATIENCE
from regard.training.record import MOST_RECORD_BYTES, RECORD, STAGES, OwnedRun, clear, write_record

LEAST = 0.05  # of all the time, that a stage gets


@dataclass(frozen=True)
class Stage:
    """One of several stages begins: an event before its own."""

    name: str
    number: int
    count: int
    minutes: float | None = None  # that it may take, if there is a limit
    note: str | None = None  # what was found before it


class StageRecord:
    """What was decided for each stage, and how long it took."""

    def __init__(self, run: OwnedRun, option: str, fresh: bool) -> None:
        """option: what makes several stages of a training."""
        self._run = run
        before = None if fresh else _read(run.path, option)
        self._kept: dict[str, Any] = before or {"text": None, "stops": {}, "seconds": {}, "verdicts": {}}
        self._replaces = fresh

    def save(self) -> None:
        """Writes it; only now, when new stages can begin, an earlier run is removed."""
        self._run.check()
        if self._replaces:
            clear(self._run.path)
            self._replaces = False
        write_record(self._run.path, {"format": FORMAT, STAGES: self._kept})

    @property
    def text(self) -> dict[str, Any] | None:
        """What the stages are made of, as it was first found."""
        return self._kept["text"]

    def keep_text(self, about: dict[str, Any]) -> None:
        """The text was read."""
        self._kept["text"] = about
        self.save()

    def add_seconds(self, name: str, seconds: float) -> None:
        """A stage took so long, in this session or in all."""
        self._kept["seconds"][name] = seconds
        self.save()

    def note_end(self, name: str, wanted: Settings, seconds: float) -> None:
        """A training with these settings is over."""
        self._kept["stops"][name]["over"] = json.loads(json.dumps(wanted))
        self.add_seconds(name, seconds)

    def is_over(self, name: str, wanted: Settings) -> bool:
        """Whether a training with these settings is over, so that it need not be opened again."""
        return bool(self._kept["stops"][name].get("over") == json.loads(json.dumps(wanted)))

    def seconds(self, name: str) -> float:
        """That a stage took, up to now."""
        return float(self._kept["seconds"].get(name, 0.0))

    @property
    def all_seconds(self) -> float:
        """Of all stages."""
        return float(sum(self._kept["seconds"].values()))

    def keep_verdict(self, name: str, verdict: dict[str, Any]) -> None:
        """What came of a stage."""
        self._kept["verdicts"][name] = verdict
        self.save()

    @property
    def verdicts(self) -> dict[str, dict[str, Any]]:
        """What came of the stages that were compared."""
        return dict(self._kept["verdicts"])

    def stop(self, name: str, wanted: Settings, shares: Sequence[tuple[str, float]]) -> Settings:
        """When a stage ends, as `stop` of its settings. shares: this stage and those after it, by how much time each
        should have of what is left. Updates and epochs that were asked for are those of each stage.
        """
        asked, known = dict(wanted.get("stop") or {}), self._kept["stops"].get(name)
        if known and (known["asked"] == asked or (name in self._kept["seconds"] and len(shares) > 1)):
            return dict(known["stop"])
        total, stop = minutes_of(wanted), dict(asked)
        if total:
            left = total - (self.all_seconds - self.seconds(name)) / 60
            share = left * shares[0][1] / sum(weight for _, weight in shares)
            stop["minutes"] = round(max(share, LEAST * total), 3)
            if len(shares) > 1 or not asked:  # what one stage does not need is for the next
                stop.setdefault("patience", PATIENCE)
        self._kept["stops"][name] = {"asked": asked, "stop": stop}
        self.save()
        return stop


def minutes_of(wanted: Settings) -> float | None:
    """That all stages may take together, if there is a limit: as it was asked for, else that of any training."""
    asked = wanted.get("stop") or {}
    return asked.get("minutes") or (None if asked or wanted.get("size") else EVENING)


def _read(run: Path, option: str) -> dict[str, Any] | None:
    try:
        record = json.loads(read_regular(run / RECORD, MOST_RECORD_BYTES))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as problem:
        raise RunError(f"{run / RECORD} cannot be read ({problem}); add --fresh to start over, or train to another "
                       f"folder") from None  # fmt: skip
    kept = record.get(STAGES) if isinstance(record, dict) else None
    if kept is None:
        raise RunError(f"{run.parent} was trained without {option}; add --fresh to start over, or train to another "
                       f"folder")  # fmt: skip
    names = {"text", "stops", "seconds", "verdicts"}
    if record.get("format") != FORMAT or not isinstance(kept, dict) or kept.keys() != names:
        raise RunError(f"{run / RECORD} was changed, or written by another version of regard; add --fresh to start "
                       f"over, or train to another folder")  # fmt: skip
    return kept
