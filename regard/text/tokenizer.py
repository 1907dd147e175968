"""Text to ids and back: a thin cover over Hugging Face `tokenizers`. Knows nothing of models.

How pieces are learned from text is in `vocabulary.py`. Here: any `tokenizer.json`, whichever way it splits.
Names of special pieces in a text are text: "</s>" is four characters, not an end.
"""

import json
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, groupby
from pathlib import Path
from typing import Any, Self
from unicodedata import combining

from tokenizers import Tokenizer as Pieces
from tokenizers import decoders, models, pre_tokenizers, processors

from regard.errors import ConfigError, FolderError
from regard.files import parse_json, read_regular
from regard.text.bounds import MOST_BYTES, check_tokenizer, most_bytes

FILE, ROLES_FILE = "tokenizer.json", "roles.json"
MARKS = 8  # characters of a letter with its marks that are tried
NEVER = "\U0010fffd"  # for private use: no vocabulary of characters has it
# Names of our own special pieces, and the usual ones of others: asked only where no file says who has a role.
LONG = 2000  # characters of a text from which on the GIL is released while it is encoded
ROLES = {
    "begin": ("<s>", "<|endoftext|>", "</s>"),
    "end": ("</s>", "<|endoftext|>", "[SEP]"),
    "pad": ("<pad>", "[PAD]"),
    "unknown": ("<unk>", "[UNK]"),
    "mask": ("[MASK]",),
}


class Tokenizer:
    """Splits text into learned tokens and maps them to ids."""

    def __init__(
        self, pieces: Pieces, roles: Mapping[str, int] | None = None, *, splits_special: bool = True,
        cleans: bool = False,
    ) -> None:  # fmt: skip
        """roles: the ids that begin, end and fill a text, where they are known. splits_special: names of special pieces
        in a text are text. cleans: decoded text has no spaces before signs.
        """
        self.refuses_padding = False  # whether a text in which padding is found is refused
        pieces.encode_special_tokens = splits_special
        pieces.no_padding()
        pieces.no_truncation()
        self._pieces, self.roles, self.splits_special, self._cleans = pieces, dict(roles or {}), splits_special, cleans
        self.vocab_size: int = 1 + max(pieces.get_vocab().values(), default=-1)  # ids may have gaps
        self._shown = _Shown(self._show)

    @classmethod
    def load(cls, path: Path, rows: int | None = None) -> "Tokenizer":
        """The tokenizer of a `tokenizer.json`; rows: of the model's table, where every piece must have one."""
        try:
            read = cls(_read(path, rows), _read_roles(path.with_name(ROLES_FILE)))
            if not all(0 <= number < max(read.vocab_size, rows or 0) for number in read.roles.values()):
                raise ValueError(f"{ROLES_FILE} gives a role to an id that no token has: {read.roles!s:.120}")
            return read
        except BaseException as problem:  # the Rust side panics with its own BaseException
            if isinstance(problem, KeyboardInterrupt | SystemExit):
                raise
            raise FolderError(f"{path} is not a tokenizer we can read: {problem}") from None

    @property
    def backend(self) -> Pieces:
        """The tokenizer of the library underneath."""
        return self._pieces

    def with_roles(self, **roles: int | None) -> Self:
        """The same, where these roles are played by other ids; None leaves one as it is."""
        self.roles |= {name: number for name, number in roles.items() if number is not None}
        for name in roles:
            self.__dict__.pop(f"{name}_id", None)
        return self

    @cached_property
    def begin_id(self) -> int:
        """The token that a prompt begins with."""
        return self._role("begin")

    @cached_property
    def end_id(self) -> int:
        """The token that ends a text."""
        return self._role("end")

    @cached_property
    def pad_id(self) -> int:
        """The padding token."""
        return self._role("pad")

    @cached_property
    def unknown_id(self) -> int:
        """The unknown token."""
        return self._role("unknown")

    @cached_property
    def mask_id(self) -> int:
        """The mask token."""
        return self._role("mask")

    def opened_by(self, number: int) -> Self:
        """The same, where a whole text begins with this piece; one that is opened already stays as it is."""
        if not self.encode(""):
            name = str(self._pieces.id_to_token(number))
            marks = [(name, number)]
            self._pieces.post_processor = processors.TemplateProcessing(single=f"{name}:0 $A:0", special_tokens=marks)
        return self

    def files(self) -> dict[str, bytes]:
        """What it is kept in, by name."""
        roles = {ROLES_FILE: json.dumps(self.roles).encode()} if self.roles else {}
        return {FILE: str(self._pieces.to_str(pretty=True)).encode(), **roles}

    @cached_property
    def pieces(self) -> list[str]:
        """The vocabulary as it is written in `tokenizer.json`, by id."""
        return [self._pieces.id_to_token(number) or f"<unused {number}>" for number in range(self.vocab_size)]

    @cached_property
    def marks(self) -> list[int]:
        """Ids of digits and punctuation, each for itself, and of the special pieces."""
        return find_marks(self.pieces, "Ġ", self.special_ids)

    def id_of(self, piece: str) -> int | None:
        """The id of a piece, if it is in the vocabulary."""
        number = self._pieces.token_to_id(piece)
        return None if number is None else int(number)

    def unknown(self, text: str) -> list[str]:
        """The parts of a text that have no token, in order: what becomes the unknown token, and what is dropped."""
        if self._unknown_or_none is None:
            return self._dropped(text)
        try:
            found = self._pieces.encode(text, add_special_tokens=False)
        except (UnicodeEncodeError, TypeError):  # it is refused where it is encoded to be read
            return []
        parts: dict[int, str] = {}
        reached = 0
        for number, (start, end) in zip(found.ids, found.offsets, strict=True):
            if text[reached:start].strip():
                parts[reached] = text[reached:start].strip()
            if self.has_unknown([number]):
                parts[start] = text[start:end].strip()
            reached = max(reached, end)
        parts[reached] = text[reached:].strip()
        return [part for part in parts.values() if part]

    def _dropped(self, text: str) -> list[str]:
        """What a vocabulary without an unknown token leaves out; offsets do not say where that was in a word."""
        clusters = list(text[:1])
        for letter in text[1:]:  # a mark belongs to the letter before it, with which it may be one character
            clusters[-1:] = [clusters[-1] + letter] if combining(letter) else [clusters[-1], letter]
        tried = {one: [one, *(one.replace(mark, "") for mark in one[1:MARKS])] for one in clusters if not one.isspace()}
        try:
            nothing, *each = self.encode_all([NEVER, *chain.from_iterable(tried.values())], is_part=True)
        except ConfigError:  # it is refused where it is encoded to be read
            return []
        found, lost = iter(each), dict[str, str]()
        for one, forms in tried.items():
            ids, *without = [next(found) for _ in forms]
            marks = "".join(mark for mark, same in zip(one[1:MARKS], without, strict=True) if same == ids)
            lost[one] = one if ids == nothing else marks
        runs = groupby((lost.get(one, "") for one in clusters), bool)
        return ["".join(run) for is_lost, run in runs if is_lost]

    def may_lack(self, ids: Sequence[int]) -> bool:
        """Whether part of their text may be unknown: it is among them, or there is none and such parts are dropped."""
        return self._unknown_or_none is None or self.has_unknown(ids)

    def has_unknown(self, ids: Sequence[int]) -> bool:
        """Whether one of them is the unknown; not every vocabulary has one."""
        return self._unknown_or_none in ids

    @cached_property
    def _unknown_or_none(self) -> int | None:
        named = next((number for name in ROLES["unknown"] if (number := self.id_of(name)) is not None), None)
        return self.roles.get("unknown", named)

    def encode(self, text: str) -> list[int]:
        """The ids of a text, closed as a text of its family is."""
        return self.encode_all([text])[0]

    def encode_all(self, texts: Sequence[str], *, is_part: bool = False) -> list[list[int]]:
        """The ids of each text, each closed as a text of its family is; if they are parts of a text, not closed."""
        is_alone = len(texts) == 1 and len(texts[0]) < LONG  # threads would cost more than the work
        return [encoding.ids for encoding in self._encodings(texts, not is_part, is_alone)]

    def encode_ends(self, texts: Sequence[str]) -> list[tuple[list[int], list[int]]]:
        """The ids of each text, closed, and where in it each of them ends; an estimate where a text is normalized."""
        found = self._encodings(texts, True, False, with_offsets=True)
        return [(one.ids, [end for _, end in one.offsets]) for one in found]

    def _encodings(
        self, texts: Sequence[str], is_closed: bool, is_alone: bool, *, with_offsets: bool = False
    ) -> list[Any]:
        try:
            if is_alone:
                found = [self._pieces.encode(texts[0], add_special_tokens=is_closed)]
            else:
                encode = self._pieces.encode_batch if with_offsets else self._pieces.encode_batch_fast
                found = encode(list(texts), add_special_tokens=is_closed)
        except (UnicodeEncodeError, TypeError):
            if odd := [text for text in texts if not isinstance(text, str)]:
                raise ConfigError(f"{odd[0]!r:.60} is not a text: a str is wanted") from None
            bad = next(text for text in texts if any("\ud800" <= letter <= "\udfff" for letter in text))
            raise ConfigError(
                f"{bad!r} has half a character (a lone surrogate); a text must be valid Unicode"
            ) from None
        except BaseException as problem:  # the Rust side panics with its own BaseException
            if isinstance(problem, KeyboardInterrupt | SystemExit | MemoryError):
                raise
            raise FolderError(f"{FILE} cannot split this text: {problem!s:.200}") from None
        if self.refuses_padding and "pad" in self.roles and any(self.roles["pad"] in one.ids for one in found):
            name = self.pieces[self.roles["pad"]]  # attention would mask it
            raise ConfigError(f"a text has {name!r} in it, which this tokenizer takes for padding; take it out")
        return found

    def encode_part(self, text: str) -> list[int]:
        """The ids of a part of a text, not closed. Running text cut after a line end has the same ids as uncut."""
        return self.encode_all([text], is_part=True)[0]

    def encode_targets(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each translation, closed but without a mark before it, which a decoder starts with: here both
        languages are split alike.
        """
        before = max(0, len(self.encode("")) - 1)
        return [ids[before:] for ids in self.encode_all(texts)]

    def words(self, text: str) -> list[str]:
        """The text as this tokenizer splits it before looking tokens up."""
        assert self._pieces.pre_tokenizer is not None
        normal = self._pieces.normalizer.normalize_str(text) if self._pieces.normalizer else text
        return [word for word, _ in self._pieces.pre_tokenizer.pre_tokenize_str(normal)]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of these ids; end and padding are silent."""
        try:
            text = str(self._pieces.decode(list(ids), skip_special_tokens=True))
        except BaseException as problem:  # the Rust side panics with its own BaseException
            if not type(problem).__name__.startswith("Panic"):
                raise
            raise FolderError(f"{FILE} cannot put these tokens into words: {problem!s:.200}") from None
        return clean_up(text) if self._cleans else text

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """Each id as a person would read it; the space before a word is shown as the space it is."""
        return list(map(self._shown.__getitem__, ids))

    def starts_word(self) -> Iterator[bool]:
        """For each id, whether it begins a word rather than continuing one."""
        for number in range(self.vocab_size):
            piece = self._pieces.id_to_token(number) or ""
            yield piece.startswith("Ġ") if self._has_bytes else not piece.startswith("##")

    @cached_property
    def _has_bytes(self) -> bool:
        return isinstance(self._pieces.pre_tokenizer, pre_tokenizers.ByteLevel | pre_tokenizers.Sequence)

    @cached_property
    def _decoder(self) -> decoders.Decoder:
        return self._pieces.decoder or decoders.WordPiece()

    @cached_property
    def special_ids(self) -> frozenset[int]:
        """Ids that are no part of any text: ends, marks, padding."""
        return frozenset(self._pieces.get_added_tokens_decoder())

    def _show(self, number: int) -> str:
        piece = self._pieces.id_to_token(number) or ""
        is_pieces = isinstance(self._pieces.model, models.WordPiece)
        if number in self.special_ids:
            return f" {piece}" if is_pieces and piece in ROLES["unknown"] else piece  # it stands for a word
        if is_pieces:
            return piece.removeprefix("##") if piece.startswith("##") else str(self._decoder.decode(["", piece]))
        if not self._has_bytes:
            return piece
        # One piece may be part of a character: it is shown as the replacement character.
        return str(decoders.ByteLevel().decode([piece]))

    def _role(self, role: str) -> int:
        if role in self.roles:
            return self.roles[role]
        for name in ROLES[role]:
            if (number := self.id_of(name)) is not None:
                return number
        raise FolderError(f"tokenizer.json has no {' or '.join(ROLES[role])}; it was not made for this kind of model")


def _read(path: Path, rows: int | None) -> Pieces:
    """The tokenizer in a file, if its cost is bounded."""
    content = read_regular(path, most_bytes(rows))
    check_tokenizer(parse_json(content), rows)
    return Pieces.from_buffer(content)


class _Shown(dict[int, str]):
    """Tokens as people read them, computed on demand."""

    def __init__(self, show: Callable[[int], str]) -> None:
        super().__init__()
        self._show = show

    def __missing__(self, number: int) -> str:
        self[number] = shown = self._show(number)
        return shown


def name_rows(pieces: Sequence[str], rows: int) -> list[str]:
    """A name for each row of a table that has more of them than the vocabulary has pieces."""
    return [*pieces, *(f"<unused {number}>" for number in range(len(pieces), rows))]


def clean_up(text: str) -> str:
    """A text without the spaces that were put before its signs."""
    for before, after in ((" .", "."), (" ?", "?"), (" !", "!"), (" ,", ","), (" ' ", "'"), (" n't", "n't"),
                          (" 'm", "'m"), (" 's", "'s"), (" 've", "'ve"), (" 're", "'re")):  # fmt: skip
        text = text.replace(before, after)
    return text


def _read_roles(path: Path) -> dict[str, int]:
    """The roles of ids, as our own folders have them."""
    if not path.is_file():
        return {}
    found = parse_json(read_regular(path, MOST_BYTES))
    if not isinstance(found, dict) or not all(name in ROLES and type(one) is int for name, one in found.items()):
        raise ValueError(f"{ROLES_FILE} does not map {', '.join(ROLES)} to ids")
    return found


def find_marks(pieces: Sequence[str], space: str, special: frozenset[int]) -> list[int]:
    """Ids of digits and punctuation, with a space before them or not, and of the special pieces."""
    marks = set(string.digits + string.punctuation)
    return [number for number, piece in enumerate(pieces) if piece.removeprefix(space) in marks or number in special]
