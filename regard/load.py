"""A model's folder -> Translator, Writer, Filler, Answerer, Classifier, Encoder, Decoder. Imports nothing of training.

What it needs is imported when the first model is opened, because `import regard` imports this.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

if TYPE_CHECKING:
    from regard.families.pipeline import Pipeline

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
    """The trained model in a folder, ours or Hugging Face's: a Translator, Writer, Filler, Answerer,
    Classifier or Encoder.

    family: the class it must be of; others are refused. Which one a folder holds is not known before it is opened, so
    for type checkers `load(folder)` is Any, and `load(folder, family=regard.Translator)` is a Translator.
    engine: torch or ctranslate2, precision: float32 or int8; by default the fastest on this machine in float32.
    part: to open a plain BERT as an encoder (BertModel's numbers), generation-encoder (BertGenerationEncoder's, without
    token types) or decoder (BertGenerationDecoder); what had no place and what is fresh is in `dropped`, `new`.
    """
    from regard.families.opening import open_model

    return open_model(Path(folder), family, engine, precision, part)
