"""What a model's folder says of its network: the shape by config.json, facts by regard.json. No torch, no NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from regard.errors import FolderError
from regard.folder import CONFIG, ModelFolder, ModelInfo
from regard.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from regard.config import ModelConfig
    from regard.formats.weights import Shapes, Weights

SHORTEST_LIMIT = 32  # tokens; lines up to this long are never split, however short the training text was
LONGEST_SOURCE = 2**16  # tokens of a line in any training text; it has no more sentences


class Layout(Protocol):
    """How a kind of model lies in a folder: a module of `formats`."""

    def import_config(self, config: dict[str, Any]) -> ModelConfig:
        """The shape in a config.json."""
        ...

    def import_weights(self, weights: Weights, shapes: Shapes) -> Weights:
        """Weights under our names, which have these shapes."""
        ...


def choose_layout(folder: ModelFolder, layouts: dict[str, Layout]) -> Layout:
    """The layout of the folder's model_type."""
    kind = folder.config.get("model_type")
    if not isinstance(kind, str) or kind not in layouts:
        raise FolderError(f"{folder.folder}: config.json has model_type {kind!r}; "
                          f"a model of this task is one of {', '.join(layouts)}")  # fmt: skip
    return layouts[kind]


def rows_of(folder: ModelFolder) -> int:
    """Most rows that the table of a folder's model can have: as config.json says, and as its weights have bytes for."""
    sides = [folder.config, *(folder.config.get(side) for side in ("decoder", "encoder"))]
    sizes = [side["vocab_size"] for side in sides if isinstance(side, dict) and type(side.get("vocab_size")) is int]
    room = sum(path.stat().st_size for path in folder.weights()) // 8  # bytes of a row, at the very least
    return min([room, *sizes[:1]])


def refuse_small_table(config: ModelConfig, tokenizer: Tokenizer) -> None:
    """A table may be filled up to a round number, but every piece has a row of it."""
    if config.vocab_size < tokenizer.vocab_size:
        sizes = f"config.json has vocab_size {config.vocab_size}, but tokenizer.json {tokenizer.vocab_size} entries"
        raise FolderError(f"{sizes}; they are not of the same model")


def read_shape(folder: ModelFolder, read: Callable[[dict[str, Any]], Any]) -> Any:
    """The shape in a folder's config.json; values of the wrong type are a FolderError."""
    try:
        return read(folder.config)
    except (TypeError, ValueError, KeyError, AttributeError, ArithmeticError) as problem:
        raise FolderError(f"{folder.path / CONFIG} describes a model that cannot be: {problem!r:.200}") from None


def longest_source(info: ModelInfo) -> int:
    """Most tokens of a source that was trained on, as regard.json says."""
    found = info.data.get("longest_source", 0)
    if type(found) is not int or not 0 <= found <= LONGEST_SOURCE:
        raise FolderError(f"regard.json has longest_source={found!r:.40}, which is not from 0 to {LONGEST_SOURCE}")
    return max(SHORTEST_LIMIT, found)


def sentences_per_line(info: ModelInfo) -> int | None:
    """Most sentences of nearly every source that was trained on, if regard.json says it."""
    found = info.data.get("sentences_per_line")
    if found is not None and (type(found) is not int or not 1 <= found <= LONGEST_SOURCE):
        raise FolderError(f"regard.json has sentences_per_line={found!r:.40}, which is not from 1 to {LONGEST_SOURCE}")
    return found


def length_ratio(info: ModelInfo) -> float:
    """Target tokens for each source token in the training text, as regard.json says; 1 if it does not."""
    found = info.data.get("length_ratio", 1.0)
    if type(found) not in {int, float} or not 0 < found < LONGEST_SOURCE:
        raise FolderError(f"regard.json has length_ratio={found!r:.40}, which is not above 0")
    return float(found)


def alignment_of(info: ModelInfo, config: ModelConfig) -> dict[str, Any]:
    """The layer and the heads whose attention aligns tokens; by default all heads of the middle layer."""
    layers = config.decoder_layers or config.layers
    middle: dict[str, Any] = {"layer": layers // 2, "heads": list(range(config.heads))}
    found = middle if info.alignment is None else info.alignment
    layer, heads = found.get("layer"), found.get("heads")
    is_there = type(layer) is int and 0 <= layer < layers and isinstance(heads, list) and bool(heads)
    if not is_there or not all(type(one) is int and 0 <= one < config.heads for one in heads or []):
        raise FolderError(f"regard.json has alignment={found!r:.120}, and the decoder has {layers} layers with "
                          f"{config.heads} heads, both from 0")  # fmt: skip
    if len(set(heads or [])) < len(heads or []):
        raise FolderError(f"regard.json has alignment={found!r:.120}, where a head is named twice")
    return dict(found)
