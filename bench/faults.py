"""Kills a short training at random moments, saves included, and lets it go on.

Claim: the final weights are bit-identical to those of a run that was never stopped, and no folder is unreadable.
Each trial starts a training, kills it (SIGKILL) after a random time, opens what it left, and lets it finish.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measure import arguments, report

import regard
from regard.files import hash_file

STEPS = 60
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
        identical = unreadable = trials = 0
        moments: dict[str, int] = {}
        while sum(moments.values()) < given.kills:
            trials += 1
            to = text / f"trial-{trials}"
            done, moment = sit(command(text, to), to, choose.uniform(0.1, whole_seconds))
            if done:
                continue  # it was faster than the kill
            moments[moment] = moments.get(moment, 0) + 1
            unreadable += not is_readable(to)
            sit(command(text, to), to, None)
            same = fingerprint(to) == wanted
            identical += same
            print(f"killed while {moment}: {'identical' if same else 'DIFFERENT'}", flush=True)
    report(
        {"kills": given.kills, "identical": identical, "unreadable": unreadable, "moments": moments},
        given.json,
    )
    if identical != given.kills or unreadable:
        sys.exit("a run was lost or changed")


def sit(words: list[str], to: Path, limit: float | None) -> tuple[bool, str]:
    """One sitting, killed after `limit` seconds; whether it finished, and else what it was doing."""
    process = subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=os.environ | {"OMP_NUM_THREADS": "1"}
    )
    try:
        _, said = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.communicate()
        return False, doing(to)
    if process.returncode:
        sys.exit(said.decode())
    return True, ""


def doing(to: Path) -> str:
    """What was going on when it was killed, by what lies about."""
    if any(to.rglob("*.unfinished")) or (to / ".new").exists() or (to / ".ready").exists() or (to / ".old").exists():
        return "writing"
    if not (to / "run" / "run.json").exists():
        return "before the first step"
    return "training or scoring"


def is_readable(to: Path) -> bool:
    """A folder that holds a model opens; one that holds none yet says so."""
    if not (to / "regard.json").exists() and not (to / ".ready").exists():
        return True
    try:
        return bool(regard.load(to)("The dog sleeps.", beam=1)) or True
    except regard.RegardError as problem:
        print(problem, flush=True)
        return False


def fingerprint(to: Path) -> tuple[str, str]:
    state = max((to / "run" / "state").glob("weights-*.safetensors"))
    return hash_file(to / "model.safetensors"), hash_file(state)


if __name__ == "__main__":
    main()
