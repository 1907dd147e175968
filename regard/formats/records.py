"""CTranslate2's files, made of arrays: the same model, the same bytes. Imports neither torch nor CTranslate2.

Its own converter imports torch; so that a converted model can be verified wherever it is opened, the format is written
here: version, name and revision, then each variable with its name, shape, type and
numbers, then the names of those that repeat another.
"""

import hashlib
import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from regard.formats.weights import Array

VERSION = 6  # of the binary format
TYPES = ("float32", "int8", "int16", "int32")  # in this order from 0
Buffer = bytes | memoryview
WEIGHTS, CONFIG = "model.bin", "config.json"


@dataclass
class Described:
    """A model as CTranslate2 stores it."""

    name: str
    revision: int
    vocabulary: str  # name of the file
    pieces: list[str] = field(default_factory=list)
    config: dict[str, Any] = field(default_factory=dict)
    variables: dict[str, Array] = field(default_factory=dict)  # settings are arrays without dimensions

    def files(self) -> dict[str, Iterator[Buffer]]:
        """What is in its folder, by name, piece by piece."""
        config = json.dumps(self.config, indent=2, sort_keys=True) + "\n"
        return {
            WEIGHTS: self._records(),
            CONFIG: iter([config.encode()]),
            self.vocabulary: iter([json.dumps(self.pieces, indent=2).encode()]),
        }

    def hashes(self) -> dict[str, str]:
        """SHA-256 of each of its files."""
        found = {}
        for name, parts in self.files().items():
            digest = hashlib.sha256()
            for part in parts:
                digest.update(part)
            found[name] = digest.hexdigest()
        return found

    def save(self, to: Path) -> None:
        """Writes the model into a folder that is there already."""
        for name, parts in self.files().items():
            with (to / name).open("xb") as file:
                file.writelines(parts)

    def _records(self) -> Iterator[Buffer]:
        first: dict[int, str] = {}
        kept, aliases = [], []
        for name, value in sorted(self.variables.items()):
            if value.ndim and id(value) in first:
                aliases.append((name, first[id(value)]))
            else:
                first[id(value)] = name
                kept.append((name, value))
        yield struct.pack("<I", VERSION) + _text(self.name) + struct.pack("<II", self.revision, len(kept))
        for name, value in kept:
            shape = struct.pack(f"<B{value.ndim}I", value.ndim, *value.shape)
            yield _text(name) + shape + struct.pack("<BI", TYPES.index(value.dtype.name), value.nbytes)
            yield np.ascontiguousarray(value).reshape(-1).view(np.uint8).data
        yield struct.pack("<I", len(aliases))
        for name, other in aliases:
            yield _text(name) + _text(other)


def _text(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack("<H", len(encoded) + 1) + encoded + b"\0"
