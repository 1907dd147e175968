"""Opens packed files (gzip, bzip2, xz, Zstandard) by their first bytes, whatever their name.

One bound for all: a file that grows as no text does, or asks for a huge window, is refused before it fills the memory.
"""

import bz2
import gzip
import io
import lzma
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from regard.errors import CorpusError
from regard.files import open_regular
from regard.text.readers.extra import import_extra

SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
PACKED_FROM, PACKED_MOST = 2**24, 200  # bytes from which on, and how many times, a packed file may not grow
WINDOW = 2**27  # bytes of earlier text that a packed file may refer to: zstd's own limit, and twice that of xz -9
BLOCK = 2**16  # bytes that are unpacked at a time
MANY_STREAMS, LEAST_BYTES = 1000, 64  # more streams than this have so many bytes each, or no packer wrote them
ZSTD_BLOCK = 2**11  # of a reader that cannot bound what it makes of them: at most 64 MB


def without_packing(path: Path) -> Path:
    """The name of what is in a file that may be packed."""
    return path.with_suffix("") if path.suffix.lower() in SUFFIXES else path


def open_unpacked(path: Path) -> io.BufferedReader:
    """A regular file, or what is in it if it is packed. A damaged one is an EOFError when it is read.

    A pipe or device is refused, for a corpus is read more than once.
    """
    if path.is_dir():
        raise CorpusError(f"{path} is a folder; name the text files in it")
    if not path.exists():
        raise CorpusError(f"{path} does not exist; check the name and the folder you are in")
    try:
        file = open_regular(path)
    except OSError as problem:
        is_special = not path.is_file()
        remedy = "; a corpus is read more than once: write it to a file first (packed files are read)" * is_special
        raise CorpusError(f"{path} cannot be read: {problem.strerror}{remedy}") from None
    head = file.peek(16)[:16]
    for magic, opener in OPENERS.items():
        if re.match(magic, head):
            return io.BufferedReader(_Unpacked(file, path, opener(file, path)), BLOCK)
    return file


@contextmanager
def packed_writer(path: Path, suffix: str) -> Iterator[IO[bytes]]:
    """Writes a file that is packed as the suffix says, if it says so."""
    pack = PACKERS.get(suffix.lower())
    with path.open("wb") as file, pack(file, path) if pack else nullcontext(file) as inside:
        yield inside


class _Unpacked(io.RawIOBase):
    """What is in a packed file; one that grows beyond all measure (a bomb) is refused early."""

    def __init__(self, file: IO[bytes], path: Path, inside: Any) -> None:
        self._packed, self._path, self._inside = file, path, inside
        self._size, self._rest = 0, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            block = self._rest or self._inside.read(len(buffer))
        except (EOFError, OSError, zlib.error, lzma.LZMAError, ValueError) as problem:
            raise EOFError(str(problem)) from None
        block, self._rest = block[: len(buffer)], block[len(buffer) :]
        buffer[: len(block)] = block
        self._size += len(block)
        if self._size > max(PACKED_FROM, PACKED_MOST * self._packed.tell()):
            raise CorpusError(f"{self._path} unpacks to more than {PACKED_MOST} times its size, as no text does; "
                              f"unpack it yourself if it is to be read")  # fmt: skip
        return len(block)

    def close(self) -> None:
        self._packed.close()
        super().close()


class _Frames:
    """Streams one after another, as parallel packers write them, each with a decompressor of its own."""

    def __init__(
        self, file: io.BufferedReader, make: Callable[[], Any], block: int = BLOCK, error: type[Exception] = EOFError
    ) -> None:
        self._file, self._make, self._block, self._error = file, make, block, error
        self._now = make()
        self._streams, self._made = 1, 0  # how many, and bytes that were in them

    def read(self, size: int) -> bytes:
        block = b""
        while not block:
            data = b""
            if self._now.eof:
                data = self._next_stream()
                if not data:
                    break
                self._now, self._streams = self._make(), self._streams + 1
                if self._streams > MANY_STREAMS and self._made < LEAST_BYTES * self._streams:
                    raise EOFError(f"its first {self._streams} packed parts hold hardly anything")
            elif self._now.needs_input and not (data := self._file.read(self._block)):
                raise EOFError("it ends in the middle")
            try:
                block = self._now.decompress(data, size)
            except self._error as problem:
                raise EOFError(str(problem)) from None
        self._made += len(block)
        return block

    def _next_stream(self) -> bytes:
        """Its first bytes; nothing at the end."""
        data = self._now.unused_data.lstrip(b"\0")  # xz may pad with zeros
        while not data and (data := self._file.read(self._block)):
            data = data.lstrip(b"\0")
        return bytes(data)


class _Zstandard:
    """The decompressor of the package `zstandard` as the standard library's are; what it returns has no bound."""

    needs_input = True

    def __init__(self, package: Any) -> None:
        self._inside = package.ZstdDecompressor(max_window_size=WINDOW).decompressobj()

    @property
    def eof(self) -> bool:
        return bool(self._inside.eof)

    @property
    def unused_data(self) -> bytes:
        return bytes(self._inside.unused_data)

    def decompress(self, data: bytes, size: int) -> bytes:
        return bytes(self._inside.decompress(data))


def _open_zstd(file: io.BufferedReader, path: Path) -> _Frames:
    with suppress(ImportError):
        zstd: Any = import_module("compression.zstd")  # Python 3.14
        options = {zstd.DecompressionParameter.window_log_max: WINDOW.bit_length() - 1}
        return _Frames(file, lambda: zstd.ZstdDecompressor(options=options), error=zstd.ZstdError)
    package = import_extra("zstandard", "zst", f"{path} is packed with Zstandard")
    return _Frames(file, lambda: _Zstandard(package), ZSTD_BLOCK, package.ZstdError)


OPENERS: dict[bytes, Callable[[Any, Path], Any]] = {
    rb"\x1f\x8b": lambda file, path: gzip.GzipFile(fileobj=file),
    rb"BZh[1-9]1AY&SY": lambda file, path: _Frames(file, bz2.BZ2Decompressor),
    rb"\xfd7zXZ\0": lambda file, path: _Frames(file, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, WINDOW)),
    rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18": _open_zstd,
}


def _pack_zstd(file: IO[bytes], path: Path) -> Any:
    with suppress(ImportError):
        return import_module("compression.zstd").ZstdFile(file, "wb")
    package = import_extra("zstandard", "zst", f"{path} is packed with Zstandard")
    return package.ZstdCompressor().stream_writer(file, closefd=False)


PACKERS: dict[str, Callable[[Any, Path], Any]] = {
    ".gz": lambda file, path: gzip.GzipFile("", "wb", 6, file, mtime=0),
    ".bz2": lambda file, path: bz2.BZ2File(file, "wb"),
    ".xz": lambda file, path: lzma.LZMAFile(file, "wb"),  # noqa: SIM115
    ".zst": _pack_zstd,
}
