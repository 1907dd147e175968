"""Weights in safetensors files, as arrays: what the header promises is compared with the file before anything is read.

Imports no torch. Files are read, not mapped: one that is cut short while a model runs does not end the process.
"""

import errno
import json
import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regard.decoding.settings import SUPPRESSED_LOGIT
from regard.errors import FolderError
from regard.files import open_regular, parse_json

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]
Weights = dict[str, Array]  # by name; float32, but for the few that are whole numbers
Shapes = dict[str, Shape]

LARGEST = 1e6  # of any weight; beyond, products of a few overflow, and every probability would be none
LOGITS_BIAS = "logits_bias"  # ends a name; where it takes an id out, half precision makes it infinite
MOST_HEADER_BYTES = 8 * 2**20  # that of a model of a thousand layers has two
FLOATS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}  # NumPy has no bfloat16: half the bits of a float32
WHOLE = {"I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U8": "u1", "BOOL": "?"}
METADATA = "__metadata__"
SIZES = {name: np.dtype(kind).itemsize for name, kind in (FLOATS | WHOLE).items()}


@dataclass(frozen=True)
class Stored:
    """Where an array lies in a file."""

    path: Path
    name: str
    dtype: str
    shape: Shape
    start: int

    @property
    def count(self) -> int:
        """How many numbers it has."""
        return math.prod(self.shape)

    @property
    def size(self) -> int:
        """How many bytes it has in the file."""
        return self.count * SIZES[self.dtype]

    def read_raw(self) -> Array:
        """The numbers as they are in the file, (count,)."""
        raw = np.empty(self.count, (FLOATS | WHOLE)[self.dtype])
        with open_regular(self.path) as file:
            file.seek(self.start)
            if self.count and file.readinto(raw.view(np.uint8).data) != raw.nbytes:
                raise OSError(errno.EIO, "it became shorter while it was read", str(self.path))
        return raw

    def read(self) -> Array:
        """The array, in float32 if it is of floats; numbers that are none are refused."""
        raw = self.read_raw()
        if self.dtype in WHOLE:
            return raw.reshape(self.shape)
        if self.dtype == "BF16":
            wide = raw.astype(np.uint32)
            wide <<= 16
            found: Array = wide.view(np.float32)
        else:
            with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite, and is refused
                found = raw.astype(np.float32, copy=False)
        if self.name.endswith(LOGITS_BIAS):
            found = np.maximum(found, SUPPRESSED_LOGIT, dtype=np.float32)
        self._refuse_overflow(found)
        return found.reshape(self.shape)

    def _refuse_overflow(self, found: Array) -> None:
        """Numbers that are none, or with which the network's would be none."""
        if not self.count:
            return
        least, most = float(found.min()), float(found.max())  # NaN if there is one
        if least >= (SUPPRESSED_LOGIT if self.name.endswith("bias") else -LARGEST) and most <= LARGEST:
            return
        is_finite = math.isfinite(least) and math.isfinite(most)
        what = f"of {max(most, -least):.0e}" if is_finite else "that is not a number (NaN or infinite)"
        raise FolderError(f"{self.path}: {self.name} has a weight {what}, so every answer would be none; the file was "
                          f"damaged, or its training diverged: take an earlier one")  # fmt: skip


def list_weights(paths: Iterable[Path]) -> dict[str, Stored]:
    """What lies in these files, by name, after their headers were checked."""
    listed: dict[str, Stored] = {}
    for path in paths:
        try:
            found = _read_header(path)
        except (OSError, ValueError) as problem:
            raise FolderError(f"{path} is not a safetensors file we can read: {problem}") from None
        if twice := next((name for name in found if name in listed), None):
            raise FolderError(f"{path}: weight {twice} is in {listed[twice].path.name} too; one of them is wrong")
        listed |= found
    return listed


def read_arrays(listed: dict[str, Stored]) -> Weights:
    """All of them, read."""
    try:
        return {name: stored.read() for name, stored in listed.items()}
    except OSError as problem:
        raise FolderError(f"the weights cannot be read: {problem}") from None


def copy_weights(listed: dict[str, Stored], to: Path) -> None:
    """Writes them into one file, each as it is."""
    header: dict[str, Any] = {METADATA: {"format": "pt"}}
    end = 0
    for name, stored in listed.items():
        header[name] = {"dtype": stored.dtype, "shape": stored.shape, "data_offsets": (end, end + stored.size)}
        end += stored.size
    text = json.dumps(header, ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    with to.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for stored in listed.values():
            file.write(stored.read_raw().view(np.uint8).data)


def _read_header(path: Path) -> dict[str, Stored]:
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > min(size - 8, MOST_HEADER_BYTES):
            raise ValueError(f"its header would have {length} bytes, and the file has {size}")
        header = parse_json(file.read(length))
    if not isinstance(header, dict):
        raise ValueError("its header is not a JSON object")
    found = {name: _read_entry(path, name, entry, 8 + length) for name, entry in header.items() if name != METADATA}
    end = 8 + length
    for stored in sorted(found.values(), key=lambda one: (one.start, one.count)):
        if stored.start != end:
            raise ValueError(f"its numbers have a gap or lie over each other at weight {stored.name}")
        end += stored.size
    if end != size:
        raise ValueError(f"its weights would end at byte {end}, and the file has {size}")
    return found


def _read_entry(path: Path, name: str, entry: Any, base: int) -> Stored:
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise ValueError(
            f"its header describes weight {name[:80]!r} with other keys than dtype, shape and data_offsets"
        )
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in SIZES:
        raise ValueError(f"weight {name} is of the type {dtype!r:.40}, and only {', '.join(FLOATS)} are supported; "
                         f"save it in one of these")  # fmt: skip
    are_lists = isinstance(shape, list) and isinstance(offsets, list) and len(shape) <= 8 and len(offsets) == 2
    if not are_lists or not all(type(number) is int and 0 <= number < 2**48 for number in [*shape, *offsets]):
        raise ValueError(f"weight {name} has the shape {shape!r:.80} at {offsets!r:.80}")
    stored = Stored(path, name, dtype, tuple(shape), base + offsets[0])
    if stored.size != offsets[1] - offsets[0]:
        raise ValueError(f"weight {name} has the shape {shape}, and {offsets[1] - offsets[0]} bytes for it")
    return stored


def waves(places: int, width: int) -> Array:
    """The paper's sinusoids in float32, (places, D), as `model.positions` has them."""
    rates = 10_000 ** -(np.arange(0, width, 2, dtype=np.float64) / width)  # (D/2,)
    angles = np.arange(places, dtype=np.float64)[:, None] * rates  # (places, D/2)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=-1).astype(np.float32)
