"""How long `regard --help` takes, against a Python that does nothing. Claim: under 0.5 s."""

import statistics
import subprocess
import sys
import time

from measure import arguments, report


def seconds(*words: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, *words], check=True, capture_output=True)
    return time.perf_counter() - began


def main() -> None:
    given = arguments(__doc__).parse_args()
    runs = [(seconds("-m", "regard", "--help"), seconds("-c", "pass")) for _ in range(9)]
    help_seconds, bare_seconds = (statistics.median(side) for side in zip(*runs, strict=True))
    report(
        {
            "help_seconds": round(help_seconds, 3),
            "bare_python_seconds": round(bare_seconds, 3),
            "ratio": round(help_seconds / bare_seconds, 1),
        },
        given.json,
    )


if __name__ == "__main__":
    main()
