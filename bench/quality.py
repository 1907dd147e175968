"""How good a translator gets: in ten minutes, in a long run, and with no settings at all.

Each part trains into its own folder under --to (or a temporary one), so that an interrupted bench resumes; what is
finished is written to the JSON file at once. BLEU and chrF by sacrebleu on the test part, with signatures.
"""

import json
import random
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from measure import arguments, record

import regard
from regard.config import Settings, merge
from regard.data.collate import collate_pairs
from regard.data.tokens import TokenLists
from regard.families.held_out import real_loss
from regard.text.corpus import PairFiles, read_pairs
from regard.training.loop import Progress, Validated
from regard.training.plan import Plan
from regard.training.session import Finished

MULTI30K, TATOEBA = "multi30k", "tatoeba"


PAPER: Settings = {
    "text": {"vocab_size": 10_000},
    "model": {"dropout": 0.3},
    "train": {"tokens_per_batch": 8192, "warmup_steps": 2000},
}


def lowercased(*changes: Settings) -> dict[str, Any]:
    """The paper's text; what else is set is for the sake of the comparison."""
    settings: Settings = {
        "stop": {"minutes": 120}, "text": {"vocab_size": 6000}, "model": {"dropout": 0.2, "norm": "post"},
        "train": {"tokens_per_batch": 4096, "grad_accumulation": 2},
    }  # fmt: skip
    for change in changes:
        settings = merge(settings, change)
    return {"corpus": MULTI30K, "direction": "en-de", "suffix": "lc.tok.", "tokenize": "none",
            "settings": settings}  # fmt: skip


def with_r_drop(rate: float, steps: int) -> Settings:
    """R-Drop, with a learning rate that decays from here to 0."""
    train = {"r_drop": 5.0, "learning_rate": rate, "warmup_steps": 200, "schedule": "linear", "decay_steps": steps}
    return {"stop": {"steps": steps}, "train": train}


COOLED: Settings = {"train": {"cooldown": 0.33, "r_drop": 5.0}}
PARTS: dict[str, dict[str, Any]] = {
    "ten minutes en-de": {"corpus": MULTI30K, "direction": "en-de", "settings": {"stop": {"minutes": 10}}},
    "lowercased en-de": lowercased(),
    "lowercased en-de r-drop from the start": lowercased({"train": {"r_drop": 5.0}}),
    "lowercased en-de dropout-0.3": lowercased({"model": {"dropout": 0.3}}),
    "lowercased en-de pre-norm": lowercased({"model": {"norm": "pre"}}),
    "lowercased en-de pre-norm dropout-0.3": lowercased({"model": {"norm": "pre", "dropout": 0.3}}),
    # As in the paper: more words, more dropout, larger updates, and a learning rate that stays high for longer.
    "lowercased en-de paper": lowercased(PAPER),
    # Fine-tunes the first with R-Drop, because it overfits.
    "lowercased en-de further": lowercased({"model": {"dropout": 0.3}, "train": {"r_drop": 5.0}})
    | {"start": "lowercased en-de"},
    # Fine-tunes the paper's run: R-Drop, and a learning rate that decays to 0.
    "lowercased en-de paper further": lowercased(PAPER, with_r_drop(0.002, 3600)) | {"start": "lowercased en-de paper"},
    "lowercased en-de free": lowercased(PAPER, {"stop": {"steps": 4096}}),
    "lowercased en-de r-drop": lowercased(PAPER, with_r_drop(0.003, 3800)) | {"start": "lowercased en-de free"},
    "default en-de": {"corpus": MULTI30K, "direction": "en-de", "settings": {}},
    "default de-en": {"corpus": MULTI30K, "direction": "de-en", "settings": {}},
    "default tatoeba en-de": {"corpus": TATOEBA, "direction": "en-de", "settings": {}},
    # The end of the same runs with R-Drop, whose updates take twice as long.
    "default en-de cooldown r-drop": {"corpus": MULTI30K, "direction": "en-de", "settings": COOLED},
    "default tatoeba en-de cooldown r-drop": {"corpus": TATOEBA, "direction": "en-de", "settings": COOLED},
    # Nearly all pairs: about the least text that the table gives a small model, against a tiny one as for less text.
    "all tatoeba en-de": {"corpus": TATOEBA, "pairs": 165_000, "direction": "en-de", "settings": {}},
    "all tatoeba en-de tiny": {
        "corpus": TATOEBA,
        "pairs": 165_000,
        "direction": "en-de",
        "settings": {"size": "tiny", "model": {"dropout": 0.2}, "train": {"tokens_per_batch": 4096}},
    },
    # All by default but the place of the norm, which is here the paper's.
    "post-norm en-de": {"corpus": MULTI30K, "direction": "en-de", "settings": {"model": {"norm": "post"}}},
    "post-norm de-en": {"corpus": MULTI30K, "direction": "de-en", "settings": {"model": {"norm": "post"}}},
    "post-norm tatoeba en-de": {"corpus": TATOEBA, "direction": "en-de", "settings": {"model": {"norm": "post"}}},
}
TATOEBA_PAIRS, TATOEBA_TEST = 50_000, 1_000


def main() -> None:
    parser = arguments(__doc__, data=True)
    parser.add_argument("--parts", default="ten minutes en-de", help=f"some of {', '.join(PARTS)}, by commas")
    parser.add_argument("--to", type=Path, help="keep the models here; an interrupted bench resumes from them")
    parser.add_argument("--workers", type=int, help="else measured")
    parser.add_argument("--until", type=float, help="stop at this minute for now; the same command resumes later")
    given = parser.parse_args()
    data = given.data if (given.data / MULTI30K).exists() else given.data.parent  # of all corpora, or one of them
    with tempfile.TemporaryDirectory() as temporary:
        for name in given.parts.split(","):
            to = (given.to or Path(temporary)) / name.replace(" ", "-")
            layout = {"workers": given.workers, "threads": 1} if given.workers else {}
            record(name, bench(name, data, to, layout, given.until), given.json)


def bench(name: str, data: Path, to: Path, layout: Settings, until: float | None) -> dict[str, Any]:
    part = PARTS[name]
    files, test = tatoeba_files(data, to, part) if part["corpus"] == TATOEBA else multi30k_files(data, part)
    settings = merge(part["settings"], layout)
    if until:
        settings = merge(settings, {"stop": {"minutes": until}})
    start = to.with_name(part["start"].replace(" ", "-")) if "start" in part else None
    estimates, finished, plan = train(to, settings, files, start)
    model = regard.load(to)
    options = {"tokenize": part.get("tokenize", "13a")}
    greedy, best = (model.evaluate(**test, beam=beam, **options) for beam in (1, 5))
    log = [json.loads(line) for line in (to / "run" / "metrics.jsonl").read_text().splitlines()]
    curve = [
        [round(entry["seconds"] / 60, 2), entry["step"], round(entry["bleu"], 2)] for entry in log if "bleu" in entry
    ]
    speeds = [entry["tokens_per_second"] for entry in log if "learning_rate" in entry]
    return {
        "test_bleu_beam_5": round(best["bleu"], 2),
        "test_chrf_beam_5": round(best["chrf"], 2),
        "test_bleu_greedy": round(greedy["bleu"], 2),
        "signature": best["signature"],
        "chrf_signature": best["chrf_signature"],
        "loss_a_token_on_seen_and_on_new_text": [loss(to, files), loss(to, test)],
        "minutes": round(finished.seconds / 60, 2),
        "steps": finished.step,
        "ended": finished.reason,
        "weights": plan.weights,
        "planned_minutes": plan.left and round(plan.left / 60, 1),
        "planned_memory_mb": round(plan.measured["memory"] / 2**20),
        "workers": plan.config.workers,
        "threads": plan.config.threads,
        "time_left_said_over_true": estimates,
        "tokens_per_second_median": round(statistics.median(speeds)),
        "curve_minutes_step_valid_bleu": curve,
    }


def train(
    to: Path, settings: Settings, files: dict[str, Path], start: Path | None
) -> tuple[dict[str, float], Finished, Plan]:
    """Trains, from another model if there is one, and compares the estimates of the time left with the time it took."""
    estimates: list[tuple[float, float]] = []  # (seconds so far, seconds left)
    seconds = 0.0
    for event in regard.training("translate", to=to, settings=settings, start=start, **files):
        if isinstance(event, Plan):
            plan = event
        elif isinstance(event, Progress):
            seconds += event.seconds
            if event.left is not None:
                estimates.append((seconds, event.left))
        elif isinstance(event, Validated):
            seconds += event.seconds
            print(f"step {event.step}: BLEU {event.scores['bleu']:.2f}", flush=True)
        elif isinstance(event, Finished):
            finished = event
    tenths = [
        next(((at, left) for at, left in estimates if at >= share / 10 * seconds), None) for share in (1, 3, 5, 7, 9)
    ]
    ratios = {}
    for share, found in zip((1, 3, 5, 7, 9), tenths, strict=True):
        if found and seconds > found[0]:
            ratios[f"{share}0 %"] = round(found[1] / (seconds - found[0]), 3)
    return ratios, finished, plan


def loss(model: Path, files: dict[str, Path]) -> float:
    """Nats a token of the first thousand pairs: much less on seen than on new text is overfitting."""
    translator = regard.load(model, engine="torch")
    pairs = read_pairs(PairFiles(files["source"], files.get("target")))[0][:1000]
    tokenizer = translator.tokenizer
    sources, targets = (TokenLists.of(encode([getattr(pair, side) for pair in pairs])) for side, encode in (
        ("source", tokenizer.encode_all), ("target", tokenizer.encode_targets)))  # fmt: skip
    total, count = 0.0, 0
    with torch.inference_mode():
        for rows in torch.arange(len(pairs)).split(50):
            batch = collate_pairs(sources, targets, rows, tokenizer.pad_id)
            summed, labels = real_loss(translator.model, translator.model(batch.source, batch.target), batch.labels)
            total, count = total + summed.item(), count + labels
    return round(total / count, 3)


def multi30k_files(data: Path, part: dict[str, Any]) -> tuple[dict[str, Path], dict[str, Path]]:
    sides = dict(zip(("source", "target"), part["direction"].split("-"), strict=True))

    def named(piece: str) -> dict[str, Path]:
        return {
            side: data / MULTI30K / f"{piece}.{part.get('suffix', '')}{language}" for side, language in sides.items()
        }

    valid = {f"valid_{side}": path for side, path in named("val").items()}
    return named("train") | valid, named("test_2016_flickr")


def tatoeba_files(data: Path, to: Path, part: dict[str, Any]) -> tuple[dict[str, Path], dict[str, Path]]:
    """The first pairs of the shuffled file to learn from; the next whose English is not among them to test on."""
    lines = (data / TATOEBA / "deu-eng.tsv").read_text(encoding="utf-8").splitlines()
    random.Random(1).shuffle(lines)
    pairs = part.get("pairs", TATOEBA_PAIRS)
    train, rest = lines[:pairs], lines[pairs:]
    known = {line.split("\t")[0] for line in train}
    test = [line for line in rest if line.split("\t")[0] not in known][:TATOEBA_TEST]
    paths = {name: to.with_name(f"{to.name}.{name}.tsv") for name in ("train", "test")}
    for name, chosen in (("train", train), ("test", test)):
        paths[name].parent.mkdir(parents=True, exist_ok=True)
        paths[name].write_text("\n".join(chosen) + "\n", encoding="utf-8")
    return {"source": paths["train"]}, {"source": paths["test"]}


if __name__ == "__main__":
    sys.exit(main())
