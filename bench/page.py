"""The model in a page, in Chromium on this machine: equal to torch, and fast.

- tokenizers: ids of 10,000 nasty strings for every tokenizer that is trained (in node); how many differ (goal 0).
- equal: 1,000 texts for a small model of each family (or those that are given), in float32 and in float16, against
  torch with the same weights. Greedy tokens and answers may differ only where the two best logits are closer than 1e-4
  (ties); attention within 1e-4.
- fast: a translator of the shape tiny, trained for a moment: a translation of 15 tokens with all heads recorded (goal
  150 ms), one of its heads off and all redrawn (goal 100 ms), first paint (goal 1 s), how long a key waits meanwhile,
  and the file against 1.4 times its weights, 250 kB and the tokenizer.
"""

import base64
import json
import math
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from measure import arguments, record

import regard
from regard.convert import make_page
from regard.engines.packed import round_weights
from regard.text.stories import write_stories

TESTS = Path(__file__).parents[1] / "tests" / "page"
NASTY, VISITS, TOKENS, WRITTEN, STEPS = 10_000, 5, 15, 20, 150
ASK = """async (asked) => {
  const plain = (_, value) => (ArrayBuffer.isView(value) ? [...value] : value), found = [];
  for (const [path, fields] of asked) found.push(await regard.askJson(path, fields));
  return JSON.stringify(found, plain);
}"""
# A translation; a look at it, drawn; a look with a head off, drawn anew; and how late timers of the page are meanwhile.
TIMED = """async (fields) => {
  let last = performance.now(), late = 0;
  const timer = setInterval(() => {
    late = Math.max(late, performance.now() - last - 4);
    last = performance.now();
  }, 4);
  const box = document.createElement("section"), times = [];
  document.body.append(box);
  const run = async (work) => {
    const began = performance.now();
    await work();
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    times.push(performance.now() - began);
  };
  const look = async (more) => {
    const seen = await regard.askJson("/api/look", { ...fields, ...more });
    regard.show(box, new regard.LiveData(seen));
  };
  const found = await regard.askJson("/api/translate", fields), target = found.translations[0].text;
  await run(() => regard.askJson("/api/translate", fields));
  await run(() => look({ target }));
  await run(() => look({ target, edits: [{ what: "off", name: "decoder.blocks.0.cross_attention", head: 0 }] }));
  clearInterval(timer);
  box.remove();
  return [...times, late];
}"""


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument(
        "--models", type=Path, nargs="*", default=[], help="for `equal`; default: small ones, trained now"
    )
    parser.add_argument("--names", nargs="*", default=[], help="only these of the small ones")
    parser.add_argument("--text", type=Path, help="lines for them; default: held-out sentences of the phrasebook")
    parser.add_argument("--texts", type=int, default=1000)
    parser.add_argument("--parts", default="tokenizers,equal,fast")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        for part in given.parts.split(","):
            for name, found in PARTS[part](given, Path(temporary)):
                record(name, found, given.json)


@contextmanager
def visited(path: Path) -> Iterator[Any]:
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


@dataclass(frozen=True)
class Case:
    """What is asked of a model in a page, and what the library says to the same."""

    path: str
    fields: dict[str, Any]
    mine: Callable[[Any], Any]  # of the page's answer, what is compared
    theirs: Any
    look: dict[str, Any]  # what is looked into there
    seen: Callable[[], Any]  # and here


def translations(opened: Any, texts: list[str]) -> Iterator[Case]:
    for text, found in zip(texts, opened.translate_all(texts, beam=1), strict=True):
        look = {"text": text, "target": found.text} if found.text else {}
        yield Case("/api/translate", {"text": text, "beam": 1}, lambda one: one["translations"][0]["tokens"],
                   found.tokens, look, partial(opened.look, text, found.text))  # fmt: skip


def continuations(opened: Any, texts: list[str]) -> Iterator[Case]:
    for text in texts:
        prompt = text[: len(text) // 2]
        found = opened(prompt, tokens=WRITTEN, temperature=0)
        fields = {"prompt": prompt, "temperature": 0, "top_p": 1, "max_tokens": WRITTEN}
        whole = {"text": prompt + found}
        yield Case("/v1/completions", fields, lambda one: one["text"], found, whole, partial(opened.look, **whole))


def fillings(opened: Any, texts: list[str]) -> Iterator[Case]:
    for number, text in enumerate(texts):
        words = text.split()
        words[number % len(words)] = "[MASK]"
        masked = " ".join(words)
        best = [gap[0].text for gap in opened.fill(masked).gaps]
        yield Case("/api/fill", {"text": masked}, lambda one: [gap[0]["text"] for gap in one["gaps"]], best,
                   {"text": masked}, partial(opened.look, masked))  # fmt: skip


def answers(opened: Any, texts: list[str]) -> Iterator[Case]:
    for story in regard.induction(len(texts), seed=1):
        sentences, question = list(story.sentences), story.question
        fields = {"story": sentences, "question": question}
        yield Case("/api/answer", fields, lambda one: one["text"], opened(sentences, question),
                   {"story": sentences, "text": question}, partial(opened.look, question, story=sentences))  # fmt: skip


def labels(opened: Any, texts: list[str]) -> Iterator[Case]:
    for text, found in zip(texts, opened.classify_all(texts), strict=True):
        yield Case("/api/classify", {"text": text}, lambda one: one["texts"][0]["label"], found.label, {"text": text},
                   partial(opened.look, text))  # fmt: skip


CASES = {"translate": translations, "write": continuations, "fill": fillings, "answer": answers, "classify": labels}


def train_all(folder: Path, names: list[str]) -> Iterator[Path]:
    """A small model of each family and kind, trained for a moment on text that comes along."""
    shape = {"layers": 2, "width": 64, "heads": 4, "ffn_width": 128}
    phrases = regard.phrasebook("en", "fr", 400)
    source, target, stories, table = (folder / name for name in ("train.en", "train.fr", "stories.txt", "labels.tsv"))
    source.write_text("".join(one.source + "\n" for one in phrases), encoding="utf-8")
    target.write_text("".join(one.target + "\n" for one in phrases), encoding="utf-8")
    stories.write_text(write_stories(regard.induction(200)), encoding="utf-8")
    table.write_text("".join(f"en\t{one.source}\nfr\t{one.target}\n" for one in phrases), encoding="utf-8")
    llama = {"positions": "rotary", "norm_kind": "rms", "is_gated": True, "activation": "silu", "has_bias": False}
    pairs = {"source": source, "target": target}
    kinds: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
        "translator": ("translate", pairs, shape),
        "translator, post-norm": ("translate", pairs, shape | {"norm": "post"}),
        "writer": ("write", {"text": source}, shape),
        "writer, Llama": ("write", {"text": source}, shape | llama),
        "filler": ("fill", {"text": source}, shape),
        "memory network": ("answer", {"stories": stories}, {"kind": "memory", "restarts": 1}),
        "story Transformer": ("answer", {"stories": stories}, {"kind": "transformer", "width": 32, "ffn_width": 64}),
        "classifier": ("classify", {"text": table}, {"buckets": 4096}),
    }
    for name, (family, given, model) in kinds.items():
        if not names or name in names:
            settings = {"model": model, "stop": {"steps": STEPS}, "threads": 1}
            if "layers" in model:
                settings["train"] = {"tokens_per_batch": 1024}
            regard.train(family, to=folder / name, settings=settings, **given)
            yield folder / name


def equal(given: Any, folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    phrases = regard.phrasebook("en", "fr", given.texts, held_out=True)
    texts = given.text.read_text(encoding="utf-8").split("\n") if given.text else [one.source for one in phrases]
    for model in given.models or train_all(folder, given.names):
        for precision in ("float32", "float16"):
            opened = regard.load(model, engine="torch")
            opened.model.load_state_dict(round_weights(dict(opened.model.state_dict()), precision))
            path = folder / "model.html"
            path.write_text(make_page(opened, model.name, precision), encoding="utf-8")
            longest = getattr(opened, "most_tokens", {}).get("longest")  # longer ones are split here, refused by a page
            fit = [text for text in texts if text.strip()]
            fit = [text for text in fit if not longest or len(opened.tokenizer.encode(text)) <= longest][: given.texts]
            yield f"{model.name}, {precision}", compare(path, CASES[opened.info.task](opened, fit))


def compare(path: Path, cases: Iterable[Case]) -> dict[str, Any]:
    """Answers and attention, in the page and by torch."""
    found = {"texts": 0, "differ": 0, "of them ties": 0, "attention apart": 0.0}
    with visited(path) as page:
        for case in cases:
            found["texts"] += 1
            asked = [[case.path, case.fields], *([["/api/look", case.look]] if case.look else [])]
            answer, *inspections = json.loads(page.evaluate(ASK, asked))
            differs = case.mine(answer) != case.theirs
            found["differ"] += differs
            for look in inspections:
                found["of them ties"] += differs and is_tie(look)
                seen = case.seen()
                for name, kind in seen.kinds.items():
                    weights = torch.tensor(look["kinds"][name]["weights"]).view_as(kind.weights)
                    found["attention apart"] = max(
                        found["attention apart"], float((weights - kind.weights).abs().max())
                    )
    return found


def is_tie(look: dict[str, Any]) -> bool:
    """Whether somewhere the two best were as good as each other."""
    best = [[math.log(max(p, 1e-30)) for _, p in one["alternatives"][:2]] for one in look["token_scores"]]
    return any(len(two) == 2 and two[0] - two[1] < 1e-4 for two in best)


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
    paints: list[float] = []
    times: list[list[float]] = []
    for _ in range(VISITS):
        with visited(path) as page:
            paints.append(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"))
            for text in texts[:VISITS]:
                times.append(page.evaluate(TIMED, {"text": text, "beam": 1}))
    translating, looking, redrawing, late = (round(statistics.median(some)) for some in zip(*times, strict=True))
    yield (
        "fast",
        {
            "translate_ms": translating,
            "look_ms": looking,
            "translate_and_look_ms": translating + looking,
            "head_off_ms": redrawing,
            "key_waits_ms": late,
            "first_paint_ms": round(statistics.median(paints)),
            "file_kb": round(len(html.encode()) / 1000),
            "allowed_kb": round((1.4 * weights + 250_000 + tokenizer) / 1000),
        },
    )


PARTS = {"tokenizers": tokenizers, "equal": equal, "fast": fast}

if __name__ == "__main__":
    main()
