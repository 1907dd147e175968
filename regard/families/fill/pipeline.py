"""Using a trained filler: [MASK] marks a gap, and the likeliest pieces for each gap come out."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from regard.decoding.settings import refuse_below_one
from regard.engines.options import EngineOptions
from regard.errors import ConfigError, FolderError
from regard.families.encode.embedding import Embeds
from regard.families.fill import MASK, TOP
from regard.folder import ModelFolder
from regard.text.given import a_text, name_unknown, unknown_parts
from regard.text.readers.rows import Choice

if TYPE_CHECKING:
    from regard.look.inspection import Inspection


@dataclass(frozen=True)
class Candidate:
    """A piece that may fill a gap."""

    text: str
    probability: float


@dataclass(frozen=True)
class Filled:
    """A text with its gaps filled by the likeliest pieces, and the candidates for each gap, likeliest first."""

    text: str
    gaps: list[list[Candidate]]
    unknown: list[str] = field(default_factory=list)  # parts of the text that the model has never seen


class Filler(Embeds):
    """A trained model that fills gaps; `encode` gives the mean of its hidden states as a vector of a text."""

    auto_class = "AutoModelForMaskedLM"

    network = "regard.families.fill.network:read"

    def __init__(self, folder: ModelFolder, running: EngineOptions) -> None:
        super().__init__(folder, running)
        if self.info.foreign and self.tokenizer.splits_special:
            raise FolderError(f"{folder.folder}: tokenizer_config.json has split_special_tokens=True, so that {MASK} "
                              f"is text and no gap; take it out")  # fmt: skip

    def __call__(self, text: str) -> str:
        """The text with each [MASK] replaced by the likeliest piece; all gaps are guessed at once."""
        filled = self.fill(text, top=1)
        if filled.unknown:
            warnings.warn(name_unknown(filled.unknown), RuntimeWarning, stacklevel=2)
        return filled.text

    def fill(self, text: str, *, top: int = TOP) -> Filled:
        """The `top` likeliest pieces for each [MASK] of the text."""
        from regard.families.fill.network import predict

        refuse_below_one(top=top)
        ids = self.encode_text(text)
        gaps = [place for place, number in enumerate(ids) if number == self.tokenizer.mask_id]
        if not gaps:
            raise ConfigError(f"{text!r} has no {MASK}; write {MASK} where a word is to be filled in")
        found = predict(self, ids, gaps, top)
        candidates = [
            [Candidate(self.tokenizer.tokens([token])[0].strip(), probability) for token, probability in gap]
            for gap in found
        ]
        return Filled(self.put_in(text, [gap[0][0] for gap in found]), candidates, self.unknown(text))

    def put_in(self, text: str, ids: list[int]) -> str:
        """The text with these tokens in its gaps; one that continues a word is joined to it."""
        first, *rest = text.split(self.tokenizer.pieces[self.tokenizer.mask_id])
        if len(rest) != len(ids):
            raise ConfigError(f"{text!r:.60} has {len(rest)} gaps, and its tokenizer reads {len(ids)}; "
                              f"put a space before and after each")  # fmt: skip
        filled = first
        for piece, after in zip(self.tokenizer.tokens(ids), rest, strict=True):
            filled = (filled if piece.startswith(" ") else filled.rstrip()) + piece.strip() + after
        return filled.strip()

    def unknown(self, text: str) -> list[str]:
        """The parts of a text that the model has never seen."""
        return unknown_parts(self.tokenizer, text.split(MASK))

    def encode_text(self, text: str) -> list[int]:
        """The ids of a text in which [MASK] is a gap."""
        a_text(text)
        ids = self.tokenizer.encode(text) if self.info.foreign else self._encode_parts(text)
        longest = self.model.config.max_positions
        if len(ids) > longest:
            raise ConfigError(f"the text has {len(ids)} tokens, and the model reads at most {longest}; shorten it")
        return ids

    def _encode_parts(self, text: str) -> list[int]:
        """As one of ours was trained: a gap has no spaces around it, and all other names in a text are text."""
        start, end = self.tokenizer.encode("")
        first, *others = text.split(MASK)
        parts = [first.rstrip() if others else first, *(part.strip() for part in others[:-1])]
        parts += [part.lstrip() for part in others[-1:]]
        ids = [start]
        for number, part in enumerate(self.tokenizer.encode_all(parts, is_part=True)):
            ids += part if number == 0 else [self.tokenizer.mask_id, *part]
        return [*ids, end]

    def evaluate(
        self, *files: str | Path, columns: Choice | str | None = None, keys: Choice | str | None = None
    ) -> dict[str, float | str | int]:
        """Accuracy on masked tokens over all lines of the files; the same tokens are masked every time."""
        from regard.families.fill import network

        return network.evaluate(self, files, keys or columns)

    def look(self, text: str, *, why: bool = False) -> Inspection:
        """The attention of each token of a text, and what fills its gaps.

        why: also what each word and each head is worth for the gaps, which takes a forward for each.
        """
        from regard.families.fill.look import look_at_gaps

        ids = self.encode_text(text)
        gaps = [place for place, number in enumerate(ids) if number == self.tokenizer.mask_id]
        return look_at_gaps(self, text, ids, gaps, why)
