"""How fast the corpus doctor reads: pairs a second on one core (goal 20,000), against only reading them."""

import statistics
import time
from pathlib import Path

from measure import arguments, report

from regard.text.corpus import PairFiles
from regard.text.doctor import check_pairs

TURNS = 5


def main() -> None:
    given = arguments(__doc__, data=True).parse_args()
    sides = [given.data / f"train.{language}" for language in ("en", "de")]
    checked, bare, found = [], [], {}
    for _ in range(TURNS):
        began = time.perf_counter()
        result = check_pairs(PairFiles(*sides))
        checked.append(result.lines / (time.perf_counter() - began))
        found = {name: finding.count for name, finding in result.findings.items()}
        began = time.perf_counter()
        lines = sum(1 for path in sides for raw in read(path) if raw.decode())
        bare.append(lines / 2 / (time.perf_counter() - began))
    report(
        {
            "pairs": result.lines,
            "pairs_per_second": round(statistics.median(checked)),
            "over_only_reading": round(statistics.median(c / b for c, b in zip(checked, bare, strict=True)), 4),
            "found": found,
        },
        given.json,
    )


def read(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


if __name__ == "__main__":
    main()
