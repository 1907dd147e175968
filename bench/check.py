"""How well `regard check` finds what was planted into a corpus, its false alarms, and how fast it is.

Thresholds were set while looking at Multi30k and Tatoeba (sorted by length, and with its pairs shuffled): their figures
are in-sample. The phrasebook's English and French, made by rule, is a third text, which no threshold was set by.
"""

import random
import time
from pathlib import Path

import numpy as np
from measure import arguments, report

import regard
from regard.text.check import check_pairs
from regard.text.corpus import PairFiles
from regard.text.languages import count_words, find_foreign, words_of
from regard.text.shifts import UNRELATED, find_shifts

Pairs = list[tuple[str, str]]
KINDS = ["none", "lost", "lost near the begin", "lost near the end", "1 to 20 lost", "lost and added", "8 to 40 lines",
         "doubled", "five places", "one side shuffled", "noise", "lost in the last tenth",
         "21 to 60 lost", "blocks swapped", "reversed"]  # fmt: skip


def plant(  # noqa: PLR0912, PLR0915  one branch for each kind
    pairs: Pairs, kind: str, rng: random.Random
) -> tuple[list[str], list[str], np.ndarray]:
    """Both sides with something planted, and the true shift of each line."""
    source, target = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    count = len(pairs)
    shifts = np.zeros(count, int)
    other = [rng.choice(pairs)[1] for _ in range(20)]
    place = rng.randrange(count // 4, 3 * count // 4)
    size, end = 1, count
    if kind == "lost near the begin":
        place = rng.randrange(1, 12)
    elif kind == "lost near the end":
        place = count - rng.randrange(30, 60)
    elif kind == "lost in the last tenth":
        place = rng.randrange(9 * count // 10, count - 8)
    elif kind == "1 to 20 lost":
        size = rng.randrange(1, 21)
    elif kind in ("lost and added", "doubled"):
        place = rng.randrange(10, count - 210)
        end = place + rng.randrange(60, 200)
    elif kind == "8 to 40 lines":
        place = rng.randrange(10, count - 60)
        end = place + rng.randrange(8, 40)
    if kind == "doubled":
        target.insert(place, target[place])
        del target[end]
        shifts[place + 1 : end] = 1
    elif kind == "five places":
        shift = 0
        for number, here in enumerate(sorted(rng.sample(range(20, count - 20), 5))):
            if number in (0, 2):
                del target[here + shift]
            else:
                target.insert(here + shift, other[number])
            shift += -1 if number in (0, 2) else 1
            shifts[here:] = shift
        target = (target + other)[:count]
    elif kind in ("one side shuffled", "reversed"):
        target = target[::-1] if kind == "reversed" else rng.sample(target, count)
        shifts[:] = UNRELATED
    elif kind == "21 to 60 lost":
        lost = rng.randrange(21, 61)
        target = [*target[:place], *target[place + lost :], *target[:lost]]
        shifts[place:] = UNRELATED
    elif kind == "blocks swapped":
        size = rng.randrange(25, count // 8)
        target[place : place + 2 * size] = target[place + size : place + 2 * size] + target[place : place + size]
        shifts[place : place + 2 * size] = UNRELATED
    elif kind == "noise":  # aligned, but a third of the words of every third target is lost or foreign
        for row in range(0, count, 3):
            target[row] = " ".join(rng.choice([word, word, "xyz"]) for word in target[row].split())
    elif kind != "none":
        del target[place : place + size]
        target[end - size : end - size] = other[:size]
        shifts[place : end - size] = -size
        shifts[end - size : end] = UNRELATED  # the lines that were added fit nowhere; either answer is right
    return source, target, shifts


def try_shifts(pairs: Pairs, size: int, kind: str, seeds: int, *, is_shuffled: bool) -> dict[str, float]:
    found = planted = hits = named = alarms = 0
    for seed in range(seeds):
        rng = random.Random(f"{seed} {size}")
        first = rng.randrange(len(pairs) - size + 1)
        part = pairs[first : first + size]
        if is_shuffled:
            rng.shuffle(part)
        source, target, truth = plant(part, kind, rng)
        path = find_shifts(source, target)
        planted += int((truth != 0).sum())
        found += int((path != 0).sum())
        hits += int(((path != 0) & (truth != 0)).sum())
        named += int(((path == truth) & (truth != 0)).sum())
        alarms += bool(path.any())
    result: dict[str, float] = {"corpora": seeds, "with_alarm": alarms, "false_lines": found - hits}
    if planted:
        result |= {"precision": round(hits / max(1, found), 4), "recall": round(hits / planted, 4),
                   "right_shift": round(named / planted, 4)}  # fmt: skip
    return result


def try_languages(pairs: Pairs, rng: random.Random, third: str = "fr") -> dict[str, float]:
    """False alarms on each side, and how many planted lines are found."""
    others = [phrase.target for phrase in regard.phrasebook("en", third, 500)]
    alarms = len(flagged(pairs)), sum(side == 0 for _, side in flagged(pairs))
    rows = rng.sample(range(len(pairs)), len(pairs) // 50)
    swapped, foreign = list(pairs), list(pairs)
    for row in rows:
        swapped[row] = pairs[row][1], pairs[row][0]
        foreign[row] = rng.choice(others), pairs[row][1]
    both, planted = flagged(swapped), flagged(foreign)
    return {
        "lines": len(pairs),
        "false_alarms_source": alarms[1],
        "false_alarms_target": alarms[0] - alarms[1],
        "recall_swapped_pairs": round(sum((row, 0) in both or (row, 1) in both for row in rows) / len(rows), 4),
        "recall_third_language": round(sum((row, 0) in planted for row in rows) / len(rows), 4),
    }


def flagged(pairs: Pairs) -> set[tuple[int, int]]:
    sides = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    words = list(map(words_of, sides[0])), list(map(words_of, sides[1]))
    counts = count_words(words[0]), count_words(words[1])
    return {(place, side) for place, side, _ in find_foreign(sides, words, counts)}


def read(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def main() -> None:
    parser = arguments(__doc__, data=True)
    parser.add_argument("--tatoeba", type=Path, required=True, help="a .tsv of pairs")
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 2000, 20_000])
    parser.add_argument("--seeds", type=int, default=4)
    given = parser.parse_args()
    sides = [given.data / f"train.{language}" for language in ("en", "de")]
    multi30k = list(zip(*map(read, sides), strict=True))
    tatoeba = [(row.split("\t")[0], row.split("\t")[1]) for row in read(given.tatoeba)]
    began = time.process_time()
    whole = check_pairs(PairFiles(*sides))
    middle = time.process_time()
    check_pairs(PairFiles(*sides), most=50_000)
    quick = time.process_time() - middle
    made = [(phrase.source, phrase.target) for phrase in regard.phrasebook("en", "fr", 20_000)]
    texts = {
        "phrasebook": (made, False),
        "multi30k": (multi30k, False),
        "tatoeba sorted": (tatoeba, False),
        "tatoeba shuffled": (tatoeba, True),
    }
    shifts = {
        f"{name}, {size} pairs, {kind}": try_shifts(
            pairs, size, kind, max(1, given.seeds if size < 20_000 else given.seeds // 4), is_shuffled=is_shuffled
        )
        for name, (pairs, is_shuffled) in texts.items()
        for size in given.sizes
        for kind in KINDS
    }
    mixed = random.Random(1).sample(tatoeba, 20_000)
    report(
        {
            "pairs": whole.lines,
            "pairs_per_cpu_second": round(whole.lines / (middle - began)),
            "quick_check_cpu_seconds": round(quick, 2),
            "found": {name: finding.count for name, finding in whole.findings.items()},
            "languages": {
                "multi30k": try_languages(multi30k, random.Random(1)),
                "tatoeba": try_languages(mixed, random.Random(1)),
                "phrasebook": try_languages(made, random.Random(1), "de"),
            },
            "shifts": shifts,
        },
        given.json,
    )


if __name__ == "__main__":
    main()
