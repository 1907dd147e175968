"""How long `regard --help` and `regard translate` of one line take from a cold start, against a Python doing nothing.

Claims: under 0.5 s and 0.6 s. Sides take turns, each in a new process, with bytecode compiled before, as it is after
an installation; beside the wall time, the processor's (user and system). `where`: milliseconds that importing takes, by
package, as `-X importtime` has them.
"""

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from measure import arguments, report

LINE = "The dog sleeps."


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--model", type=Path, help="a trained translator; else one is trained for a few steps")
    parser.add_argument("--turns", type=int, default=9)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        model = given.model or make_model(Path(temporary))
        translate = ["-m", "regard", "translate", str(model), "--text", LINE]
        sides = {"bare_python": ["-c", "pass"], "help": ["-m", "regard", "--help"], "translate": translate}
        env = os.environ | {"PYTHONPYCACHEPREFIX": f"{temporary}/bytecode"}
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        runs: dict[str, list[tuple[float, float]]] = {name: [] for name in sides}
        for turn in range(given.turns + 1):
            for name, words in sides.items():
                took = run(words, env)
                if turn:  # the first compiles the bytecode, and the fast engine's copy
                    runs[name].append(took)
        where = importing(translate, env)
    found: dict[str, Any] = {}
    for name, took in runs.items():
        wall, processor = (statistics.median(side) for side in zip(*took, strict=True))
        found |= {f"{name}_seconds": round(wall, 3), f"{name}_processor_seconds": round(processor, 3)}
    found["ratio"] = round(found["help_seconds"] / found["bare_python_seconds"], 1)
    report(found | {"where": where}, given.json)


def make_model(folder: Path) -> Path:
    import regard

    phrases = regard.phrasebook("en", "de", 2000)
    for name, side in (("en", "source"), ("de", "target")):
        text = "\n".join(getattr(phrase, side) for phrase in phrases)
        (folder / f"text.{name}").write_text(text, encoding="utf-8")
    settings = {"size": "tiny", "workers": 1, "stop": {"steps": 20}}
    files = {"source": folder / "text.en", "target": folder / "text.de"}
    regard.train("translate", to=folder / "model", settings=settings, **files)
    return folder / "model"


def run(words: list[str], env: dict[str, str]) -> tuple[float, float]:
    """Seconds on the wall and of the processor."""
    began, before = time.perf_counter(), os.times()
    subprocess.run([sys.executable, *words], check=True, capture_output=True, env=env)
    seconds, after = time.perf_counter() - began, os.times()
    used = [getattr(after, name) - getattr(before, name) for name in ("children_user", "children_system")]
    return seconds, sum(used)


def importing(words: list[str], env: dict[str, str]) -> dict[str, float]:
    """Milliseconds by package, the costliest first."""
    command = [sys.executable, "-X", "importtime", *words]
    printed = subprocess.run(command, check=True, capture_output=True, text=True, env=env).stderr
    took: Counter[str] = Counter()
    for own, package in re.findall(r"import time:\s+(\d+) \|\s+\d+ \|\s*(\w+)", printed):
        took[package] += int(own)
    return {package: round(time / 1000, 1) for package, time in took.most_common(10)}


if __name__ == "__main__":
    main()
