"""The model in a page, in Chromium on this machine: equal to torch, and fast.

- tokenizers: ids of 10,000 nasty strings for every tokenizer that is trained (in node); how many differ (goal 0).
- equal: 1,000 texts for each translator that is given, in float32 and in float16, against torch with the same weights.
  Greedy tokens may differ only where the two best logits are closer than 1e-4 (ties); attention within 1e-4.
- fast: a translator of the shape tiny, trained for a moment: a translation of 15 tokens with all heads recorded (goal
  150 ms), first paint (goal 1 s), and the file against 1.4 times its weights, 250 kB and the tokenizer.
"""

import base64
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from measure import arguments, record

import regard
from regard.convert import make_page
from regard.engines.packed import round_weights

TESTS = Path(__file__).parents[1] / "tests" / "page"
TEXTS, NASTY, VISITS, TOKENS = 1000, 10_000, 5, 15
ASK = """async ([path, some]) => {
  const plain = (_, value) => (ArrayBuffer.isView(value) ? [...value] : value), found = [];
  for (const fields of some) found.push(await regard.askJson(path, fields));
  return JSON.stringify(found, plain);
}"""
TIMED = """async (fields) => {
  const began = performance.now();
  await regard.askJson("/api/translate", fields);
  const middle = performance.now();
  await regard.askJson("/api/look", fields);
  return [middle - began, performance.now() - middle];
}"""


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--models", type=Path, nargs="*", default=[], help="translators, for `equal`")
    parser.add_argument("--text", type=Path, help="lines for them; default: held-out sentences of the phrasebook")
    parser.add_argument("--parts", default="tokenizers,equal,fast")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        for part in given.parts.split(","):
            for name, found in PARTS[part](given, Path(temporary)):
                record(name, found, given.json)


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """A page in a browser without a screen."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as running:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
        browser = running.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(path.as_uri())
        yield page
        browser.close()


def tokenizers(given: Any, folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    sys.path[:0] = [str(TESTS), str(TESTS.parent)]
    from nasty import nasty_texts  # type: ignore[import-not-found]
    from test_tokenizers import case, trained  # type: ignore[import-not-found]

    phrases = regard.phrasebook("de", "fr", 400)
    texts = [text for phrase in phrases for text in (phrase.source, phrase.target)]
    nasty, differ = nasty_texts(NASTY, " ".join(texts).split()), {}
    script = (
        "const { compareTokenizer } = require('./vectors.js'), engine = require('./scripts.js').loadEngine();"
        "const one = JSON.parse(require('node:fs').readFileSync(process.argv[1], 'utf8'));"
        "console.log(compareTokenizer(engine, one).length);"
    )
    for name, tokenizer in trained(texts).items():
        (folder / "case.json").write_text(json.dumps(case(name, tokenizer, nasty)), encoding="utf-8")
        done = subprocess.run(
            ["node", "-e", script, str(folder / "case.json")], cwd=TESTS, capture_output=True, text=True, check=True
        )
        differ[name] = int(done.stdout or -1)
    yield "tokenizers", {"strings": NASTY, "differ": differ}


def equal(given: Any, folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    phrases = regard.phrasebook("en", "fr", TEXTS, held_out=True)
    texts = (
        given.text.read_text(encoding="utf-8").split("\n")[:TEXTS] if given.text else [one.source for one in phrases]
    )
    for model in given.models:
        for precision in ("float32", "float16"):
            translator = regard.load(model, engine="torch")
            weights = round_weights(dict(translator.model.state_dict()), precision)
            translator.model.load_state_dict(weights)
            path = folder / "model.html"
            path.write_text(make_page(translator, model.name, precision), encoding="utf-8")
            longest = translator.most_tokens["longest"]  # longer ones are split by the library, and refused by a page
            short = [text for text in texts if len(translator.tokenizer.encode(text)) <= longest]
            yield f"{model.name}, {precision}", compare(translator, path, short)


def compare(translator: Any, path: Path, texts: list[str]) -> dict[str, Any]:
    """Greedy translations and the attention of forced ones, in the page and by torch."""
    with opened(path) as page:
        asked = [{"text": text, "beam": 1} for text in texts]
        mine = [one["translations"][0] for one in json.loads(page.evaluate(ASK, ["/api/translate", asked]))]
        theirs = list(translator.translate_all(texts, beam=1))
        pairs = list(zip(texts, mine, theirs, strict=True))
        differ = [(text, one, other) for text, one, other in pairs if one["tokens"] != other.tokens]
        ties = sum(is_tie(translator, text, one["tokens"], other) for text, one, other in differ)
        distance = 0.0
        for text, _, other in pairs:
            fields = {"text": text, "target": other.text}
            (found,) = json.loads(page.evaluate(ASK, ["/api/look", [fields]]))
            seen = translator.look(text, other.text)
            for name, kind in seen.kinds.items():
                weights = torch.tensor(found["kinds"][name]["weights"]).view_as(kind.weights)
                distance = max(distance, float((weights - kind.weights).abs().max()))
    return {"texts": len(texts), "differ": len(differ), "of them ties": ties, "attention apart": distance}


@torch.inference_mode()
def is_tie(translator: Any, text: str, mine: list[str], other: Any) -> bool:
    """Whether the first token that differs was as good as its rival."""
    same = next(
        (i for i, pair in enumerate(zip(mine, other.tokens, strict=False)) if pair[0] != pair[1]), len(other.tokens)
    )
    model, (source,) = translator.model, translator.split([text])[2]
    ids = translator.tokenizer.encode_targets([other.text])[0][:same]
    hidden = model(torch.tensor([source]), torch.tensor([[model.start_id, *ids]]))
    best = model.logits(hidden[0, -1]).topk(2).values
    return float(best[0] - best[1]) < 1e-4


def fast(given: Any, folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """On sentences of about so many tokens."""
    phrases = regard.phrasebook("en", "fr", 300)
    pairs = {"source": folder / "train.en", "target": folder / "train.fr"}
    for side, path in pairs.items():
        path.write_text("".join(getattr(one, side) + "\n" for one in phrases), encoding="utf-8")
    settings = {"size": "tiny", "text": {"vocab_size": 6000}, "stop": {"steps": 200}}
    regard.train("translate", to=folder / "tiny", settings=settings, **pairs)
    translator = regard.load(folder / "tiny")
    texts = sorted(
        (one.source for one in phrases), key=lambda text: abs(len(translator.tokenizer.encode(text)) - TOKENS)
    )
    path = folder / "tiny.html"
    path.write_text(html := make_page(translator, "tiny"), encoding="utf-8")
    held = dict(re.findall(r'id="regard-(\w+)">(.*?)</script>', html, re.S))
    weights, tokenizer = (len(base64.b64decode(held[name])) for name in ("weights", "tokenizer"))
    paints, translations, inspections = [], [], []
    for _ in range(VISITS):
        with opened(path) as page:
            paints.append(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"))
            for text in texts[:VISITS]:
                translating, looking = page.evaluate(TIMED, {"text": text, "beam": 1})
                translations.append(translating)
                inspections.append(looking)
    yield (
        "fast",
        {
            "translate_ms": round(statistics.median(translations)),
            "look_ms": round(statistics.median(inspections)),
            "first_paint_ms": round(statistics.median(paints)),
            "file_kb": round(len(html.encode()) / 1000),
            "allowed_kb": round((1.4 * weights + 250_000 + tokenizer) / 1000),
        },
    )


PARTS = {"tokenizers": tokenizers, "equal": equal, "fast": fast}

if __name__ == "__main__":
    main()
