"""The pages of a Parquet column: their sizes, read from their headers, before pyarrow unpacks them.

A header is Thrift in its compact protocol; of it only the two sizes are kept, and the rest is skipped.
"""

import io
from pathlib import Path
from typing import Any

from regard.errors import CorpusError
from regard.text.readers.packed import PACKED_FROM, PACKED_MOST

LARGEST_PAGE = 2**28  # bytes, unpacked; writers make pages of about one megabyte
LARGEST_HEADER = 2**20
LARGEST_SHARED = 2**22  # of texts that share beginnings: each may stand for as many bytes as the page has
TYPE, UNPACKED, PACKED, ENCODING, ENCODING_2 = 1, 2, 3, 502, 804  # fields of a page's header; 502 is field 2 within 5
DICTIONARY, SHARED_BEGINNINGS = 2, 7  # a type of page, and an encoding (DELTA_BYTE_ARRAY)


def check_pages(path: Path, file: io.BufferedReader, chunk: Any) -> tuple[bool, bool]:
    """Refuses pages that grow as no text does; whether some hold a dictionary, and whether texts share beginnings."""
    has_dictionary = has_shared = False
    place = chunk.dictionary_page_offset if chunk.has_dictionary_page else chunk.data_page_offset
    end = place + chunk.total_compressed_size
    while place < end:
        file.seek(place)
        sizes = _Header(path, file).read()
        unpacked, packed = sizes.get(UNPACKED, -1), sizes.get(PACKED, -1)
        is_shared = SHARED_BEGINNINGS in (sizes.get(ENCODING), sizes.get(ENCODING_2))
        has_dictionary, has_shared = has_dictionary or sizes.get(TYPE) == DICTIONARY, has_shared or is_shared
        largest = LARGEST_SHARED if is_shared else min(LARGEST_PAGE, max(PACKED_FROM, PACKED_MOST * packed))
        if not 0 <= unpacked <= largest or packed < 0:
            raise CorpusError(f"{path} has a page at byte {place} that unpacks from {packed} to {unpacked} bytes, as "
                              f"no text does; write it anew if it is to be read")  # fmt: skip
        place = file.tell() + packed
    return has_dictionary, has_shared


class _Header:
    """A struct of Thrift that is skipped, but for its first numbers."""

    def __init__(self, path: Path, file: io.BufferedReader) -> None:
        self._path, self._file, self._read = path, file, 0

    def read(self) -> dict[int, int]:
        return self._struct(0)

    def _struct(self, depth: int) -> dict[int, int]:
        found: dict[int, int] = {}
        field = 0
        while (byte := self._bytes(1)[0]) != 0:  # 0 ends a struct
            field = field + (byte >> 4) if byte >> 4 else self._signed()
            if byte & 15 in (4, 5, 6):
                found[field] = self._signed()
            elif byte & 15 == 12 and depth < 8:
                found |= {100 * field + inner: number for inner, number in self._struct(depth + 1).items()}
            else:
                self._skip(byte & 15, depth + 1)
        return found

    def _skip(self, kind: int, depth: int) -> None:
        if kind in (1, 2):  # true, false
            return
        if kind == 3:
            self._bytes(1)
        elif kind in (4, 5, 6):
            self._varint()
        elif kind == 7:
            self._bytes(8)
        elif kind == 8:
            self._bytes(self._varint())
        elif kind in (9, 10) and depth < 8:
            byte = self._bytes(1)[0]
            size = byte >> 4 if byte >> 4 < 15 else self._varint()
            for _ in range(size):
                self._skip(3 if byte & 15 in (1, 2) else byte & 15, depth + 1)
        elif kind == 12 and depth < 8:
            self._struct(depth)
        else:
            raise self._damaged()

    def _signed(self) -> int:
        number = self._varint()
        return number >> 1 ^ -(number & 1)

    def _varint(self) -> int:
        number = shift = 0
        while (byte := self._bytes(1)[0]) & 128:
            number |= (byte & 127) << shift
            shift += 7
        return number | byte << shift

    def _bytes(self, count: int) -> bytes:
        self._read += count
        found = self._file.read(count) if self._read <= LARGEST_HEADER else b""
        if len(found) < count:
            raise self._damaged()
        return found

    def _damaged(self) -> CorpusError:
        return CorpusError(f"{self._path} is damaged: a page has a header that cannot be read; fetch or write it again")
