"""Text in one language: a translator with back-translations against one of the pairs alone, at equal minutes in all.

Both are trained into folders under --to, so that an interrupted bench resumes; with --session it ends by itself after
so many seconds, to be run again until the results are there. The minutes of the first are of all its stages. Goals
(Multi30k, en-de): 5,000 pairs and 50,000 captions, at least 3 BLEU more than the pairs alone; all pairs and captions,
lowercased and tokenised, at least 42.5 in three hours of two cores. Results with the captions are unconstrained.
"""

import gzip
import sys
import time
from itertools import islice
from pathlib import Path
from typing import Any

from measure import arguments, record
from quality import multi30k_files

import regard
from regard.config import Settings
from regard.training.stop import Stopper

PARTS: dict[str, dict[str, Any]] = {
    "5000 pairs": {"direction": "en-de", "pairs": 5000, "lines": 50_000, "minutes": 30, "tokenize": "13a"},
    "lowercased": {"direction": "en-de", "suffix": "lc.tok.", "minutes": 180, "tokenize": "none"},
}
SIDES = ("with back-translations", "pairs alone")
STAGES = 3  # trainings of the first


def main() -> None:
    parser = arguments(__doc__, data=True)
    parser.add_argument("--to", type=Path, required=True, help="keep the models here; an interrupted bench resumes")
    parser.add_argument("--parts", default="5000 pairs", help=f"some of {', '.join(PARTS)}, by commas")
    parser.add_argument("--minutes", type=float, help="of each side in all; else those of the part")
    parser.add_argument(
        "--steps", type=int, help="instead: of each stage, and as many as all of them for the pairs alone"
    )
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--workers", type=int, help="else measured")
    parser.add_argument("--session", type=float, help="end after so many seconds; the same command resumes")
    given = parser.parse_args()
    stopper = Stopper()
    for name in given.parts.split(","):
        try:
            record(name, bench(given, name, PARTS[name], stopper, time.monotonic()), given.json)
        except KeyboardInterrupt:
            sys.exit("not over yet; the same command resumes")


def bench(given: Any, name: str, part: dict[str, Any], stopper: Stopper, began: float) -> dict[str, Any]:
    given.to.mkdir(parents=True, exist_ok=True)
    files, test = multi30k_files(given.data.parent, part)
    captions = given.data / f"captions.{part.get('suffix', '')}de.gz"
    if pairs := part.get("pairs"):
        files |= {side: cut(files[side], given.to, pairs) for side in ("source", "target")}
        captions = cut(captions, given.to, part["lines"])
    found: dict[str, Any] = {}
    for side in SIDES:
        to = given.to / f"{name} {side}".replace(" ", "-")
        text = {"monolingual": captions, "rounds": given.rounds} if side == SIDES[0] else {}
        settings = settings_of(given, part, 1 if text else STAGES)
        for event in regard.training("translate", to=to, settings=settings, stopper=stopper, **files, **text):
            if given.session and time.monotonic() - began > given.session:
                stopper.ask()
            if isinstance(event, regard.Stage | regard.Validated | regard.Finished):
                print(f"{time.monotonic() - began:.0f} s", str(event)[:240], flush=True)
        model = regard.load(to)
        scores = model.evaluate(**test, tokenize=part["tokenize"])
        found[side] = {
            "bleu": round(scores["bleu"], 2),
            "chrf": round(scores["chrf"], 2),
            "signature": scores["signature"],
            "weights": model.info.parameters,
            "minutes": round(event.seconds / 60, 2),
            "text": model.info.monolingual,
        }
    gain = found[SIDES[0]]["bleu"] - found[SIDES[1]]["bleu"]
    limit = {"steps": given.steps} if given.steps else {"minutes": given.minutes or part["minutes"]}
    return {"gain": round(gain, 2), "limit": limit, "rounds": given.rounds, "workers": given.workers} | found


def settings_of(given: Any, part: dict[str, Any], times: int) -> Settings:
    layout: Settings = {"workers": given.workers, "threads": 1} if given.workers else {}
    stop = {"steps": times * given.steps} if given.steps else {"minutes": given.minutes or part["minutes"]}
    return layout | {"stop": stop}


def cut(path: Path, to: Path, count: int) -> Path:
    """The first lines of a file, written once."""
    made = to / f"{path.name.removesuffix('.gz').replace('.', f'.{count}.', 1)}"
    if not made.exists():
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
            made.write_text("".join(islice(file, count)), encoding="utf-8")
    return made


if __name__ == "__main__":
    main()
