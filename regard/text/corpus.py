"""Reads text to learn from: parallel lines, or a file of rows in any format of `readers`; says what is wrong and where.

Lines end at `\\n` and nowhere else. Knows nothing of tokens: what is too long is decided later.
"""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple

from regard.errors import ConfigError, CorpusError
from regard.files import hash_file
from regard.text.readers import KINDS, Kind, find_kind
from regard.text.readers.documents import find_document
from regard.text.readers.folders import find_parts
from regard.text.readers.packed import open_unpacked, without_packing
from regard.text.readers.rows import Choice, Table, one_line

UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
UTF8_MARK = b"\xef\xbb\xbf"
NO_LANGUAGES = {"txt", "src", "tgt", "trg", "ref"}  # endings and names that are as short as codes
HEAD = 4096  # bytes of a beginning
BLOCK = 2**18  # bytes that are read at a time
LONGEST_LINE = 2**20  # bytes of a line of a pair or a story
LONGEST_RUNNING = 2**27  # bytes of a line of running text, which may be one line as a whole


def counted(count: int, units: str) -> str:
    """A count and what it counts: `1 line`, `2 lines`."""
    return f"{count} {units.removesuffix('s') if count == 1 else units}"


class Pair(NamedTuple):
    """A text and its translation, and the line they stand on."""

    source: str
    target: str
    line: int
    corpus: int = 0  # of several


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


def read_lines(path: Path, *, keeps_ends: bool = False, longest: int = LONGEST_LINE) -> Iterator[str]:
    """The lines of a UTF-8 file, without their ends; a line that is not text is an error that says where."""
    number = 0
    try:
        with open_text(path) as file:
            for block in _whole_lines(file, path, longest):
                lines = _decode_block(path, number, block)
                number += len(lines)
                if keeps_ends:
                    lines[:-1] = [line + "\n" for line in lines[:-1]]
                    lines[-1] += "\n" * block.endswith(b"\n")
                yield from lines
    except EOFError as problem:
        raise CorpusError(f"{path} is damaged after line {number} ({problem}); fetch or pack it again") from None
    except OSError as problem:
        raise CorpusError(f"{path} cannot be read: {problem.strerror or problem}") from None
    if number == 0:
        raise CorpusError(f"{path} is empty; a corpus needs at least one line of text")


def read_whole(path: Path) -> str:
    """A whole file with its line ends (those of Windows become `\\n`)."""
    return "".join(read_lines(path, keeps_ends=True, longest=LONGEST_RUNNING))


def read_pairs(files: PairFiles) -> tuple[list[Pair], list[LeftOut]]:
    """All pairs with text on both sides, in order, and those without."""
    pairs, empty = list[Pair](), list[Pair]()
    for pair in each_pair(files):
        (pairs if pair.source.strip() and pair.target.strip() else empty).append(pair)
    if not pairs:
        raise _nothing_in(files)
    some = [replace(why_empty(files, empty[0]), count=len(empty))] if empty else []
    return pairs, [*header_of(files), *some]


def header_of(files: PairFiles) -> list[LeftOut]:
    """The first line, if it names the columns."""
    header = files.reading.get("header")
    return [LeftOut("a header", 1, f"{files.source} line 1: {header}", "lines")] if header else []


def why_empty(files: PairFiles, pair: Pair) -> LeftOut:
    """Why a pair without text is left out."""
    side = files.source if not pair.source.strip() else files.target or files.source
    unit = "line" if files.target else kind_of(files).unit
    return LeftOut("empty on one side", 1, f"{side} {unit} {pair.line}")


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
    return _language(names[0]), _language(names[1])


def fingerprint(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    try:
        return hash_file(path)
    except OSError as problem:
        raise CorpusError(f"{path} cannot be read: {problem.strerror}") from None


def each_pair(files: PairFiles) -> Iterator[Pair]:
    """All pairs in order, as a stream; those with an empty side too."""
    if files.target is not None:
        yield from _parallel(files.source, files.target)
        return
    kind_of(files)
    for path in files.paths:
        table = open_rows(path, files.wanted)
        for number, (source, target) in table.rows(table.choose(files.wanted, 2)):
            yield Pair(one_line(source), one_line(target), number)


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


def open_text(path: Path) -> IO[bytes]:
    """A file of text, unpacked if it is packed; what is no text is refused."""
    file = open_unpacked(path)
    head = file.peek(1024)[:1024]
    controls = sum(byte < 9 or 13 < byte < 32 for byte in head)
    problem = None
    if document := find_document(path, head):
        problem = f"is {document[0]}, not text; {document[1]}"
    elif head.startswith(UTF16_MARKS):
        problem = f"is UTF-16; text must be UTF-8 (iconv -f UTF-16 -t UTF-8 {path.name} converts it)"
    elif b"\0" in head and controls > max(8, len(head) // 20):
        problem = "looks like a binary file, not like lines of text; text must be UTF-8"
    if problem:
        file.close()
        raise CorpusError(f"{path} {problem}")
    return file


def limited_lines(file: IO[bytes], path: Path, longest: int, number: int = 0) -> Iterator[bytes]:
    """Lines with their ends; one without end would fill the memory, and is refused. number: of lines before these."""
    while raw := file.readline(longest + 2):
        number += 1
        if len(raw) > longest + 1:
            raise CorpusError(f"{path} line {number} has more than {longest // 2**20} MB; a line of text is shorter. "
                              f"Is it text, with line ends that are \\n?")  # fmt: skip
        yield raw


def _whole_lines(file: IO[bytes], path: Path, longest: int) -> Iterator[bytes]:
    """The file in blocks that end where a line ends; a line without end would fill the memory, and is refused."""
    pieces: list[bytes] = []  # of a line whose end is not read yet
    number = 0
    while read := file.read(BLOCK):
        end = read.rfind(b"\n") + 1
        pieces.append(read[:end] if end else read)
        if sum(map(len, pieces)) > longest:  # one of its lines may be too long
            for _ in limited_lines(io.BytesIO(b"".join(pieces)), path, longest, number):
                pass
        if end:
            yield (block := b"".join(pieces))
            number += block.count(b"\n")
            pieces = [read[end:]]
    if rest := b"".join(pieces):
        yield rest


def _decode_block(path: Path, before: int, block: bytes) -> list[str]:
    """The lines of a block, which has so many before it."""
    whole = block.removesuffix(b"\n")
    try:
        text = whole.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"  # line by line, to say where
    if "\0" in text:
        return [_decode(path, number, raw) for number, raw in enumerate(whole.split(b"\n"), start=before + 1)]
    lines = text.split("\n")
    if "\r" in text:
        lines = [line.removesuffix("\r") for line in lines]  # of a file from Windows
    if before == 0:
        lines[0] = lines[0].removeprefix("\ufeff")
    return lines


def _decode(path: Path, number: int, raw: bytes) -> str:
    line = raw.removesuffix(b"\n").removesuffix(b"\r")  # the \r of a file from Windows
    if number == 1:
        line = line.removeprefix(UTF8_MARK)
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as problem:
        byte = f"byte {line[problem.start]:#04x} at offset {problem.start} of the line"
        raise CorpusError(f"{path} line {number} is not UTF-8 ({byte}); "
                          f"convert the file to UTF-8, or fix the line") from None  # fmt: skip
    if "\0" in text:
        raise CorpusError(f"{path} line {number} has a NUL byte; it is not text (tr -d '\\000' removes it)")
    return text


def _language(name: str) -> str | None:
    """A name that looks like a language code (de, pt-br, zh_Hans), or nothing."""
    parts = name.replace("_", "-").split("-")
    return (
        name if 2 <= len(parts[0]) <= 3 and name not in NO_LANGUAGES and all(part.isalnum() for part in parts) else None
    )
