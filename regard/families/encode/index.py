"""Look-up in one's own text: attention with a query over lines, whose vectors are the keys and which are the values.

Search is exact: one product of the query with all keys. A hundred thousand lines of width 384 take some 15 ms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from regard.errors import ConfigError, FolderError
from regard.files import hash_file, open_regular, write_whole
from regard.formats.weights import list_weights
from regard.text.given import a_text

if TYPE_CHECKING:
    from regard.families.encode.embedding import Embeds

BLOCK = 1024  # lines whose vectors are made at a time
NEAR = 1e-3  # how far a vector may be from what it was when its index was made: machines add up in other orders
FORMAT = "regard index 1"  # in the file's metadata, by which it is known for ours
Vectors = np.ndarray[Any, np.dtype[np.float32]]


@dataclass(frozen=True)
class Match:
    """A line that was found."""

    line: int  # from 1
    text: str
    score: float  # cosine of its vector and the query's: 1 for the same direction


@dataclass(frozen=True)
class Index:
    """Lines, and their vectors (N, D), each of length 1; lines without text are never found."""

    encoder: Embeds
    lines: Sequence[str]
    vectors: Vectors

    def search(self, query: str, *, top: int = 5) -> list[Match]:
        """The `top` lines nearest to a text, nearest first; of equals the earlier line."""
        if top < 1:
            raise ConfigError(f"top={top}: it must be at least 1")
        if not a_text(query, "a query").strip():
            raise ConfigError("the query is empty; give a text to look for")
        scores = self.vectors @ unit_vectors(self.encoder, [query])[0]  # (N, D), (D,) -> (N,)
        scores[self._is_blank] = -np.inf
        count = min(top, int(np.isfinite(scores).sum()))
        if not count:
            return []
        least = np.partition(scores, -count)[-count]
        near = np.flatnonzero(scores >= least)
        order = near[np.argsort(-scores[near], kind="stable")][:count]
        return [Match(int(number) + 1, self.lines[number], float(scores[number])) for number in order]

    @cached_property
    def _is_blank(self) -> Any:
        """Of each line, whether it has no text, (N,)."""
        return np.array([not line.strip() for line in self.lines])

    def save(self, path: str | Path) -> None:
        """Writes the vectors, with hashes of the lines and of the model that they belong to."""
        path = Path(path)
        refuse_file_of_others(path)
        metadata = {"format": FORMAT, "lines": hash_lines(self.lines), "model": model_hash(self.encoder)}
        write_whole(path, lambda to: save_file({"vectors": np.ascontiguousarray(self.vectors)}, to, metadata))


def make_index(encoder: Embeds, lines: list[str], progress: Callable[[int], None]) -> Index:
    """progress: is called with the number of lines that are done."""
    if not any(line.strip() for line in lines):
        raise ConfigError("there is no line with text on it; nothing can be searched")
    blocks = []
    for start in range(0, len(lines), BLOCK):
        blocks.append(unit_vectors(encoder, lines[start : start + BLOCK]))
        progress(min(start + BLOCK, len(lines)))
    return Index(encoder, lines, np.concatenate(blocks))


def read_index(encoder: Embeds, lines: list[str], path: Path) -> Index | None:
    """The index in a file, if it is of these lines and this model; an error if it is no index of ours."""
    refuse_file_of_others(path)
    if not path.exists():
        return None
    with safe_open(path, "np") as file:
        known = file.metadata()
    if (known.get("lines"), known.get("model")) != (hash_lines(lines), model_hash(encoder)):
        return None
    try:
        vectors: Vectors = list_weights([path])["vectors"].read()
    except (KeyError, FolderError):  # it was edited
        return None
    return Index(encoder, lines, vectors) if _may_be_of(encoder, lines, vectors) else None


def _may_be_of(encoder: Embeds, lines: list[str], vectors: Vectors) -> bool:
    """Whether vectors have the shape and the lengths of these lines', and the first of them is that of its line."""
    first = next((number for number, line in enumerate(lines) if line.strip()), None)
    if first is None or vectors.dtype != np.float32:
        return False
    (expected,) = unit_vectors(encoder, [lines[first]])
    if vectors.shape != (len(lines), len(expected)) or not np.allclose(vectors[first], expected, atol=NEAR):
        return False
    squares = np.einsum("nd,nd->n", vectors, vectors)
    return bool(((squares == 0) | (abs(squares - 1) < NEAR)).all())


def refuse_file_of_others(path: Path) -> None:
    """A file is only replaced if it is an index."""
    if not path.parent.is_dir():
        raise ConfigError(f"{path.parent} is no folder; make it first")
    if not path.exists() and not path.is_symlink():
        return
    try:
        open_regular(path).close()
        with safe_open(path, "np") as file:
            if (file.metadata() or {}).get("format") == FORMAT:
                return
    except (OSError, SafetensorError):
        pass
    raise ConfigError(f"{path} is there already and is not an index of regard; choose another name for the index")


def unit_vectors(encoder: Embeds, texts: list[str]) -> Vectors:
    """Vectors of length 1, (N, D); one of nothing but zeros stays so."""
    vectors = encoder.vectors(texts)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Vectors = np.divide(vectors, np.maximum(lengths, np.float32(1e-12)), dtype=np.float32)
    return unit


def hash_lines(lines: Sequence[str]) -> str:
    """SHA-256 of all lines."""
    found = sha256()
    for line in lines:
        written = line.encode("utf-8", "surrogatepass")
        found.update(b"%d " % len(written) + written)  # a line may have line ends in it
    return found.hexdigest()


def model_hash(encoder: Embeds) -> str:
    """SHA-256 of what its vectors depend on: weights, tokenizer, and how vectors of tokens become one."""
    found = sha256(f"{encoder.pooling} {encoder.is_normed} {encoder.longest}".encode())
    for path in encoder.files():
        found.update(hash_file(path).encode())
    return found.hexdigest()
