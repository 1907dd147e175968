"""What every benchmark needs: the machine's name, a table, a JSON file."""

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


def report(results: dict[str, Any], to: Path | None) -> None:
    """Prints a table and writes JSON beside it."""
    results = results | {"machine": machine()} | when()
    for name, value in results.items():
        sys.stdout.write(f"{name:28} {value}\n")
    if to:
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(json.dumps(results, indent=2) + "\n")


def _cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []
