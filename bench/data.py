"""Text of any size: what preparing and resuming take in time, memory and disk, against `datasets` and `tokenizers`.

Pairs are distinct: two of Tatoeba's put together. Each part runs in processes of its own; memory is the anonymous
memory of all of them together, sampled. Ratios are of the same run:

- prepare: from files to encoded text (without learning the vocabulary), against `tokenizers` alone encoding the same
  lines on all cores, and against `datasets`: read, map with the same tokenizer, save.
- train: memory of a training on it, after some steps; resume: seconds from the command to its first step.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from measure import arguments, record

SETTINGS = {"size": "tiny", "text": {"vocab_size": 32_000}, "stop": {"steps": 100}, "workers": 1}
STEPS = 12  # of which memory is measured

OURS = """
import json, sys, time
import regard
began, last, steps = time.time(), sys.argv[4], 0
stages = {"began": began}
for event in regard.training("translate", source=sys.argv[1], to=sys.argv[2], settings=json.loads(sys.argv[3])):
    name = getattr(event, "stage", type(event).__name__)
    if hasattr(event, "stage"):
        stages["prepared"] = time.time() - began
    stages.setdefault(name, time.time() - began)
    steps += name == "Progress"
    if name == last or steps == int(sys.argv[5]):
        break
print(json.dumps(stages))
"""

TOKENIZERS = """
import sys, time
from itertools import islice
from tokenizers import Tokenizer
tokenizer, began, tokens = Tokenizer.from_file(sys.argv[2]), time.time(), 0
with open(sys.argv[1], encoding="utf-8") as file:
    while lines := [side for line in islice(file, 20_000) for side in line[:-1].split("\\t")]:
        tokens += sum(map(len, tokenizer.encode_batch_fast(lines)))
print(time.time() - began)
"""

DATASETS = """
import sys, time
import datasets
from tokenizers import Tokenizer
datasets.disable_progress_bars()
began = time.time()
tokenizer = Tokenizer.from_file(sys.argv[2])
def encode(rows):
    return {side: [one.ids for one in tokenizer.encode_batch_fast(rows[side])] for side in ("en", "de")}
if __name__ == "__main__":
    features = datasets.Features({"en": datasets.Value("string"), "de": datasets.Value("string")})
    text = datasets.load_dataset("csv", data_files=sys.argv[1], delimiter="\\t", column_names=["en", "de"], quoting=3,
                                 cache_dir=sys.argv[3] + "/cache", split="train", features=features)
    encoded = text.map(encode, batched=True, num_proc=int(sys.argv[4]), remove_columns=["en", "de"])
    encoded.save_to_disk(sys.argv[3] + "/out")
    print(time.time() - began)
"""


def main() -> None:
    parser = arguments(__doc__, data=True)
    parser.add_argument("--millions", default="1,4,16", help="pairs")
    parser.add_argument("--alone", type=float, default=16, help="up to so many millions, `tokenizers` alone runs too")
    parser.add_argument("--peer", type=float, default=1, help="up to so many millions, `datasets` runs too")
    given = parser.parse_args()
    for millions in map(float, given.millions.split(",")):
        with tempfile.TemporaryDirectory() as place:
            count = int(millions * 1e6)
            text = make(Path(place) / "pairs.tsv", given.data, count)
            found = measure(text, Path(place), count)
            if millions <= given.alone:
                found |= compare(text, Path(place), found["seconds"]["prepared"])
            if millions <= given.peer:
                found["datasets"] = compare_datasets(text, Path(place), found)
            record(f"{millions:g} million pairs", found, given.json)


def measure(text: Path, place: Path, count: int) -> dict[str, Any]:
    """One size."""
    stages, memory = run(OURS, text, place / "model", json.dumps(SETTINGS), "Plan", -1)
    times = json.loads(stages)
    end = times["began"] + times["prepared"]
    folder = place / "model" / "run"
    index = json.loads((folder / "tokens.json").read_text())
    tokens = index["arrays"]["pairs.flat"]["shape"][0]
    disk = sum(path.stat().st_size for path in folder.glob("tokens*"))
    learning = times["encoding the text"] - times["learning the vocabulary"]
    prepared = times["prepared"] - learning
    _, training = run(OURS, text, place / "model", json.dumps(SETTINGS), "", STEPS)
    again, _ = run(OURS, text, place / "model", json.dumps(SETTINGS), "", 1)
    return {
        "pairs": count,
        "tokens": tokens,
        "text_mb": round(text.stat().st_size / 1e6),
        "seconds": {"prepared": round(prepared, 1), "vocabulary": round(learning, 1)},
        "peak_mb": most([one for one in memory if one[0] <= end]),
        "with_plan_mb": most(memory),  # and the steps by which the plan measures
        "bytes_per_token": round(disk / tokens, 3),
        "training_mb": most(training),
        "resume_seconds": round(json.loads(again)["Progress"], 1),
    }


def compare(text: Path, place: Path, prepared: float) -> dict[str, Any]:
    """How long `tokenizers` alone needs to encode the same lines."""
    seconds, _ = run(TOKENIZERS, text, place / "model" / "run" / "tokenizer.json")
    return {"seconds_tokenizers": round(float(seconds), 1), "ratio_tokenizers": round(prepared / float(seconds), 2)}


def compare_datasets(text: Path, place: Path, found: dict[str, Any]) -> dict[str, Any]:
    """What `datasets` takes to read, encode and save the same text."""
    tokenizer = place / "model" / "run" / "tokenizer.json"
    seconds, memory = run(DATASETS, text, tokenizer, place / "peer", str(os.cpu_count()))
    disk = sum(path.stat().st_size for path in (place / "peer" / "out").rglob("*") if path.is_file())
    return {
        "ratio_seconds": round(float(seconds) / found["seconds"]["prepared"], 2), "peak_mb": most(memory),
        "bytes_per_token": round(disk / found["tokens"], 3),
    }  # fmt: skip


def make(to: Path, data: Path, count: int) -> Path:
    """A TSV file of so many different pairs."""
    pairs = [
        line.split("\t")[:2] for line in (data / "deu-eng.tsv").read_text(encoding="utf-8").split("\n") if "\t" in line
    ]
    random.Random(1).shuffle(pairs)  # the file is sorted by length, and each size is to have text of the same kind
    with to.open("w", encoding="utf-8") as file:
        for number in range(count):
            first, second = pairs[number % len(pairs)], pairs[(number + number // len(pairs) * 7919 + 1) % len(pairs)]
            file.write(f"{first[0]} {second[0]}\t{first[1]} {second[1]}\n")
    return to


def run(script: str, *words: Any) -> tuple[str, list[tuple[float, int]]]:
    """What a script prints last, and the anonymous memory of all its processes together: moments, and kB."""
    environment = os.environ | {"TOKENIZERS_PARALLELISM": "true", "HF_HUB_OFFLINE": "1"}
    with subprocess.Popen(
        [sys.executable, "-c", script, *map(str, words)], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        found: list[tuple[float, int]] = []
        watcher = threading.Thread(target=sample, args=(process.pid, process, found))
        watcher.start()
        printed, _ = process.communicate()
        watcher.join()
    assert process.returncode == 0, script
    return printed.strip().split("\n")[-1], found


def most(memory: list[tuple[float, int]]) -> int:
    """The peak, in MB."""
    return max(kb for _, kb in memory) // 1024


def sample(pid: int, process: Any, found: list[tuple[float, int]]) -> None:
    """Adds up the anonymous memory of a process and its descendants until it ends."""
    while process.poll() is None:
        found.append((time.time(), sum(map(anonymous_kb, descendants(pid)))))
        time.sleep(0.1)


def descendants(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(one for child in children for one in descendants(int(child)))]


def anonymous_kb(pid: int) -> int:
    """By proportional set size: what processes share after a fork is counted once."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().split("\n")
        return next(int(line.split()[1]) for line in lines if line.startswith("Pss_Anon"))
    except (OSError, StopIteration):
        return 0


if __name__ == "__main__":
    main()
