"""Text that is damaged, by chance: as files come from other programs, other systems, and broken transfers."""

import gzip
import random
from pathlib import Path

ODD = [
    "\u2028",
    "\x85",
    "\x0b",
    "\x0c",
    "\x1c",
    "\ufeff",
    "\u200f",
    "\u0000",
    "\r",
    "\t",
    "\ufffd",
    "e\u0301" * 50,
    "🏳️‍🌈",
    "</s>",
]
BROKEN = [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf5\x80\x80\x80", b"\x00", b"\x1f\x8b", b"\x80\x81"]


def malform(files: dict[str, Path], place: Path, chance: random.Random) -> tuple[dict[str, Path], str]:
    """Copies of some files, one of them damaged in one way or two; and what was done."""
    chosen = chance.choice(list(files))
    copies, done = {}, []
    for role, path in files.items():
        copies[role] = place / path.name
        if copies[role].is_dir():
            copies[role].rmdir()
        content = path.read_bytes()
        if role == chosen:
            for _ in range(chance.choice([1, 1, 2])):
                how = chance.choice(list(WAYS))
                content = WAYS[how](content, chance)
                done.append(how)
        copies[role].write_bytes(content)
    if chance.random() < 0.02:
        copies[chosen].unlink()
        done = ["no file"]
        if chance.random() < 0.5:
            copies[chosen].mkdir()
            done = ["a folder"]
    return copies, f"{chosen}: {', then '.join(done)}"


def _cut(content: bytes, chance: random.Random) -> bytes:
    return content[: chance.randrange(len(content) + 1)]


def _flip(content: bytes, chance: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(chance.choice([1, 10, 1000])):
        if changed:
            changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _put_in(content: bytes, chance: random.Random) -> bytes:
    """Letters and bytes that split lines elsewhere, or are none."""
    piece = chance.choice([letter.encode() for letter in ODD] + BROKEN)
    for _ in range(chance.choice([1, 30])):
        place = chance.randrange(len(content) + 1)
        content = content[:place] + piece + content[place:]
    return content


def _lose_lines(content: bytes, chance: random.Random) -> bytes:
    lines = content.split(b"\n")
    for _ in range(chance.choice([1, 5])):
        del lines[chance.randrange(len(lines)) : chance.choice([None, len(lines)])]
        lines = lines or [b""]
    return b"\n".join(lines)


def _empty_lines(content: bytes, chance: random.Random) -> bytes:
    blank = chance.choice([b"", b" ", b"\t", "\u00a0".encode(), b"\r"])
    return b"\n".join(blank if chance.random() < 0.5 else line for line in content.split(b"\n"))


def _swap_halves(content: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(content) + 1)
    return content[place:] + content[:place]


WAYS = {
    "cut": _cut,
    "flipped bits": _flip,
    "odd letters": _put_in,
    "lost lines": _lose_lines,
    "empty lines": _empty_lines,
    "swapped halves": _swap_halves,
    "nothing": lambda content, chance: b"",
    "only line ends": lambda content, chance: b"\n" * chance.choice([1, 300]),
    "no line ends": lambda content, chance: content.replace(b"\n", b" "),
    "line ends of others": lambda content, chance: content.replace(b"\n", chance.choice([b"\r\n", b"\r", b"\n\n"])),
    "no spaces": lambda content, chance: content.replace(b" ", b""),
    "all the same line": lambda content, chance: (content.split(b"\n")[0] + b"\n") * 300,
    "a long line": lambda content, chance: content + b"word " * 200_000 + b"\n",
    "a long word": lambda content, chance: content + b"a" * 300_000 + b"\n",
    "noise": lambda content, chance: chance.randbytes(chance.choice([1, 100, 50_000])),
    "UTF-16": lambda content, chance: content.decode(errors="replace").encode("utf-16"),
    "Latin-1": lambda content, chance: content.decode(errors="replace").encode("latin-1", errors="replace"),
    "gzip": lambda content, chance: gzip.compress(content),
    "cut gzip": lambda content, chance: gzip.compress(content)[: chance.randrange(2, 200)],
    "gzip of much": lambda content, chance: gzip.compress(b"a b c\n" * 30_000),
    "upper numbers": lambda content, chance: content.upper().replace(b"E", b"3"),
}
