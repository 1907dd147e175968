"""A file of rows of texts: what its columns are called, and which of them are wanted.

Columns may be those of a table, keys of objects or languages of translation units; who reads them knows which.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from regard.errors import CorpusError

Row = tuple[int, Sequence[str]]  # its line, and the wanted texts
Choice = tuple[int | str, ...]  # columns by number, counted from 1, or by name
OBVIOUS = ("text", "content")  # names of a column of running text
SHOWN = 30  # columns that an error lists


class Second(str):
    """A text where its row has one already: of several columns it is a row of its own, to be counted."""

    __slots__ = ()


class Lines(Protocol):
    """Reads a file's lines from the beginning, as often as it is called."""

    def __call__(self, *, keeps_ends: bool = False) -> Iterator[str]:
        """The lines."""


@dataclass(frozen=True)
class Table:
    """An opened file of rows."""

    path: Path
    names: Sequence[str]  # of its columns
    rows: Callable[[Sequence[int]], Iterator[Row]]  # the texts of the columns with these places, of every row
    word: str = "columns"  # or keys, languages
    header: str | None = None  # the first line, if it is a header and no row
    may_be_header: str | None = None  # the first line, if that is likely, and it is read as a row
    usual: int = 0  # how many columns are read, from the first one on, where none are chosen

    def choose(self, wanted: Choice | None, count: int) -> list[int]:
        """The places of the wanted columns; if none are chosen, of the obvious ones."""
        if wanted:
            return [self._find(one) for one in wanted]
        obvious = [place for name in OBVIOUS for place, found in enumerate(self.names) if found == name]
        if count == 1 and obvious:
            return obvious[:1]
        if count in (len(self.names), self.usual):
            return list(range(count))
        option = "columns" if self.word == "columns" else "keys"
        which = "which two are source and target" if count == 2 else "which one is the text"
        example = "source,target" if count == 2 else self.names[0] if self.names else "text"
        raise CorpusError(f"{self.path} has the {self.word} {self._listed()}; say {which} with --{option} {example}")

    def _find(self, wanted: int | str) -> int:
        if isinstance(wanted, int):
            if not 1 <= wanted <= len(self.names):
                raise CorpusError(f"{self.path} has {len(self.names)} {self.word} ({self._listed()}), and column "
                                  f"{wanted} is wanted; columns are counted from 1")  # fmt: skip
            return wanted - 1
        plain = [_plain(name) for name in self.names]
        inner = [name.rpartition(".")[2] for name in plain]  # translation.de is de, if no other is
        for names, name in ((list(self.names), wanted), (plain, _plain(wanted)), (inner, _plain(wanted))):
            if names.count(name) == 1:
                return names.index(name)
        raise CorpusError(f"{self.path} has no {self.word.removesuffix('s')} {wanted!r}; it has {self._listed()}")

    def _listed(self) -> str:
        return ", ".join(self.names[:SHOWN]) + ", …" * (len(self.names) > SHOWN)


def _plain(name: str) -> str:
    return name.strip().lower().replace("_", "-")


def one_line(text: str) -> str:
    """A text of a pair, which is one line: line ends within it become spaces."""
    return re.sub(r"[ \t]*[\r\n][ \t\r\n]*", " ", text).strip(" ") if "\n" in text or "\r" in text else text
