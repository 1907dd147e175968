"""A model's input texts: read from standard input, checked, and what of them is unknown. Imports no torch.

Lines end at `\\n` and nowhere else, as those of files.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from regard.errors import ConfigError, CorpusError
from regard.text.lines import LONGEST_LINE, UTF8_MARK, limited_lines
from regard.text.readers.rows import Choice
from regard.text.running import TextFiles

SHOWN = 10  # unknown parts that are named
STDIN = Path("standard input")


def read_stdin(what: str) -> str:
    """All of standard input, which is one text; what is too long or no text is refused."""
    raw = sys.stdin.buffer.read(LONGEST_LINE + 1)
    if len(raw) > LONGEST_LINE:
        raise CorpusError(f"{STDIN} has more than {LONGEST_LINE // 2**20} MB; {what} is shorter")
    if b"\0" in raw:
        raise CorpusError(f"{STDIN} has a NUL byte; it is not text (tr -d '\\000' removes it)")
    try:
        return raw.removeprefix(UTF8_MARK).decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as problem:
        raise CorpusError(f"{STDIN} is not UTF-8 (byte {problem.start + 1} is {raw[problem.start]:#04x}); convert it "
                          f"first, as with iconv -f latin1 -t UTF-8") from None  # fmt: skip


def stdin_lines(note: Callable[[str], None]) -> Iterator[str]:
    """Each line of standard input as soon as it is there, without its end."""
    for number, raw in enumerate(limited_lines(sys.stdin.buffer, STDIN, LONGEST_LINE), start=1):
        yield decode_line(raw.removesuffix(b"\n").removesuffix(b"\r"), number, note)


def decode_line(raw: bytes, number: int, note: Callable[[str], None]) -> str:
    """A line that is used whatever is in it; what is not UTF-8 is replaced, with a note."""
    raw = raw.removeprefix(UTF8_MARK) if number == 1 else raw
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as problem:
        note(f"line {number}: byte {problem.start + 1} is not UTF-8; it was read as \ufffd")
        return raw.decode("utf-8", errors="replace")


def a_text(value: object, what: str = "a text") -> str:
    """The value, if it is a text."""
    if isinstance(value, str):
        return value
    remedy = "; decode it first, as in value.decode()" if isinstance(value, bytes | bytearray) else ""
    raise ConfigError(f"{value!r:.60} is not {what}: a str is wanted, not {type(value).__name__}{remedy}")


def several_texts(values: object, what: str = "texts") -> list[str]:
    """The values as a list, if each is a text: not a single text, which would be taken for its letters."""
    if isinstance(values, str | bytes | bytearray) or not isinstance(values, Iterable):
        first = "decode it, as in value.decode(), and " * isinstance(values, bytes | bytearray)
        raise ConfigError(f"{values!r:.60} is not a list of {what}; {first}put it into one: [...]")
    return [a_text(value, f"one of several {what}") for value in values]


def given_texts(files: Iterable[str | Path], wanted: Choice | str | None = None) -> TextFiles:
    """Files of text, and every one in folders and below them; what is left out there is named in a warning."""
    found = TextFiles.of(list(files), wanted)
    for path, reason in found.skipped:
        warnings.warn(f"{path} is left out: {reason}", RuntimeWarning, stacklevel=3)
    return found


def each_line(files: TextFiles) -> Iterator[str]:
    """Every line with text on it."""
    return (line for line in files.lines() if line.strip())


def read_texts(files: TextFiles) -> list[str]:
    """Every line with text on it, in a list; an error if there is none."""
    lines = list(each_line(files))
    if not lines:
        raise CorpusError(f"{', '.join(map(str, files.paths[:3]))}: no line has text on it; nothing to learn from")
    return lines


def unknown_parts(tokenizer: Any, texts: Iterable[str]) -> list[str]:
    """The parts of these texts that have no token, each once, in order."""
    return list(dict.fromkeys(part for text in texts for part in tokenizer.unknown(text)))


def name_unknown(parts: list[str]) -> str:
    """A note on them."""
    more = f" and {len(parts) - SHOWN} more" if len(parts) > SHOWN else ""
    shown = ["".join(one if one.isprintable() else ascii(one)[1:-1] for one in part) for part in parts[:SHOWN]]
    return f"never seen in training, and read as unknown: {', '.join(shown)}{more}"
