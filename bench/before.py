"""How fast this tree is beside an older commit of itself: starting, one line, many lines, training, in turns.

The older commit is checked out into a temporary worktree; both run in the same environment. It writes the text and
trains the translator, so that a folder of its time opens in both. A ratio is that of the speeds, this tree's over the
older one's, the median over turns: above 1 is faster now. Times are the wall's, beside them the processor's (with
all threads and children), which other work on the machine disturbs less.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from measure import arguments, report
from turns import Side, serve

HERE = Path(__file__).resolve().parent.parent
SETTINGS: dict[str, Any] = {  # of names that both have
    "size": "tiny", "device": "cpu", "workers": 1, "text": {"vocab_size": 2000},
    "train": {"tokens_per_batch": 2048, "valid_every": 100_000},
}  # fmt: skip
PAIRS = 2000  # of the text
LINES, UPDATES = 500, 8  # of one turn
PYTHON = [sys.executable, "-P"]  # not the package in the folder where this is called
Took = tuple[float, float]  # seconds on the wall, and of the processor


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--commit", default="de2b3d2", help="the older one")
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--steps", type=int, default=250, help="of the translator that both run")
    parser.add_argument("--side", nargs=2, help="(used by the bench itself)")
    given = parser.parse_args()
    if given.side:
        what, folder = given.side[0], Path(given.side[1])
        make(folder, given.steps) if what == "make" else {"bulk": bulk, "train": train}[what](folder)
        return
    with tempfile.TemporaryDirectory() as temporary, checked_out(given.commit, Path(temporary) / "before") as before:
        report({"before": given.commit} | bench(before, Path(temporary), given.turns, given.steps), given.json)


@contextmanager
def checked_out(commit: str, to: Path) -> Iterator[Path]:
    git = ["git", "-C", str(HERE), "worktree"]
    subprocess.run([*git, "add", "--quiet", "--detach", str(to), commit], check=True)
    try:
        yield to
    finally:
        subprocess.run([*git, "remove", "--force", str(to)], check=True)


def bench(before: Path, folder: Path, turns: int, steps: int) -> dict[str, Any]:
    sides = {"before": before, "now": HERE}
    env = {name: environment(tree, folder / f"{name} cache") for name, tree in sides.items()}
    for name, tree in sides.items():
        imported = subprocess.check_output([*PYTHON, "-c", "import regard; print(regard.__file__)"], env=env[name])
        assert Path(imported.decode().strip()).is_relative_to(tree), f"{name} would measure {imported.decode()}"
    words = [__file__, "--steps", str(steps), "--side", "make", str(folder)]
    subprocess.run([sys.executable, *words], check=True, env=env["before"])
    line = (folder / "line.en").read_bytes()
    commands = {"help": ["--help"], "one_line": ["translate", str(folder / "model")]}
    found: dict[str, dict[str, list[Took]]] = {}
    for what, words in commands.items():
        found[what] = in_turns({name: command(words, line, env[name]) for name in sides}, turns)
    for what in ("bulk", "train"):
        started = {name: Side([__file__, "--side", what, str(folder)], **env[name]) for name in sides}
        found[what] = in_turns({name: side.ask for name, side in started.items()}, turns)
        for side in started.values():
            side.close()
    return {what: compare(took) for what, took in found.items()} | {"turns": turns, "steps": steps}


def environment(tree: Path, cache: Path) -> dict[str, str]:
    """Python that imports this tree's package and keeps its bytecode, with a cache of its own."""
    own = {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "", "REGARD_CACHE": str(cache)}
    return os.environ | own | {"XDG_CACHE_HOME": str(cache)}


def in_turns(sides: dict[str, Any], turns: int) -> dict[str, list[Took]]:
    """What each side took for the same work, turn by turn; who begins changes, and the first turn is to warm up."""
    took: dict[str, list[Took]] = {name: [] for name in sides}
    for turn in range(turns + 1):
        for name in sorted(sides, reverse=turn % 2 == 1):
            answer = sides[name]()
            if turn:
                took[name].append((answer["wall"] / answer["amount"], answer["processor"] / answer["amount"]))
    return took


def compare(took: dict[str, list[Took]]) -> dict[str, Any]:
    """The median of each side, for one line, token or start; and the ratio."""
    found: dict[str, Any] = {}
    for at, kind in enumerate(("wall", "processor")):
        before, now = ([one[at] for one in took[name]] for name in ("before", "now"))
        ratio = statistics.median(old / new for old, new in zip(before, now, strict=True))
        found[f"{kind}_ratio"] = round(ratio, 3)
        found |= {f"{kind}_ms_before": milliseconds(before), f"{kind}_ms_now": milliseconds(now)}
    return found


def milliseconds(seconds: list[float]) -> float:
    return float(f"{statistics.median(seconds) * 1000:.3g}")


def command(words: list[str], line: bytes, env: dict[str, str]) -> Any:
    def run() -> dict[str, float]:
        began, before = time.perf_counter(), os.times()
        subprocess.run([*PYTHON, "-m", "regard", *words], input=line, check=True, capture_output=True, env=env)
        wall, after = time.perf_counter() - began, os.times()
        used = after.children_user + after.children_system - before.children_user - before.children_system
        return {"wall": wall, "processor": used, "amount": 1}

    return run


def make(folder: Path, steps: int) -> None:
    """The text, and the translator that the older commit trains on it."""
    import regard

    phrases = regard.phrasebook("en", "fr", PAIRS)
    for name, side in (("en", "source"), ("fr", "target")):
        text = "".join(getattr(phrase, side) + "\n" for phrase in phrases)
        (folder / f"text.{name}").write_text(text, encoding="utf-8")
    (folder / "line.en").write_text(phrases[0].source + "\n", encoding="utf-8")
    settings = SETTINGS | {"stop": {"steps": steps}}
    regard.train("translate", to=folder / "model", settings=settings, **files_of(folder))


def files_of(folder: Path) -> dict[str, Path]:
    return {"source": folder / "text.en", "target": folder / "text.fr"}


def bulk(folder: Path) -> None:
    """Translates the same lines in each turn, greedily."""
    import regard

    translator = regard.load(folder / "model")
    lines = (folder / "text.en").read_text(encoding="utf-8").splitlines()[:LINES]

    def translate() -> dict[str, Any]:
        return timed(lambda: sum(1 for _ in translator.translate_all(lines, beam=1)))

    serve(translate)


def train(folder: Path) -> None:
    """Continues one training in each turn."""
    import regard

    settings = SETTINGS | {"threads": len(os.sched_getaffinity(0)), "stop": {"steps": 100_000}}
    to = Path(tempfile.mkdtemp(dir=folder))
    events = regard.training("translate", to=to, settings=settings, **files_of(folder))
    steps = (event for event in events if type(event).__name__ == "Progress")
    serve(lambda: timed(lambda: sum(next(steps).tokens for _ in range(UPDATES))))
    events.close()  # type: ignore[attr-defined]


def timed(work: Any) -> dict[str, Any]:
    wall, processor = time.perf_counter(), time.process_time()
    amount = work()
    return {"wall": time.perf_counter() - wall, "processor": time.process_time() - processor, "amount": amount}


if __name__ == "__main__":
    main()
