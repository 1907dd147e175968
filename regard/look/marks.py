"""Files that are written here carry a mark, so that no other file is ever replaced. Imports no torch."""

import os
import stat
from pathlib import Path

from regard.errors import ConfigError
from regard.files import open_regular
from regard.look.draw import MARK as SVG_MARK

PNG_MARK = b"tEXtSoftware\0regard"
MARKS = {  # near the beginning of each file, by which it is known for ours
    ".html": b'<meta name="generator" content="regard">',
    ".json": b'{"regard": ',
    ".svg": SVG_MARK.encode(),
    ".png": PNG_MARK,
}
NEAR = 1000  # bytes


def refuse_file_of_others(path: Path) -> None:
    """A file is only replaced if it was written here."""
    if not os.path.lexists(path):
        return
    if stat.S_ISREG(path.lstat().st_mode):
        with open_regular(path) as file:
            beginning = file.read(NEAR)
        if not beginning or MARKS[path.suffix] in beginning:
            return
    raise ConfigError(f"{path} is there already and was not made by regard; move it away, or choose another name")
