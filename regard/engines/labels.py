"""Runs a classifier of n-grams with NumPy: the same numbers as its torch network gives. No torch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.engines.stored import choose_layout, read_shape, refuse_small_table
from regard.engines.weights import list_for, read_for
from regard.errors import FolderError
from regard.folder import CONFIG, WEIGHTS, ModelFolder
from regard.formats import own
from regard.text.labels import clean_label
from regard.text.ngrams import count_ngrams, weigh
from regard.text.tokenizer import Tokenizer

COLDEST = 1e-3  # temperature; training chooses none below a twentieth
TOGETHER = 256  # texts whose n-grams are counted together


class LabelEngine:
    """The table, the keys of the labels, and what n-grams weigh."""

    name = "numpy"

    def __init__(self, folder: ModelFolder, tokenizer: Tokenizer) -> None:
        layout = choose_layout(folder, {"regard-classify": own})
        self.config = read_shape(folder, layout.import_config)
        refuse_small_table(self.config, tokenizer)
        rows, width, labels = self.config.buckets, self.config.width, len(self.config.labels)
        shapes = {"table": (rows, width), "bias": (labels,), "keys": (labels, width), "temperature": (1,),
                  "row_weights": (rows,)}  # fmt: skip
        self._weights = layout.import_weights(read_for(folder, list_for(folder, self.config), shapes), shapes)

        refuse_labels(folder, self.config.labels, float(self._weights["temperature"][0]))

    def logits(self, texts: Sequence[Sequence[str]]) -> NDArray[Any]:
        """Of texts that are split into words, (texts, C)."""
        if not texts:
            return np.zeros((0, len(self.config.labels)), np.float32)
        parts = [self._query(texts[first : first + TOGETHER]) for first in range(0, len(texts), TOGETHER)]
        found = np.concatenate(parts) @ self._weights["keys"].T / math.sqrt(self.config.width)
        return (found + self._weights["bias"]) / self._weights["temperature"]

    @property
    def row_weights(self) -> NDArray[Any]:
        """What an n-gram of each row weighs, (buckets,)."""
        found: NDArray[Any] = self._weights["row_weights"]
        return found

    def _query(self, texts: Sequence[Sequence[str]]) -> NDArray[Any]:
        """(texts, D)"""
        query = np.zeros((len(texts), self.config.width), np.float32)
        for block, (sizes, rows, counts) in enumerate(count_ngrams(texts, self.config.buckets)):
            counted = weigh(block, sizes, rows, counts, self._weights["row_weights"])
            if len(rows):
                starts = (np.cumsum(sizes) - sizes)[sizes > 0]
                query[sizes > 0] += np.add.reduceat(self._weights["table"][rows] * counted[:, None], starts, axis=0)
        return query


def refuse_labels(folder: ModelFolder, names: Sequence[str], temperature: float) -> None:
    """An error where a folder's labels cannot be distinguished, or logits cannot be divided."""
    if not names or len(set(names)) < len(names) or not all(name and name == clean_label(name) for name in names):
        raise FolderError(
            f"{folder.path / CONFIG} has the labels {names!s:.60}; they are different names of one line each"
        )
    if not temperature >= COLDEST:
        raise FolderError(f"{folder.path / WEIGHTS}: temperature is {temperature:g}; it is at least {COLDEST:g}")
