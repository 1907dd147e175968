"""Shapes of a translator on the frontier of quality and speed: encoder+decoder layers, all else by default.

Each shape learns each text equally long, with one core, into a folder under --to, so that an interrupted bench resumes;
as many at once as there are cores. Shapes are to be chosen on validation; the test score is for the report. Speed is in
turns against CTranslate2's best layout running the first shape in the same precision with the same beam.
"""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import sacrebleu
from measure import arguments, read, record
from quality import MULTI30K, TATOEBA, multi30k_files, tatoeba_files
from sides import open_side

from regard.text.corpus import PairFiles, read_pairs

TEXTS: dict[str, dict[str, Any]] = {
    "multi30k en-de": {"corpus": MULTI30K, "direction": "en-de"},
    "multi30k de-en": {"corpus": MULTI30K, "direction": "de-en"},
    "tatoeba en-de": {"corpus": TATOEBA, "direction": "en-de"},
}
SPEEDS = {"float32": ["regard", "regard fast"], "int8": ["regard int8", "regard int8 fast"]}
PEERS = {"float32": ["ct2 2x1", "ct2 2x1 mkl", "ct2 1x2"], "int8": ["ct2 int8 2x1"]}

TRAIN = """
import json, sys
import regard
regard.train("translate", to=sys.argv[1], settings=json.loads(sys.argv[2]), **json.loads(sys.argv[3]))
"""


def main() -> None:
    parser = arguments(__doc__, data=True)
    parser.add_argument("--to", type=Path, required=True, help="keep the models here; an interrupted bench resumes")
    parser.add_argument("--shapes", default="4+4,6+2,6+1,8+2,10+1", help="the first is what others are compared with")
    parser.add_argument("--texts", default=",".join(TEXTS))
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--minutes", type=float, default=20, help="of one core, for each training")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--only-train", action="store_true", help="leave the speeds for later")
    given = parser.parse_args()
    given.data = given.data if (given.data / MULTI30K).exists() else given.data.parent
    given.to.mkdir(parents=True, exist_ok=True)
    shapes, seeds = given.shapes.split(","), [int(seed) for seed in given.seeds.split(",")]
    for text in given.texts.split(","):
        files, test = files_of(given, text)
        train_all(given, text, files, [(shape, seed) for seed in seeds for shape in shapes])
        name = f"{text}, {given.minutes:g} minutes"
        found: dict[str, Any] = {**read(given.json).get(name, {}).get("shapes", {})}
        for shape in shapes:
            found.setdefault(shape, {}).update(quality(given, text, shape, seeds, test))
        if not given.only_train:
            for shape, speeds in race(given, text, shapes, test).items():
                found[shape].update(speeds)
        record(name, {"shapes": found, "compared_with": shapes[0]}, given.json)


def files_of(given: Any, text: str) -> tuple[dict[str, Path], dict[str, Path]]:
    part = TEXTS[text]
    if part["corpus"] == MULTI30K:
        return multi30k_files(given.data, part)
    return tatoeba_files(given.data, given.to / TATOEBA, part)


def folder_of(given: Any, text: str, shape: str, seed: int) -> Path:
    folder: Path = given.to / f"{text.replace(' ', '-')}-{shape}-{seed}"
    return folder


def train_all(given: Any, text: str, files: dict[str, Path], wanted: Iterable[tuple[str, int]]) -> None:
    """Trains each with one thread, as many at once as there are cores; what is finished returns at once."""
    running: list[subprocess.Popen[bytes]] = []
    for shape, seed in wanted:
        layers, decoder_layers = map(int, shape.split("+"))
        settings = {
            "seed": seed, "workers": 1, "threads": 1, "stop": {"minutes": given.minutes},
            "model": {"layers": layers, "decoder_layers": decoder_layers},
        }  # fmt: skip
        words = [str(folder_of(given, text, shape, seed)), json.dumps(settings), json.dumps(files, default=str)]
        running.append(subprocess.Popen([sys.executable, "-c", TRAIN, *words]))
        if len(running) == len(os.sched_getaffinity(0)):
            finish(running.pop(0))
    for process in running:
        finish(process)


def finish(process: "subprocess.Popen[bytes]") -> None:
    if process.wait():
        raise RuntimeError(f"a training ended with {process.returncode}")


def quality(given: Any, text: str, shape: str, seeds: list[int], test: dict[str, Path]) -> dict[str, Any]:
    """The mean over the seeds, and the spread between them."""
    import regard

    found: dict[str, list[float]] = {}
    for seed in seeds:
        model = regard.load(folder_of(given, text, shape, seed))
        found.setdefault("valid_bleu", []).append(model.info.scores["bleu"])
        found.setdefault("steps", []).append(model.info.training["steps"])
        for name, options in (("", {}), ("_fast", {"fast": True})):
            for beam in (1, 5):
                score = model.evaluate(**test, beam=beam, **options)["bleu"]
                found.setdefault(f"test_bleu{name}_beam_{beam}", []).append(score)
    means = {name: round(statistics.mean(values), 2) for name, values in found.items()}
    spreads = {f"{name}_spread": round(max(values) - min(values), 2) for name, values in found.items() if values[1:]}
    return {"seeds": seeds, "weights": model.info.parameters} | means | spreads


def race(given: Any, text: str, shapes: list[str], test: dict[str, Path]) -> dict[str, dict[str, Any]]:
    """Lines a second in bulk and the median time of one, as multiples of the peer's with the first shape."""
    pairs = read_pairs(PairFiles(test["source"], test.get("target")))[0]
    lines, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    first, seed = shapes[0], int(given.seeds.split(",")[0])
    found: dict[str, dict[str, Any]] = {shape: {} for shape in shapes}
    for precision, names in SPEEDS.items():
        peers = {name: open_side(name, folder_of(given, text, first, seed)) for name in PEERS[precision]}
        sides = {
            (shape, name): open_side(name, folder_of(given, text, shape, seed)) for shape in shapes for name in names
        }
        for beam in (1, 5):
            for alone, asked in ((False, lines), (True, lines[:60])):
                ratios: dict[tuple[str, str], list[float]] = {key: [] for key in sides}
                for turn in range(given.turns + 1):
                    best = min(cost(side.ask(lines=asked, beam=beam, alone=alone)) for side in peers.values())
                    for key, side in sides.items():
                        answer = side.ask(lines=asked, beam=beam, alone=alone)
                        if turn:  # the first is to warm up
                            ratios[key].append(best / cost(answer))
                        elif not alone:
                            score = sacrebleu.corpus_bleu(answer["texts"], [references]).score
                            found[key[0]][f"{key[1]} beam {beam} bleu"] = round(score, 2)
                for (shape, name), values in ratios.items():
                    found[shape][f"{name} beam {beam} {'one' if alone else 'bulk'}"] = round(
                        statistics.median(values), 3
                    )
        for side in (*peers.values(), *sides.values()):
            side.close()
    return found


def cost(answer: dict[str, Any]) -> float:
    """Seconds: of all lines, or the median of one."""
    return float(statistics.median(answer["each"]) if answer["each"] else answer["seconds"])


if __name__ == "__main__":
    sys.exit(main())
