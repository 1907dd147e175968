"""Sequence-level knowledge distillation (Kim and Rush 2016): a student learns from a teacher's translations.

The teacher translates the source text with a beam, part by part, into the folder of the student's run; what follows is
an ordinary training on the source and these translations.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import rmtree
from typing import Any

from regard.config import Settings, merge
from regard.decoding.settings import BEAM, refuse_below_one
from regard.errors import ConfigError, CorpusError, RunError
from regard.families.bulk import PARTS, RECORD, BulkFile, Work, answer_parts, keep_record, owned, run_here
from regard.families.translate.lines import translate_plainly
from regard.families.translate.reading import PairsAndText
from regard.families.translate.recipe import CHUNK, TRANSLATE
from regard.files import hash_file
from regard.folder import LANGUAGES, RUN, ModelFolder
from regard.text.lines import read_lines
from regard.text.readers import find_kind
from regard.text.readers.packed import without_packing
from regard.training.arguments import Teacher, check_request
from regard.training.encode import Generating
from regard.training.launch import Load, launch
from regard.training.lineage import describe_base
from regard.training.recipe import Check
from regard.training.record import read_record
from regard.training.stop import Stopper

FOLDER = "teacher"  # in the folder of a run: the translations
# Translating takes most of its time in the decoder, a token at a time: one layer of it, and a deeper encoder instead
# (Kasai et al. 2021, "Deep Encoder, Shallow Decoder").
STUDENT: Settings = {"size": "tiny", "model": {"layers": 6, "decoder_layers": 1}}


def distilling(
    teacher: ModelFolder, sources: Sequence[Path], to: Path, settings: Settings, fresh: bool, stopper: Stopper | None,
    load: Load, *, beam: int = BEAM, engine: str | None = None, precision: str | None = None, **more: Any,
) -> Iterator[Any]:  # fmt: skip
    """All events of a student's training. load: opens a model, as `regard.load` does; more: for `gather`."""
    refuse_below_one(beam=beam)
    teacher.weights()  # damage is reported at once
    languages = {name: code for name in LANGUAGES if (code := teacher.info.settings.get(name))}
    if to.resolve() == teacher.folder.resolve():
        raise ConfigError(f"{to} is the teacher's own folder; choose another one for the student with --to")
    files = _place_files(sources, to / RUN / FOLDER)
    pairs = [(file.path, file.to) for file in files]
    also = more.get("also", ())
    also = [also] if isinstance(also, str | Path) else also
    request = check_request(
        TRANSLATE,
        merge(merge(STUDENT, languages), settings),
        {"source": pairs[0][0], "target": pairs[0][1], **more, "also": [*pairs[1:], *also]},
    )
    hashes = [hash_file(path) for path in teacher.weights()]
    about = describe_base(teacher, str(teacher.folder), hashes) | {
        "beam": beam, "has_references": request.valid_files is not None
    }  # fmt: skip
    options = {"beam": beam, "max_length": None, "fast": False, "prefix": "", "terms": None, "scores": False}
    lesson = Lesson(files, options, lambda: load(teacher.folder, engine=engine, precision=precision), fresh)
    if isinstance(request.train_files, PairsAndText):
        raise ConfigError("a student learns from translations of source text; monolingual, reverse and rounds are for "
                          "regard.train")  # fmt: skip
    request = replace(request, teacher=Teacher(about, lesson.translate))
    yield from launch(request, to, None, fresh, stopper or Stopper(), load)


def _place_files(sources: Sequence[Path], to: Path) -> list[BulkFile]:
    """The source texts, and where the translations of each are written."""
    if not sources:
        raise CorpusError("no source text was given; name at least one file")
    files = []
    for number, path in enumerate(sources, start=1):
        if path.is_dir() or find_kind(path):
            raise CorpusError(f"{path} is a {'folder' if path.is_dir() else 'file of rows'}; a student learns from "
                              f"files of lines, packed or not: name such files")  # fmt: skip
        if not path.is_file():
            raise CorpusError(f"{path} cannot be read: there is no such file")
        plain = without_packing(path)
        name = f"{number}-{plain.stem}.txt{path.name.removeprefix(plain.name)}"
        files.append(BulkFile(path, to / name, to / PARTS / name, "", None))
    return files


@dataclass(frozen=True)
class Lesson:
    """What a teacher is to translate, and how."""

    files: list[BulkFile]
    options: dict[str, Any]
    open: Callable[[], Any]  # the teacher
    fresh: bool  # whether other translations that are there are replaced
    role: str = "The teacher"

    def translate(self, run: Path, check: Check) -> Iterator[Generating]:
        """Translates what is not there yet into the folder of a run that learns from it."""
        before = None if self.fresh else read_record(run)
        if before is not None and "teacher" not in before and not (run / FOLDER).exists():
            raise RunError(f"{run.parent} was trained without a teacher; add --fresh to start over, or choose another "
                           f"folder with --to")  # fmt: skip
        yield from self.translate_into(run / FOLDER, check)

    def translate_into(self, to: Path, check: Check) -> Iterator[Generating]:
        """Translates what is not there yet, and says how far it is."""
        sizes = [_count_lines(file.path, check) for file in self.files]
        work = Work(self.open(), translate_plainly, self.options)
        total = sum(sizes)
        with owned(to, self.files):
            self._keep_record(to, work)
            done = sum(file.count_done(size) for file, size in zip(self.files, sizes, strict=True))
            named = f"{self.role} {work.opened._folder.folder} (beam {self.options['beam']})"
            yield Generating(named, done, total)
            began, earlier = time.monotonic(), done
            for lines, _ in answer_parts(work, run_here, self.files, to):
                done += lines
                speed = (done - earlier) / max(1e-9, time.monotonic() - began)
                yield Generating(named, done, total, speed, (total - done) / speed)
                check()

    def _keep_record(self, to: Path, work: Work) -> None:
        """Translations of another teacher, beam or text are refused; to start over, they are removed."""
        reading = {"sources": [file.path.name for file in self.files]}
        try:
            keep_record(to, work, self.files, reading, "add --fresh to start over, or choose another folder with --to")
        except RunError:
            if not self.fresh:
                raise
            rmtree(to / PARTS, ignore_errors=True)
            for path in (*(file.to for file in self.files), to / RECORD):
                path.unlink(missing_ok=True)
            keep_record(to, work, self.files, reading)


def _count_lines(path: Path, check: Check) -> int:
    """How many lines a file has; reading all of it, so that what training would refuse is refused before any work."""
    count = filled = 0
    for count, line in enumerate(read_lines(path), start=1):
        filled += bool(line.strip())
        if count % CHUNK == 0:
            check()
    if not filled:
        raise CorpusError(f"{path}: no line has text on it; there is nothing to learn from")
    return count
