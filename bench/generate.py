"""How fast a finished translator is: against CTranslate2 itself and Hugging Face, in turns, with the same weights.

Every side runs in a process of its own, from text to text, each with the same tokenizer and limits. A peer is measured
in several layouts; "best" is the best of them, "default" what it does without options. Parts: bulk, single,
equal (both engines, alone and in company), terms, endless (memory and speed over many lines).
"""

import itertools
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measure import arguments, record
from sides import LIMIT, SIDES, open_side
from turns import Side, memory_mb

BULK = list(SIDES)
SINGLE = ["regard", "regard int8", "regard fast", "regard int8 fast", "regard torch",
          "ct2 2x1", "ct2 1x2", "ct2 default", "hf 1 thread", "hf 2 threads"]  # fmt: skip


def main() -> None:
    parser = arguments(__doc__, data=True)
    parser.add_argument("--model", type=Path, help="a trained translator; else one is trained for ten minutes")
    parser.add_argument("--shape", choices=["tiny", "base"], default="tiny", help="base: of that size, hardly trained")
    parser.add_argument("--parts", default="bulk,single,equal,terms")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--lines", type=int, default=1000, help="of the bulk part")
    parser.add_argument("--endless", type=int, default=1_000_000, help="lines of the endless part")
    parser.add_argument("--only", help="names of sides, by commas")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        model = given.model or make_model(given.data, given.shape, Path(temporary))
        for part in given.parts.split(","):
            name = part if given.shape == "tiny" else f"{part}, {given.shape}"
            record(name, PARTS[part](given, model), given.json)


def make_model(data: Path, shape: str, folder: Path) -> Path:
    import regard

    files = {side: data / f"train.lc.tok.{suffix}" for side, suffix in (("source", "en"), ("target", "de"))}
    settings: dict[str, Any] = {"stop": {"minutes": 10}}
    if shape == "base":  # it learns little, but that sentences end: loops would be what is measured
        settings |= {
            "size": "base",
            "workers": 1,
            "model": {"dropout": 0.0},
            "train": {"held_out": 50, "tokens_per_batch": 1024, "warmup_steps": 50, "learning_rate": 0.0005},
        }
    regard.train("translate", to=folder / "model", settings=settings, **files)
    return folder / "model"


def read(data: Path, part: str, side: str, count: int) -> list[str]:
    lines = (data / f"{part}.lc.tok.{side}").read_text(encoding="utf-8").splitlines()
    return lines[:count]


def bulk(given: Any, model: Path) -> dict[str, Any]:
    lines = read(given.data, "test_2016_flickr", "en", given.lines)
    references = read(given.data, "test_2016_flickr", "de", given.lines)
    return {f"beam {beam}": race(given, model, BULK, lines, references, beam) for beam in (1, 4)}


def race(
    given: Any, model: Path, names: list[str], lines: list[str], references: list[str], beam: int
) -> dict[str, Any]:
    sides = open_sides(given, model, names)
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    last: dict[str, Any] = {}
    for turn in range(given.turns + 1):
        for name, side in sides.items():
            last[name] = side.ask(lines=lines, beam=beam)
            if turn:  # the first is to warm up
                seconds[name].append(last[name]["seconds"])
    for side in sides.values():
        side.close()
    found: dict[str, Any] = {}
    for name in sides:
        texts = last[name]["texts"]
        found[name] = {
            "lines_per_second": round(len(lines) / statistics.median(seconds[name]), 1),
            "bleu": bleu(texts, references),
            "same_as_regard": sum(map(str.__eq__, texts, last["regard"]["texts"])),
            "memory_mb": round(last[name]["memory"]),
        }

    def ratio(mine: str, theirs: list[str]) -> float:
        pairs = zip(seconds[mine], *(seconds[name] for name in theirs), strict=True)
        return round(statistics.median(min(other) / own for own, *other in pairs), 3)

    ratios = {}
    for name, mine, theirs in RATIOS:
        there = [other for other in theirs if other in sides]
        if mine in sides and there:
            ratios[name] = ratio(mine, there)
    return {"ratios": ratios, "sides": found}


# ratio -> how many times as fast the first is as the best of the others, turn by turn
BEST = ["ct2 2x1", "ct2 2x1 mkl", "ct2 1x2"]
HF = ["hf 1 thread", "hf 2 threads"]
RATIOS: list[tuple[str, str, list[str]]] = [
    ("over_ct2_best", "regard", BEST),
    ("over_ct2_default", "regard", ["ct2 default"]),
    ("over_hf", "regard", HF),
    ("int8_over_ct2_int8_best", "regard int8", ["ct2 int8 2x1"]),
    ("fast_over_ct2_best", "regard fast", BEST),
    ("int8_fast_over_ct2_int8_best", "regard int8 fast", ["ct2 int8 2x1"]),
    ("alignments_over_none", "regard alignments", ["regard"]),
    ("torch_over_hf", "regard torch", HF),
    ("fast_over_hf", "regard fast", HF),
    ("int8_fast_over_hf", "regard int8 fast", HF),
]


def single(given: Any, model: Path) -> dict[str, Any]:
    """One sentence at a time, each asked when the last has been answered."""
    lines = read(given.data, "test_2016_flickr", "en", 60)
    found: dict[str, Any] = {}
    for beam in (1, 4):
        sides = open_sides(given, model, SINGLE)
        times: dict[str, list[float]] = {name: [] for name in sides}
        for turn in range(given.turns + 1):
            for name, side in sides.items():
                answer = side.ask(lines=lines, beam=beam, alone=True)
                if turn:
                    times[name].append(statistics.median(answer["each"]))
        for side in sides.values():
            side.close()
        ratios = {}
        for name, mine, theirs in RATIOS:
            there = [other for other in theirs if other in sides]
            if mine in sides and there:
                pairs = zip(times[mine], *(times[other] for other in there), strict=True)
                ratios[name] = round(statistics.median(min(other) / own for own, *other in pairs), 3)
        p50 = {name: round(1000 * statistics.median(values), 2) for name, values in times.items()}
        found[f"beam {beam}"] = {"ratios": ratios, "p50_ms": p50}
    return found


def equal(given: Any, model: Path) -> dict[str, Any]:
    """The same tokens from either engine, and alone as in company."""
    import regard

    lines = list(itertools.islice(every_line(given.data), 5000))
    fast, slow = regard.load(model), regard.load(model, engine="torch")
    found: dict[str, Any] = {"sentences": len(lines)}
    for beam in (1, 4):
        mine, theirs, alone = (
            list(fast.translate_all(lines, beam=beam)),
            list(slow.translate_all(lines, beam=beam)),
            [fast.translate(line, beam=beam) for line in lines],
        )
        found[f"beam {beam}"] = {
            "engines_differ": differences(lines, mine, theirs),
            "alone_differs": differences(lines, mine, alone),
        }
    shortened = list(fast.translate_all(lines, beam=4, fast=True))
    small = fast.translate_all(lines, beam=4, fast=True, window=16)
    found["fast_differs_from_full"] = len(differences(lines, mine, shortened))
    found["fast_differs_in_other_company"] = len(differences(lines, shortened, list(small)))
    return found


def differences(lines: list[str], mine: list[Any], theirs: list[Any]) -> list[dict[str, Any]]:
    return [
        {"line": line, "scores": [round(a.score, 4), round(b.score, 4)], "texts": [a.text, b.text]}
        for line, a, b in zip(lines, mine, theirs, strict=True)
        if a.tokens != b.tokens
    ]


def every_line(data: Path) -> Any:
    for part in ("test_2016_flickr", "val", "train"):
        yield from read(data, part, "en", 10**9)


def terms(given: Any, model: Path) -> dict[str, Any]:
    """Words of real text that must be translated as the reference has them, with and without constraints."""
    import regard
    from regard.text.terms import terms_in

    translator = regard.load(model)
    sides = [read(given.data, "train", side, 10**9) for side in ("en", "de")]
    dictionary = count_words(*sides)
    lines, references = (read(given.data, "test_2016_flickr", side, given.lines) for side in ("en", "de"))
    chosen: list[tuple[str, str, dict[str, str]]] = []
    for line, reference in zip(lines, references, strict=True):
        words = {w: t for w in line.split() for t in dictionary.get(w, []) if t in reference.split()}
        if words:
            word = max(words, key=len)
            chosen.append((line, reference, {word: words[word]}))
    free = [one.text for one in translator.translate_all([line for line, _, _ in chosen])]
    began = time.perf_counter()
    bound = [translator.translate(line, terms=wanted).text for line, _, wanted in chosen]
    seconds = time.perf_counter() - began
    began = time.perf_counter()
    for line, _, _ in chosen:
        translator.translate(line)
    plain = time.perf_counter() - began

    def honoured(texts: list[str]) -> float:
        forced = [
            next(iter(wanted.values())) in text.split() for (_, _, wanted), text in zip(chosen, texts, strict=True)
        ]
        return round(sum(forced) / len(forced), 4)

    assert all(terms_in(line, wanted) for line, _, wanted in chosen)
    references = [reference for _, reference, _ in chosen]
    return {
        "sentences": len(chosen), "honoured_free": honoured(free), "honoured_bound": honoured(bound),
        "bleu_free": bleu(free, references), "bleu_bound": bleu(bound, references),
        "times_slower_than_ctranslate2_one_by_one": round(seconds / plain, 1),
    }  # fmt: skip


def count_words(sources: list[str], targets: list[str]) -> dict[str, list[str]]:
    """For each rarer source word, the target words that stand beside it most of the time, by Dice's measure."""
    from collections import Counter

    mine, theirs, both = Counter(), Counter(), Counter()
    for source, target in zip(sources, targets, strict=True):
        first, second = set(source.split()), set(target.split())
        mine.update(first)
        theirs.update(second)
        both.update(itertools.product(first, second))
    found: dict[str, list[str]] = {}
    for (source, target), count in both.items():
        dice = 2 * count / (mine[source] + theirs[target])
        if 10 <= mine[source] <= 2000 and dice > 0.3 and source.isalpha() and target.isalpha():
            found.setdefault(source, []).append(target)
    return found


def endless(given: Any, model: Path) -> dict[str, Any]:
    """Many lines through the command line: what it holds and how fast it is, tenth by tenth."""
    command = [sys.executable, "-m", "regard", "translate", str(model), "--beam", "1", "--max-length", str(LIMIT)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
    import threading

    def feed() -> None:
        assert process.stdin
        for line in itertools.islice(itertools.cycle(every_line(given.data)), given.endless):
            process.stdin.write(line + "\n")
        process.stdin.close()

    threading.Thread(target=feed, daemon=True).start()
    assert process.stdout
    rows, began = [], time.perf_counter()
    for number, _ in enumerate(process.stdout, start=1):
        if number % (given.endless // 10) == 0:
            now = time.perf_counter()
            rows.append({"lines": number, "lines_per_second": round(given.endless / 10 / (now - began), 1),
                         "memory_mb": round(memory_mb(process.pid))})  # fmt: skip
            began = now
    return {"lines_in": given.endless, "lines_out": number, "tenths": rows, "exit": process.wait()}


PARTS: dict[str, Callable[..., dict[str, Any]]] = {
    "bulk": bulk, "single": single, "equal": equal, "terms": terms, "endless": endless,
}  # fmt: skip


def bleu(texts: list[str], references: list[str]) -> float:
    import sacrebleu

    return round(sacrebleu.corpus_bleu(texts, [references], tokenize="none", force=True).score, 2)


def open_sides(given: Any, model: Path, names: list[str]) -> dict[str, Side]:
    wanted = given.only.split(",") if given.only else names
    return {name: open_side(name, model) for name in names if name in wanted or name == "regard"}


if __name__ == "__main__":
    sys.exit(main())
