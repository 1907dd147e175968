"""classify: texts with labels -> LabelAttention -> accuracy, with calibrated probabilities.

Top to bottom: what is read, what follows from its size, how it is prepared, built, scored and packed.
Using a trained classifier is in `families/classify/pipeline.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sized
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from regard.config import ModelConfig, RunConfig, Settings, TrainConfig
from regard.data.batch import LabelBatch, LabelledIds
from regard.data.labelled import EncodedTexts, encode_labelled, label_batches
from regard.data.tokens import Array
from regard.errors import ConfigError, CorpusError
from regard.families import FAMILIES
from regard.families.classify import encoded
from regard.families.classify.look import PROBES, snapshot_labels
from regard.families.classify.network import build as build_network
from regard.families.classify.network import calibrate, find_logits, label_loss
from regard.families.classify.refit import learn_held_out
from regard.families.classify.settings import (
    DECAY,
    ENCODER_RATE,
    FIRM,
    KINDS,
    LEAST_WIDTH,
    MOST_LOGITS,
    MOST_WEIGHTS,
    MOST_WIDTH,
    NGRAMS,
    SIZES,
    STEPS,
    TABLE_RATE,
    USES,
)
from regard.families.table import count_words
from regard.families.texts import Paths
from regard.folder import Content
from regard.formats import own
from regard.formats.tokenizers import tokenizer_config
from regard.model.labels import LabelAttention
from regard.text.classes import decide, find_probabilities, score_classes
from regard.text.labels import (
    LabelFiles,
    Labelled,
    hold_out_labelled,
    name_labels,
    read_labelled,
    refuse_one_label,
    refuse_swapped,
)
from regard.text.ngrams import count_ngrams, split_words
from regard.text.readers.rows import Choice
from regard.text.running import named
from regard.text.stream import ListedExamples
from regard.text.tokenizer import Tokenizer
from regard.text.vocabulary import learn_words
from regard.training.lbfgs import LBFGS
from regard.training.optim import make_optimizer
from regard.training.recipe import (
    Check,
    Corpus,
    Encoded,
    Parts,
    Recipe,
    Sample,
    TrainBatches,
    Validation,
    Validator,
    encode_json,
    weights_file,
)

FEW_HELD_OUT = 100
MOST_WORDS = 100_000  # of the vocabulary, by which unknown words are found


def gather(
    text: Paths, *, valid: Paths | None = None, columns: Choice | str | None = None, keys: Choice | str | None = None,
    separator: str | None = None,
) -> tuple[LabelFiles, LabelFiles | None]:  # fmt: skip
    """The files to learn from, and to validate on if they are given."""
    wanted = keys or columns
    if isinstance(wanted, str):
        raise ConfigError(f"--columns {wanted}: two are wanted, label and text, as in label,text")
    return LabelFiles.of(text, wanted, separator), LabelFiles.of(valid, wanted, separator) if valid else None


def read(files: LabelFiles, valid_files: LabelFiles | None, config: RunConfig) -> Corpus:
    """All texts; without texts to validate on, some of each label are held out, the same every time."""
    texts, left_out = read_labelled(files)
    with named(files.paths):
        refuse_swapped(texts)
        name_labels(texts)
        if valid_files is not None:
            train, valid = texts, read_labelled(valid_files)[0]
        else:
            few = min(FEW_HELD_OUT, len(texts) // 5)  # less could not be calibrated with
            count = config.train.held_out or min(2000, max(1, few, len(texts) // 20))
            train, valid = hold_out_labelled(texts, count, config.seed)
    paths = {f"text_{number}": path for number, path in enumerate(files.paths, start=1)}
    if valid_files is not None:
        paths |= {f"valid_{number}": path for number, path in enumerate(valid_files.paths, start=1)}
    words = count_words(one.text for one in train)
    return Corpus(ListedExamples(train, valid, words, left_out), paths, reading=files.reading)


def defaults(corpus: Corpus, kind: str, minutes: float | None) -> Settings:
    """The labels, a dimension for each, and a table that suits the text; the more text, the less weights decay."""
    if kind == encoded.KIND:
        return encoded.defaults(corpus)
    texts = corpus.examples.sample
    labels = name_labels(texts)
    width = _width(labels)
    most = min(NGRAMS * corpus.examples.words, MOST_WEIGHTS // width)
    return {
        "size": next(size for size in reversed(SIZES) if SIZES[size]["model"]["buckets"] <= most or size == "tiny"),
        "model": {
            "labels": labels,
            "several_labels": any(len(one.labels) > 1 for one in texts),
            "width": width,
        },
        "train": {
            "weight_decay": DECAY / len(texts),
            "valid_every": STEPS // 6,
            **({"grad_accumulation": 2 * pairs} if (pairs := len(texts) * len(labels) // MOST_LOGITS) else {}),
        },
        "stop": {"steps": STEPS},
    }


def _width(labels: Sized) -> int:
    return max(LEAST_WIDTH, min(2 * -(-len(labels) // 2), MOST_WIDTH))  # the settings of a network want an even one


def learn(corpus: Corpus, config: RunConfig, check: Check) -> Tokenizer:
    """Every word of the training text, by which unknown ones are found."""
    if config.model.kind == encoded.KIND:
        raise ConfigError(f"model.kind={encoded.KIND} is an encoder that is fine-tuned; name one with --from")
    if config.text.tokenizer != "word":
        raise ConfigError(f"text.tokenizer={config.text.tokenizer} is not one of a classifier; it reads words (word)")
    refuse_one_label(corpus.examples.sample)
    check()
    counts = _count_words(corpus)
    check()
    return learn_words((), [word for word, _ in counts.most_common(MOST_WORDS)])


def _count_words(corpus: Corpus) -> Counter[str]:
    return Counter(word for one in corpus.examples.sample for word in split_words(one.text))


def extend(corpus: Corpus, model: ModelConfig, tokenizer: Tokenizer, weights: dict[str, Tensor]) -> Parts:
    """A classifier that is fine-tuned gets the labels and words of this text beside its own; its table is kept."""
    texts = corpus.examples.sample
    labels = name_labels(texts, model.labels)
    if model.kind == encoded.KIND:
        refuse_one_label(texts) if not model.labels else None
        return encoded.extend(model, labels, any(len(one.labels) > 1 for one in texts), tokenizer, weights)
    known = set(tokenizer.pieces) - {"[PAD]", "[UNK]"}
    more = [word for word, _ in _count_words(corpus).most_common(MOST_WORDS) if word not in known]
    words = learn_words((), [*known, *more[: max(0, MOST_WORDS - len(known))]])
    shape = model.model_copy(update={"labels": labels, "width": max(model.width, _width(labels)),
                                     "vocab_size": words.vocab_size})  # fmt: skip
    with torch.random.fork_rng(devices=[]):  # the run's random numbers are left alone
        torch.manual_seed(0)
        network = LabelAttention(shape, _rows_of_names(shape))
    network.adopt(weights, _rows_of_names(shape))
    new = (weights["table"] == 0).all(1)  # rows that it has not seen weigh what this text says
    by_text = EncodedTexts.of_examples(texts, labels, model.buckets).find_weights(len(labels), model.buckets)
    network.row_weights[new] = torch.from_numpy(by_text)[new]
    return shape, words, network.state_dict()


def encode(examples: list[Labelled], tokenizer: Tokenizer, config: RunConfig) -> Encoded:
    """Texts as rows of hashed n-grams; where a model that is fine-tuned gives one label, each text has one."""
    for one in examples:
        if len(one.labels) > 1 and not config.model.several_labels:
            raise CorpusError(f"{one.where} has {', '.join(map(repr, one.labels))}; the model that is fine-tuned gives "
                              f"one label a text; train a new one to give several")  # fmt: skip
    if config.model.kind == encoded.KIND:
        return encoded.encode(examples, tokenizer, config)
    return Encoded(encode_labelled(examples, config.model.labels, config.model.buckets))


def batches(arrays: dict[str, Array], tokenizer: Tokenizer, config: RunConfig) -> TrainBatches:
    """All texts at every step, in as many parts as a step has; of an encoder, some of them."""
    if config.model.kind == encoded.KIND:
        return encoded.batches(arrays, tokenizer, config)
    texts = EncodedTexts.of(arrays)
    parts = config.train.grad_accumulation or 1
    weights = arrays.get("start.row_weights")
    if weights is None:
        weights = texts.find_weights(len(config.model.labels), config.model.buckets)
    cuts = [len(texts) * number // parts for number in range(parts + 1)]

    @cache
    def batch(part: int) -> LabelBatch:
        return texts.batch(cuts[part], cuts[part + 1], weights)

    facts = {
        "texts": len(texts),
        "labels": len(config.model.labels),
        "tokens": int(sum(len(block.flat) for block in texts.ngrams)),
    }
    return TrainBatches(lambda position: batch(position % parts), parts, facts, [weights])


def validator(
    examples: list[Labelled], batches: TrainBatches, tokenizer: Tokenizer, config: RunConfig, check: Check
) -> Validator:
    """The loss of calibrated probabilities, accuracy and macro-F1 on held-out texts."""
    model, kept = config.model, dict[str, Tensor]()
    held_out: list[Any]
    if model.kind == encoded.KIND:
        examples = sorted(examples, key=lambda one: len(one.text))  # of like length together
        held_out = list(encoded.held_out_batches(examples, tokenizer, config))
    else:
        held_out = list(label_batches(examples, model.labels, batches.whole[0]))
        kept = {"row_weights": torch.from_numpy(batches.whole[0])}
    truth = [one.labels for one in examples]

    def give(logits: Tensor) -> list[tuple[str, ...]]:
        found = find_probabilities(logits.numpy(), several=model.several_labels)
        return decide(found, model.labels, several=model.several_labels)

    def score(network: Any, check: Check) -> Validation:
        logits = find_logits(network, held_out, check)  # (texts, C)
        temperature, loss = calibrate(logits, held_out, several=model.several_labels)
        right = score_classes(truth, give(logits), model.labels)
        scores = {"loss": loss, "accuracy": right["accuracy"], "macro_f1": right["macro_f1"]}
        return Validation(scores, chosen=kept | {"temperature": torch.tensor([temperature])})

    @torch.inference_mode()
    def samples(network: Any) -> list[Sample]:
        found = give(find_logits(network, held_out[:1], check)[:PROBES])
        shown = zip(examples, found, strict=False)
        return [(one.text[:200], ", ".join(names), ", ".join(one.labels)) for one, names in shown]

    facts = {"held_out_texts": len(examples)}
    return Validator(score, f"{len(examples)} held-out texts", facts, lower_is_better=True, samples=samples, fixed=kept)


def build(model: ModelConfig, tokenizer: Tokenizer) -> nn.Module:
    """A network with fresh weights; a label's key begins from the n-grams of its name."""
    return build_network(model, tokenizer.pad_id, () if model.kind == encoded.KIND else _rows_of_names(model))


def _rows_of_names(model: ModelConfig) -> list[Tensor]:
    """Of each label, the rows of the n-grams of its name."""
    names = [count_ngrams([split_words(label)], model.buckets) for label in model.labels]
    return [torch.from_numpy(np.unique(np.concatenate([block[1] for block in one]))) for one in names]


def loss(config: RunConfig) -> Callable[[Any, Any], tuple[Tensor, int]]:
    """Cross-entropy of the labels."""

    def batch_loss(model: Any, batch: LabelBatch | LabelledIds) -> tuple[Tensor, int]:
        logits = model(*batch.inputs)  # (B, C)
        smoothing = config.train.label_smoothing
        return label_loss(logits, batch.labels, config.model.several_labels, smoothing), len(logits)

    return batch_loss


def optimizer(model: nn.Module, config: TrainConfig) -> torch.optim.Optimizer:
    """Of n-grams, every step sees all texts, and the loss is convex.

    The bias of a model that is fine-tuned gives way to hundreds of texts only: a handful, perhaps of one label, does
    not show how frequent labels are.
    """
    if not isinstance(model, LabelAttention):
        return make_optimizer(model, config)
    times = [FIRM if model.is_tuned and one is model.bias else 1.0 for one in model.parameters()]
    return LBFGS(model.parameters(), config.learning_rate or 1.0, config.weight_decay, times)


def tuned_rate(model: ModelConfig) -> float:
    """The learning rate of fine-tuning a model of this shape."""
    return ENCODER_RATE / model.width if model.kind == encoded.KIND else TABLE_RATE


def pack(model: ModelConfig, weights: dict[str, Tensor], tokenizer: Tokenizer) -> dict[str, Content]:
    """The files of a classifier; no class of another library has its shape, and config.json says so."""
    if model.kind == encoded.KIND:
        return encoded.pack(model, weights, tokenizer)
    return {
        "config.json": encode_json(own.export_config(model, "classify")),
        **tokenizer.files(),
        "tokenizer_config.json": encode_json(tokenizer_config(10**6, pad_token="[PAD]", unk_token="[UNK]")),
        "model.safetensors": weights_file(own.export_weights(weights)),
    }


def snapshot(model: Any, valid: list[Labelled], tokenizer: Tokenizer) -> list[dict[str, Any]]:
    """Its attention over the labels on a few held-out texts."""
    return snapshot_labels(model, tokenizer, [one.text for one in valid])


CLASSIFY = Recipe(
    name="classify",
    unit="texts",
    shape=FAMILIES["classify"].shape,
    kinds=KINDS,
    sizes=SIZES,
    uses=USES,
    gather=gather,
    read=read,
    defaults=defaults,
    learn=learn,
    encode=encode,
    batches=batches,
    validator=validator,
    build=build,
    loss=loss,
    optimizer=optimizer,
    pack=pack,
    where="regard.families.classify.recipe:CLASSIFY",
    snapshot=snapshot,
    learn_held_out=learn_held_out,
    extend=extend,
    kept_by_batches=("row_weights",),
    tuned_rate=tuned_rate,
    adopt=encoded.adopt,
)
