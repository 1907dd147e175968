"""What every trained model has: a network, a tokenizer, the folder they came from, and an engine that runs it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from regard.errors import ConfigError, FolderError
from regard.folder import ModelFolder
from regard.interop.tokenizers import read_tokenizer
from regard.text.tokenizer import Tokenizer
from regard.use.copy import Copy

if TYPE_CHECKING:
    from torch import Tensor, nn

    from regard.config import ModelConfig
    from regard.engine.ctranslate2 import FastTranslator, FastWriter

Fast = TypeVar("Fast", bound="FastTranslator | FastWriter")
ENGINES, PRECISIONS = ("torch", "ctranslate2"), ("float32", "int8")


@dataclass(frozen=True)
class Running:
    """How a model is to be run; None: as fast as this machine can."""

    engine: str | None = None
    precision: str | None = None

    def __post_init__(self) -> None:
        for name, value, known in (("engine", self.engine, ENGINES), ("precision", self.precision, PRECISIONS)):
            if value is not None and value not in known:
                raise ConfigError(f"{name}={value} is not one of {', '.join(known)}")
        if self.engine == "torch" and self.precision == "int8":
            raise ConfigError("precision=int8 is for engine=ctranslate2; torch computes in float32")

    @property
    def wants_fast(self) -> bool:
        """Whether somebody asked for what only the fast engine can do."""
        return self.engine == "ctranslate2" or self.precision == "int8"


class Layout(Protocol):
    """How a kind of model lies in a folder: a module of `interop`."""

    def import_config(self, config: dict[str, Any]) -> ModelConfig:
        """The shape a config.json tells of."""
        ...

    def import_weights(self, weights: dict[str, Tensor], ours: dict[str, Tensor]) -> dict[str, Tensor]:
        """Weights under our names."""
        ...


class Trained:
    """A network, its tokenizer and its folder; each family adds what it can do."""

    def __init__(self, folder: ModelFolder, read: Callable[[Tokenizer], nn.Module], running: Running) -> None:
        """read: reads the network, which happens when somebody first needs it."""
        folder.weights()  # whichever engine runs, damage is told at once
        self.tokenizer: Any = read_tokenizer(folder.path)
        self.about = folder.about
        self._folder, self._read, self._running = folder, read, running
        self.dropped: list[
            str
        ] = []  # weights of a plain BERT that had no place, where one was opened as something else
        self.new: list[str] = []  # weights that it did not have, and that are fresh

    @cached_property
    def model(self) -> Any:
        """The network, as a torch module."""
        return self._read(self.tokenizer)

    def read_now(self) -> Self:
        """Reads the network, so that what is wrong with it is told at once."""
        self.__dict__["model"] = self._read(self.tokenizer)
        return self

    def save(self, folder: str | Path) -> None:
        """A copy of the model's folder, without its training state."""
        self._folder.copy_to(Path(folder))

    @property
    def device(self) -> Any:
        """Where the network computes."""
        return next(self.model.parameters()).device

    def _fast_copy(self, fill: Callable[[Path], dict[str, Any]]) -> Copy | None:
        """The fast engine's copy, made if it is not there or not of these weights; None where torch is to run.

        `fill` writes it into a folder, or raises ConfigError if there is no such model there.
        """
        if self._running.engine == "torch":
            return None
        if self._folder.is_foreign:
            if self._running.wants_fast:
                raise FolderError(f"{self._folder.folder} was not made by regard, and nothing is written into it; "
                                  f"`regard import` it first")  # fmt: skip
            return None
        copy = Copy(self._folder)
        try:
            if find_spec("ctranslate2") is None:
                raise ConfigError("the package ctranslate2 is not installed")
            if not copy.is_good():
                copy.make(fill)
        except (OSError, ConfigError) as problem:
            what = f"{self._folder.folder} cannot be written" if isinstance(problem, OSError) else str(problem)
            if self._running.wants_fast:
                raise FolderError(f"there is no copy for the fast engine, and none can be made: {what}") from None
            warnings.warn(f"no copy for the fast engine ({what}); torch runs instead", RuntimeWarning, stacklevel=4)
            return None
        return copy

    def _open_fast(self, kind: Callable[..., Fast], copy: Copy, size: int) -> Fast:
        """The fast engine, in the layout that was measured on this machine; measured now if it was not."""
        precision = self._running.precision or "float32"
        engine = kind(copy.path, self.tokenizer.pieces, self.tokenizer.end_id, precision, size)
        known = copy.layouts(precision)
        engine.layouts = known or engine.measure()
        if known is None:
            copy.keep_layouts(precision, engine.layouts)
        return engine


def read_network(
    folder: ModelFolder, tokenizer: Tokenizer, layout: Layout, build: Callable[[ModelConfig, Tokenizer], nn.Module]
) -> nn.Module:
    """The network in a folder, ready to be used."""
    config = layout.import_config(folder.config)
    if config.vocab_size < tokenizer.vocab_size:  # a table may be filled up to a round number
        sizes = f"config.json has vocab_size {config.vocab_size}, but tokenizer.json {tokenizer.vocab_size} entries"
        raise FolderError(f"{sizes}; they are not of the same model")
    model = build(config, tokenizer)
    found = layout.import_weights(read_weights(folder), model.state_dict())
    model.load_state_dict({name: tensor.float() for name, tensor in found.items()})
    return model.eval()


def read_weights(folder: ModelFolder) -> dict[str, Tensor]:
    """All weights of a folder, by the names they have there."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    weights: dict[str, Tensor] = {}
    for path in folder.weights():
        try:
            weights |= load_file(path)
        except (SafetensorError, OSError) as problem:
            raise FolderError(f"{path} is not a safetensors file we can read: {problem}") from None
    bad = next((name for name, tensor in weights.items() if tensor.is_floating_point() and tensor.isnan().any()), None)
    if bad:
        raise FolderError(f"{folder.path}: {bad} has a weight that is not a number, so every answer would be none; "
                          f"the file was damaged, or its training diverged: take an earlier one")  # fmt: skip
    return weights


def read_pair(folder: ModelFolder, tokenizer: Tokenizer) -> nn.Module:
    """An encoder and a decoder that were put together."""
    from regard.interop import bert_generation
    from regard.model.transformer import EncoderAndDecoder, TextDecoder, TextEncoder

    encoder, decoder, start = bert_generation.import_pair_config(folder.config)
    network = EncoderAndDecoder(TextEncoder(encoder, tokenizer.pad_id), TextDecoder(decoder, tokenizer.pad_id), start)
    found = bert_generation.import_pair_weights(read_weights(folder), network.state_dict())
    network.load_state_dict({name: tensor.float() for name, tensor in found.items()})
    return network.eval()


def adopt_network(folder: ModelFolder, network: nn.Module, opened: Trained) -> nn.Module:
    """A network with what a plain BERT has for it; the rest is fresh, the same every time, and told."""
    from regard.interop.bert_generation import adopt

    found, opened.dropped, opened.new = adopt(read_weights(folder), network.state_dict())
    network.load_state_dict({name: tensor.float() for name, tensor in found.items()}, strict=False)
    return network.eval()


def choose_layout(folder: ModelFolder, layouts: dict[str, Layout]) -> Layout:
    """The layout of the folder's model_type."""
    kind = folder.config.get("model_type")
    if kind not in layouts:
        raise FolderError(f"{folder.folder}: config.json has model_type {kind!r}; "
                          f"a model of this task is one of {', '.join(layouts)}")  # fmt: skip
    return layouts[kind]


def refuse_fast(task: str, running: Running) -> None:
    """Says that this family is run by torch only."""
    if running.wants_fast:
        raise ConfigError(f"a model to {task} is run by torch in float32; leave --engine and --precision out")


def refuse_below_one(**numbers: int | None) -> None:
    """Counts must be at least 1."""
    for name, number in numbers.items():
        if number is not None and number < 1:
            raise ConfigError(f"{name}={number}: it must be at least 1")
