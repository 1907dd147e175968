"""A small run of each family, for benches that are about runs and folders and not about what was learned."""

import contextlib
import importlib
import os
import sys
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import regard
from regard.config import merge
from regard.text.stories import write_stories

SHAPE: dict[str, Any] = {
    "model": {"layers": 2, "width": 32, "ffn_width": 64, "heads": 4},
    "text": {"vocab_size": 400},
    "train": {"warmup_steps": 20},
}
OWN: dict[str, dict[str, Any]] = {  # with some fifteen batches to an epoch
    "translate": merge(SHAPE, {"train": {"tokens_per_batch": 1024}}),
    "write": merge(SHAPE, {
        "text": {"tokenizer": "bpe"}, "model": {"max_positions": 32}, "train": {"tokens_per_batch": 384}
    }),
    "fill": merge(SHAPE, {"model": {"max_positions": 64}, "train": {"tokens_per_batch": 300}}),
    "answer": {"model": {"kind": "memory", "restarts": 2}, "train": {"questions_per_batch": 10}},
    "classify": {"model": {"width": 8, "buckets": 2**10}},
}  # fmt: skip
LABELS = ("statement", "question")


@dataclass(frozen=True)
class Family:
    """What a training of this family is given."""

    task: str
    files: dict[str, Path]

    def settings(self, steps: int, **train: Any) -> dict[str, Any]:
        alone = {"threads": 1, "workers": 1, "stop": {"steps": steps}, "train": train}
        return merge(OWN[self.task], alone)

    def train(self, to: Path, steps: int, **train: Any) -> None:
        regard.train(self.task, to=to, settings=self.settings(steps, **train), **self.files)


def small_families(place: Path, examples: int = 300) -> dict[str, Family]:
    """The five families, with their texts written into a folder."""
    phrases = regard.phrasebook("en", "fr", examples)
    texts = {
        "train.en": "".join(phrase.source + "\n" for phrase in phrases),
        "train.fr": "".join(phrase.target + "\n" for phrase in phrases),
        "stories.txt": write_stories(regard.induction(examples // 2)),
        "labels.tsv": "".join(f"{LABELS['?' in one.source]}\t{one.source}\n" for one in phrases),
    }
    for name, text in texts.items():
        (place / name).write_text(text, encoding="utf-8")
    english = place / "train.en"
    files = {
        "translate": {"source": english, "target": place / "train.fr"},
        "write": {"text": english},
        "fill": {"text": english},
        "answer": {"stories": place / "stories.txt"},
        "classify": {"text": place / "labels.tsv"},
    }
    return {task: Family(task, given) for task, given in files.items()}


def import_all(families: Iterable[Family], place: Path) -> None:
    """Imports here what a training and a question import in another process, so that forks of this one need not."""
    for family in families:

        def work(family: Family = family) -> None:
            family.train(place / f"first-{family.task}", 2)
            ask(place / f"first-{family.task}")

        import_with(work, place)


def import_with(work: Callable[[], object], place: Path) -> None:
    """Does some work in another process and imports here what it imported; the work itself must not be done here, for
    threads do not survive a fork."""
    child = os.fork()
    if child == 0:
        try:
            work()
            (place / "imported").write_text("\n".join(sys.modules))
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)  # else the child would continue as its parent does
    assert os.waitpid(child, 0)[1] == 0
    for name in (place / "imported").read_text().split("\n"):
        with contextlib.suppress(ImportError, TypeError):
            importlib.import_module(name)


def ask(folder: Path, **options: Any) -> None:
    """Opens a model of any family and asks it something."""
    opened: Any = regard.load(folder, **options)
    match opened.info.task:
        case "translate":
            opened("The dog sleeps.", beam=1, max_length=5)
        case "write":
            opened("The", tokens=3, seed=1)
        case "fill":
            opened.fill("The [MASK].", top=1)
        case "encode":
            opened.encode(["The dog sleeps.", "A cat."])
        case "answer":
            opened(["Brian is a frog."], "What color is Brian?")
        case "classify":
            opened.classify("The dog sleeps.")
