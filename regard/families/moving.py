"""A model in other hands: copied, pickled as its folder, used after a fork, recorded. Imports no torch."""

from __future__ import annotations

import copy
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from regard.errors import ConfigError, FolderError
from regard.files import hash_file
from regard.folder import ModelFolder, ModelInfo

if TYPE_CHECKING:
    from torch import Tensor


class _Here:
    """What belongs to this process."""

    reading = threading.RLock()  # the first thread that needs a network reads it, the others wait

    @classmethod
    def forked(cls) -> None:
        """This is a new one: who held the lock may be gone, and torch would wait for threads that are."""
        cls.reading = threading.RLock()
        if "torch" in sys.modules:
            sys.modules["torch"].set_num_threads(1)


os.register_at_fork(after_in_child=_Here.forked)


def one_reader() -> Any:
    """While inside, no other thread reads a network."""
    return _Here.reading


class Movable:
    """What every trained model can do wherever it is."""

    model: Any  # the network; in the object's own dictionary once it was read
    tokenizer: Any
    info: ModelInfo
    _folder: ModelFolder
    _running: Any

    def _read(self, tokenizer: Any) -> Any:
        raise NotImplementedError

    def __copy__(self) -> Self:
        """Another name for the same model."""
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        return new

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Opened once more, with the network as it is now if it was read."""
        new: Self = _open_again(type(self), self._folder.folder, self._running, self.info.part)
        if "model" in self.__dict__:
            new.__dict__["model"] = copy.deepcopy(self.model, memo)
        return new

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled is where the model lies and how it runs; unpickling opens it there."""
        if "model" in self.__dict__:
            kept, here = self._read(self.tokenizer).state_dict(), self.model.state_dict()
            if kept.keys() != here.keys() or not all(_is_same(kept[name], here[name]) for name in kept):
                raise ConfigError(f"the network was changed after {self._folder.folder} was opened, and a model is "
                                  f"pickled as its folder; pickle its .model, or train into a folder")  # fmt: skip
        folder, part = self._folder.folder.resolve(), self.info.part
        return _open_again, (type(self), folder, self._running, part, self.fingerprint())

    def fingerprint(self) -> list[str]:
        """What weights the folder held when it was opened."""
        if not self._folder.is_foreign:
            return [str(self.info.weights_sha256)]
        return [hash_file(path) for path in self._folder.weights()]

    def refuse_recording(self) -> None:
        """For an engine whose attention cannot be recorded."""
        if "model" in self.__dict__:
            from regard.model.capture import is_recorded

            if is_recorded(self.model):
                raise ConfigError(f"this model is run by ctranslate2, which does not expose its attention and hidden "
                                  f"states; open it with regard.load({str(self._folder.folder)!r}, engine=\"torch\") "
                                  f"to record them")  # fmt: skip


def _is_same(one: Tensor, other: Tensor) -> bool:
    return one.dtype == other.dtype and one.equal(other.cpu())


def _open_again(kind: Any, folder: Path, running: Any, part: str | None, fingerprint: list[str] | None = None) -> Any:
    """The model that was opened there before; with a fingerprint, only if it is that one still."""
    found: Movable = kind(ModelFolder(folder, part), running)
    if fingerprint is not None and found.fingerprint() != fingerprint:
        raise FolderError(f"{folder} holds another model than the one that was pickled; open it with regard.load")
    return found
