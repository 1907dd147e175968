"""Using an encoder: texts in, vectors out, near to each other where the texts mean the like."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from regard.engines.options import EngineOptions
from regard.errors import FolderError
from regard.families.encode.embedding import Embeds
from regard.families.pipeline import Pipeline
from regard.files import parse_json, read_regular
from regard.folder import ModelFolder
from regard.text.given import a_text
from regard.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from torch import Tensor, nn

    from regard.look.inspection import Inspection

MOST_BYTES = 2**20  # of a file of settings
KNOWN_MODULES = {"Transformer", "Pooling", "Normalize"}


class PlainPart(Pipeline):
    """A model that a plain BERT may be opened as, where not all of its weights have a place."""

    dropped: list[str]  # weights of it that had no place
    new: list[str]  # weights that it did not have, and that are fresh

    def _read(self, tokenizer: Tokenizer) -> nn.Module:
        network: nn.Module
        network, self.dropped, self.new = resolve_name(self.network)(self._folder, tokenizer)
        return network


class Encoder(PlainPart, Embeds):
    """A model that makes a vector of a text."""

    auto_class = "AutoModel"

    network = "regard.families.encode.network:read_encoder"

    def __init__(self, folder: ModelFolder, running: EngineOptions) -> None:
        super().__init__(folder, running)
        settings = folder.info.encoder or _sentence_settings(folder.path, self.model)
        self.pooling, self.is_normed = settings["pooling"], settings["is_normed"]
        self._longest: int = settings["longest"]

    @property
    def longest(self) -> int:
        """Tokens of a text that are read."""
        return self._longest

    def __call__(self, texts: str | Sequence[str]) -> Tensor:
        """The same as `encode`."""
        return self.encode(texts)

    def look(self, text: str) -> Inspection:
        """The attention of each token of a text."""
        from regard.families.encode.look import look_at_reader

        ids = self.tokenizer.encode(a_text(text))
        return look_at_reader(self, text, self._beginning(ids), self._notes([text], [ids]))


def _sentence_settings(folder: Path, model: Any) -> dict[str, Any]:
    """The settings of a sentence encoder: pooling, whether vectors are normalized, most tokens."""
    modules = _read(folder / "modules.json") or []
    if not isinstance(modules, list) or not all(
        isinstance(module, dict)
        and module.get("path") != ".."
        and Path(str(module.get("path", ""))).name == module.get("path", "")
        for module in modules
    ):
        raise FolderError(f"{folder}: modules.json is not a list of modules, each in a folder of this one")
    kinds = [str(module.get("type", "")).rsplit(".", 1)[-1] for module in modules]
    if unknown := [kind for kind in kinds if kind not in KNOWN_MODULES]:
        raise FolderError(f"{folder}: modules.json has a module {unknown[0]}, which is not supported")
    pooling = "mean"
    for module, kind in zip(modules, kinds, strict=True):
        if kind == "Pooling":
            settings = _read_settings(folder / str(module.get("path", "")) / "config.json")
            modes = [name for name, value in settings.items() if name.startswith("pooling_mode_") and value is True]
            if modes not in (["pooling_mode_mean_tokens"], ["pooling_mode_cls_token"]):
                raise FolderError(f"{folder}: pooling by {', '.join(modes) or 'nothing'} is not supported")
            pooling = "cls" if "cls" in modes[0] else "mean"
    settings = _read_settings(folder / "sentence_bert_config.json")
    longest = settings.get("max_seq_length") or 10**9
    if type(longest) is not int or longest < 1:
        raise FolderError(f"{folder}: sentence_bert_config.json has max_seq_length={longest!r:.40}, which is no length")
    longest = min(longest, int(model.config.max_positions))
    return {"pooling": pooling, "is_normed": "Normalize" in kinds, "longest": longest}


def _read_settings(path: Path) -> dict[str, Any]:
    found = _read(path) or {}
    if not isinstance(found, dict):
        raise FolderError(f"{path} is not a JSON object; it was changed or damaged")
    return found


def _read(path: Path) -> Any:
    if not path.exists():
        return None
    try:
        return parse_json(read_regular(path, MOST_BYTES))
    except (OSError, ValueError) as problem:
        raise FolderError(f"{path} is not a JSON file we can read: {problem}") from None
