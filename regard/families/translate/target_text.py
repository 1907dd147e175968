"""Text in the target language that is worth translating back: each line once, none of the pairs' own, none too long.

Lines are read twice and never held: eight bytes of a hash are kept of each.
"""

from __future__ import annotations

import hashlib
import warnings
from array import array
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regard.errors import CorpusError
from regard.files import write_whole
from regard.text.corpus import Pair, counted
from regard.text.languages import NOT_LATIN, likeness, words_of
from regard.text.readers.rows import one_line
from regard.text.running import TextFiles
from regard.text.stream import Examples, Thinned
from regard.training.encode import READING, Preparing

CHUNK = 20_000  # lines between two checks whether to stop
COMPARED = 5000  # lines of each side whose words are compared
LETTERS = 100  # of a token, at most: a longer line has too many tokens whatever they are
CLEARLY = 1.5  # times as like the source side as the target side: the wrong language
LITTLE = 0.05  # likeness to the target side below which a warning is due; Tatoeba's German has 0.2 to Multi30k's


@dataclass(frozen=True)
class TargetText:
    """What was found."""

    lines: int  # that are translated back
    left_out: dict[str, int]  # why -> lines

    def __str__(self) -> str:
        why = ", ".join(f"{count} {reason}" for reason, count in self.left_out.items() if count)
        return f"{counted(self.lines, 'lines')} to translate back" + (f"; left out: {why}" if why else "")


def collect(
    text: TextFiles, examples: Examples, longest: int, to: Path, check: Callable[[], None]
) -> Generator[Preparing, None, TargetText]:
    """Writes the lines to translate back. examples: the pairs, after their survey; longest: tokens of a line."""
    _refuse_language(text, examples.sample)
    known = array("Q", (_hash(pair.target) for pair in examples.valid))
    for chunk in examples.chunks():
        check()
        known.extend(_hash(pair.target) for pair in chunk)
    hashes, too_long = array("Q"), array("B")
    for line in lines_of(text):
        hashes.append(_hash(line))
        too_long.append(len(line.split()) > longest or len(line) > LETTERS * longest)
        if len(hashes) % CHUNK == 0:
            check()
            yield Preparing(READING, len(hashes))
    if not hashes:
        raise CorpusError(f"{_named(text)}: no line has text on it; there is nothing to translate back")
    found, of_pairs, is_long = _numbers(hashes), _numbers(known), np.frombuffer(too_long, np.uint8) > 0
    is_first = np.zeros(len(found), bool)
    is_first[np.unique(found, return_index=True)[1]] = True
    is_known = np.isin(found, of_pairs)
    is_kept = is_first & ~is_known & ~is_long
    left_out = {
        "duplicates": int((~is_first).sum()),
        "that the pairs have": int((is_first & is_known).sum()),
        f"longer than {longest} tokens": int((is_first & ~is_known & is_long).sum()),
    }
    result = TargetText(int(is_kept.sum()), left_out)
    if not result.lines:
        raise CorpusError(f"{_named(text)}: {result}; there is nothing new to learn from")
    write_lines(to, (line for line, keep in zip(lines_of(text), is_kept.tolist(), strict=True) if keep))
    return result


def collect_sources(examples: Examples, to: Path, check: Callable[[], None]) -> None:
    """Writes the sources of the pairs to learn from."""

    def lines() -> Iterator[str]:
        for chunk in examples.chunks():
            check()
            yield from (one_line(pair.source).strip() for pair in chunk)

    write_lines(to, lines())


def lines_of(text: TextFiles) -> Iterator[str]:
    """All lines with text on them, without the space around them."""
    return (stripped for line in text.lines() if (stripped := one_line(line.strip())))


def write_lines(to: Path, lines: Iterable[str]) -> None:
    """A file of lines, whole or not at all."""

    def write(path: Path) -> None:
        with path.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{line}\n" for line in lines)

    write_whole(to, write)


def _refuse_language(text: TextFiles, pairs: list[Pair]) -> None:
    """Text that is clearly in the source language is an error; what is like neither side gets a warning."""
    sample = Thinned(COMPARED)
    for line in lines_of(text):
        sample.add([line])
    step = -(-len(pairs) // COMPARED) or 1
    sides = [_count(pair.source for pair in pairs[::step]), _count(pair.target for pair in pairs[::step])]
    mine = _count(sample.kept)
    to_source, to_target = (likeness(mine, side) for side in sides)
    between = likeness(*sides)
    seen = (
        f"{100 * to_target:.0f} % of its words are as on the target side, {100 * to_source:.0f} % as on the source side"
    )
    if to_source > CLEARLY * to_target and between < to_source:
        raise CorpusError(f"{_named(text)} is not in the target language, it seems: {seen}; --monolingual is for text "
                          f"in the language that is translated into")  # fmt: skip
    if to_target < LITTLE:
        warnings.warn(f"{_named(text)} may be in another language than the target side of the pairs: {seen}",
                      RuntimeWarning, stacklevel=2)  # fmt: skip


def _count(lines: Iterable[str]) -> Counter[str]:
    """Words, and letters of scripts in which words may not be separated."""
    return Counter(word for line in lines for word in (*words_of(line), *NOT_LATIN.findall(line)))


def _named(text: TextFiles) -> str:
    more = len(text.paths) - 1
    return f"{text.paths[0]}{f' and {more} more' if more else ''}"


def _hash(line: str) -> int:
    return int.from_bytes(hashlib.blake2b(one_line(line.strip()).encode(), digest_size=8).digest())


def _numbers(hashes: array[int]) -> NDArray[np.uint64]:
    return np.frombuffer(hashes, np.uint64)
