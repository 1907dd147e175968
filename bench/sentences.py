"""Lines of 2 to 10 held-out sentences: BLEU against translating the sentences one by one, and what the check costs.

Goals: split, within 0.5 BLEU of one by one; the check for lost words at most 3 % of bulk speed. For comparison, the
same lines unsplit, and how many of those are reported. The cost is process time with and without the check, in turns.
"""

import random
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from measure import arguments, record

import regard

MOST = 10  # sentences of a line


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--model", type=Path, required=True, help="a trained translator")
    parser.add_argument("--data", type=Path, help="held-out text: --data/--test.SOURCE and .TARGET")
    parser.add_argument("--test", default="test_2016_flickr")
    parser.add_argument("--phrasebook", action="store_true", help="held-out phrases of the demo instead of --data")
    parser.add_argument("--lines", type=int, default=1000, help="held-out sentences")
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--turns", type=int, default=5)
    given = parser.parse_args()
    model = regard.load(given.model)
    sources, references = read(given, model)
    record("lost", bench(model, sources, references, given.beam), given.json)
    record("cost", cost(model, sources, given.beam, given.turns), given.json)


def read(given: Any, model: Any) -> tuple[list[str], list[str]]:
    languages = model.source_language, model.target_language
    if given.phrasebook:
        pairs = regard.phrasebook(*languages, given.lines, seed=9)
        return [pair.source for pair in pairs], [pair.target for pair in pairs]
    files = [given.data / f"{given.test}.{language}" for language in languages]
    mine, theirs = (path.read_text(encoding="utf-8").splitlines()[: given.lines] for path in files)
    return mine, theirs


def bench(model: Any, sources: list[str], references: list[str], beam: int) -> dict[str, Any]:
    groups = draw_groups(len(sources))
    lines, wanted = ([" ".join(side[n] for n in group) for group in groups] for side in (sources, references))
    alone = model(sources, beam=beam)
    split = list(model.translate_all(lines, beam=beam))
    whole = list(model.translate_all(lines, beam=beam, split_sentences=False))
    one_by_one = [" ".join(alone[n] for n in group) for group in groups]
    scores = {
        "one_by_one": bleu(one_by_one, wanted),
        "split": bleu([one.text for one in split], wanted),
        "unsplit": bleu([one.text for one in whole], wanted),
    }
    return {
        "model": model.info.data.get("files"),
        "sentences_per_line": model.info.data.get("sentences_per_line"),
        "sentences": len(sources),
        "lines": len(lines),
        "bleu": scores,
        "split_minus_one_by_one": round(scores["split"] - scores["one_by_one"], 2),
        "lines_as_one_by_one": sum(one.text == other for one, other in zip(split, one_by_one, strict=True)),
        "reported": {
            "single sentences": sum(bool(one.unaligned) for one in model.translate_all(sources, beam=beam)),
            "lines, split": sum(bool(one.unaligned) for one in split),
            "lines, unsplit": sum(bool(one.unaligned) for one in whole),
        },
    }


def draw_groups(count: int) -> list[list[int]]:
    """Every sentence once, 2 to 10 of them together."""
    rng, groups, first = random.Random(1), [], 0
    while first < count:
        size = rng.randint(2, MOST)
        groups.append(list(range(first, min(count, first + size))))
        first += size
    return groups


def cost(model: Any, sources: list[str], beam: int, turns: int) -> dict[str, Any]:
    """Process time of translating single sentences in bulk with the check, to that without it."""
    lines = sources * max(1, 2000 // len(sources))
    is_suspect = model.aligner.is_suspect
    ratios = []
    suspects = 0

    def count(source: Any, target: Any) -> bool:
        nonlocal suspects
        found = is_suspect(source, target)
        suspects += found
        return found

    model.aligner.is_suspect = count
    model(lines, beam=beam)
    for _ in range(turns):
        seconds = {}
        for name, check in (("without", lambda source, target: False), ("with", is_suspect)):
            model.aligner.is_suspect = check
            began = time.process_time()
            model(lines, beam=beam)
            seconds[name] = time.process_time() - began
        ratios.append(seconds["with"] / seconds["without"])
    model.aligner.is_suspect = is_suspect
    return {
        "lines": len(lines),
        "beam": beam,
        "suspects": suspects,
        "process_time_with_to_without": round(statistics.median(ratios), 4),
        "turns": [round(ratio, 4) for ratio in ratios],
    }


def bleu(texts: list[str], references: list[str]) -> float:
    import sacrebleu

    return round(sacrebleu.corpus_bleu(texts, [references], force=True).score, 2)


if __name__ == "__main__":
    sys.exit(main())
