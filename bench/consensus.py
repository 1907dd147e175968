"""Consensus (minimum Bayes risk with chrF) against a beam of 4: BLEU and chrF on held-out text, and process time.

The temperature is chosen on the validation set (--choose), the gain is reported on the test set. Time is of one process
and thread for all, so that the ratio holds on a busy machine too: torch samples, so a beam of torch's is beside it.
"""

import sys
import time
from pathlib import Path
from typing import Any

import torch
from measure import arguments, record

import regard
from regard.engines import torch as engine
from regard.text.score import score_translations


def main() -> None:
    parser = arguments(__doc__, data=True)
    parser.add_argument("--model", type=Path, required=True, help="a trained translator")
    parser.add_argument("--test", default="test_2016_flickr", help="--data/--test.SOURCE and .TARGET")
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--samples", type=int, nargs="+", default=[4, 16, 64])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--choose", type=float, nargs="+", help="temperatures to try, on --data/val")
    given = parser.parse_args()
    torch.set_num_threads(1)
    for temperature in given.choose or ():
        engine.CONSENSUS_TEMPERATURE = temperature
        found = bench(given, "val", with_beam=temperature == given.choose[0])
        record(f"val, temperature {temperature:g}", found, given.json)
    if not given.choose:
        record(given.test, bench(given, given.test, with_beam=True), given.json)


def bench(given: Any, name: str, with_beam: bool) -> dict[str, Any]:
    model = regard.load(given.model, engine="torch")
    sources, references = (
        (given.data / f"{name}.{language}").read_text(encoding="utf-8").splitlines()[: given.lines]
        for language in (model.source_language, model.target_language)
    )
    ways: dict[str, dict[str, int]] = {"beam 1": {"beam": 1}, "beam 4": {"beam": 4}} if with_beam else {}
    ways |= {
        f"consensus {samples}, seed {seed}": {"consensus": samples, "seed": seed}
        for samples in given.samples
        for seed in given.seeds
    }
    model(sources[:8])
    found = {}
    for way, options in ways.items():
        began = time.process_time()
        scores = score_translations(texts := model(sources, **options), references)
        seconds = time.process_time() - began
        found[way] = {
            "bleu": round(scores.bleu, 2), "chrf": round(scores.chrf, 2), "empty": texts.count(""),
            "process_ms_per_line": round(1000 * seconds / len(sources), 1),
        }  # fmt: skip
        print(way, found[way], flush=True)
    about = {"model": model.info.data.get("files"), "lines": len(sources), "signature": scores.signature}
    return about | {"temperature": engine.CONSENSUS_TEMPERATURE, "ways": found}


if __name__ == "__main__":
    sys.exit(main())
