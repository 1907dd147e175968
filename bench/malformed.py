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


def malform(files: dict[str, Path], place: Path, rng: random.Random) -> tuple[dict[str, Path], str]:
    """Copies of some files, one of them damaged in one way or two; and what was done."""
    chosen = rng.choice(list(files))
    copies, done = {}, []
    for role, path in files.items():
        copies[role] = place / path.name
        if copies[role].is_dir():
            copies[role].rmdir()
        content = path.read_bytes()
        if role == chosen:
            for _ in range(rng.choice([1, 1, 2])):
                how = rng.choice(list(WAYS))
                content = WAYS[how](content, rng)
                done.append(how)
        copies[role].write_bytes(content)
    if rng.random() < 0.02:
        copies[chosen].unlink()
        done = ["no file"]
        if rng.random() < 0.5:
            copies[chosen].mkdir()
            done = ["a folder"]
    return copies, f"{chosen}: {', then '.join(done)}"


def _cut(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.randrange(len(content) + 1)]


def _flip(content: bytes, rng: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.choice([1, 10, 1000])):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _put_in(content: bytes, rng: random.Random) -> bytes:
    """Letters and bytes that split lines elsewhere, or are none."""
    piece = rng.choice([letter.encode() for letter in ODD] + BROKEN)
    for _ in range(rng.choice([1, 30])):
        place = rng.randrange(len(content) + 1)
        content = content[:place] + piece + content[place:]
    return content


def _lose_lines(content: bytes, rng: random.Random) -> bytes:
    lines = content.split(b"\n")
    for _ in range(rng.choice([1, 5])):
        del lines[rng.randrange(len(lines)) : rng.choice([None, len(lines)])]
        lines = lines or [b""]
    return b"\n".join(lines)


def _empty_lines(content: bytes, rng: random.Random) -> bytes:
    blank = rng.choice([b"", b" ", b"\t", "\u00a0".encode(), b"\r"])
    return b"\n".join(blank if rng.random() < 0.5 else line for line in content.split(b"\n"))


def _swap_halves(content: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(content) + 1)
    return content[place:] + content[:place]


WAYS = {
    "cut": _cut,
    "flipped bits": _flip,
    "odd letters": _put_in,
    "lost lines": _lose_lines,
    "empty lines": _empty_lines,
    "swapped halves": _swap_halves,
    "nothing": lambda content, rng: b"",
    "only line ends": lambda content, rng: b"\n" * rng.choice([1, 300]),
    "no line ends": lambda content, rng: content.replace(b"\n", b" "),
    "line ends of others": lambda content, rng: content.replace(b"\n", rng.choice([b"\r\n", b"\r", b"\n\n"])),
    "no spaces": lambda content, rng: content.replace(b" ", b""),
    "all the same line": lambda content, rng: (content.split(b"\n")[0] + b"\n") * 300,
    "a long line": lambda content, rng: content + b"word " * 200_000 + b"\n",
    "a long word": lambda content, rng: content + b"a" * 300_000 + b"\n",
    "noise": lambda content, rng: rng.randbytes(rng.choice([1, 100, 50_000])),
    "UTF-16": lambda content, rng: content.decode(errors="replace").encode("utf-16"),
    "Latin-1": lambda content, rng: content.decode(errors="replace").encode("latin-1", errors="replace"),
    "gzip": lambda content, rng: gzip.compress(content),
    "cut gzip": lambda content, rng: gzip.compress(content)[: rng.randrange(2, 200)],
    "gzip of much": lambda content, rng: gzip.compress(b"a b c\n" * 30_000),
    "upper numbers": lambda content, rng: content.upper().replace(b"E", b"3"),
}
