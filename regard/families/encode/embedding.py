"""Texts in, vectors out: what encoders and fillers share, and lines that are searched by their vectors."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from regard.families.encode.index import Index, Vectors, make_index
from regard.families.pipeline import Pipeline
from regard.folder import CONFIG, TOKENIZER
from regard.text.given import name_unknown, several_texts, unknown_parts

if TYPE_CHECKING:
    from torch import Tensor


class Embeds(Pipeline):
    """A model that makes a vector of a text, near that of another text where both mean the like."""

    pooling: str = "mean"  # of the vectors of all tokens: their mean, or the first of them (cls)
    is_normed: bool = True  # whether vectors have the length 1

    @property
    def longest(self) -> int:
        """Tokens of a text that are read."""
        return int(self.model.config.max_positions)

    def encode(self, texts: str | Sequence[str]) -> Tensor:
        """The vector of a text, (D,), or of each of several, (N, D). Of a text longer than the model can read, its
        beginning, with a warning.
        """
        if isinstance(texts, str):
            return self._encode([texts])[0]
        return self._encode(several_texts(texts))

    def vectors(self, texts: list[str]) -> Vectors:
        """The same of several, as an array of NumPy."""
        found: Vectors = np.asarray(self.encode(texts), np.float32)
        return found

    def index(self, lines: Sequence[str], *, progress: Callable[[int], None] = lambda done: None) -> Index:
        """These lines and their vectors, to be searched: `model.index(lines).search("a query")`."""
        return make_index(self, several_texts(lines), progress)

    def files(self) -> list[Path]:
        """What its vectors are made with."""
        names = (CONFIG, TOKENIZER, "tokenizer_config.json")
        return [*self._folder.weights(), *(path for name in names if (path := self._folder.path / name).exists())]

    def notes(self, texts: Sequence[str]) -> list[str]:
        """What of these texts does not count in their vectors."""
        return self._notes(list(texts), self.tokenizer.encode_all(list(texts)))

    def _encode(self, texts: list[str]) -> Tensor:
        from regard.families.encode.network import encode

        encoded = self.tokenizer.encode_all(texts)
        for note in self._notes(texts, encoded):
            warnings.warn(note, RuntimeWarning, stacklevel=3)
        return encode(self, [self._beginning(ids) for ids in encoded])

    def _beginning(self, ids: list[int]) -> list[int]:
        """What is read of a text: as many of its first tokens as fit, and its last, the mark that closes it."""
        return [*ids[: self.longest - 1], ids[-1]] if len(ids) > self.longest else ids

    def _notes(self, texts: list[str], encoded: list[list[int]]) -> list[str]:
        """What of these texts does not count."""
        long = sum(len(ids) > self.longest for ids in encoded)
        notes = [f"{long} of {len(texts)} texts have more than {self.longest} tokens; their beginnings count"]
        pairs = zip(texts, encoded, strict=True)
        unknown = unknown_parts(self.tokenizer, [text for text, ids in pairs if self.tokenizer.may_lack(ids)])
        return (notes if long else []) + ([name_unknown(unknown)] if unknown else [])
