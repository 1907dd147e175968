"""Reads text to learn from: parallel lines, or a file of rows in any format of `readers`; says what is wrong and where.

Knows nothing of tokens: what is too long is decided later.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from regard.errors import ConfigError, CorpusError
from regard.files import hash_file
from regard.text.lines import LONGEST_LINE, open_text, read_lines
from regard.text.readers import KINDS, Kind, find_kind
from regard.text.readers.folders import find_parts
from regard.text.readers.packed import without_packing
from regard.text.readers.rows import Choice, Second, Table, one_line

NO_LANGUAGES = {"txt", "src", "tgt", "trg", "ref"}  # endings and names that are as short as codes


def counted(count: int, units: str) -> str:
    """A count and what it counts: `1 line`, `2 lines`."""
    return f"{count} {units.removesuffix('s') if count == 1 else units}"


class Pair(NamedTuple):
    """A text and its translation, and the line they stand on."""

    source: str
    target: str
    line: int
    part: int = 0  # of a folder of files
    corpus: int = 0  # of several
    is_second: bool = False  # a text of a unit that has a pair already; the other side is empty


@dataclass(frozen=True)
class PairFiles:
    """Where pairs are: two parallel files, or one file of rows, such as TSV, CSV, JSONL or TMX."""

    source: Path
    target: Path | None = None
    columns: Choice | None = None  # of a table, counted from 1 or by name: source, target
    keys: tuple[str, ...] | None = None  # of objects, or languages of a translation memory: source, target
    parts: tuple[Path, ...] = ()  # the files of a folder, if the source is one
    weight: float = 1.0  # how often an epoch takes each of its pairs
    others: tuple["PairFiles", ...] = ()  # further corpora
    is_reversed: bool = False  # source and target are exchanged
    is_synthetic: bool = False  # its sources are back-translations

    def __post_init__(self) -> None:
        for option in ("columns", "keys"):
            given: Choice | None = getattr(self, option)
            if given is None:
                continue
            shown = ",".join(map(str, given))
            if len(given) != 2 or len({*given}) == 1:
                raise CorpusError(
                    f"--{option} {shown}: two are wanted, source and target, which must differ, as in de,en"
                )
            if min((one for one in given if isinstance(one, int)), default=1) < 1:
                raise CorpusError(f"--{option} {shown}: columns are counted from 1 and must differ, as in 2,1")

    @classmethod
    def of(
        cls,
        source: str | Path,
        target: str | Path | None = None,
        columns: Choice | None = None,
        keys: tuple[str, ...] | None = None,
        glob: Sequence[str] = (),
    ) -> "PairFiles":
        """The same from names; a folder may be one of a data set, or of files whose names match one of `glob`."""
        parts = find_parts(Path(source), glob) if not target else ()
        return cls(Path(source), Path(target) if target else None, columns, keys, parts)

    @property
    def paths(self) -> list[Path]:
        """The files, source first."""
        return [*self.parts] or [self.source] if self.target is None else [self.source, self.target]

    @property
    def roles(self) -> dict[str, Path]:
        """What each file is."""
        names = ("source", "target") if not self.parts else (f"source_{n}" for n in range(1, len(self.parts) + 1))
        return dict(zip(names, self.paths, strict=False))

    @property
    def reading(self) -> dict[str, str]:
        """Which columns or keys are read, also by default, and whether there is a header; nothing of two files."""
        if self.target is not None:
            return {}
        table = open_rows(self.paths[0], self.wanted)
        chosen = ",".join(table.names[place] for place in table.choose(self.wanted, 2))
        given = ",".join(map(str, self.wanted or ())) or chosen
        found = {kind_of(self).options[0]: given}
        return found | {"header": table.header} if table.header else found

    @property
    def wanted(self) -> Choice | None:
        """The columns that were chosen, if any were."""
        return self.keys or self.columns


@dataclass(frozen=True)
class LeftOut:
    """Pairs that are not learned from, and why, with one of them as an example."""

    reason: str
    count: int
    example: str
    unit: str | None = None  # what they are, if not examples


def read_pairs(files: PairFiles) -> tuple[list[Pair], list[LeftOut]]:
    """All pairs with text on both sides, in order, and those without."""
    pairs, empty = list[Pair](), list[Pair]()
    for pair in each_pair(files):
        (pairs if pair.source.strip() and pair.target.strip() else empty).append(pair)
    if not pairs:
        raise _nothing_in(files)
    return pairs, [*header_of(files), *add_up(why_not(files, pair) for pair in empty)]


def add_up(left_out: Iterable[LeftOut]) -> list[LeftOut]:
    """Those of one reason together, with the first of them as the example."""
    found: dict[str, LeftOut] = {}
    for one in left_out:
        before = found.get(one.reason)
        found[one.reason] = replace(before, count=before.count + one.count) if before else one
    return list(found.values())


def header_of(files: PairFiles) -> list[LeftOut]:
    """The first lines that name columns."""
    return headers_in([] if files.target else files.paths, files.wanted)


def headers_in(paths: Sequence[Path], wanted: Choice | None) -> list[LeftOut]:
    """The first lines of files of rows, if they name the columns: that of the first file as the example."""
    found = [(path, header) for path in paths if (header := open_rows(path, wanted).header)]
    return [LeftOut("a header", len(found), f"{found[0][0]} line 1: {found[0][1]}", "lines")] if found else []


def why_not(files: PairFiles, pair: Pair) -> LeftOut:
    """Why a pair with an empty side is left out."""
    is_first = bool(pair.source.strip()) == files.is_reversed  # of the two sides as they are in the files
    side = files.paths[pair.part] if is_first else files.target or files.paths[pair.part]
    unit = "line" if files.target else kind_of(files).unit
    where = f"{side} {unit} {pair.line}"
    if pair.is_second:
        return LeftOut("second texts of a language in one unit", 1, where, "texts")
    return LeftOut("empty on one side", 1, where)


def verify_pairs(files: PairFiles) -> None:
    """Reads all pairs and keeps none; raises what `read_pairs` would."""
    if not sum(bool(pair.source.strip() and pair.target.strip()) for pair in each_pair(files)):
        raise _nothing_in(files)


def _nothing_in(files: PairFiles) -> CorpusError:
    return CorpusError(
        f"{' and '.join(map(str, files.paths))}: no line has text on both sides; there is nothing to learn from"
    )


def guess_languages(files: PairFiles) -> tuple[str | None, str | None]:
    """Source and target language: the suffixes of two files (`news.de`), or names of columns that look like codes."""
    if files.target is not None:
        names = [without_packing(path).suffix[1:] for path in files.paths]
    else:
        table = open_rows(files.paths[0], files.wanted)
        names = [table.names[place].rpartition(".")[2] for place in table.choose(files.wanted, 2)]
    names = names[::-1] if files.is_reversed else names
    return _language(names[0]), _language(names[1])


def fingerprint(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    try:
        return hash_file(path)
    except OSError as problem:
        raise CorpusError(f"{path} cannot be read: {problem.strerror}") from None


def each_pair(files: PairFiles) -> Iterator[Pair]:
    """All pairs in order, as a stream; those with an empty side too."""
    for pair in _as_in_files(files):
        yield pair._replace(source=pair.target, target=pair.source) if files.is_reversed else pair


def _as_in_files(files: PairFiles) -> Iterator[Pair]:
    if files.target is not None:
        yield from _parallel(files.source, files.target)
        return
    kind_of(files)
    first: Table | None = None
    likely: str | None = None  # a first row that may be a header
    for part, path in enumerate(files.paths):
        table = open_rows(path, files.wanted)
        first = first or (table if table.header else None)
        if first and table.header and [*table.names] != [*first.names] and not _are_names(files.wanted):
            raise CorpusError(f"{path} has the columns {', '.join(table.names)}, and {first.path} has "
                              f"{', '.join(first.names)}; choose source and target by name with --columns")  # fmt: skip
        likely = likely or table.may_be_header
        if table.may_be_header and likely != table.may_be_header and _are_same_names(likely, table.may_be_header):
            raise CorpusError(f"{path} begins with {table.may_be_header}, and a file before it with {likely}: if these "
                              f"are headers, choose source and target by name with --columns, else remove one of "
                              f"these rows")  # fmt: skip
        for number, (source, target) in table.rows(table.choose(files.wanted, 2)):
            is_second = isinstance(source, Second) or isinstance(target, Second)
            yield Pair(one_line(source), one_line(target), number, part, is_second=is_second)


def _are_same_names(mine: str | None, theirs: str) -> bool:
    return mine is not None and sorted(mine.lower().split(", ")) == sorted(theirs.lower().split(", "))


def _are_names(wanted: Choice | None) -> bool:
    return bool(wanted) and all(isinstance(one, str) for one in wanted or ())


def open_rows(path: Path, wanted: Choice | None, longest: int = LONGEST_LINE) -> Table:
    """A file of rows, opened by the reader of its name."""
    kind = find_kind(path)
    assert kind is not None, path
    return kind.open(path, partial(read_lines, path, longest=longest), wanted)


def kind_of(files: PairFiles) -> Kind:
    """The format of the files of rows that pairs are in, by their names."""
    kinds = [find_kind(path) for path in files.paths]
    if kinds[0] and {*kinds} == {kinds[0]}:
        return kinds[0]
    known = " or ".join((", ".join([*KINDS][:-1]), [*KINDS][-1]))
    if files.parts:
        raise CorpusError(f"{files.source} has files of several kinds; choose those of one with --glob, as '*.tsv'")
    if not files.source.is_dir():
        open_text(files.source).close()  # what is not there, or no text, is refused with a better remedy
    raise CorpusError(f"{files.source} is one file, and not of rows; "
                      f"give two parallel files (source, then target), or one file that ends in {known}")  # fmt: skip


def refuse_unread(columns: Choice | None, keys: Choice | None, *kinds: Kind) -> None:
    """An error for columns or keys that were chosen where no file has any."""
    for name, given in (("columns", columns), ("keys", keys)):
        if given and not any(name in kind.options for kind in kinds):
            endings = ", ".join(ending for ending, kind in KINDS.items() if name in kind.options)
            raise ConfigError(f"--{name} {','.join(map(str, given))} is for a file that ends in {endings}, and none "
                              f"was given; leave it out")  # fmt: skip
    if columns and keys and len({kind.options for kind in kinds}) == 1:
        raise ConfigError("--columns and --keys cannot go together; give one of them")


def _parallel(source: Path, target: Path) -> Iterator[Pair]:
    left, right = read_lines(source), read_lines(target)
    number = 0
    for number, text in enumerate(left, start=1):
        translation = next(right, None)
        if translation is None:
            counts = number + sum(1 for _ in left), number - 1
            break
        yield Pair(text, translation, number)
    else:
        counts = number, number + sum(1 for _ in right)
    if counts[0] != counts[1]:
        found = f"{source} has {counted(counts[0], 'lines')} but {target} has {counts[1]}"
        raise CorpusError(f"{found}; line N of one must translate line N of the other")


def _language(name: str) -> str | None:
    """A name that looks like a language code (de, pt-br, zh_Hans), or nothing."""
    parts = name.replace("_", "-").split("-")
    return (
        name if 2 <= len(parts[0]) <= 3 and name not in NO_LANGUAGES and all(part.isalnum() for part in parts) else None
    )
