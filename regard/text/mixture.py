"""Several corpora of pairs, one after another: which there are, and how often an epoch takes each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from regard.errors import ConfigError, CorpusError
from regard.text.corpus import LeftOut, Pair, PairFiles, each_pair, guess_languages, header_of, kind_of
from regard.text.readers import find_kind
from regard.text.readers.rows import Choice

Also = str | Path | Sequence[str | Path | float]  # SOURCE,TARGET:WEIGHT, or the three one by one

MOST_WEIGHT = 1000


def add_corpora(
    files: PairFiles, also: Sequence[Also], columns: Choice | None = None, keys: tuple[str, ...] | None = None
) -> PairFiles:
    """The files with further corpora. columns, keys: of those that are files of rows."""
    others = []
    for one in [also] if isinstance(also, str | Path) else also:
        (source, *targets), weight = _parse(one)
        if targets:
            other = PairFiles.of(source, targets[0])
        else:
            kind = find_kind(PairFiles.of(source).paths[0])  # of a folder, that of its files
            options = kind.options if kind else ()
            other = PairFiles.of(
                source, None, columns if "columns" in options else None, keys if "keys" in options else None
            )
        for these in (files, other):
            kind_of(these) if these.target is None else None  # what is no file of pairs is refused with the remedy
        refuse_swapped("--also", other, "the first corpus is", *guess_languages(files))
        others.append(replace(other, weight=weight))
    return replace(files, others=tuple(others))


def refuse_swapped(
    what: str, other: PairFiles, like: str, source: str | None, target: str | None, *,
    named: Sequence[str | None] = (None, None), or_else: str = "",
) -> None:  # fmt: skip
    """An error if pairs are of the other direction than they should be, as they were named, else by the names of their
    files or columns. or_else: what may be done if that is meant.
    """
    theirs = plain_languages(one or found for one, found in zip(named, guess_languages(other), strict=True))
    mine = plain_languages((source, target))
    if None not in theirs and mine != theirs and mine == theirs[::-1]:
        where = ",".join(map(str, other.paths)) if other.target else str(other.source)
        remedy = "name the files in the other order" if other.target else "choose with --keys or --columns"
        raise CorpusError(f"{what} {where} is read as {theirs[0]} to {theirs[1]}, and {like} {mine[0]} to {mine[1]}; "
                          f"{remedy}{or_else}")  # fmt: skip


def plain_languages(codes: Iterable[str | None]) -> list[str | None]:
    """Codes of languages without their regions and scripts, to be compared."""
    return [code and code.replace("_", "-").partition("-")[0].lower() for code in codes]


def all_corpora(files: PairFiles) -> list[PairFiles]:
    """The files themselves, and the further corpora."""
    return [files, *files.others]


def reverse_corpora(files: PairFiles) -> PairFiles:
    """The same pairs, with source and target exchanged in all corpora."""
    others = tuple(replace(one, is_reversed=True) for one in files.others)
    return replace(files, is_reversed=True, others=others)


def weights_of(files: PairFiles) -> list[float] | None:
    """How often an epoch takes each corpus, if there are several."""
    return [one.weight for one in all_corpora(files)] if files.others else None


def each_of_all(files: PairFiles) -> Iterator[Pair]:
    """All pairs of all corpora, as `each_pair` has them, with the number of their corpus."""
    yield from each_pair(files)
    for number, other in enumerate(files.others, start=1):
        for pair in each_pair(other):
            yield pair._replace(corpus=number)


def roles_of(files: PairFiles) -> dict[str, Path]:
    """What each file of all corpora is."""
    return files.roles | {
        f"also_{number}_{role}": path
        for number, other in enumerate(files.others, start=1)
        for role, path in other.roles.items()
    }


def reading_of(files: PairFiles) -> dict[str, str]:
    """How the files of all corpora are read."""
    direction = {"direction": "reversed"} if files.is_reversed else {}
    return files.reading | direction | {
        f"also_{number}_{name}": value
        for number, other in enumerate(files.others, start=1)
        for name, value in other.reading.items()
    }  # fmt: skip


def back_translated(files: PairFiles) -> int | None:
    """The corpus whose sources are back-translations, if there is one."""
    return next((number for number, one in enumerate(all_corpora(files)) if one.is_synthetic), None)


def headers_of(files: PairFiles) -> list[LeftOut]:
    """First lines that name columns."""
    return [header for one in all_corpora(files) for header in header_of(one)]


def _parse(also: Also) -> tuple[list[Path], float]:
    """The one or two files of a corpus, and its weight."""
    names, weight = [str(also)], 1.0
    if isinstance(also, str | Path):
        text, _, number = str(also).rpartition(":")
        with suppress(ValueError):  # else it is a part of the name
            names, weight = ([text], float(number)) if text and not Path(also).exists() else (names, weight)
        names = names if Path(names[0]).exists() else names[0].split(",")
    else:
        last = also[-1] if also else None
        given, weight = (also[:-1], float(last)) if isinstance(last, int | float) else (also, 1.0)
        names = [str(one) for one in given] if all(isinstance(one, str | Path) for one in given) else []
    if not 0 < weight <= MOST_WEIGHT:
        raise ConfigError(f"--also {also}: the weight of a corpus is a number above 0 and up to {MOST_WEIGHT}, such as "
                          f"0.3 or 2")  # fmt: skip
    if not 1 <= len(names) <= 2 or not all(names):
        raise ConfigError(f"--also {also} is not one file of pairs, nor two parallel files with a comma between them, "
                          f"as in more.de,more.en:0.3")  # fmt: skip
    return [Path(name) for name in names], weight
