"""A lexicon as it is kept in a model's folder: which tokens become which, and how likely. Imports no torch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from safetensors import SafetensorError

from regard.errors import FolderError

FILE = "lexicon.safetensors"
UNKNOWN = 1e-3  # the chance of what was never seen, or too rarely to be kept


class Chances:
    """How likely a target token is, given a source token."""

    def __init__(self, known: dict[tuple[int, int], float]) -> None:
        self._known = known

    @classmethod
    def read(cls, path: Path) -> Chances:
        """The lexicon in a file."""
        from safetensors.numpy import load_file

        try:
            kept = load_file(path)
            rows = (kept[name].tolist() for name in ("sources", "targets", "chances"))
            return cls({(source, target): chance for source, target, chance in zip(*rows, strict=True)})
        except (SafetensorError, OSError, KeyError, ValueError, TypeError) as problem:
            raise FolderError(f"{path} is not a lexicon we can read: {problem}") from None

    @cached_property
    def sources(self) -> frozenset[int]:
        """Source tokens that something is known of."""
        return frozenset(source for source, _ in self._known)

    def of(self, sources: Sequence[int], targets: Sequence[int]) -> list[list[float]]:
        """How likely each target is given each source, (T, S)."""
        return [[self._known.get((source, target), UNKNOWN) for source in sources] for target in targets]
