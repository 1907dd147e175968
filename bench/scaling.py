"""How speed and memory go with the number of workers and the size of the corpus.

Every combination is a process of its own, from two raw sides to the tenth update. Memory is at its peak (reading
and encoding included) and while training, pages that processes share counted once; growth is per token of the corpus.
"""

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from measure import arguments, report

PAIRS = (10_000, 50_000, 170_000)
WORKERS = (1, 2)
STEPS = 12


def main() -> None:
    parser = arguments(__doc__, data=True)
    parser.add_argument("--one", nargs=2, help="(used by the bench itself)")
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(given.data, int(given.one[0]), Path(given.one[1]))))
        return
    with tempfile.TemporaryDirectory() as temporary:
        report(bench(given.data, Path(temporary)), given.json)


def bench(data: Path, folder: Path) -> dict[str, Any]:
    lines = (data / "deu-eng.tsv").read_text(encoding="utf-8").splitlines()
    random.Random(1).shuffle(lines)
    found: dict[str, dict[str, Any]] = {}
    for pairs in PAIRS:
        text = folder / f"{pairs}.tsv"
        text.write_text("\n".join(lines[:pairs]) + "\n", encoding="utf-8")
        for workers in WORKERS:
            to = folder / f"{pairs}-{workers}"
            words = [sys.executable, __file__, "--data", str(text), "--one", str(workers), str(to)]
            output = subprocess.run(words, capture_output=True, text=True, check=True).stdout
            found[f"{pairs} pairs, {workers} workers"] = json.loads(output.splitlines()[-1])
            print(pairs, workers, output.splitlines()[-1], flush=True)
    first, last = (found[f"{pairs} pairs, 1 workers"] for pairs in (PAIRS[0], PAIRS[-1]))
    tokens = last["corpus_tokens"] - first["corpus_tokens"]
    growth = {
        f"bytes_per_token_{when}": round((last[f"memory_{when}_mb"] - first[f"memory_{when}_mb"]) * 2**20 / tokens, 1)
        for when in ("peak", "training")
    }
    two_over_one = {
        pairs: round(
            found[f"{pairs} pairs, 2 workers"]["tokens_per_second"]
            / found[f"{pairs} pairs, 1 workers"]["tokens_per_second"], 3
        ) for pairs in PAIRS
    }  # fmt: skip
    return {"two_workers_over_one": two_over_one, **growth, "runs": found}


def measure(text: Path, workers: int, to: Path) -> dict[str, Any]:
    """One run of a few updates."""
    import regard
    from regard.training.loop import Progress
    from regard.training.plan import Plan

    settings = {
        "size": "tiny", "workers": workers, "threads": 1, "stop": {"steps": STEPS}, "text": {"vocab_size": 6000},
        "train": {"tokens_per_batch": 4096, "grad_accumulation": 2, "held_out": 100},
    }  # fmt: skip
    steps: list[Progress] = []
    for event in regard.training("translate", to=to, settings=settings, source=text):
        if isinstance(event, Plan):
            plan = event
        elif isinstance(event, Progress):
            steps.append(event)
            if event.step == STEPS:
                training = sum(held_mb(pid) for pid in own_processes())
    warm = steps[2:]
    tokens = json.loads((to / "regard.json").read_text())["data"]["tokens"]
    return {
        "tokens_per_second": round(sum(s.tokens for s in warm) / sum(s.seconds for s in warm)),
        "memory_peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "memory_training_mb": round(training),
        "corpus_tokens": tokens,
        "pairs": plan.examples,
    }


def own_processes() -> list[int]:
    """This process and those it started."""
    mine = [os.getpid()]
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == os.getpid():
            mine.append(int(path.parent.name))
    return mine


def held_mb(pid: int) -> float:
    """Pages of its own, and its share of those it has in common with others; mapped files count if they are in use."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:"))


if __name__ == "__main__":
    sys.exit(main())
