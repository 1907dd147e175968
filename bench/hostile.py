"""Damaged or crafted files: does opening a model, resuming a run or reading a corpus ever crash,
hang or swell?

- mutations: each trial copies a model's folder, changes one file of it (cut, flipped, swapped with another, filled with
  noise, emptied, crafted, gone), makes the hashes right again every other time, and opens and uses it in a process of
  its own; if the file belongs to the run, the training is resumed too. Claim: an error of ours that names a file, or
  something that works (by a fall-back, or because nothing that counts was changed); never a crash, more than 5 s, or
  64 MB above doing the same with the intact folder.
- crafted: as mutations, but each file is whole and consistent and one thing in it is meant to hurt (sizes, headers,
  tokenizers that swell, copies for the fast engine, special files, links out of the folder), over all families. Claim:
  no crash, nothing over 5 s, at most 200 MB above the intact folder, and nothing written outside it.
- foreign: the same with folders as transformers saves them, of every architecture that is opened (vocab.txt, vocab.json
  with merges.txt, .spm files and shards among them); each is opened, asked something and imported. The same claim.
- corpora: files of text that are damaged in every way we could think of, trained on and checked by `regard check`.
"""

import json
import os
import random
import resource
import shutil
import signal
import struct
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import foreign
import torch
from crafted import craft as craft_folder
from families import Family, ask, import_all, import_with, small_families
from malformed import malform
from measure import arguments, record

from regard.errors import RegardError
from regard.files import hash_file
from regard.install import ABOUT, SEAL, WEIGHTS
from regard.text.check import check_pairs, check_text
from regard.text.corpus import PairFiles

SECONDS, MORE_KB = 5, 64 * 1024
CRAFTED_KB = 200 * 1024
CORPUS_SECONDS, CORPUS_MORE_KB = 20, 512 * 1024  # a large text takes more than a small one
FINE, REFUSED, UNNAMED, WRONG = 0, 3, 4, 5
NAMES = {FINE: "works", REFUSED: "refused", UNNAMED: "refused, but no file is named"}
STEPS = 3  # of each model's training
TRIES = 3  # of what takes too long
OF_RUNS = 0.1  # share of the mutations that are of a run's files


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--parts", default="mutations,crafted,foreign,corpora")
    parser.add_argument("--mutations", type=int, default=10_000)
    parser.add_argument("--crafted", type=int, default=3_000)
    parser.add_argument("--foreign", type=int, default=3_000)
    parser.add_argument("--corpora", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    torch.set_num_threads(1)  # threads of the parent would be missed by its children
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        families = small_families(place)
        import_all(families.values(), place)
        for task, family in families.items():
            run_apart(lambda family=family, task=task: family.train(place / task, STEPS))
        usual = {(task, part): run_apart(use(families[task], copied(place / task, place / "trial"), part))[2]
                 for task in families for part in ("model", "run")}  # fmt: skip
        for part in given.parts.split(","):
            record(part, PARTS[part](given, place, families, usual), given.json)


def mutations(given: Any, place: Path, families: dict[str, Family], usual: dict[tuple[str, str], int]) -> Any:
    tally, rng = Tally(SECONDS, MORE_KB), random.Random(given.seed)
    for number in range(given.mutations):
        task, part = rng.choice(list(families)), "run" if rng.random() < OF_RUNS else "model"
        trial = copied(place / task, place / "trial")
        what = mutate(trial, part, rng)
        tally.add(f"{task}: {what}", *run_apart(use(families[task], trial, part)), usual[task, part])
        if number % 1000 == 999:
            print(number + 1, dict(tally.outcomes), flush=True)
    return tally.summary()


def crafted(given: Any, place: Path, families: dict[str, Family], usual: dict[tuple[str, str], int]) -> Any:
    tally, rng, guard = Tally(SECONDS, CRAFTED_KB), random.Random(given.seed), Guard(place)
    for _ in range(given.crafted):
        task = rng.choice(list(families))
        trial = copied(place / task, place / "trial")
        what = craft_folder(trial, rng)
        if (trial / ABOUT).is_file():  # a pipe would be waited for
            reseal(trial)
        tally.add(f"{task}: {what}", *run_apart(use(families[task], trial, "model")), usual[task, "model"])
        guard.check(f"{task}: {what}", tally)
    return tally.summary() | {"wrote outside": guard.broken}


def foreign_folders(given: Any, place: Path, families: dict[str, Family], usual: dict[tuple[str, str], int]) -> Any:
    """Folders of other people, each opened, asked and imported; `families` and `usual` are of ours."""
    tally, rng = Tally(SECONDS, CRAFTED_KB), random.Random(given.seed)
    guard = Guard(place)
    (place / "theirs").mkdir()
    import_with(lambda: foreign.draw_all(place / "theirs"), place)
    folders = {path.name: path for path in sorted((place / "theirs").iterdir())}
    import_with(lambda: [foreign.ask(path, place / "ours" / name) for name, path in folders.items()], place)
    mine = {}
    for name, path in folders.items():
        shutil.rmtree(place / "ours")
        code, _, mine[name] = run_apart(lambda path=path: foreign.ask(path, place / "ours" / "one"))
        assert code == FINE, name
    for _ in range(given.foreign):
        name = rng.choice(list(folders))
        trial = copied(folders[name], place / "trial")
        shutil.rmtree(place / "ours", ignore_errors=True)
        what = f"{name}: {foreign.craft(trial, rng)}"
        tally.add(what, *run_apart(lambda trial=trial: foreign.ask(trial, place / "ours" / "one")), mine[name])
        guard.check(what, tally)
    return tally.summary() | {"wrote outside": guard.broken}


def corpora(given: Any, place: Path, families: dict[str, Family], usual: dict[tuple[str, str], int]) -> Any:
    tally, rng = Tally(CORPUS_SECONDS, CORPUS_MORE_KB), random.Random(given.seed)
    (place / "corpus").mkdir()
    for number in range(given.corpora):
        task = rng.choice(list(families))
        files, what = malform(families[task].files, place / "corpus", rng)
        learn = study(Family(task, files), place / f"corpus-{number}")
        tally.add(f"{task}: {what}", *run_apart(learn, CORPUS_SECONDS), usual[task, "run"])
        shutil.rmtree(place / f"corpus-{number}", ignore_errors=True)
    return tally.summary()


class Guard:
    """A home that nothing may be written into."""

    def __init__(self, place: Path) -> None:
        self._home, self.broken = place / "home", 0
        os.environ |= {"HOME": str(self._home), "REGARD_CACHE": str(place / "cache")}
        self._furnish()

    def _furnish(self) -> None:
        shutil.rmtree(self._home, ignore_errors=True)
        self._home.mkdir()
        (self._home / "mine").write_text("mine")

    def check(self, what: str, tally: "Tally") -> None:
        """Whether all is as it was, after this was done."""
        if [path.name for path in self._home.iterdir()] == ["mine"] and (self._home / "mine").read_text() == "mine":
            return
        self.broken += 1
        tally.worst.append({"what": what, "outcome": "wrote outside"})
        self._furnish()


class Tally:
    """What came of the trials, and those that should not have come so."""

    def __init__(self, seconds: float, more_kb: int) -> None:
        self.seconds, self.more_kb = seconds, more_kb
        self.outcomes: Counter[str] = Counter()
        self.bad = 0
        self.worst: list[dict[str, Any]] = []

    def add(self, what: str, code: int, seconds: float, memory: int, usual: int) -> None:
        outcome = NAMES.get(code, f"code {code}")
        if seconds > self.seconds:
            outcome = "too slow"
        if memory > usual + self.more_kb:
            outcome = "too large"
        self.outcomes[outcome] += 1
        if outcome not in NAMES.values():
            self.bad += 1
        if outcome not in {NAMES[FINE], NAMES[REFUSED]} and len(self.worst) < 20:
            self.worst.append({"what": what, "outcome": outcome, "mb": memory // 1024, "s": round(seconds, 2)})
            print(self.worst[-1], flush=True)

    def summary(self) -> dict[str, Any]:
        return {"trials": sum(self.outcomes.values()), **self.outcomes, "bad": self.bad, "worst": self.worst}


def use(family: Family, folder: Path, part: str) -> Callable[[], None]:
    """Opens a model and runs it; where its run was changed, resumes it."""

    def work() -> None:
        ask(folder)
        if part == "run":
            family.train(folder, STEPS + 1)

    return work


def study(family: Family, to: Path) -> Callable[[], None]:
    """Checks a corpus, and trains on it for a step."""

    def work() -> None:
        files = list(family.files.values())
        check_pairs(PairFiles(*files)) if len(files) == 2 else check_text(files)
        family.train(to, 1)

    return work


def run_apart(work: Callable[[], None], patience: float = SECONDS) -> tuple[int, float, int]:
    """Exit code, seconds and peak memory in KB of some work in another process.

    What takes longer than it should is done again, twice at most, and the shortest time counts: a hang lasts every
    time, and another program on the machine does not.
    """
    found = [_run_once(work)]
    while len(found) < TRIES and min(seconds for _, seconds, _ in found) > patience:
        found.append(_run_once(work))
    return min(found, key=lambda one: one[1])


def _run_once(work: Callable[[], None]) -> tuple[int, float, int]:
    began = time.perf_counter()
    child = os.fork()
    if child == 0:
        signal.alarm(2 * CORPUS_SECONDS)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            work()
            os._exit(FINE)
        except RegardError as problem:
            os._exit(REFUSED if names_a_file(str(problem)) else UNNAMED)
        except BaseException as problem:
            os.write(1, f"{type(problem).__name__}: {str(problem)[:200]}\n".encode())
            os._exit(WRONG)
    _, status, usage = os.wait4(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return code, time.perf_counter() - began, int(usage.ru_maxrss)


def names_a_file(message: str) -> bool:
    return "/" in message or any(ending in message for ending in (".json", ".safetensors", ".txt", ".en", ".fr"))


def copied(folder: Path, trial: Path) -> Path:
    """A folder to do harm to."""
    shutil.rmtree(trial, ignore_errors=True)
    return Path(shutil.copytree(folder, trial))


def mutate(trial: Path, part: str, rng: random.Random) -> str:
    """Changes one file of a folder, of the model itself or of its run; how."""
    files = sorted(path for path in trial.rglob("*") if path.is_file())
    mine = [path for path in files if (path.relative_to(trial).parts[0] == "run") == (part == "run")]
    new = rng.choice(mine)
    content = new.read_bytes()
    other = rng.choice(files).read_bytes()
    how = rng.choice(["cut", "flip", "swap", "noise", "empty", "crafted", "gone"])
    new.unlink()
    match how:
        case "cut":
            new.write_bytes(content[: rng.randrange(len(content) + 1)])
        case "flip":
            changed = bytearray(content)
            for _ in range(rng.choice([1, 1, 10, 100])):
                if changed:
                    changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
            new.write_bytes(changed)
        case "swap":
            new.write_bytes(other)
        case "noise":
            new.write_bytes(rng.randbytes(rng.choice([1, 100, len(content) + 1])))
        case "empty":
            new.write_bytes(b"")
        case "crafted":
            new.write_bytes(craft(rng))
        case "gone":
            pass
    if rng.random() < 0.5:
        reseal(trial)
    return f"{how} {new.relative_to(trial)}"


def reseal(folder: Path) -> None:
    """Makes the hashes in a regard.json those of the files, as an attacker would."""
    with suppress(OSError, ValueError, RecursionError, AttributeError):
        about = json.loads((folder / ABOUT).read_bytes())
        about[SEAL] = {name: hash_file(folder / name) for name in about.get(SEAL, {}) if (folder / name).is_file()}
        about["weights_sha256"] = hash_file(folder / WEIGHTS)
        (folder / ABOUT).write_text(json.dumps(about))


def craft(rng: random.Random) -> bytes:
    """Headers that promise too much, JSON that is too deep or of the wrong kind."""
    huge = json.dumps({"a": {"dtype": "F32", "shape": [2**40, 2**20], "data_offsets": [0, 2**62]}}).encode()
    return rng.choice([
        struct.pack("<Q", 2**63) + b"{}", struct.pack("<Q", len(huge)) + huge, b"[" * 100_000, b'{"a":' * 50_000,
        b'{"model_type": "marian"}', b"null", b"[]", b'{"task": "../../etc"}', b'{"task": 5}', b"\x80\x04cos\nsystem\n",
        b'{"version":"1.0","model":{"type":"BPE","vocab":{"a":4000000000},"merges":[]}}', b"1e999", b"\xff\xfe\x00",
    ])  # fmt: skip


PARTS = {"mutations": mutations, "crafted": crafted, "foreign": foreign_folders, "corpora": corpora}

if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
