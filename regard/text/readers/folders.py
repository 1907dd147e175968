"""Folders: the files in them and below, those that a pattern chooses, and those of a Hugging Face data set."""

import os
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from regard.errors import ConfigError, CorpusError
from regard.files import parse_json, read_regular

DICT, STATE = "dataset_dict.json", "state.json"
MOST_JSON = 2**22  # bytes
SHARD = re.compile(r"(.*?)-\d+-of-\d+(?:-[0-9a-f]+)?\.(?:parquet|arrow)")


def files_below(folder: Path, glob: Sequence[str] = ()) -> Iterator[Path]:
    """Every file in a folder and below it, and every link, which is not followed; or those that match a pattern."""

    def refuse(problem: OSError) -> None:
        raise CorpusError(f"{problem.filename} cannot be read: {problem.strerror}")

    for place, folders, names in os.walk(folder, onerror=refuse):
        links = [name for name in folders if (Path(place) / name).is_symlink()]
        every = (Path(place) / name for name in (*names, *links))
        yield from (path for path in every if not glob or any(_matches(path, folder, one) for one in glob))


def _matches(path: Path, folder: Path, pattern: str) -> bool:
    """A pattern without a slash is for the name, wherever the file is; else for the path, and * matches slashes too."""
    if "/" not in pattern:
        return fnmatchcase(path.name, pattern)
    return fnmatchcase(path.relative_to(folder).as_posix(), pattern.removeprefix("./").replace("**/", "*"))


def is_hidden(path: Path, folder: Path) -> bool:
    """Whether a file in a folder, or a folder that it is in there, has a name with a dot before it."""
    return any(part.startswith(".") for part in path.relative_to(folder).parts)


def nothing_matches(folder: Path, glob: Sequence[str]) -> CorpusError:
    """What there is instead."""
    endings = sorted({path.suffix for path in files_below(folder) if path.suffix})[:10]
    return CorpusError(f"{folder} has no file that matches {' or '.join(glob)}; it has files that end in "
                       f"{', '.join(endings) or 'nothing'}")  # fmt: skip


def find_parts(source: Path, glob: Sequence[str]) -> tuple[Path, ...]:
    """The files of rows in a folder: of a data set, or those that match; nothing if it is no folder."""
    if not source.is_dir():
        if glob:
            raise ConfigError(f"--glob {glob[0]} chooses files of a folder, and {source} is none; leave it out")
        return ()
    found = [path for path in sorted(files_below(source, glob)) if not is_hidden(path, source)] if glob else []
    if odd := next((path for path in found if path.is_symlink() or not path.is_file()), None):
        raise CorpusError(f"{odd} is a link, pipe or device, which --glob does not follow; choose files alone, or give "
                          f"it by its own name")  # fmt: skip
    found = found if glob else find_shards(source)
    if not found:
        raise nothing_matches(source, glob) if glob else CorpusError(
            f"{source} is a folder without a data set; name a file of pairs, or choose files in it with --glob '*.tsv'"
        )  # fmt: skip
    return tuple(found)


def is_dataset(folder: Path) -> bool:
    """Whether `datasets` saved a data set there."""
    return (folder / STATE).is_file() or (folder / DICT).is_file()


def find_shards(folder: Path) -> list[Path]:
    """The files of a data set in their order; nothing if a folder is none."""
    if (folder / DICT).is_file():
        splits = _read(folder / DICT, "splits")
        if len(splits) == 1:
            return find_shards(folder / splits[0])
        example = folder / splits[0] if splits else folder
        raise CorpusError(f"{folder} is a data set with the splits {', '.join(splits)}; name one, as in {example}")
    if (folder / STATE).is_file():
        files = [folder / name for name in _read(folder / STATE, "_data_files")]
        missing = [path for path in files if not path.is_file()]
        if missing or not files:
            what = f"{missing[0].name}, which is not there" if missing else "no file"
            raise CorpusError(f"{folder / STATE} lists {what}; save the data set again")
        return files
    files = sorted(path for path in files_below(folder, ["*.parquet"]) if path.is_file() and not path.is_symlink())
    refuse_splits(folder, files)
    return files


def refuse_splits(folder: Path, files: list[Path]) -> None:
    """An error where files of a folder are of several splits, as train and test."""
    splits = sorted({found[1] for path in files if (found := SHARD.fullmatch(path.name))})
    if len(splits) > 1:
        raise CorpusError(f"{folder} has files of the splits {', '.join(splits)}; choose one, as with --glob "
                          f"'{splits[0]}-*'")  # fmt: skip


def _read(path: Path, key: str) -> list[str]:
    """Names in a list of a JSON file; each is the name of something beside it, not a path."""
    try:
        found = parse_json(read_regular(path, MOST_JSON))[key]
        names = [one["filename"] if isinstance(one, dict) else one for one in found]
    except (OSError, ValueError, LookupError, TypeError) as problem:
        raise CorpusError(f"{path} cannot be read ({problem}); save the data set again") from None
    for name in names:
        if not isinstance(name, str) or Path(name).name != name:
            raise CorpusError(f"{path} names {name!r:.80}, which is not a file beside it; save the data set again")
    return names
