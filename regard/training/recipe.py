"""What a family must be able to do: a record of functions. Imports no torch; the functions do, when they are called."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from torch import Tensor, nn, optim

from regard.config import ModelConfig, RunConfig, Settings, TrainConfig
from regard.data.tokens import Array
from regard.folder import Content, ModelFolder
from regard.text.corpus import LeftOut
from regard.text.stream import Examples
from regard.text.tokenizer import Tokenizer
from regard.training.optim import make_optimizer

Check = Callable[[], None]  # called often during long work; raises to stop
Parts = tuple[ModelConfig, Tokenizer, dict[str, Tensor]]  # of a model: its shape, its tokenizer, its weights
Sample = tuple[str, ...]  # what a model was given, what it made of it, and what it should have, if that is known


@dataclass(frozen=True)
class Corpus:
    """Text to learn from and text held out to score with: where it is, and how it is read."""

    examples: Examples
    paths: dict[str, Path]  # role -> file
    left_out: list[LeftOut] = field(default_factory=list)  # before anything was read, such as binary files in a folder
    facts: Settings = field(default_factory=dict)  # settings that follow from the files, such as the languages
    reading: dict[str, str] = field(default_factory=dict)  # how the files are read, such as their columns

    @property
    def files(self) -> dict[str, str]:
        """Role -> bare name: all that a published model records of its files."""
        return {role: path.name for role, path in self.paths.items()}


@dataclass(frozen=True)
class Encoded:
    """Examples as ids: named arrays, to be kept one chunk after another; NAME.flat and NAME.sizes are lists of ids."""

    arrays: dict[str, Array]
    left_out: list[LeftOut] = field(default_factory=list)


@dataclass(frozen=True)
class TrainBatches:
    """Encoded examples as batches, by position: all that a process needs to train."""

    batch: Callable[[int], Any]
    batches_per_epoch: int
    facts: dict[str, Any]  # what regard.json records of the data
    whole: list[Any] = field(default_factory=list)  # all examples once, where they are few and validation uses them


@dataclass(frozen=True)
class Validation:
    """What came of validating a model, which is left as it is."""

    scores: dict[str, float]  # the first is the one that early stopping goes by
    chosen: dict[str, Tensor] = field(default_factory=dict)  # entries of the model's state that follow from the scores


def no_samples(model: nn.Module) -> list[Sample]:
    """No samples."""
    return []


@dataclass(frozen=True)
class Validator:
    """Held-out examples, and how to score with them."""

    score: Callable[[nn.Module, Check], Validation]
    signature: str  # how the scores are measured
    facts: dict[str, Any]
    left_out: list[LeftOut] = field(default_factory=list)
    lower_is_better: bool = False  # of the first score, the one training goes by
    samples: Callable[[nn.Module], list[Sample]] = no_samples  # of a few examples, between validations too: quickly
    fixed: dict[str, Tensor] = field(default_factory=dict)  # entries of the model's state that follow from the text

    def is_better(self, scores: dict[str, float], best: dict[str, float]) -> bool:
        """By the first score; anything is better than nothing."""
        if not best:
            return True
        name = next(iter(scores))
        return scores[name] < best[name] if self.lower_is_better else scores[name] > best[name]


@dataclass(frozen=True)
class Artifacts:
    """What a finished model gets beside its weights."""

    about: dict[str, Any] = field(default_factory=dict)  # goes to regard.json
    contents: dict[str, Content] = field(default_factory=dict)  # files


def no_snapshots(model: nn.Module, valid: list[Any], tokenizer: Tokenizer) -> list[dict[str, Any]]:
    """No attention snapshots."""
    return []


def no_artifacts(model: nn.Module, arrays: dict[str, Array], valid: list[Any], tokenizer: Tokenizer) -> Artifacts:
    """Most families need none."""
    return Artifacts()


@dataclass(frozen=True)
class Recipe:
    """One family."""

    name: str
    unit: str  # what examples are called
    shape: tuple[str, ...]  # settings of the network that are shown
    kinds: dict[str, Settings]  # model.kind -> what follows from it; the first is the default
    sizes: dict[str, Settings]  # the dial: size -> what follows from it
    uses: dict[str, frozenset[str]]  # model.kind -> the settings that do something for it
    gather: Callable[..., tuple[Any, Any]]  # named files -> (files to train on, files to validate on or None)
    read: Callable[[Any, Any, RunConfig], Corpus]
    # Of the corpus, the kind and the minutes on a CPU, if set: the default settings, the size among them.
    defaults: Callable[[Corpus, str, float | None], Settings]
    learn: Callable[[Corpus, RunConfig, Check], Tokenizer]
    encode: Callable[[list[Any], Tokenizer, RunConfig], Encoded]  # of a chunk of the examples
    batches: Callable[[dict[str, Array], Tokenizer, RunConfig], TrainBatches]  # of all that was encoded
    validator: Callable[[list[Any], TrainBatches, Tokenizer, RunConfig, Check], Validator]  # of the examples held out
    build: Callable[[ModelConfig, Tokenizer], nn.Module]
    loss: Callable[[RunConfig], Callable[[Any, Any], tuple[Tensor, int]]]
    pack: Callable[[ModelConfig, dict[str, Tensor], Tokenizer], dict[str, Content]]  # what goes into the folder
    where: str  # that this record is imported from, by every process of a run: module:name
    score: str | None = None  # the first of its scores, if runs are on record to forecast it from
    optimizer: Callable[[nn.Module, TrainConfig], optim.Optimizer] = make_optimizer
    config: type[RunConfig] = RunConfig  # with a section of its own, if it has settings of its own
    # A translator of an encoder's folder and a decoder's: shape, tokenizer, and the weights that they have for it.
    join: Callable[[ModelFolder, ModelFolder], Parts] | None = None
    # Of the files, what was set, the folder of a model that is fine-tuned on them, and its settings: what cannot be
    # meant is refused.
    compare_start: Callable[[Any, Settings, str, Settings], None] | None = None
    # Of the text and a model that is fine-tuned on it: what the model is before the first step, as with more labels.
    extend: Callable[[Corpus, ModelConfig, Tokenizer, dict[str, Tensor]], Parts] | None = None
    kept_by_batches: tuple[str, ...] = ()  # of the weights it is fine-tuned from, what batches get as the array start.…
    tuned_rate: Callable[[ModelConfig], float] | None = None  # of fine-tuning it; else a quarter of the usual one
    # Of the folder of another family's model, its path, and what opens one: what it is as one of this family, or None.
    adopt: Callable[[ModelFolder, Path, Callable[..., Any]], Parts | None] | None = None
    # Of the finished model, the encoded text it learned from and the examples held out:
    artifacts: Callable[[nn.Module, dict[str, Array], list[Any], Tokenizer], Artifacts] = no_artifacts
    # The finished model, the optimizer of its run, what it learned from, and what was held out of that, to learn from.
    learn_held_out: Callable[[Any, Any, TrainBatches, list[Any], RunConfig, Check], None] | None = None
    # Of a model in training and the examples held out: its attention on a few of them.
    snapshot: Callable[[nn.Module, list[Any], Tokenizer], list[dict[str, Any]]] = no_snapshots
    # Launches instead of `training.launch`, as module:function, where a request may need several trainings.
    stages: str | None = None


def encode_json(content: dict[str, Any]) -> str:
    """A JSON file for people to read too."""
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def weights_file(weights: dict[str, Tensor]) -> Content:
    """A function that writes these weights as safetensors."""
    return lambda path: save_file(weights, path, metadata={"format": "pt"})
