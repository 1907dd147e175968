"""A model's folder -> Translator, Writer, Filler, Answerer, Encoder or Decoder. Imports nothing of training.

What it needs is imported when the first model is opened, because `import regard` imports this.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

if TYPE_CHECKING:
    from regard.engines.options import EngineOptions
    from regard.families.pipeline import Pipeline
    from regard.folder import ModelFolder

P = TypeVar("P", bound="Pipeline")


@overload
def load(
    folder: str | Path, *, engine: str | None = None, precision: str | None = None, part: str | None = None
) -> Any: ...


@overload
def load(
    folder: str | Path, *, family: type[P], engine: str | None = None, precision: str | None = None,
    part: str | None = None,
) -> P: ...  # fmt: skip


def load(
    folder: str | Path, *, family: type[Pipeline] | None = None, engine: str | None = None,
    precision: str | None = None, part: str | None = None,
) -> Pipeline:  # fmt: skip
    """The trained model in a folder, ours or Hugging Face's: a Translator, Writer, Filler, Answerer or Encoder.

    family: the class it must be of, such as regard.Translator, which type checkers then know; others are refused.
    engine: torch or ctranslate2, precision: float32 or int8; by default the fastest on this machine in float32.
    part: to open a plain BERT as an encoder (BertModel's numbers), generation-encoder (BertGenerationEncoder's, without
    token types) or decoder (BertGenerationDecoder); what had no place and what is fresh is in `dropped`, `new`.
    """
    from regard.engines.options import EngineOptions
    from regard.errors import ConfigError, RegardError
    from regard.folder import TRIES, ModelFolder

    options = EngineOptions(engine, precision)
    for left in reversed(range(TRIES)):
        opened = ModelFolder(Path(folder))
        try:
            model = _open(opened, options, part)
            opened.refuse_changed()
            if family is not None and not isinstance(model, family):
                raise ConfigError(f"{folder} is a model to {opened.info.task}, which is opened as "
                                  f"{type(model).__name__} and not as {family.__name__}")  # fmt: skip
            return model
        except (RegardError, OSError):
            if not left or not opened.has_changed():  # else a training has put a new model there meanwhile
                raise
    raise AssertionError("the last try returns or raises")


def _open(folder: ModelFolder, options: EngineOptions, part: str | None) -> Pipeline:
    from regard.errors import FolderError
    from regard.families import all_families, find_family, import_part
    from regard.folder import ABOUT
    from regard.formats.detect import take_part

    if part:
        folder.about = take_part(folder.about, folder.config, part)
    name = folder.info.task
    family = find_family(name)
    if family is None:
        raise FolderError(f"{folder.path / ABOUT} has the task {name[:40]!r}, which is none of "
                          f"{', '.join(all_families())}; it was changed or damaged, or made by a newer version or by a "
                          f"package that is not installed")  # fmt: skip
    opened: Pipeline = import_part(family.pipeline).open(folder, options)
    return opened
