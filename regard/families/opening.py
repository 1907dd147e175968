"""The model in a folder, opened as its family's pipeline. Imports nothing of training."""

from pathlib import Path
from pkgutil import resolve_name

from regard.engines.options import EngineOptions
from regard.errors import ConfigError, FolderError, RegardError
from regard.families import all_families, find_family
from regard.families.pipeline import Pipeline
from regard.folder import ABOUT, TRIES, ModelFolder


def open_model(
    folder: Path, family: type[Pipeline] | None, engine: str | None, precision: str | None, part: str | None
) -> Pipeline:
    """As `regard.load`, which has the words for it."""
    options = EngineOptions(engine, precision)
    for left in reversed(range(TRIES)):
        opened = ModelFolder(folder, part)
        try:
            model = _open(opened, options)
            opened.refuse_changed()
            if family is not None and not isinstance(model, family):
                raise ConfigError(f"{folder} is a model to {opened.info.task}, which is opened as "
                                  f"{type(model).__name__} and not as {family.__name__}")  # fmt: skip
            return model
        except (RegardError, OSError) as problem:
            if left and opened.has_changed():
                continue  # a training has put a new model there meanwhile
            if isinstance(problem, FolderError) and str(folder) not in str(problem):
                raise FolderError(f"{folder}: {problem}") from None  # of a file by its bare name, or of a weight
            raise
    raise AssertionError("the last try returns or raises")


def _open(folder: ModelFolder, options: EngineOptions) -> Pipeline:
    name = folder.info.task
    family = find_family(name)
    if family is None:
        raise FolderError(f"{folder.path / ABOUT} has the task {name[:40]!r}, which is none of "
                          f"{', '.join(all_families())}; it was changed or damaged, or made by a newer version or by a "
                          f"package that is not installed")  # fmt: skip
    opened: Pipeline = resolve_name(family.pipeline)(folder, options)
    return opened
