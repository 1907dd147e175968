"""answer: stories with questions -> MemoryNetwork or StoryTransformer -> accuracy.

Top to bottom: what is read, what follows from its size, how it is prepared, built, scored and packed.
Using a trained answerer is in `use/answerer.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.config import ModelConfig, RunConfig, Settings, TrainConfig
from regard.errors import ConfigError
from regard.folder import Content
from regard.tasks.task import Check, Corpus, Prepared, Task, encode_json, name_files, weights_file
from regard.text.corpus import fingerprint
from regard.text.running import TextFiles
from regard.text.stories import Story, hold_out_stories, read_stories
from regard.text.tokenizer import Tokenizer
from regard.text.vocabulary import learn_words
from regard.use.answerer import Answerer, build_network, encode_stories, most_sentences, said_answer, story_batches

if TYPE_CHECKING:
    from torch import Tensor, nn

    from regard.data.batch import StoryBatch


KINDS: dict[str, Settings] = {
    "memory": {
        "model": {"heads": 1, "restarts": 10, "dropout": 0.0, "tying": "adjacent", "max_positions": 76},
        "train": {"rate": 0.01, "warmup": 100, "linear_start": 48, "empty": 0.2, "clip": 1000.0},
    },
    "transformer": {
        "model": {"norm": "pre", "activation": "relu", "heads": 2, "dropout": 0.0, "max_positions": 384},
        "train": {"rate": 0.002, "warmup": 200, "attention_rate": 0.1, "weight_decay": 0.01, "empty": 0.1,
                  "questions_per_batch": 64},
    },
}  # fmt: skip

SIZES: dict[str, Settings] = {
    "tiny": {"model": {"width": 40, "inner": 80, "layers": 1, "hops": 3}},
    "small": {"model": {"width": 64, "inner": 128, "layers": 1, "hops": 3}},
    "base": {"model": {"width": 128, "inner": 256, "layers": 2, "hops": 3}},
    "big": {"model": {"width": 256, "inner": 512, "layers": 2, "hops": 4}},
}

# Of each kind: the size, and how long it is trained: epochs, but at least so many updates.
LENGTHS = {"memory": ("tiny", 120, 0), "transformer": ("small", 20, 3000)}


def gather(
    stories: str | Path | list[str | Path], *, valid: str | Path | list[str | Path] | None = None
) -> tuple[TextFiles, TextFiles | None]:
    """The files to learn from, and to validate on if they are given."""
    return TextFiles.of(stories), TextFiles.of(valid) if valid else None


def read(files: TextFiles, valid_files: TextFiles | None, config: RunConfig) -> Corpus:
    """All questions; without stories to validate on, some are held out, the same every time."""
    stories = read_stories(files.paths)
    roles = {f"stories_{number}": path for number, path in enumerate(files.paths, start=1)}
    if valid_files is not None:
        valid = read_stories(valid_files.paths)
        roles |= {f"valid_{number}": path for number, path in enumerate(valid_files.paths, start=1)}
    else:
        stories, valid = hold_out_stories(stories, config.train.held_out or max(1, len(stories) // 20), config.seed)
    return Corpus(stories, valid, [], {role: fingerprint(path) for role, path in roles.items()}, name_files(roles))


def defaults(corpus: Corpus, kind: str) -> Settings:
    """As many updates as make the epochs full; the rate comes down to nothing over them."""
    size, epochs, least = LENGTHS[kind]
    rows = KINDS[kind]["train"].get("questions_per_batch", TrainConfig().questions_per_batch)
    horizon = max(least, epochs * math.ceil(len(corpus.train) / rows))
    return {
        "size": size,
        "text": {"tokenizer": "word", "lowercase": True},
        "train": {"smoothing": 0.0, "schedule": "linear", "horizon": horizon, "valid_every": max(1, horizon // 4)},
        "stop": {"steps": horizon},
    }


def learn(corpus: Corpus, config: RunConfig, check: Check) -> Tokenizer:
    """Every word of the stories and every answer, from the training text alone."""
    if config.text.tokenizer != "word":
        raise ConfigError(f"text.tokenizer={config.text.tokenizer} is not one of an answerer; it reads words (word)")
    check()
    texts = {text for story in corpus.train for text in (*story.sentences, story.question)}
    return learn_words(sorted(texts), (said_answer(story) for story in corpus.train))


def prepare(corpus: Corpus, tokenizer: Tokenizer, config: RunConfig, check: Check) -> Prepared:
    """Questions in batches by chance; empty sentences are put in at other places each time a story comes."""
    import torch

    from regard.data.collate import collate_stories
    from regard.data.loader import Loader
    from regard.device import derive_seed

    if config.train.linear_start and config.model.kind != "memory":
        raise ConfigError(f"train.linear_start={config.train.linear_start} is for model.kind=memory; leave it out")
    most, pad_id = most_sentences(config.model), tokenizer.pad_id
    train, valid = (encode_stories(_newest(part, most), tokenizer, check) for part in (corpus.train, corpus.valid))
    loader = Loader([torch.ones(len(train), dtype=torch.int64)], config.train.questions_per_batch, config.seed)
    linear = config.train.linear_start * len(loader)

    def batches(position: int) -> Iterator[StoryBatch]:
        for number, indexes in enumerate(loader.batches(position), start=position):
            seed = derive_seed(config.seed, "empty", number)
            yield collate_stories(
                train, indexes, pad_id, empty=config.train.empty, seed=seed, is_linear=number < linear
            )

    parts = [list(story_batches(part, pad_id)) for part in (train, valid)]
    facts = {
        "questions": len(train),
        "held_out_questions": len(valid),
        "tokens": sum(batch.tokens for batch in parts[0]),
        "longest_story": max(len(story.sentences) for story in corpus.train),
    }
    signature = f"{len(valid)} held-out questions"
    return Prepared(batches, len(loader), _Judge(*parts).score, signature, [], facts)


@dataclass(frozen=True)
class _Judge:
    """Chooses among networks that are trained side by side, and among moments, by the error on all given questions.

    Those it learns from are many and those held out are few; together they tell luck from skill best.
    """

    train: list[StoryBatch]
    valid: list[StoryBatch]

    def score(self, model: Any, check: Check) -> tuple[dict[str, float], list[tuple[str, ...]]]:
        """The fit, which training goes by (accuracy on all given questions), and accuracy on those held out."""
        from regard.engine.score import answer_all

        right, losses = answer_all(model, self.train, check)  # (R,), (R,)
        held_right, held_losses = answer_all(model, self.valid, check)  # (R,), (R,)
        learned, held = (sum(len(batch.answers) for batch in part) for part in (self.train, self.valid))
        fit = (right.double() * learned + held_right.double() * held) / (learned + held)  # (R,)
        best = max(range(len(fit)), key=lambda r: (round(float(fit[r]), 6), -float(losses[r])))
        if len(fit) > 1:
            model.chosen.fill_(best)
        named = {"fit": fit, "accuracy": held_right, "loss": held_losses, "training_accuracy": right}
        return {name: float(values[best]) for name, values in named.items()}, []


def build(model: ModelConfig, tokenizer: Tokenizer) -> nn.Module:
    """A network with fresh weights."""
    return build_network(model, tokenizer)


def loss(config: RunConfig) -> Callable[[Any, StoryBatch], tuple[Tensor, int]]:
    """What training makes smaller: cross-entropy of the answer, summed over the networks side by side."""
    import torch.nn.functional as F

    def answer_loss(model: Any, batch: StoryBatch) -> tuple[Tensor, int]:
        logits = model(batch.sentences, batch.ages, batch.questions, batch.is_linear)  # (R, B, V)
        truth = batch.answers.repeat(len(logits))  # (R * B,)
        total = F.cross_entropy(logits.flatten(0, 1), truth, reduction="sum", label_smoothing=config.train.smoothing)
        return total, len(batch.answers)

    return answer_loss


def pack(model: ModelConfig, weights: dict[str, Tensor], tokenizer: Tokenizer) -> dict[str, Content]:
    """The files of an answerer; no class of another library has its shape, and config.json says so."""
    from regard.interop import own
    from regard.interop.tokenizers import tokenizer_config
    from regard.model.memory import keep_chosen

    if model.kind == "memory":
        weights, model = keep_chosen(weights), model.model_copy(update={"restarts": 1})
    return {
        "config.json": encode_json(own.export_config(model, "answer")),
        "tokenizer.json": tokenizer.dump(),
        "tokenizer_config.json": encode_json(tokenizer_config(10**6, pad_token="[PAD]", unk_token="[UNK]")),
        "model.safetensors": weights_file(own.export_weights(weights)),
    }


def _newest(stories: list[Story], most: int) -> list[Story]:
    return [Story(story.sentences[-most:], story.question, story.answer) for story in stories]


ANSWER = Task(
    name="answer",
    unit="questions",
    shape=("width", "hops", "restarts", "vocab_size"),
    kinds=KINDS,
    sizes=SIZES,
    gather=gather,
    read=read,
    defaults=defaults,
    learn=learn,
    prepare=prepare,
    build=build,
    loss=loss,
    pack=pack,
    open=Answerer.open,
)
