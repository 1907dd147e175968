"""Kills a short training at random moments, saves included, and lets it go on.

Claim: the final weights are bit-identical to those of a run that was never stopped, and no folder is unreadable.
Each trial starts a training, kills it (SIGKILL) after a random time, opens what it left, and lets it finish;
every other trial waits for the next write first and kills it in there.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from measure import arguments, report

import regard
from regard.files import hash_file

STEPS = 40
SETTINGS = [
    "threads=1", "model.layers=2", "model.width=64", "model.inner=128", "text.vocab_size=600",
    "train.tokens_per_batch=1024", "train.valid_every=6", "train.warmup=20",
]  # fmt: skip


def command(text: Path, to: Path) -> list[str]:
    sets = [word for setting in SETTINGS for word in ("--set", setting)]
    files = [str(text / "train.en"), str(text / "train.fr")]
    return [sys.executable, "-m", "regard", "train", "translate", *files, "--to", str(to), "--steps", str(STEPS), *sets]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="trials at a time")
    given = parser.parse_args()
    choose = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as temporary:
        text = Path(temporary)
        phrases = regard.phrasebook("en", "fr", 600)
        (text / "train.en").write_text("".join(phrase.source + "\n" for phrase in phrases))
        (text / "train.fr").write_text("".join(phrase.target + "\n" for phrase in phrases))
        began = time.perf_counter()
        subprocess.run(command(text, text / "whole"), check=True, capture_output=True)
        whole_seconds = time.perf_counter() - began
        wanted = fingerprint(text / "whole")
        limits = [choose.uniform(0.1, whole_seconds) for _ in range(given.kills)]
        with ThreadPoolExecutor(given.jobs) as pool:
            trials = [pool.submit(try_one, text, number, limit, wanted) for number, limit in enumerate(limits)]
            results = [trial.result() for trial in trials]
    moments = Counter(moment for moment, _, _ in results)
    identical = sum(same for _, same, _ in results)
    unreadable = sum(not readable for _, _, readable in results)
    report(
        {"kills": given.kills, "identical": identical, "unreadable": unreadable, "moments": dict(moments)},
        given.json,
    )
    if identical != given.kills or unreadable:
        sys.exit("a run was lost or changed")


def try_one(text: Path, number: int, limit: float, wanted: tuple[str, str]) -> tuple[str, bool, bool]:
    """One training, killed once: what it was doing, whether it ended with the same bits, whether it could be opened."""
    to = text / f"trial-{number}"
    done, moment = sit(command(text, to), to, limit, in_a_write=number % 2 == 1)
    if done:
        shutil.rmtree(to)
        return try_one(text, number, limit * 0.7, wanted)  # it was faster than the kill
    readable = is_readable(to)
    sit(command(text, to), to, None)
    same = fingerprint(to) == wanted
    print(f"{number}: killed while {moment}: {'identical' if same else 'DIFFERENT'}", flush=True)
    return moment, same, readable


def sit(words: list[str], to: Path, limit: float | None, *, in_a_write: bool = False) -> tuple[bool, str]:
    """One sitting, killed after `limit` seconds, or in the first write after that; and what it was doing then."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)
    try:
        _, said = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        while in_a_write and process.poll() is None and not is_writing(to):
            pass
        process.send_signal(signal.SIGKILL)
        process.communicate()
        return process.returncode == 0, doing(to)
    if process.returncode:
        sys.exit(said.decode())
    return True, ""


def is_writing(to: Path) -> bool:
    """Whether a file or a model is half written just now."""
    try:
        return any((to / name).exists() for name in (".new", ".ready", ".old")) or any(to.rglob("*.unfinished"))
    except FileNotFoundError:  # it was renamed while we looked
        return False


def doing(to: Path) -> str:
    """What was going on when it was killed, by what lies about."""
    if is_writing(to):
        return "writing"
    if not (to / "run" / "run.json").exists():
        return "before the first step"
    return "training or scoring"


def is_readable(to: Path) -> bool:
    """A folder that holds a model opens; one that holds none yet says so."""
    if not (to / "regard.json").exists() and not (to / ".ready").exists():
        return True
    try:
        regard.load(to)("The dog sleeps.", beam=1)
    except regard.RegardError as problem:
        print(problem, flush=True)
        return False
    return True


def fingerprint(to: Path) -> tuple[str, str]:
    state = max((to / "run" / "state").glob("weights-*.safetensors"))
    return hash_file(to / "model.safetensors"), hash_file(state)


if __name__ == "__main__":
    main()
