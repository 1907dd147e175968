"""The models of the course: what each is trained on, and for how long.

All four take six minutes of one core (366 s of processor time measured: 43, 55, 94 and 173); limits in minutes keep
them under ten where a machine is slow or busy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from regard.config import Settings
from regard.errors import ConfigError
from regard.files import make_own, write_whole
from regard.text.samples import everyday, induction, phrasebook
from regard.text.stories import write_stories

PLACE = Path("models/course")  # where `regard learn` finds them
TEXT = "text"
PAIRS, TIMES = 30_000, 40  # sentences of the phrasebook, and how often an everyday one is repeated among them
SMALL: Settings = {"layers": 2, "width": 64, "heads": 4, "ffn_width": 128, "dropout": 0.0}


@dataclass(frozen=True, slots=True)
class CourseModel:
    """One model: its family, what makes its texts by the names of the family's arguments, and its settings."""

    family: str
    texts: Callable[[], dict[str, list[str]]]
    settings: Settings


def course_models() -> list[CourseModel]:
    """All of them; the shortest training first."""
    short = {"valid_every": 400, "warmup_steps": 150}
    shape, stop = SMALL | {"max_positions": 64}, {"steps": 1500, "minutes": 1.5}
    return [
        CourseModel("answer", lambda: {"stories": write_stories(induction(1000)).splitlines()},
                    {"model": {"kind": "memory"}}),
        CourseModel(
            "fill", lambda: {"text": _phrases()[0]},
            {"size": "tiny", "model": shape, "train": short, "stop": stop},
        ),
        CourseModel(
            "write", lambda: {"text": _phrases()[0]},
            {"size": "tiny", "model": shape, "train": short, "stop": stop,
             "text": {"tokenizer": "bpe", "vocab_size": 1000}},
        ),
        CourseModel(
            "translate", lambda: dict(zip(("source", "target"), _phrases(), strict=True)),
            {"size": "tiny", "model": SMALL | {"width": 96, "ffn_width": 256, "norm": "post"},
             "train": short | {"tokens_per_batch": 1280}, "stop": {"steps": 2400, "minutes": 3.0},
             "source_language": "en", "target_language": "fr"},
        ),
    ]  # fmt: skip


def _phrases() -> tuple[list[str], list[str]]:
    """English and French, mixed: the end of a text is held out, and shall be like the rest."""
    phrases = phrasebook("en", "fr", PAIRS) + TIMES * everyday("en", "fr")
    Random(1).shuffle(phrases)
    return [one.source for one in phrases], [one.target for one in phrases]


def missing_models(place: Path) -> Iterator[tuple[str, Path, dict[str, Path], dict[str, Any]]]:
    """Writes the texts of those models that are not there yet; of each: family, folder, files and settings."""
    for one in course_models():
        if (place / one.family / "regard.json").is_file():
            continue
        yield one.family, place / one.family, _write_texts(place, one), one.settings


def find_models(place: Path) -> list[Path]:
    """The models of the course that are there."""
    return sorted(path.parent for path in place.glob("*/regard.json"))


def _write_texts(place: Path, model: CourseModel) -> dict[str, Path]:
    place.mkdir(parents=True, exist_ok=True)
    try:
        make_own(place / TEXT)
    except OSError as problem:
        raise ConfigError(f"{place / TEXT}: {problem.strerror}") from None
    paths = {}
    for name, lines in model.texts().items():
        paths[name] = place / TEXT / f"{model.family}.{name}.txt"
        write_whole(paths[name], "".join(line + "\n" for line in lines))
    return paths
