"""Lines of a UTF-8 file, packed or not; they end at `\\n` and nowhere else. What is no text is refused by its place."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from regard.errors import CorpusError
from regard.text.readers.documents import find_document
from regard.text.readers.packed import open_unpacked

UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
UTF8_MARK = b"\xef\xbb\xbf"
HEAD = 4096  # bytes of a beginning
BLOCK = 2**18  # bytes that are read at a time
LONGEST_LINE = 2**20  # bytes of a line of a pair or a story
LONGEST_RUNNING = 2**27  # bytes of a line of running text, which may be one line as a whole


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
