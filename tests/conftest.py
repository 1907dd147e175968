"""What several rooms' tests need: little corpora, a tokenizer, a model that was really trained for a moment."""

import os
import random
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

os.environ |= {"HF_HUB_OFFLINE": "1", "OMP_WAIT_POLICY": "passive"}  # no network; threads wait without spinning

import hypothesis
import pytest
import torch
from filelock import FileLock

import regard
from regard import compare
from regard.alignment import heads, learn
from regard.config import ModelConfig
from regard.engines import ctranslate2
from regard.model.transformer import EncoderDecoder
from regard.text.stories import write_stories
from regard.text.tokenizer import Tokenizer
from regard.text.vocabulary import learn_pairs
from regard.training import claims, plan

# A slow machine is no failure, and a gate must give the same answer twice.
hypothesis.settings.register_profile("here", deadline=None, derandomize=bool(os.environ.get("CI")))
hypothesis.settings.load_profile("here")

SHORT = {  # a run of seconds
    "model": {"layers": 2, "width": 32, "heads": 4, "ffn_width": 64, "dropout": 0.1},
    "train": {"tokens_per_batch": 512, "valid_every": 20, "warmup_steps": 20, "learning_rate": 0.005},
    "text": {"vocab_size": 400},
    "threads": 1,
}


# How work is shared out best is not measured, a lexicon is counted once with the order of words, heads are chosen on a
# few pairs.
QUICK = [
    (ctranslate2, "fastest", lambda layouts, work: layouts[0]),
    (learn, "ROUNDS_ORDERED", 1),
    (heads, "PAIRS", 4),
]
WHOLE = [(module, name, getattr(module, name)) for module, name, _ in QUICK]


def shared_place(tmp_path_factory) -> Path:
    """A folder of all processes of this run, and of both runs of `make test`."""
    if named := os.environ.get("REGARD_TESTS"):
        return Path(named)
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


def make_once(tmp_path_factory, name: str, make: Callable[[Path], None], to: str = "model") -> Path:
    """A copy of a folder that is made by the first process that needs it: what a test does to it harms no other."""
    place = shared_place(tmp_path_factory) / "models"
    place.mkdir(parents=True, exist_ok=True)
    with FileLock(place / f"{name}.lock"):
        if not (place / name).exists():
            with pytest.MonkeyPatch.context() as patch:
                for one in WHOLE:
                    patch.setattr(*one)
                make(place / "unfinished" / name)
            (place / "unfinished" / name).rename(place / name)
    return Path(shutil.copytree(place / name, tmp_path_factory.mktemp(name) / to))


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory):
    """What is found out in a test is nothing to the user who runs it; all processes of the suite share it, so that
    models are compared with transformers once per kind.
    """
    os.environ["REGARD_CACHE"] = str(shared_place(tmp_path_factory) / "cache")


@pytest.fixture(autouse=True, scope="session")
def _quick_work():
    """What takes long in every training and has tests of its own is done for a moment only; and where transformers is
    imported already, models are compared with it here and not in another process.
    """
    ask = claims._ask

    def ask_here(folder, tensors, is_over):
        return (
            compare.main(folder.resolve(), tensors) if "transformers" in sys.modules else ask(folder, tensors, is_over)
        )

    with pytest.MonkeyPatch.context() as patch:
        for one in QUICK:
            patch.setattr(*one)
        patch.setattr(plan, "TRY_SECONDS", 0.0)
        patch.setattr(claims, "_ask", ask_here)
        yield


@pytest.fixture(scope="module")
def as_for_users():
    """How work is shared out is measured, and lexicon and heads are as good as they get."""
    with pytest.MonkeyPatch.context() as patch:
        for one in WHOLE:
            patch.setattr(*one)
        yield


@pytest.fixture(autouse=True)
def _one_thread():
    """Small tensors: threads would only wait for each other."""
    torch.set_num_threads(1)
    torch.manual_seed(0)


def write_pairs(folder: Path, count: int, name: str = "train", **options) -> dict[str, Path]:
    """Phrasebook pairs as two text files."""
    folder.mkdir(parents=True, exist_ok=True)
    phrases = regard.phrasebook("en", "fr", count, **options)
    files = {"source": folder / f"{name}.en", "target": folder / f"{name}.fr"}
    files["source"].write_text("".join(p.source + "\n" for p in phrases), encoding="utf-8")
    files["target"].write_text("".join(p.target + "\n" for p in phrases), encoding="utf-8")
    return files


@pytest.fixture(scope="session")
def pairs(tmp_path_factory) -> dict[str, Path]:
    return write_pairs(tmp_path_factory.mktemp("pairs"), 300)


@pytest.fixture(scope="session")
def tokenizer(pairs) -> Tokenizer:
    lines = pairs["source"].read_text().splitlines() + pairs["target"].read_text().splitlines()
    return learn_pairs(lines, 400)


@pytest.fixture(scope="session")
def folder(tmp_path_factory, pairs) -> Path:
    """A translator trained for a few seconds: it has learned something, if not much."""
    settings = SHORT | {"stop": {"steps": 300}, "train": SHORT["train"] | {"valid_every": 100}}
    return make_once(
        tmp_path_factory, "translate", lambda to: regard.train("translate", to=to, settings=settings, **pairs), "en-fr"
    )


@pytest.fixture(scope="session")
def translator(folder):
    return regard.load(folder)


def write_lines(path: Path, lines) -> Path:
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def write_labelled(path: Path, count: int, **options) -> Path:
    """Sentences of three languages, each with its language as its label."""
    others = {"en": "fr", "de": "en", "fr": "en"}
    texts = [(one, p.source) for one, other in others.items() for p in regard.phrasebook(one, other, count, **options)]
    return write_lines(path, ["\t".join(pair) for pair in texts])


# What a family of each kind is trained on for a moment: files, and settings beside SHORT.
TOPICS = {"sport": "ball team goal", "music": "song band tune", "food": "soup bread salt", "travel": "train hotel road"}
TASKS = ["translate", "write", "fill", "answer", "classify"]  # families that can be trained
FAMILIES = {
    "write": {"text": {"tokenizer": "bpe", "vocab_size": 400}, "model": {"max_positions": 32}},
    "fill": {"text": {"vocab_size": 400}, "model": {"max_positions": 64}},
    "answer": {"model": {"kind": "memory", "restarts": 3}},
    "classify": {"model": {"buckets": 1024}},
}


@pytest.fixture(scope="session")
def family_files(tmp_path_factory, pairs) -> dict[str, dict[str, Path]]:
    folder = tmp_path_factory.mktemp("families")
    stories = folder / "stories.txt"
    stories.write_text(write_stories(regard.induction(150)), encoding="utf-8")
    labelled = write_labelled(folder / "languages.tsv", 60)
    return {
        "translate": pairs,
        "write": {"text": pairs["source"]},
        "fill": {"text": pairs["source"]},
        "answer": {"stories": stories},
        "classify": {"text": labelled},
    }


def plan_of(events):
    """The plan among the events of a training."""
    return next(event for event in events if isinstance(event, regard.Plan))


def write_topics(path, labels, count, seed=1):
    """Texts of a few words of their topic among words of none."""
    draw, rows = random.Random(seed), []
    for number in range(count):
        label = labels[number % len(labels)]
        words = [
            *draw.sample(TOPICS[label].split(), 2),
            *draw.sample(["the", "a", "we", "they", "had", "was", "very", "old", "new", "day"], 5),
        ]
        draw.shuffle(words)
        rows.append(f"{label}\t{' '.join(words)}")
    return write_lines(path, rows)


def family_settings(task: str, steps: int, **train) -> dict:
    """Settings of a run of seconds."""
    if task in ("answer", "classify"):
        return {"stop": {"steps": steps}, "threads": 1, "model": FAMILIES[task]["model"], "train": train}
    own = FAMILIES.get(task, {})
    model = SHORT["model"] | own.get("model", {})
    settings = SHORT | {"stop": {"steps": steps}, "train": SHORT["train"] | train, "model": model}
    return settings | ({"text": own["text"]} if "text" in own else {})


def _trained(tmp_path_factory, family_files, task, steps) -> Path:
    settings = family_settings(task, steps, valid_every=100)
    return make_once(
        tmp_path_factory, task, lambda to: regard.train(task, to=to, settings=settings, **family_files[task])
    )


@pytest.fixture(scope="session")
def writer_folder(tmp_path_factory, family_files) -> Path:
    return _trained(tmp_path_factory, family_files, "write", 200)


@pytest.fixture(scope="session")
def filler_folder(tmp_path_factory, family_files) -> Path:
    return _trained(tmp_path_factory, family_files, "fill", 200)


@pytest.fixture(scope="session")
def answerer_folder(tmp_path_factory, family_files) -> Path:
    return _trained(tmp_path_factory, family_files, "answer", 200)


@pytest.fixture(scope="session")
def classifier_folder(tmp_path_factory, family_files) -> Path:
    return _trained(tmp_path_factory, family_files, "classify", 200)


@pytest.fixture(scope="session")
def encoder_folder(tmp_path_factory) -> Path:
    """A BERT of a few words that has learned nothing."""
    transformers = pytest.importorskip("transformers")
    to = tmp_path_factory.mktemp("encoder")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "text", "dog", "##s"]
    write_lines(to / "vocab.txt", words)
    shape = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
    config = transformers.BertConfig(vocab_size=len(words), max_position_embeddings=8, **shape)
    transformers.BertModel(config).save_pretrained(to)
    return to


@pytest.fixture(params=["post", "pre"])
def network(request) -> EncoderDecoder:
    """A small network with random weights, vocabulary 50, padding 49."""
    torch.manual_seed(3)
    config = ModelConfig(vocab_size=50, layers=2, width=32, heads=4, ffn_width=48, norm=request.param, dropout=0.0)
    return EncoderDecoder(config, pad_id=49).eval()


@pytest.fixture(scope="session")
def folders(folder, writer_folder, filler_folder, answerer_folder, tmp_path_factory) -> list[Path]:
    """A small model of each family, each under a name of its own."""
    place = tmp_path_factory.mktemp("served")
    named = {"en-fr": folder, "tales": writer_folder, "gaps": filler_folder, "stories": answerer_folder}
    for name, path in named.items():
        shutil.copytree(path, place / name)
    return [place / name for name in named]


@pytest.fixture(scope="session")
def server(folders):
    """All of them behind a real server, in a process of its own."""
    from server import Server

    running = Server(folders, limits={"seconds": 240.0})  # the machine may be busy
    yield running
    running.stop()
