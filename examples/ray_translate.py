"""Many lines, many machines: a translator mapped over a Ray Data set.

Each worker opens the model once and translates batches of lines; order and number of lines are kept.

    pip install "ray[data]"
    python examples/ray_translate.py models/de-en letters.de letters.en
"""

import argparse
from pathlib import Path
from typing import Any

import regard


class Worker:
    """One process of Ray's with its own copy of the model, on one core."""

    def __init__(self, model: str) -> None:
        self.translator = regard.load(model)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """A batch of lines, numbered, and their translations."""
        return {"number": batch["number"], "text": self.translator([str(text) for text in batch["text"]])}


def main(model: Path, source: Path, target: Path, workers: int = 2) -> int:
    """Translates a file; how many lines it had."""
    import ray

    lines = source.read_text(encoding="utf-8").splitlines()
    rows = [{"number": number, "text": line} for number, line in enumerate(lines)]
    found = (
        ray.data.from_items(rows)
        .map_batches(
            Worker, fn_constructor_args=(str(model.resolve()),), concurrency=workers, num_cpus=1, batch_size=256
        )
        .take_all()
    )
    found.sort(key=lambda row: row["number"])
    target.write_text("".join(f"{row['text']}\n" for row in found), encoding="utf-8")
    return len(found)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("model", "source", "target"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    print(f"{main(given.model, given.source, given.target, given.workers)} lines")
