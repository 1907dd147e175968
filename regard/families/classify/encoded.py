"""A classifier that is a fine-tuned encoder: texts as rows of ids, what it begins from, and how it is packed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.config import ModelConfig, RunConfig, Settings
from regard.data.batch import LabelledIds
from regard.data.labelled import NO_LABEL
from regard.data.loader import Loader
from regard.data.tokens import Array, TokenLists, find_anchors
from regard.data.tokens import pack as pack_lists
from regard.families.classify.network import read_ids
from regard.families.classify.pipeline import MOST_TOKENS
from regard.families.classify.settings import EPOCHS, MANY_TEXTS, MINUTES, TOKENS, TOKENS_OF_A_WORD
from regard.folder import Content, ModelFolder
from regard.formats import bert_classifier, own
from regard.formats.tokenizers import bert_roles, tokenizer_config
from regard.model.text_classifier import TextClassifier
from regard.text.labels import Labelled
from regard.text.tokenizer import Tokenizer
from regard.training.recipe import Corpus, Encoded, Parts, TrainBatches, encode_json, weights_file

KIND = "bert"
NAMES = ("text", "labels")  # of lists that are kept
TOGETHER = 32  # texts that are validated on together
PARTS = ("embedding.", "token_types.", "stack.")  # of a network, those that are its encoder


def adopt(folder: ModelFolder, path: Path, load: Callable[..., Any]) -> Parts | None:
    """What a classifier begins with that is made of an encoder or a filler; None of another model."""
    if folder.info.task not in ("fill", "encode"):
        return None
    opened = load(path, engine="torch")
    pooling = opened.pooling if folder.info.task == "encode" else "cls"
    shape = opened.model.config.model_copy(update={"kind": KIND, "pooling": pooling})
    weights = {f"encoder.{name}": one for name, one in opened.model.state_dict().items() if name.startswith(PARTS)}
    return shape, opened.tokenizer, weights


def extend(
    model: ModelConfig, labels: list[str], several: bool, tokenizer: Tokenizer, weights: dict[str, Tensor]
) -> Parts:
    """It has these labels; the key of a new one begins with what the encoder makes of its name."""
    before = len(model.labels)
    shape = model.model_copy(update={"labels": labels, "several_labels": model.several_labels if before else several})
    with torch.random.fork_rng(devices=[]):  # the run's random numbers are left alone
        torch.manual_seed(0)
        network = TextClassifier(shape, tokenizer.pad_id).eval()
    rest = {name: one for name, one in weights.items() if not name.startswith(("labels.", "temperature"))}
    network.load_state_dict(rest, strict=False)
    with torch.no_grad():
        longest = longest_of(shape)
        network.begin_labels(
            torch.cat([network.query(torch.tensor([read_ids(tokenizer, label, longest)])) for label in labels])
        )
        if before:  # logits are no longer divided by the temperature
            network.labels.weight[:before] = weights["labels.weight"] / weights["temperature"]
            network.labels.bias[:before] = weights["labels.bias"] / weights["temperature"]
    return shape, tokenizer, network.state_dict()


def longest_of(model: ModelConfig, wanted: int = MOST_TOKENS) -> int:
    """Most tokens of a text that are read."""
    return min(wanted, model.longest)


def defaults(corpus: Corpus) -> Settings:
    """Some epochs, ten minutes at most, in which the learning rate falls from early on."""
    texts = len(corpus.examples.sample)
    epochs = EPOCHS if texts < MANY_TEXTS else EPOCHS // 2
    tokens = TOKENS_OF_A_WORD * corpus.examples.words + 2 * texts
    steps = int(epochs * tokens) // TOKENS + 1
    return {
        "size": "tiny",
        "train": {"tokens_per_batch": TOKENS, "warmup_steps": max(1, steps // 10),
                  "valid_every": max(1, steps // (2 * epochs))},
        "stop": {"epochs": epochs, "minutes": MINUTES},
    }  # fmt: skip


def encode(examples: Sequence[Labelled], tokenizer: Tokenizer, config: RunConfig) -> Encoded:
    """Texts as ids; of a text too long for the network, its beginning."""
    number = {label: place for place, label in enumerate(config.model.labels)}
    longest = longest_of(config.model, config.text.max_length)
    rows = [read_ids(tokenizer, one.text, longest) for one in examples]
    flat, sizes = pack_lists(rows, tokenizer.vocab_size, longest)
    numbers, counts = pack_lists(
        [[number[label] for label in one.labels if label in number] for one in examples], 2**31
    )
    return Encoded({"text.flat": flat, "text.sizes": sizes, "labels.flat": numbers, "labels.sizes": counts})


def batches(arrays: dict[str, Array], tokenizer: Tokenizer, config: RunConfig) -> TrainBatches:
    """Batches of texts of like length."""
    texts, labels = (TokenLists.named(name, arrays) for name in NAMES)
    loader = Loader([texts.lengths], config.train.share(config.train.tokens_per_batch), config.seed)
    facts = {"texts": len(texts), "labels": len(config.model.labels), "tokens": len(texts.flat)}
    return TrainBatches(
        lambda position: _collate(texts, labels, loader.at(position), tokenizer.pad_id), len(loader), facts
    )


def _collate(texts: TokenLists, labels: TokenLists, chosen: Tensor, pad_id: int) -> LabelledIds:
    ids, numbers = texts.pad(chosen, pad_id), labels.pad(chosen, NO_LABEL)
    numbers = torch.nn.functional.pad(numbers, (0, max(0, 1 - numbers.shape[1])), value=NO_LABEL)
    return LabelledIds(int((ids != pad_id).sum()), ids, numbers)


def held_out_batches(examples: Sequence[Labelled], tokenizer: Tokenizer, config: RunConfig) -> Iterator[LabelledIds]:
    """These texts in their order, some at a time."""
    for first in range(0, len(examples), TOGETHER):
        arrays = encode(examples[first : first + TOGETHER], tokenizer, config).arrays
        arrays |= {f"{name}.anchors": find_anchors(arrays[f"{name}.sizes"]) for name in NAMES}
        texts, labels = (TokenLists.named(name, arrays) for name in NAMES)
        yield _collate(texts, labels, torch.arange(len(texts)), tokenizer.pad_id)


def pack(model: ModelConfig, weights: dict[str, Tensor], tokenizer: Tokenizer) -> dict[str, Content]:
    """The files of such a classifier, in Hugging Face layout; a shape that has no class there says so."""
    config = bert_classifier.export_config(model, tokenizer.pad_id)
    if model.pooling == "cls" and own.describes_fully(bert_classifier, config, model):
        exported = bert_classifier.export_weights(weights)
    else:
        config, exported = own.export_config(model, "classify"), own.export_weights(weights)
    return {
        "config.json": encode_json(config),
        **tokenizer.files(),
        "tokenizer_config.json": encode_json(
            tokenizer_config(model.max_positions, splits_special=False, **bert_roles(tokenizer))
        ),
        "model.safetensors": weights_file(exported),
    }  # fmt: skip
