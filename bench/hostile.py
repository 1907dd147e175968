"""Files that somebody damaged or made up: does opening a model ever crash, hang or swell?

Each trial copies a model's folder by links, replaces one file by a mutation of it (cut, flipped, swapped with another,
filled with noise, emptied, crafted), and opens and uses it in a process of its own. Claim: an error of ours that names
a file, or a model that works (by a fall-back, or because nothing that counts was changed); never a crash, more than
5 s, or 64 MB above opening the intact folder.
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
from pathlib import Path
from typing import Any

import torch
from measure import arguments, report

import regard
from regard.errors import RegardError

SECONDS, MORE_KB = 5, 64 * 1024
FINE, REFUSED, WRONG = 0, 3, 4
SETTINGS: dict[str, Any] = {"stop": {"steps": 3}, "threads": 1, "workers": 1,
                            "model": {"layers": 2, "width": 32, "inner": 64, "heads": 4}}  # fmt: skip


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--mutations", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    chance = random.Random(given.seed)
    torch.set_num_threads(1)  # threads of the parent would be missed by its children
    with tempfile.TemporaryDirectory() as place:
        folders = make_models(Path(place))
        for folder in folders.values():
            use(folder)  # everything is imported before the first fork
        intact = {task: run_apart(folder)[2] for task, folder in folders.items()}
        outcomes: Counter[str] = Counter()
        worst: list[dict[str, Any]] = []
        for number in range(given.mutations):
            task = chance.choice(list(folders))
            trial = Path(place) / "trial"
            what = mutate(folders[task], trial, chance)
            code, seconds, memory = run_apart(trial)
            outcome = {FINE: "works", REFUSED: "refused"}.get(code, f"code {code}")
            outcome = "too slow" if seconds > SECONDS else outcome
            if memory > intact[task] + MORE_KB:
                outcome = "too large"
            outcomes[outcome] += 1
            if outcome not in {"works", "refused"} and len(worst) < 20:
                worst.append(
                    {"task": task, "what": what, "outcome": outcome, "mb": memory // 1024, "s": round(seconds, 2)}
                )
                print(worst[-1], flush=True)
            shutil.rmtree(trial)
            if number % 1000 == 999:
                print(number + 1, dict(outcomes), flush=True)
    bad = sum(count for name, count in outcomes.items() if name not in {"works", "refused"})
    report({"mutations": given.mutations, "outcomes": dict(outcomes), "bad": bad, "worst": worst}, given.json)


def make_models(place: Path) -> dict[str, Path]:
    """A small model of each family, with its run."""
    phrases = regard.phrasebook("en", "fr", 300)
    files = {}
    for name, lines in (("a.en", [p.source for p in phrases]), ("a.fr", [p.target for p in phrases])):
        files[name] = place / name
        files[name].write_text("".join(f"{line}\n" for line in lines))
    (place / "stories").write_text(_stories())
    made = {
        "translate": {"source": files["a.en"], "target": files["a.fr"]},
        "write": {"text": files["a.en"]},
        "fill": {"text": files["a.en"]},
        "answer": {"stories": place / "stories"},
    }
    for task, texts in made.items():
        settings = SETTINGS if task != "answer" else {"stop": {"steps": 3}, "threads": 1, "workers": 1}
        regard.train(task, to=place / task, settings=settings, **texts)
    return {task: place / task for task in made}


def _stories() -> str:
    from regard.text.stories import write_stories

    return write_stories(regard.induction(60))


def use(folder: Path) -> None:
    """Opens a model and asks it something."""
    opened: Any = regard.load(folder, **({"engine": "torch"} if _is_torch(folder) else {}))
    match opened.about["task"]:
        case "translate":
            opened("The dog sleeps.", beam=1, max_length=5)
        case "write":
            opened("The", tokens=3, seed=1)
        case "fill":
            opened.fill("The [MASK].", top=1)
        case _:
            opened(["Brian is a frog."], "What color is Brian?")


def _is_torch(folder: Path) -> bool:
    """CTranslate2's threads do not survive a fork in the parent: half of the trials run there anyway."""
    return (folder / "torch").exists()


def run_apart(folder: Path) -> tuple[int, float, int]:
    """Exit code, seconds and peak memory in KB of opening and using a folder in another process."""
    began = time.perf_counter()
    child = os.fork()
    if child == 0:
        signal.alarm(2 * SECONDS)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            use(folder)
            os._exit(FINE)
        except RegardError:
            os._exit(REFUSED)
        except BaseException as problem:
            os.write(1, f"{type(problem).__name__}: {str(problem)[:200]}\n".encode())
            os._exit(WRONG)
    _, status, usage = os.wait4(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return code, time.perf_counter() - began, int(usage.ru_maxrss)


def mutate(folder: Path, trial: Path, chance: random.Random) -> str:
    """A copy of a folder with one file changed; how."""
    trial.mkdir()
    files = [path for path in folder.rglob("*") if path.is_file()]
    for path in files:
        copy = trial / path.relative_to(folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        os.link(path, copy)
    chosen = chance.choice(files)
    content = chosen.read_bytes()
    how = chance.choice(["cut", "flip", "swap", "noise", "empty", "crafted", "gone"])
    new = trial / chosen.relative_to(folder)
    new.unlink()
    match how:
        case "cut":
            new.write_bytes(content[: chance.randrange(len(content) + 1)])
        case "flip":
            changed = bytearray(content)
            for _ in range(chance.choice([1, 1, 10, 100])):
                if changed:
                    changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
            new.write_bytes(changed)
        case "swap":
            new.write_bytes(chance.choice(files).read_bytes())
        case "noise":
            new.write_bytes(chance.randbytes(chance.choice([1, 100, len(content) + 1])))
        case "empty":
            new.write_bytes(b"")
        case "crafted":
            new.write_bytes(craft(chance))
        case "gone":
            pass
    return f"{how} {chosen.relative_to(folder)}"


def craft(chance: random.Random) -> bytes:
    """Headers that promise too much, JSON that is too deep or of the wrong kind."""
    huge = json.dumps({"a": {"dtype": "F32", "shape": [2**40, 2**20], "data_offsets": [0, 2**62]}}).encode()
    return chance.choice([
        struct.pack("<Q", 2**63) + b"{}", struct.pack("<Q", len(huge)) + huge, b"[" * 100_000, b'{"a":' * 50_000,
        b'{"model_type": "marian"}', b"null", b"[]", b'{"task": "../../etc"}', b'{"task": 5}', b"\x80\x04cos\nsystem\n",
        b'{"version":"1.0","model":{"type":"BPE","vocab":{"a":4000000000},"merges":[]}}', b"1e999", b"\xff\xfe\x00",
    ])  # fmt: skip


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
