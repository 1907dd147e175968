"""The embedded default: how much of the held-out phrasebook is translated exactly, after how long.

Claim: at least 98 % within 3 minutes on two cores.
"""

import tempfile
import time
from pathlib import Path

from measure import arguments, record

import regard
from regard.cli.demo import LANGUAGES, TEST, VALID, show_translate
from regard.text.score import score_translations


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--directions", default="en-fr,de-en", help="comma between them")
    given = parser.parse_args()
    for direction in given.directions.split(","):
        source, target = direction.split("-")
        assert {source, target} <= set(LANGUAGES)
        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            show_translate(Path(folder), print, lambda line: None, direction)
            seconds = time.perf_counter() - began
            test = regard.phrasebook(source, target, VALID + TEST, held_out=True)[VALID:]
            texts = regard.load(Path(folder) / direction)([phrase.source for phrase in test], beam=1)
        scores = score_translations(texts, [phrase.target for phrase in test])
        found = {
            "exact_percent": round(100 * scores.exact, 2),
            "bleu": round(scores.bleu, 2),
            "signature": scores.signature,
            "seconds_in_all": round(seconds, 1),
            "sentences": len(test),
        }
        record(direction, found, given.json)


if __name__ == "__main__":
    main()
