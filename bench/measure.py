"""What every benchmark needs: the machine's name, a table, a JSON file.

A measurement is an object with its own `machine`, `date` and `commit`. A results file is one measurement (`report`), or
an object of measurements by name (`record`); either way a run overwrites what it measured and nothing else.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


def arguments(description: str, *, data: bool = False) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", type=Path, help="write the results here")
    if data:
        parser.add_argument("--data", type=Path, required=True, help="folder of the corpus")
    return parser


def machine() -> dict[str, Any]:
    import torch

    model = next(
        (line.split(":")[1].strip() for line in _cpuinfo() if line.startswith("model name")), platform.machine()
    )
    return {
        "cpu": model,
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def peak_memory_mb() -> float:
    """The most this process ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def when() -> dict[str, str]:
    """The day, and the commit that is measured."""
    found = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=Path(__file__).parent, capture_output=True, text=True, check=False
    )
    return {"date": datetime.now(UTC).date().isoformat(), "commit": found.stdout.strip()}


def stamped(measurement: dict[str, Any]) -> dict[str, Any]:
    """The measurement with its machine, its day and its commit."""
    return measurement | {"machine": machine()} | when()


def report(measurement: dict[str, Any], to: Path | None) -> None:
    """Prints one measurement and writes it as a file of its own; older ones kept in that file by name stay."""
    measurement = stamped(measurement)
    for name, value in measurement.items():
        sys.stdout.write(f"{name:28} {value}\n")
    if to:
        kept = {name: value for name, value in read(to).items() if isinstance(value, dict) and "machine" in value}
        _write(measurement | kept, to)


def record(name: str, measurement: dict[str, Any], to: Path | None) -> None:
    """Prints one measurement and writes it under its name; the others in the file stay."""
    measurement = stamped(measurement)
    print(name, json.dumps(measurement, indent=2), flush=True)
    if to:
        _write(read(to) | {name: measurement}, to)


def read(path: Path | None) -> dict[str, Any]:
    """The measurements of a results file; none if there is no file yet."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path and path.exists() else {}
    return found


def _write(results: dict[str, Any], to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []
