"""How good a translator gets in a given time, default settings, on raw text.

BLEU on the test part with sacrebleu's default signature (13a, cased); peak memory of the training process.
"""

import json
import statistics
import sys
import tempfile
from pathlib import Path

from measure import arguments, peak_memory_mb, report

import regard
from regard.session import Finished
from regard.trainer.loop import Scored


def main() -> None:
    parser = arguments(__doc__, data=True)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--direction", default="en-de")
    parser.add_argument("--to", type=Path, help="keep the model here; an interrupted bench goes on from it")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        to = given.to or Path(temporary) / "model"
        results = bench(given.data, given.direction, given.minutes, to)
    report(results, given.json)


def bench(data: Path, direction: str, minutes: float, to: Path) -> dict[str, object]:
    source, target = direction.split("-")
    for event in regard.training(
        "translate", to=to, settings={"stop": {"minutes": minutes}},
        source=data / f"train.{source}", target=data / f"train.{target}",
        valid_source=data / f"val.{source}", valid_target=data / f"val.{target}",
    ):  # fmt: skip
        if isinstance(event, Scored):
            print(f"step {event.step}: BLEU {event.scores['bleu']:.2f}", flush=True)
        elif isinstance(event, Finished):
            finished = event
    # From the run's own log, so that a bench that was interrupted tells of all its sittings.
    log = [json.loads(line) for line in (to / "run" / "metrics.jsonl").read_text().splitlines()]
    curve = [
        {"minutes": round(entry["seconds"] / 60, 2), "step": entry["step"], "valid_bleu": round(entry["bleu"], 2)}
        for entry in log
        if "bleu" in entry
    ]
    speeds = [entry["tokens_per_second"] for entry in log if "rate" in entry]
    memory = peak_memory_mb()
    model = regard.load(to)
    files = {"source": data / f"test_2016_flickr.{source}", "target": data / f"test_2016_flickr.{target}"}
    greedy, best = (model.evaluate(beam=beam, **files) for beam in (1, 4))
    weights = sum(parameter.numel() for parameter in model.model.parameters())
    return {
        "test_bleu_beam_4": round(best["bleu"], 2),
        "test_chrf_beam_4": round(best["chrf"], 2),
        "test_bleu_greedy": round(greedy["bleu"], 2),
        "signature": best["signature"],
        "direction": direction,
        "minutes": round(finished.seconds / 60, 2),
        "steps": finished.step,
        "weights": weights,
        "tokens_per_second_median": round(statistics.median(speeds)),
        "peak_memory_mb": round(memory),
        "curve": curve,
    }


if __name__ == "__main__":
    sys.exit(main())
