"""Encoded text in files that are mapped, not read: processes share one copy, and memory holds what is in use.

A store is written part by part; after each part its index names the rows up to which the files count. So a store that
was interrupted continues after its last whole part, and ends with the same bytes.
"""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from regard.data.tokens import STRIDE, Array, find_anchors
from regard.errors import RunError
from regard.files import hash_file, open_regular, read_regular, refuse_other_kind, sync, write_whole

INDEX = "tokens.json"
FILES = "tokens.*.bin"
MOST_INDEX_BYTES = 2**20
BLOCK = STRIDE * 2**14  # sizes whose anchors are found at a time


class TokenStore:
    """Named arrays in a folder, each in a file of its own, and a few facts about them."""

    def __init__(self, folder: Path) -> None:
        """A store as far as it was written; an empty one if there is none."""
        self._folder = folder
        self._arrays: dict[str, dict[str, Any]] = {}  # name -> type, shape and, once all is written, SHA-256
        self.about: dict[str, Any] = {}
        self.parts = 0  # that are whole
        with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
            index = json.loads(read_regular(folder / INDEX, MOST_INDEX_BYTES))
            arrays, about, parts = dict(index["arrays"]), dict(index["about"]), int(index["parts"])
            more = [self._path(name).stat().st_size - _bytes(kind) for name, kind in arrays.items()]
            is_finished = all("sha256" in kind for kind in arrays.values())
            if parts >= 0 and (not any(more) if is_finished else min(more, default=0) >= 0):
                self._arrays, self.about, self.parts = arrays, about, parts

    def append(self, arrays: Mapping[str, Array], about: dict[str, Any]) -> None:
        """One part more: rows after those that are there. about: of all parts up to this one."""
        for name, array in arrays.items():
            known = self._arrays.setdefault(name, {"dtype": array.dtype.str, "shape": [0, *array.shape[1:]]})
            self._write(name, array)
            known["shape"][0] += len(array)
        self.about, self.parts = about, self.parts + 1
        self._write_index()

    def finish(self) -> None:
        """All parts are there: finds where lists begin, and hashes what was written."""
        for name in [name for name in self._arrays if name.endswith(".sizes")]:
            self._arrays.pop(anchors := name.replace(".sizes", ".anchors"), None)
            start = 0
            for block in _blocks(self._map(name)):
                found = start + find_anchors(block)
                start += int(block.sum(dtype=np.int64))
                kind = self._arrays.setdefault(anchors, {"dtype": found.dtype.str, "shape": [0]})
                self._write(anchors, found)
                kind["shape"][0] += len(found)
        for name, kind in self._arrays.items():
            kind["sha256"] = hash_file(self._path(name))
        self._write_index()

    @property
    def is_finished(self) -> bool:
        """Whether all was written."""
        return bool(self._arrays) and all("sha256" in kind for kind in self._arrays.values())

    def is_whole(self) -> bool:
        """Whether all was written and is as it was."""
        try:
            hashes = {name: hash_file(self._path(name)) for name in self._arrays} if self.is_finished else {}
            return bool(hashes) and all(kind["sha256"] == hashes[name] for name, kind in self._arrays.items())
        except OSError:
            return False

    def arrays(self) -> dict[str, Array]:
        """All arrays by name, mapped from their files."""
        try:
            return {name: self._map(name) for name in self._arrays}
        except (OSError, ValueError) as problem:
            raise RunError(f"{self._folder / INDEX} cannot be read ({problem}); remove it, and the text is encoded "
                           f"again") from None  # fmt: skip

    def clear(self) -> None:
        """Removes the files of a store, its index first: without it the rest counts for nothing."""
        for path in (self._folder / INDEX, *self._folder.glob(FILES)):
            if os.path.lexists(path) and not stat.S_ISDIR(path.lstat().st_mode):
                path.unlink()
        self._arrays, self.about, self.parts = {}, {}, 0

    def _write(self, name: str, array: Array) -> None:
        """Writes rows after those that count, over what an interrupted part has left."""
        path, flags = self._path(name), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
        refuse_other_kind(path, stat.S_IFREG)
        with os.fdopen(os.open(path, flags, 0o666), "r+b") as file:
            file.seek(_bytes(self._arrays[name]))
            file.truncate()
            file.write(np.ascontiguousarray(array).tobytes())
        sync(path)

    def _write_index(self) -> None:
        index = {"parts": self.parts, "arrays": self._arrays, "about": self.about}
        write_whole(self._folder / INDEX, json.dumps(index, indent=2) + "\n")

    def _map(self, name: str) -> Array:
        kind = self._arrays[name]
        open_regular(self._path(name)).close()  # what is no file would be waited for
        if not math.prod(kind["shape"]):
            return np.zeros(kind["shape"], kind["dtype"])  # nothing cannot be mapped
        return np.memmap(self._path(name), kind["dtype"], "r", shape=tuple(kind["shape"]))

    def _path(self, name: str) -> Path:
        return self._folder / f"tokens.{name}.bin"


def _bytes(kind: dict[str, Any]) -> int:
    """What an array takes; a ValueError for one that we do not write."""
    if np.dtype(kind["dtype"]).kind not in "iuf" or not all(type(size) is int and size >= 0 for size in kind["shape"]):
        raise ValueError(f"an array of {kind['dtype']} and shape {kind['shape']}")
    return int(math.prod(kind["shape"]) * np.dtype(kind["dtype"]).itemsize)


def _blocks(array: Array) -> Iterator[Array]:
    return (array[first : first + BLOCK] for first in range(0, len(array), BLOCK))


def write_tensors(path: Path, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
    """Keeps tensors, and a few words about them; whole or not at all."""
    whole = {name: tensor.contiguous() for name, tensor in tensors.items()}
    write_whole(path, lambda to: save_file(whole, to, metadata={"about": json.dumps(about)}))


def open_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What was kept; the tensors are views of the file."""
    try:
        open_regular(path).close()  # what is no file would be waited for
        with safe_open(path, framework="pt") as file:
            about = json.loads(file.metadata()["about"])
            return {name: file.get_tensor(name) for name in file.keys()}, about  # noqa: SIM118
    except (OSError, SafetensorError, ValueError, KeyError, TypeError) as problem:
        raise RunError(f"{path} cannot be read ({problem}); remove it, and the text is encoded again") from None
