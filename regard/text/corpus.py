"""Reads text to learn from: parallel lines, TSV, JSONL, each also packed; says what is wrong and where.

Lines end at `\\n` and nowhere else. Knows nothing of tokens: what is too long is decided later.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

from regard.errors import ConfigError, CorpusError
from regard.files import hash_file, open_regular
from regard.text.readers.packed import unpack, without_packing

KINDS = {".tsv": "columns", ".tab": "columns", ".jsonl": "keys", ".ndjson": "keys", ".json": "keys"}  # of pairs
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
UTF8_MARK = b"\xef\xbb\xbf"
HEAD = 4096  # bytes of a beginning
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


@dataclass(frozen=True)
class PairFiles:
    """Where pairs are: two parallel files, or one file of columns (TSV) or of keys (JSONL)."""

    source: Path
    target: Path | None = None
    columns: tuple[int, int] = (1, 2)  # of a TSV file, counted from 1: source, target
    keys: tuple[str, str] | None = None  # of a JSONL file: source, target

    def __post_init__(self) -> None:
        first, second = self.columns
        if min(self.columns) < 1 or first == second:
            raise CorpusError(f"--columns {first},{second}: columns are counted from 1 and must differ, as in 2,1")
        if self.keys and len({*self.keys}) == 1:
            raise CorpusError(f"--keys {','.join(self.keys)}: keys must differ, as in de,en")

    @classmethod
    def of(
        cls,
        source: str | Path,
        target: str | Path | None = None,
        columns: tuple[int, int] | None = None,
        keys: tuple[str, str] | None = None,
    ) -> "PairFiles":
        """The same from names."""
        return cls(Path(source), Path(target) if target else None, columns or (1, 2), keys)

    @property
    def paths(self) -> list[Path]:
        """The files, source first."""
        return [self.source] if self.target is None else [self.source, self.target]

    @property
    def reading(self) -> dict[str, str]:
        """Which columns or keys are read, also by default; nothing of two parallel files."""
        match kind_of(self):
            case "columns":
                return {"columns": ",".join(map(str, self.columns))}
            case "keys":
                return {"keys": ",".join(self.keys or _first_keys(self.source))}
        return {}


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
            for number, raw in enumerate(limited_lines(file, path, longest), start=1):
                line = _decode(path, number, raw)
                yield line + "\n" if keeps_ends and raw.endswith(b"\n") else line
    except EOFError as problem:
        raise CorpusError(f"{path} is damaged after line {number} ({problem}); fetch or pack it again") from None
    except OSError as problem:
        raise CorpusError(f"{path} cannot be read: {problem.strerror or problem}") from None
    if number == 0:
        raise CorpusError(f"{path} is empty; a corpus needs at least one line of text")


def read_head(path: Path) -> bytes:
    """The first bytes of a file, unpacked."""
    with open_text(path) as file:
        return file.read(HEAD)


def read_whole(path: Path) -> str:
    """A whole file with its line ends (those of Windows become `\\n`)."""
    return "".join(read_lines(path, keeps_ends=True, longest=LONGEST_RUNNING))


def read_pairs(files: PairFiles) -> tuple[list[Pair], list[LeftOut]]:
    """All pairs with text on both sides, in order, and those without."""
    pairs: list[Pair] = []
    empty: list[Pair] = []
    for pair in _each_pair(files):
        (pairs if pair.source.strip() and pair.target.strip() else empty).append(pair)
    if not pairs:
        raise _nothing_in(files)
    if not empty:
        return pairs, []
    first = empty[0]
    side = files.source if not first.source.strip() else files.target or files.source
    return pairs, [LeftOut("empty on one side", len(empty), f"{side} line {first.line}")]


def verify_pairs(files: PairFiles) -> None:
    """Reads all pairs and keeps none; raises what `read_pairs` would."""
    if not sum(bool(pair.source.strip() and pair.target.strip()) for pair in _each_pair(files)):
        raise _nothing_in(files)


def _nothing_in(files: PairFiles) -> CorpusError:
    return CorpusError(
        f"{' and '.join(map(str, files.paths))}: no line has text on both sides; there is nothing to learn from"
    )


def guess_languages(files: PairFiles) -> tuple[str | None, str | None]:
    """Source and target language: the suffixes of two files (`news.de`), or keys that look like codes (`de`)."""
    if files.target is not None:
        names = [without_packing(path).suffix[1:] for path in files.paths]
        return _language(names[0]), _language(names[1])
    return (_language(files.keys[0]), _language(files.keys[1])) if files.keys else (None, None)


def fingerprint(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    try:
        return hash_file(path)
    except OSError as problem:
        raise CorpusError(f"{path} cannot be read: {problem.strerror}") from None


def _each_pair(files: PairFiles) -> Iterator[Pair]:
    if files.target is not None:
        return _parallel(files.source, files.target)
    if kind_of(files) == "columns":
        return _columns(files.source, files.columns)
    return _keys(files.source, files.keys)


def kind_of(files: PairFiles) -> str:
    """Whether pairs are lines of two files, or columns or keys of one, by its name."""
    if files.target is not None:
        return "lines"
    if kind := KINDS.get(without_packing(files.source).suffix.lower()):
        return kind
    raise CorpusError(f"{files.source} is one file, and neither .tsv nor .jsonl; "
                      f"give two parallel files (source, then target), or one .tsv or .jsonl file")  # fmt: skip


def holds_pairs(path: Path) -> bool:
    """Whether a single file is one of pairs, by its name."""
    return without_packing(path).suffix.lower() in KINDS


def refuse_unread(columns: tuple[int, int] | None, keys: tuple[str, str] | None, *files: PairFiles) -> None:
    """An error for columns or keys that were chosen where no file has any."""
    kinds = {kind_of(one) for one in files}
    for name, given, ending in (("columns", columns, ".tsv"), ("keys", keys, ".jsonl")):
        if given and name not in kinds:
            raise ConfigError(f"--{name} {given[0]},{given[1]} is for pairs in a {ending} file, and none was given; "
                              f"leave it out")  # fmt: skip


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


def _columns(path: Path, columns: tuple[int, int]) -> Iterator[Pair]:
    for number, line in enumerate(read_lines(path), start=1):
        cells = line.split("\t")
        if len(cells) < max(columns):
            found = f"{path} line {number} has {counted(len(cells), 'columns')}, and column {max(columns)} is wanted"
            raise CorpusError(f"{found}; columns are separated by tabs and chosen with --columns source,target")
        yield Pair(cells[columns[0] - 1], cells[columns[1] - 1], number)


def _keys(path: Path, keys: tuple[str, str] | None) -> Iterator[Pair]:
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError) as problem:
            rule = "a .jsonl file has one object per line"
            raise CorpusError(f"{path} line {number} is not JSON ({problem}); {rule}") from None
        if not isinstance(entry, dict):
            raise CorpusError(f'{path} line {number} is not a JSON object as {{"de": …, "en": …}}; each line must be')
        if keys is None:
            keys = _both(entry, path, number)
        texts = [entry.get(key) for key in keys]
        for key, text in zip(keys, texts, strict=True):
            if not isinstance(text, str):
                raise CorpusError(f"{path} line {number} has no text under the key {key!r}; it has {', '.join(entry)}")
            _refuse_what_is_not_text(path, number, text)
        yield Pair(str(texts[0]), str(texts[1]), number)


def _first_keys(path: Path) -> tuple[str, str]:
    """The keys of the first pair, which were found to be two when the file was read."""
    return _both(json.loads(next(line for line in read_lines(path) if line.strip())), path, 1)


def _both(entry: dict[str, str], path: Path, number: int) -> tuple[str, str]:
    if len(entry) != 2:
        raise CorpusError(f"{path} line {number} has the keys {', '.join(entry)}; "
                          f"say which two are source and target with --keys source,target")  # fmt: skip
    first, second = entry
    return first, second


def open_text(path: Path) -> IO[bytes]:
    """A file of text, unpacked if it is packed; a pipe or device is refused, for a corpus is read more than once."""
    if path.is_dir():
        raise CorpusError(f"{path} is a folder; name the text files in it")
    if not path.exists():
        raise CorpusError(f"{path} does not exist; check the name and the folder you are in")
    try:
        file = open_regular(path)
    except OSError as problem:
        is_special = not path.is_file()
        remedy = (
            "; a corpus is read more than once: write it to a file first (packed ones are read as they are)"
            * is_special
        )
        raise CorpusError(f"{path} cannot be read: {problem.strerror}{remedy}") from None
    head = file.peek(1024)[:1024]
    if (unpacked := unpack(file, path)) is not None:
        return unpacked
    controls = sum(byte < 9 or 13 < byte < 32 for byte in head)
    if head.startswith(UTF16_MARKS):
        file.close()
        raise CorpusError(f"{path} is UTF-16; text must be UTF-8 (iconv -f UTF-16 -t UTF-8 {path.name} converts it)")
    if b"\0" in head and controls > max(8, len(head) // 20):
        file.close()
        raise CorpusError(f"{path} looks like a binary file, not like lines of text; text must be UTF-8")
    return file


def limited_lines(file: IO[bytes], path: Path, longest: int) -> Iterator[bytes]:
    """Lines with their ends; one without end would fill the memory, and is refused."""
    number = 0
    while raw := file.readline(longest + 2):
        number += 1
        if len(raw) > longest + 1:
            raise CorpusError(f"{path} line {number} has more than {longest // 2**20} MB; a line of text is shorter. "
                              f"Is it text, with line ends that are \\n?")  # fmt: skip
        yield raw


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


def _refuse_what_is_not_text(path: Path, number: int, text: str) -> None:
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise CorpusError(f"{path} line {number} has an escape that is not text (NUL or half a character); fix it")


def _language(name: str) -> str | None:
    """A name that looks like a language code (de, pt-br, zh_Hans), or nothing."""
    parts = name.replace("_", "-").split("-")
    return name if 2 <= len(parts[0]) <= 3 and name != "txt" and all(part.isalnum() for part in parts) else None
