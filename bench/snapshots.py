"""What is recorded beside a training, in processor time: snapshots between validations, and scoring what heads do.

Claim: snapshots take at most 1 % of the training, also of one of two minutes; scoring heads takes seconds.
"""

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measure import arguments, record

import regard
from regard.families.translate import recipe
from regard.training.session import Session

SETTINGS = {"threads": 1, "workers": 1}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--minutes", type=float, default=2.0, help="of training, by the clock")
    parser.add_argument("--steps", type=int, help="instead of minutes: on a busy machine, a clock measures others")
    parser.add_argument("--pairs", type=int, default=20_000, help="of the embedded phrasebook")
    parser.add_argument("--to", type=Path, help="keep the model here")
    given = parser.parse_args()
    spent = {"snapshots": 0.0, "heads": 0.0}
    Session._take_snapshot = timed(Session._take_snapshot, spent, "snapshots")  # type: ignore[method-assign]
    recipe.score_pair_heads = timed(recipe.score_pair_heads, spent, "heads")
    stop = {"steps": given.steps, "minutes": None} if given.steps else {"minutes": given.minutes}
    with tempfile.TemporaryDirectory() as folder:
        to = given.to or Path(folder, "model")
        files = write_phrases(Path(folder), given.pairs)
        began = time.process_time()
        regard.train("translate", to=to, settings=SETTINGS | {"stop": stop | {"patience": None}}, **files)
        whole = time.process_time() - began
        lines = (to / "run" / "snapshots.jsonl").read_text().splitlines()
        steps = [json.loads(line)["step"] for line in lines]
    found = {
        "processor_seconds": round(whole, 1),
        "snapshots_percent": round(100 * spent["snapshots"] / whole, 2),
        "snapshot_seconds": round(spent["snapshots"], 2),
        "heads_seconds": round(spent["heads"], 2),
        "at_steps": steps,
        "bytes_per_snapshot": sum(map(len, lines)) // len(lines),
    }
    record("translate", found, given.json)


def timed(work: Callable[..., Any], spent: dict[str, float], name: str) -> Callable[..., Any]:
    """The same, with its processor time added up."""

    def measured(*given: Any) -> Any:
        began = time.process_time()
        try:
            return work(*given)
        finally:
            spent[name] += time.process_time() - began

    return measured


def write_phrases(folder: Path, count: int) -> dict[str, Path]:
    """The embedded phrasebook as two files."""
    phrases = regard.phrasebook("en", "fr", count)
    files = {"source": folder / "train.en", "target": folder / "train.fr"}
    for side, path in files.items():
        path.write_text("".join(getattr(phrase, side) + "\n" for phrase in phrases), encoding="utf-8")
    return files


if __name__ == "__main__":
    main()
