"""What every trained model has: a network, a tokenizer, and the folder they came from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from regard.errors import ConfigError, FolderError
from regard.folder import TOKENIZER, ModelFolder
from regard.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from torch import Tensor, nn

    from regard.config import ModelConfig


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

    def __init__(self, model: Any, tokenizer: Tokenizer, folder: ModelFolder) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.about = folder.about
        self._folder = folder

    def save(self, folder: str | Path) -> None:
        """A copy of the model's folder, without its training state."""
        self._folder.copy_to(Path(folder))

    @property
    def device(self) -> Any:
        """Where the network computes."""
        return next(self.model.parameters()).device


def read_network(
    folder: ModelFolder, layout: Layout, build: Callable[[ModelConfig, Tokenizer], nn.Module]
) -> tuple[nn.Module, Tokenizer]:
    """The network in a folder, ready to be used, and its tokenizer."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    tokenizer = Tokenizer.load(folder.file(TOKENIZER))
    config = layout.import_config(folder.config)
    if config.vocab_size != tokenizer.vocab_size:
        sizes = f"config.json has vocab_size {config.vocab_size}, but tokenizer.json {tokenizer.vocab_size} entries"
        raise FolderError(f"{sizes}; they are not of the same model")
    path = folder.weights()
    model = build(config, tokenizer)
    try:
        weights = load_file(path)
    except (SafetensorError, OSError) as problem:
        raise FolderError(f"{path} is not a safetensors file we can read: {problem}") from None
    found = layout.import_weights(weights, model.state_dict())
    model.load_state_dict({name: tensor.float() for name, tensor in found.items()})
    return model.eval(), tokenizer


def choose_layout(folder: ModelFolder, layouts: dict[str, Layout]) -> Layout:
    """The layout of the folder's model_type."""
    kind = folder.config.get("model_type")
    if kind not in layouts:
        raise FolderError(f"{folder.folder}: config.json has model_type {kind!r}; "
                          f"a model of this task is one of {', '.join(layouts)}")  # fmt: skip
    return layouts[kind]


def refuse_below_one(**numbers: int | None) -> None:
    """Counts must be at least 1."""
    for name, number in numbers.items():
        if number is not None and number < 1:
            raise ConfigError(f"{name}={number}: it must be at least 1")
