"""distill(teacher, source=text, to=folder) and distilling(...), which gives every event.

A small model, the student, learns from the output of a large one, which is kept in `<folder>/run/teacher`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, cast

from regard.errors import ConfigError
from regard.families import all_families, find_family
from regard.load import load
from regard.train import run_to_end

if TYPE_CHECKING:
    from regard.config import Settings
    from regard.training.encode import Generating, Preparing
    from regard.training.plan import Plan
    from regard.training.session import Event, Finished
    from regard.training.stop import Stopper


def distill(
    teacher: str | Path,
    *,
    source: str | Path | Sequence[str | Path],
    to: str | Path,
    settings: Settings | None = None,
    fresh: bool = False,
    **options: Any,
) -> Finished:
    """Trains a student into the folder `to` on what a teacher generates for a source text, or for several.

    The same call resumes, while the teacher generates and while the student learns. fresh: the student starts over;
    what the teacher generated is kept if it would generate the same.

    options: of a translator `beam`, `engine`, `precision` (of the teacher), `valid_source`, `valid_target` (real
    references, else part of the source is held out and scored against the teacher) and `also` (real pairs to mix in).
    """
    return cast("Finished", run_to_end(lambda stopper: distilling(
        teacher, source=source, to=to, settings=settings, fresh=fresh, stopper=stopper, **options
    )))  # fmt: skip


def distilling(
    teacher: str | Path,
    *,
    source: str | Path | Sequence[str | Path],
    to: str | Path,
    settings: Settings | None = None,
    fresh: bool = False,
    stopper: Stopper | None = None,
    **options: Any,
) -> Iterator[Generating | Preparing | Plan | Event]:
    """The same as `distill`, event by event: Generating, then those of `training`."""
    from regard.folder import ModelFolder

    folder = ModelFolder(Path(teacher))
    family = find_family(folder.info.task)
    if family is None or family.distill is None:
        known = [one.name for one in all_families().values() if one.distill]
        raise ConfigError(f"{teacher} is a model to {folder.info.task}, which cannot teach a student; a model to "
                          f"{' or '.join(known)} can")  # fmt: skip
    sources = [Path(one) for one in ([source] if isinstance(source, str | Path) else source)]
    begin = resolve_name(family.distill)
    yield from begin(folder, sources, Path(to), settings or {}, fresh, stopper, load, **options)
