"""Looking inside: how well words are aligned, and how fast the page is.

- aligned: AER on held-out sentences of the phrasebook, whose true alignment is known, with models trained as by the
  demo (goal 5 %); with both directions, symmetrised.
- eflomal: comparison with a statistical aligner on Multi30k's test part, by the AER of ours with its sure (both
  directions) and possible (either) links. Needs `eflomal-align` on the PATH, and --model, of the lowercased text.
- page: a page of 512 x 512 tokens, 4 layers and 4 heads, in Chromium: first paint (goal 1 s) and how long pointing
  takes (goal 16 ms).
- price: a translation with and without an inspection; the words must be the same.
"""

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from measure import arguments, record

import regard
from regard.alignment.links import AlignmentScore, Links, symmetrise
from regard.look.inspection import Inspection, Kind, TokenScore

DIRECTIONS = ("en-fr", "fr-en", "de-en", "en-de")
TOKENS, LAYERS, HEADS = 512, 4, 4
VALID, TEST = 100, 500  # held-out sentences: those the demo validates on, and those after them


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--data", type=Path, help="folder of Multi30k, for eflomal")
    parser.add_argument("--model", type=Path, help="a translator of its lowercased English to German, for eflomal")
    parser.add_argument("--to", type=Path, help="keep the demo's models here; those that are there are used")
    parser.add_argument("--parts", default="aligned,page,price")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        for part in given.parts.split(","):
            record(part, PARTS[part](given, given.to or Path(temporary)), given.json)


def aligned(given: Any, folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    links: dict[str, list[Links]] = {}
    gold: dict[str, list[Links]] = {}
    for direction in DIRECTIONS:
        model = folder / direction / direction
        if not (model / "regard.json").exists():
            words = ["-m", "regard", "demo", "--direction", direction, "--to", str(folder / direction)]
            subprocess.run([sys.executable, *words], check=True, capture_output=True)
        phrases = regard.phrasebook(*direction.split("-"), VALID + TEST, held_out=True)[VALID:]
        translator = regard.load(model)
        links[direction] = translator.align([one.source for one in phrases], [one.target for one in phrases])
        gold[direction] = [list(one.alignment) for one in phrases]
        found[direction] = score(links[direction], gold[direction]) | {"heads": translator.alignment_heads}
    for direction in ("en-fr", "de-en") if shutil.which("eflomal-align") else ():
        found[f"{direction}, eflomal"] = statistical(direction, gold[direction])
    for direction in ("en-fr", "de-en"):
        first, second = direction.split("-")
        back = [[(s, t) for t, s in one] for one in links[f"{second}-{first}"]]
        both = [symmetrise(mine, theirs) for mine, theirs in zip(links[direction], back, strict=True)]
        found[f"{direction}, both directions"] = score(both, gold[direction])
    return found


def statistical(direction: str, gold: list[Links]) -> dict[str, float]:
    """eflomal on the same text, lowercased, both directions put together in the same way."""
    test = regard.phrasebook(*direction.split("-"), VALID + TEST, held_out=True)[VALID:]
    rows = [*test, *regard.phrasebook(*direction.split("-"), 60_000)]
    forward, backward = run_eflomal([one.source.lower() for one in rows], [one.target.lower() for one in rows])
    return score([symmetrise(a, b) for a, b in zip(forward, backward, strict=True)][: len(test)], gold)


def run_eflomal(sources: list[str], targets: list[str]) -> tuple[list[Links], list[Links]]:
    with tempfile.TemporaryDirectory() as place:
        names = [Path(place) / name for name in ("s", "t", "forward", "backward")]
        for path, lines in zip(names, (sources, targets), strict=False):
            path.write_text("\n".join(lines) + "\n")
        words = ["eflomal-align", "-s", names[0], "-t", names[1], "-f", names[2], "-r", names[3]]
        subprocess.run(words, check=True, capture_output=True)
        forward, backward = ([read(line) for line in path.read_text().splitlines()] for path in names[2:])
    return forward, backward


def score(found: list[Links], sure: list[Links], possible: list[Links] | None = None) -> dict[str, float]:
    compared = AlignmentScore()
    for mine, certain, maybe in zip(found, sure, possible or sure, strict=True):
        compared.add(mine, certain, maybe)
    return {name: round(value, 4) for name, value in compared.scores.items()}


def eflomal(given: Any, folder: Path) -> dict[str, Any]:
    if shutil.which("eflomal-align") is None or given.model is None:
        return {"skipped": "needs eflomal-align on the PATH and --model"}
    sides = []
    for language in ("en", "de"):
        lines = [(given.data / f"{part}.lc.tok.{language}").read_text().splitlines() for part in PARTS_OF_TEXT]
        sides.append(lines[0] + lines[1])
    forward, backward = run_eflomal(*sides)
    count = 1000
    sure = [sorted(set(a) & set(b)) for a, b in zip(forward, backward, strict=True)][:count]
    possible = [sorted(set(a) | set(b)) for a, b in zip(forward, backward, strict=True)][:count]
    translator = regard.load(given.model)
    mine = translator.align(sides[0][:count], sides[1][:count])
    whole = [symmetrise(a, b) for a, b in zip(forward, backward, strict=True)][:count]
    return {
        "ours_against_eflomal": score(mine, sure, possible),
        "ours_against_eflomal_symmetrised": score(mine, whole),
        "heads": translator.alignment_heads,
    }


PARTS_OF_TEXT = ("test_2016_flickr", "train")


def read(line: str) -> Links:
    pairs = (link.split("-") for link in line.split())
    return [(int(a), int(b)) for a, b in pairs]


def page(given: Any, folder: Path) -> dict[str, Any]:
    """A large page in a real browser; each figure is the median of several visits."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium")
    if chromium is None:
        return {"skipped": "no chromium"}
    torch.manual_seed(0)
    tokens = [f" w{number}" for number in range(TOKENS)]
    words: list[int | None] = list(range(TOKENS))
    kinds = {
        name: Kind(tokens, tokens, torch.rand(LAYERS, HEADS, TOKENS, TOKENS).pow(8).softmax(-1), words, words)
        for name in ("cross", "encoder", "decoder")
    }
    scores = [TokenScore(place, token, 0.5, [(token, 0.5)] * 8) for place, token in enumerate(tokens)]
    seen = Inspection("translate", "a text", "its translation", kinds, scores, aligning={"layer": 0, "heads": [0]})
    path = folder / "look.html"
    seen.save(path)
    paints, hovers, matrices = [], [], []
    with sync_playwright() as running:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
        browser = running.chromium.launch(executable_path=chromium, args=flags)
        for _ in range(5):
            visit = browser.new_page(viewport={"width": 1280, "height": 900})
            visit.goto(path.as_uri())
            paint = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
            paints.append(visit.evaluate(paint))
            hovers.append(visit.evaluate(POINT_AT_WORDS))
            visit.keyboard.press("2")
            matrices.append(visit.evaluate(POINT_AT_CELLS))
            visit.close()
        browser.close()
    return {
        "tokens": f"{TOKENS} x {TOKENS}, {LAYERS} layers, {HEADS} heads, 3 kinds",
        "file_mb": round(path.stat().st_size / 1e6, 1),
        "first_paint_ms": round(statistics.median(paints)),
        "hover_word_ms": round(statistics.median(hovers), 2),
        "hover_cell_ms": round(statistics.median(matrices), 2),
    }


# Median time from pointing to the next frame's being ready: the work of the page, layout included.
POINT_AT_WORDS = """() => {
  const spans = [...document.querySelectorAll('.token[data-side="row"]')].slice(0, 40), times = [];
  for (const span of spans) {
    const began = performance.now();
    span.dispatchEvent(new PointerEvent('pointerenter'));
    document.body.offsetHeight;
    times.push(performance.now() - began);
  }
  return times.sort((a, b) => a - b)[20];
}"""
POINT_AT_CELLS = """() => {
  const canvas = document.querySelector('canvas.matrix'), box = canvas.getBoundingClientRect(), times = [];
  for (let i = 0; i < 40; i++) {
    const began = performance.now();
    const at = { clientX: box.left + 200 + 7 * i, clientY: box.top + 200 + 5 * i };
    canvas.dispatchEvent(new PointerEvent('pointermove', at));
    times.push(performance.now() - began);
  }
  return times.sort((a, b) => a - b)[20];
}"""


def price(given: Any, folder: Path) -> dict[str, Any]:
    """What looking costs, and that it changes nothing."""
    model = folder / "en-fr" / "en-fr"
    if not (model / "regard.json").exists():
        return {"skipped": "needs the models of the part aligned"}
    translator = regard.load(model)
    texts = [one.source for one in regard.phrasebook("en", "fr", 40, held_out=True)]
    translator.look(texts[0], why=True)
    times: dict[str, list[float]] = {"translate": [], "look": [], "look and why": []}
    same = True
    for text in texts:
        began = time.perf_counter()
        translated = translator(text)
        times["translate"].append(time.perf_counter() - began)
        for name, why in (("look", False), ("look and why", True)):
            began = time.perf_counter()
            seen = translator.look(text, why=why)
            times[name].append(time.perf_counter() - began)
            same = same and seen.answer == translated
    base = statistics.median(times["translate"])
    return {"same_words": same, **{f"{name}_times_a_translation": round(statistics.median(values) / base, 1)
                                   for name, values in times.items() if name != "translate"}}  # fmt: skip


PARTS = {"aligned": aligned, "eflomal": eflomal, "page": page, "price": price}

if __name__ == "__main__":
    main()
