"""What every trained model has: a network, a tokenizer, the folder they came from, and an engine that runs it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from regard.errors import ConfigError, FolderError
from regard.folder import CONFIG, ModelFolder
from regard.interop.generation import FILE as GENERATION
from regard.interop.generation import Generation, read_generation
from regard.interop.tokenizers import read_tokenizer
from regard.text.tokenizer import Tokenizer, name_rows
from regard.use.copy import Copy, open_copy
from regard.use.moving import Movable, one_reader

if TYPE_CHECKING:
    from torch import nn

    from regard.cache import Numbers
    from regard.config import ModelConfig
    from regard.engine.ctranslate2 import FastTranslator, FastWriter
    from regard.interop.records import Described
    from regard.interop.weights import Shapes, Stored, Weights

Fast = TypeVar("Fast", bound="FastTranslator | FastWriter")
MOST_TIMES, MOST_SURPLUS = 4, 2**24  # weights a file may have: tables that are there twice, masks of old versions
ENGINES, PRECISIONS = ("torch", "ctranslate2"), ("float32", "int8")
GENERATING = ("translate", "write")
PADDING = {"marian": 58100, "pegasus": 0}  # what transformers takes where config.json does not say


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

    def import_weights(self, weights: Weights, shapes: Shapes) -> Weights:
        """Weights under our names, which have these shapes."""
        ...


class Trained(Movable):
    """A network, its tokenizer and its folder; each family adds what it can do."""

    def __init__(self, folder: ModelFolder, read: Callable[[Tokenizer], nn.Module], running: Running) -> None:
        """read: reads the network, which happens when somebody first needs it."""
        folder.weights()  # whichever engine runs, damage is told at once
        self.about = folder.about
        is_theirs = "foreign" in folder.about
        self.tokenizer: Any = read_tokenizer(folder.path, folder.config if is_theirs else None, rows_of(folder))
        refuse_odd(folder.about)
        self.generation = generation_of(folder, self.tokenizer)
        self.tokenizer.refuses_padding = is_theirs and folder.about.get("task") != "write"
        self._folder, self._read, self._running = folder, read, running
        self.dropped: list[
            str
        ] = []  # weights of a plain BERT that had no place, where one was opened as something else
        self.new: list[str] = []  # weights that it did not have, and that are fresh

    @cached_property
    def model(self) -> Any:
        """The network, as a torch module."""
        with one_reader():
            return self.__dict__["model"] if "model" in self.__dict__ else self.read_now().__dict__["model"]

    @property
    def architecture(self) -> str:
        """The class whose numbers it gives: one of `transformers`, or ours where they have none."""
        return str(self.about.get("architecture") or (self._folder.config.get("architectures") or ["unknown"])[0])

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

    def _fast_copy(self, describe: Callable[[ModelFolder, Any, Generation], tuple[Described, Numbers]]) -> Copy | None:
        """The fast engine's copy, made if it is not there or not what we would write; None where torch is to run.

        `describe` tells what belongs into it, or raises ConfigError if there is no such model there.
        """
        if self._running.engine == "torch":
            return None
        if self._folder.is_foreign:
            if self._running.wants_fast:
                raise FolderError(f"{self._folder.folder} was not made by regard, and nothing is written into it; "
                                  f"`regard import` it first")  # fmt: skip
            return None
        try:
            if find_spec("ctranslate2") is None:
                raise ConfigError("the package ctranslate2 is not installed")
            return open_copy(self._folder, lambda: describe(self._folder, self.tokenizer, self.generation))
        except (OSError, ConfigError) as problem:
            where, why = f"{self._folder.folder} cannot be written", getattr(problem, "strerror", None)
            what = f"{where}: {why}" if isinstance(problem, OSError) else str(problem)
            if self._running.wants_fast:
                raise FolderError(f"there is no copy for the fast engine, and none can be made: {what}") from None
            warnings.warn(f"no copy for the fast engine ({what}); torch runs instead", RuntimeWarning, stacklevel=4)
            return None

    def _open_fast(self, kind: Callable[..., Fast], copy: Copy, size: int) -> Fast:
        """The fast engine, in the layout that was measured on this machine; measured now if it was not."""
        precision = self._running.precision or "float32"
        engine = kind(
            copy.path, name_rows(self.tokenizer.pieces, copy.facts["rows"][0]), self.generation.ends, precision, size
        )
        known = copy.layouts(precision)
        engine.layouts = known or engine.measure()
        if known is None:
            copy.keep_layouts(precision, engine.layouts)
        return engine


def read_network(
    folder: ModelFolder, tokenizer: Tokenizer, layout: Layout, build: Callable[[ModelConfig, Tokenizer], nn.Module]
) -> nn.Module:
    """The network in a folder, ready to be used."""
    config = read_shape(folder, layout.import_config)
    refuse_small_table(config, tokenizer)
    listed = list_for(folder, config)
    model = build_empty(lambda: build(config, tokenizer))
    return fill(model, layout.import_weights(read_for(folder, listed, shapes_of(model)), shapes_of(model)))


def rows_of(folder: ModelFolder) -> int:
    """Most rows that the table of a folder's model can have: as config.json says, and as its weights have bytes for."""
    sides = [folder.config, *(folder.config.get(side) for side in ("decoder", "encoder"))]
    sizes = [side["vocab_size"] for side in sides if isinstance(side, dict) and type(side.get("vocab_size")) is int]
    room = sum(path.stat().st_size for path in folder.weights()) // 8  # bytes of a row, at the very least
    return min([room, *sizes[:1]])


def refuse_odd(about: dict[str, Any]) -> None:
    """The languages in regard.json are words."""
    settings = about.get("settings", {})
    names = ("source_language", "target_language")
    if not isinstance(settings, dict) or not all(isinstance(settings.get(name), str | None) for name in names):
        raise FolderError(f"regard.json has settings {settings!r:.120}, where a language is not a word; it was changed "
                          f"or damaged, copy or train it again")  # fmt: skip


def refuse_small_table(config: ModelConfig, tokenizer: Tokenizer) -> None:
    """A table may be filled up to a round number, but every piece has a row of it."""
    if config.vocab_size < tokenizer.vocab_size:
        sizes = f"config.json has vocab_size {config.vocab_size}, but tokenizer.json {tokenizer.vocab_size} entries"
        raise FolderError(f"{sizes}; they are not of the same model")


def read_shape(folder: ModelFolder, read: Callable[[dict[str, Any]], Any]) -> Any:
    """What a config.json tells of a network; one whose parts are not even of the right kind is refused in words."""
    try:
        return read(folder.config)
    except (TypeError, ValueError, KeyError, AttributeError, ArithmeticError) as problem:
        raise FolderError(f"{folder.path / CONFIG} describes a model that cannot be: {problem!r:.200}") from None


def list_for(folder: ModelFolder, *configs: ModelConfig) -> dict[str, Stored]:
    """Where the weights of a folder lie, if there can be enough of them for networks of this shape."""
    from regard.interop.weights import list_weights

    listed = list_weights(folder.weights())
    layers = sum(config.layers + (config.decoder_layers or 0) for config in configs)
    table = max(config.vocab_size * config.width for config in configs)
    if layers > len(listed) or table > sum(stored.count for stored in listed.values()):
        asked = f"{layers} layers and a table of {table} numbers"
        raise FolderError(f"{folder.path}: config.json asks for {asked}, and the weights are fewer; "
                          f"they are not of the same model")  # fmt: skip
    return listed


def build_empty(build: Callable[[], nn.Module]) -> nn.Module:
    """A network whose weights are left out, so that its size costs nothing."""
    import torch

    with torch.device("meta"):
        return build()


def shapes_of(model: nn.Module) -> Shapes:
    """The shape of every weight of a network."""
    return {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}


def read_for(folder: ModelFolder, listed: dict[str, Stored], shapes: Shapes) -> Weights:
    """The weights of a folder, unless there are far more than these shapes have room for."""
    from regard.interop.weights import read_arrays

    there, room = sum(stored.count for stored in listed.values()), sum(map(prod, shapes.values()))
    for found, wanted, surplus, what in (
        (there, room, MOST_SURPLUS, "weights"),
        (len(listed), len(shapes), 100, "tables"),
    ):
        if found > surplus + MOST_TIMES * wanted:
            raise FolderError(f"{folder.path} has {found} {what}, and config.json asks for {wanted}; "
                              f"they are not of the same model")  # fmt: skip
    return read_arrays(listed)


def fill(model: nn.Module, weights: Weights, *, strict: bool = True) -> nn.Module:
    """A network with its weights, which are not copied where that can be helped; if not strict, some may be missing."""
    import numpy
    import torch

    kinds = {name: tensor.dtype for name, tensor in model.state_dict().items()}
    tensors = {}
    for name in list(weights):  # each is let go once it is taken over
        tensors[name] = torch.from_numpy(numpy.require(weights.pop(name), requirements=["C", "W"])).to(kinds[name])
    model.load_state_dict(tensors, assign=True, strict=strict)
    return model.eval()


def generation_of(folder: ModelFolder, tokenizer: Any) -> Generation:
    """How this model's texts begin and end; its tokenizer then knows it too. Of models that generate none, nothing."""
    if folder.about.get("task") not in GENERATING:
        return Generation(ends=())
    config, is_translator = folder.config, folder.about["task"] == "translate"
    side: dict[str, Any] = config["decoder"] if isinstance(config.get("decoder"), dict) else {}
    size = config.get("vocab_size", side.get("vocab_size"))
    size = size if isinstance(size, int) else sys.maxsize
    if (folder.path / GENERATION).exists():
        found = read_generation(folder.json(GENERATION), GENERATION, size, is_translator=is_translator)
    else:  # config.json has the same keys; what it leaves out, its decoder may have
        told = side | {name: value for name, value in config.items() if value is not None}
        found = read_generation(told, CONFIG, size, is_translator=is_translator)
    if "foreign" not in folder.about:
        never_pads = is_translator and not side  # of two BERTs, padding is a choice like others, as in transformers
        return replace(found, never=(*found.never, tokenizer.pad_id)) if never_pads else found
    if not is_translator:
        tokenizer.with_roles(begin=found.ends[0] if found.begin is None else found.begin, end=found.ends[0])
        return found
    if found.start is None:
        raise FolderError(f"{folder.folder} says no decoder_start_token_id and no bos_token_id; a translation needs "
                          f"one to start from")  # fmt: skip
    pad = config.get("pad_token_id", PADDING.get(str(config.get("model_type"))))
    if isinstance(pad, int) and 0 <= pad < size and isinstance(tokenizer, Tokenizer):
        tokenizer.with_roles(pad=pad)
    if tokenizer.pad_id in (closing := tokenizer.encode("")):
        raise FolderError(f"{folder.folder} fills up rows with the id {tokenizer.pad_id}, which also closes a text "
                          f"({closing}); texts of unequal length could not be told apart")  # fmt: skip
    return found


def adopt_network(folder: ModelFolder, build: Callable[[], nn.Module], opened: Trained) -> nn.Module:
    """A network with what a plain BERT has for it; the rest is fresh, the same every time, and told."""
    import torch

    from regard.interop.bert_generation import adopt

    model: Any = build_empty(build)
    listed = list_for(folder, model.config)
    found, opened.dropped, opened.new = adopt(read_for(folder, listed, shapes_of(model)), shapes_of(model))
    if missing := [name for name in opened.new if ".cross_" not in name and name != "bias"]:
        raise FolderError(f"{folder.folder}: weights do not fit config.json: {', '.join(missing[:5])} missing")
    with torch.random.fork_rng(devices=[]):  # the caller's random numbers are left alone
        torch.manual_seed(0)
        fresh = build()
    return fill(fresh, found, strict=False)


def choose_layout(folder: ModelFolder, layouts: dict[str, Layout]) -> Layout:
    """The layout of the folder's model_type."""
    kind = folder.config.get("model_type")
    if not isinstance(kind, str) or kind not in layouts:
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
