"""opus-mt's way from text to ids: a SentencePiece model for each language, and one vocabulary for both.

Has what a translator needs of a Tokenizer. Needs the package sentencepiece, an extra.
"""

from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

from regard.errors import ConfigError, FolderError
from regard.files import parse_json, read_regular
from regard.text.bounds import check_pieces, check_vocabulary, most_bytes
from regard.text.tokenizer import find_marks

SPACE = "▁"


class SentencePieces:
    """Source texts become ids by one model, target texts by another."""

    FILES = ("source.spm", "target.spm", "vocab.json")

    def __init__(self, folder: Path, rows: int | None = None) -> None:
        try:
            from sentencepiece import SentencePieceProcessor
        except ImportError:
            raise ConfigError("this model's text is split by SentencePiece: pip install 'regard[opus]'") from None
        try:
            self._files = {name: read_regular(folder / name, most_bytes(rows)) for name in self.FILES}
            for name in self.FILES[:2]:
                if not self._files[name]:  # the package takes nothing for no model, and fails when it is first used
                    raise ValueError(f"{name} is empty")
                check_pieces(self._files[name])
            self._source, self._target = (SentencePieceProcessor(model_proto=self._files[n]) for n in self.FILES[:2])
            self._ids: dict[str, int] = parse_json(self._files[self.FILES[2]])
            check_vocabulary(self._ids, rows)
        except (OSError, RuntimeError, ValueError, TypeError) as problem:
            raise FolderError(f"{folder}: its SentencePiece models cannot be read: {problem}") from None
        self.vocab_size = 1 + max(self._ids.values(), default=-1)
        self.end_id, self.unknown_id, self.pad_id = (self._find(name) for name in ("</s>", "<unk>", "<pad>"))
        self.special_ids = frozenset({self.end_id, self.unknown_id, self.pad_id})
        self.refuses_padding = False  # no text has it: names of special pieces in a text are text

    @cached_property
    def pieces(self) -> list[str]:
        """The vocabulary, by id."""
        named = {number: piece for piece, number in self._ids.items()}
        return [named.get(number, f"<unused {number}>") for number in range(self.vocab_size)]

    def encode(self, text: str) -> list[int]:
        """The ids of a source text, closed by the end."""
        return self.encode_all([text])[0]

    def encode_all(self, texts: Sequence[str], *, is_part: bool = False) -> list[list[int]]:
        """The ids of each source text, closed by the end unless they are parts."""
        return self._encode(self._source, texts, is_part)

    def encode_ends(self, texts: Sequence[str]) -> list[tuple[list[int], list[int]]]:
        """The ids of each source text, closed, and where in it each ends; an estimate where it is normalized."""
        split: list[list[str]] = self._source.encode(list(texts), out_type=str)
        found = []
        for ids, text, pieces in zip(self.encode_all(texts), texts, split, strict=True):
            ends = list(accumulate(map(len, pieces), initial=-1))[1:]  # the first has a space that the text has not
            found.append((ids, [*(min(len(text), max(0, end)) for end in ends), 0]))  # the closing one has no place
        return found

    def may_lack(self, ids: Sequence[int]) -> bool:
        """Whether part of their text may be unknown."""
        return self.has_unknown(ids)

    def has_unknown(self, ids: Sequence[int]) -> bool:
        """Whether one of them is the unknown."""
        return self.unknown_id in ids

    def unknown(self, text: str) -> list[str]:
        """The parts of a source text that have no token, in order."""
        pieces = self._source.encode(text, out_type=str)
        return [part for piece in pieces if piece not in self._ids and (part := piece.replace(SPACE, " ").strip())]

    def encode_part(self, text: str) -> list[int]:
        """The ids of a part of a target text, not closed."""
        return self._encode(self._target, [text], True)[0]

    def encode_targets(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each target text, closed by the end."""
        return self._encode(self._target, texts, False)

    def decode(self, ids: Sequence[int]) -> str:
        """The target text of these ids."""
        kept = [self.pieces[number] for number in ids if number not in self.special_ids]
        return str(self._target.decode(kept))

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """Each id as a person would read it."""
        return [self.pieces[number].replace(SPACE, " ") for number in ids]

    @cached_property
    def marks(self) -> list[int]:
        """Ids of digits and punctuation, each for itself, and of the special pieces."""
        return find_marks(self.pieces, SPACE, self.special_ids)

    def files(self) -> dict[str, bytes]:
        """What it is kept in, by name."""
        return dict(self._files)

    def _encode(self, model: Any, texts: Sequence[str], is_part: bool) -> list[list[int]]:
        end = [] if is_part else [self.end_id]
        return [
            [*(self._ids.get(piece, self.unknown_id) for piece in pieces), *end]
            for pieces in model.encode(list(texts), out_type=str)
        ]

    def _find(self, name: str) -> int:
        if not isinstance(self._ids.get(name), int):
            raise FolderError(f"vocab.json has no {name}; it is not of a translator")
        return self._ids[name]
