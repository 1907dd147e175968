"""What every trained model has: a network, a tokenizer, the folder they came from, and an engine that runs it."""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar, Self

from regard.engines.cache import CTranslate2Cache, open_cache
from regard.engines.options import EngineOptions
from regard.engines.stored import rows_of
from regard.errors import ConfigError, FolderError
from regard.families.moving import Movable, one_reader
from regard.folder import CONFIG, ModelFolder
from regard.formats.generation import FILE as GENERATION
from regard.formats.generation import Generation, read_generation
from regard.formats.tokenizers import read_tokenizer
from regard.text.tokenizer import Tokenizer, name_rows

if TYPE_CHECKING:
    from torch import nn

    from regard.cache import Numbers
    from regard.formats.records import Described

PADDING = {"marian": 58100, "pegasus": 0}  # what transformers takes where config.json does not say


class Pipeline(Movable):
    """A network, its tokenizer and its folder; each family adds what it can do."""

    auto_class: ClassVar[str | None] = None  # of transformers, that opens the same folder
    reads_source: ClassVar[bool | None] = None  # of models that generate: whether they read a source first
    network: ClassVar[str]  # module:function that reads the network of a folder with a tokenizer; imported when needed
    fast_engine: ClassVar[str | None] = None  # module:class, where CTranslate2 runs such models
    fast_copy: ClassVar[str]  # module:function that describes the copy of one for CTranslate2
    _fast: Any = None

    def __init__(self, folder: ModelFolder, running: EngineOptions) -> None:
        """The model in a folder; running: which engine runs it."""
        if running.wants_fast and self.fast_engine is None:
            raise ConfigError(f"a model to {folder.info.task} is run by torch in float32; leave --engine and "
                              f"--precision out")  # fmt: skip
        folder.weights()  # whichever engine runs, damage is reported at once
        self.info = folder.info
        is_theirs = self.info.foreign is not None
        self.tokenizer: Any = read_tokenizer(folder.path, folder.config if is_theirs else None, rows_of(folder))
        generates = self.reads_source is not None
        self.generation = self.read_generation(folder, self.tokenizer) if generates else Generation(ends=())
        self.tokenizer.refuses_padding = is_theirs and self.reads_source is not False
        self._folder, self._running = folder, running
        if self.fast_engine and (copy := self._fast_copy()):
            self._fast = self._open_fast(copy)
        else:
            self.read_now()

    def __repr__(self) -> str:
        count = "" if self.info.parameters is None else f"{self.info.parameters:,} parameters"
        facts = ", ".join(filter(None, [" to ".join(self.info.languages), count, self.engine]))
        return f"<{type(self).__name__} {self._folder.folder}: {facts}>"

    @cached_property
    def model(self) -> Any:
        """The network, as a torch module."""
        with one_reader():
            return self.__dict__["model"] if "model" in self.__dict__ else self.read_now().__dict__["model"]

    @property
    def engine(self) -> str:
        """What runs it."""
        return "torch" if self._fast is None else str(self._fast.name)

    @classmethod
    def read_generation(cls, folder: ModelFolder, tokenizer: Any) -> Generation:
        """How this model's texts begin and end; its tokenizer then knows it too."""
        return generation_of(folder, tokenizer, is_translator=bool(cls.reads_source))

    def encode_text(self, text: str) -> list[int]:
        """The ids that it reads of a text."""
        ids: list[int] = self.tokenizer.encode(text)
        return ids

    def sizes(self, texts: list[str]) -> list[int]:
        """What reading each text costs, in tokens."""
        return [len(ids) + 1 for ids in self.tokenizer.encode_all(texts, is_part=True)]

    @property
    def name(self) -> str:
        """That of its folder."""
        return self._folder.folder.resolve().name

    @property
    def architecture(self) -> str:
        """The class whose numbers it gives: one of `transformers`, or ours where they have none."""
        return str(self.info.architecture or (self._folder.config.get("architectures") or ["unknown"])[0])

    def read_now(self) -> Self:
        """Reads the network, so that problems are reported at once."""
        self.__dict__["model"] = self._read(self.tokenizer)
        return self

    def _read(self, tokenizer: Tokenizer) -> nn.Module:
        """The network in the folder."""
        network: nn.Module = resolve_name(self.network)(self._folder, tokenizer)
        return network

    def save(self, folder: str | Path) -> None:
        """A copy of the model's folder, without its training state."""
        self._folder.copy_to(Path(folder))

    @property
    def device(self) -> Any:
        """Where the network computes."""
        return next(self.model.parameters()).device

    def _describe(self) -> tuple[Described, Numbers]:
        """The contents of the fast engine's copy; ConfigError where CTranslate2 has no such model."""
        made: tuple[Described, Numbers] = resolve_name(self.fast_copy)(self._folder, self.tokenizer, self.generation)
        return made

    def _fast_copy(self) -> CTranslate2Cache | None:
        """The fast engine's copy, made if it is not there or not what we would write; None where torch is to run."""
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
            return open_cache(self._folder, self._describe)
        except (OSError, ConfigError) as problem:
            where, why = f"{self._folder.folder} cannot be written", getattr(problem, "strerror", None)
            what = f"{where}: {why}" if isinstance(problem, OSError) else str(problem)
            if self._running.wants_fast:
                raise FolderError(f"there is no copy for the fast engine, and none can be made: {what}") from None
            warnings.warn(f"no copy for the fast engine ({what}); torch runs instead", RuntimeWarning, stacklevel=4)
            return None

    def _open_fast(self, copy: CTranslate2Cache) -> Any:
        """The fast engine, in the layout that was measured on this machine; measured now if it was not."""
        precision = self._running.precision or "float32"
        pieces = name_rows(self.tokenizer.pieces, copy.facts["rows"][0])
        most = copy.facts["places" if self.reads_source else "room"][0]
        engine = resolve_name(str(self.fast_engine))(copy.path, pieces, self.generation.ends, precision, most)
        engine.has_shortlist = copy.has_shortlist
        known = copy.layouts(precision)
        engine.layouts = known or engine.measure()
        if known is None:
            copy.keep_layouts(precision, engine.layouts)
        return engine


def generation_of(folder: ModelFolder, tokenizer: Any, *, is_translator: bool) -> Generation:
    """How this model's texts begin and end; its tokenizer then knows it too."""
    config = folder.config
    side: dict[str, Any] = config["decoder"] if isinstance(config.get("decoder"), dict) else {}
    size = config.get("vocab_size", side.get("vocab_size"))
    size = size if isinstance(size, int) else sys.maxsize
    if (folder.path / GENERATION).exists():
        found = read_generation(folder.json(GENERATION), GENERATION, size, is_translator=is_translator)
    else:  # config.json has the same keys; what it leaves out, its decoder may have
        merged = side | {name: value for name, value in config.items() if value is not None}
        found = read_generation(merged, CONFIG, size, is_translator=is_translator)
    if folder.info.foreign is None:
        never_pads = is_translator and not side  # of two BERTs, padding is a choice like others, as in transformers
        return replace(found, suppressed=(*found.suppressed, tokenizer.pad_id)) if never_pads else found
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
                          f"({closing}); texts of unequal length could not be distinguished")  # fmt: skip
    return found
