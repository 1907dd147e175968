"""Files that stay as they were when they were opened, whatever becomes of their folder."""

from __future__ import annotations

import os
from pathlib import Path
from weakref import finalize

from regard.errors import FolderError
from regard.files import open_regular

MOST_AT_ONCE = 2**30  # bytes that are read at a time; systems refuse more than 2**31


class KeptFiles:
    """The files of a folder as they were when it was opened, also if others take their places or they are removed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._handles: dict[str, int] = {}
        finalize(self, _close_all, self._handles)
        for path in sorted(folder.iterdir()):
            if path.is_file():
                with open_regular(path) as file:
                    self._handles[path.name] = os.dup(file.fileno())
        self._stamps = self._stamp()

    def read(self) -> dict[str, bytes]:
        """What is in them, by name; or an error if they were written to."""
        found = {name: _read_all(handle) for name, handle in self._handles.items()}
        if self._stamp() != self._stamps:
            raise FolderError(f"{self._folder} was changed since it was opened; open the model again")
        return found

    def _stamp(self) -> list[tuple[int, int]]:
        return [(found.st_size, found.st_mtime_ns) for found in map(os.fstat, self._handles.values())]


def _read_all(handle: int) -> bytes:
    parts: list[bytes] = []
    while part := os.pread(handle, MOST_AT_ONCE, sum(map(len, parts))):
        parts.append(part)
    return b"".join(parts)


def _close_all(handles: dict[str, int]) -> None:
    for handle in handles.values():
        os.close(handle)
