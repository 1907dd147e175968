"""A student against its teacher: BLEU of both, and how many times as fast it translates in bulk, in turns.

Teacher and student (`regard distill`, all by default) are trained into folders under --to, so that an interrupted bench
resumes. Both then translate the test text in turns; the ratio is the median over the turns. Goals: Tatoeba, a teacher
of size small: at least 3 times as fast at 98 % of its BLEU; Multi30k, one decoder layer: within 0.3 BLEU.
"""

import statistics
import sys
import time
from pathlib import Path
from typing import Any

from measure import arguments, record
from quality import MULTI30K, TATOEBA, multi30k_files, tatoeba_files

import regard
from regard.config import Settings, merge

PARTS: dict[str, dict[str, Any]] = {
    "multi30k en-de": {"corpus": MULTI30K, "direction": "en-de", "teacher": {}, "student": {}},
    "multi30k de-en": {"corpus": MULTI30K, "direction": "de-en", "teacher": {}, "student": {}},
    "tatoeba en-de": {"corpus": TATOEBA, "pairs": 165_000, "teacher": {"size": "small"}, "student": {}},
    "tatoeba en-de small student": {
        "corpus": TATOEBA,
        "pairs": 165_000,
        "teacher": {"size": "small"},
        "student": {"size": "small"},
    },
}


def main() -> None:
    parser = arguments(__doc__, data=True)
    parser.add_argument("--to", type=Path, required=True, help="keep the models here; an interrupted bench resumes")
    parser.add_argument("--parts", default=",".join(list(PARTS)[:3]), help=f"some of {', '.join(PARTS)}, by commas")
    parser.add_argument("--teacher", type=Path, help="a trained teacher for all parts; else one is trained for each")
    parser.add_argument("--teacher-minutes", type=float, help="else until early stopping")
    parser.add_argument("--student-minutes", type=float, help="else until early stopping")
    parser.add_argument("--baseline", action="store_true", help="also the student's shape on the real pairs alone")
    parser.add_argument("--workers", type=int, help="else measured")
    parser.add_argument("--lines", type=int, help="only so many lines to learn from, to try the bench")
    parser.add_argument("--turns", type=int, default=5)
    given = parser.parse_args()
    for name in given.parts.split(","):
        record(name, bench(given, PARTS[name]), given.json)


def bench(given: Any, part: dict[str, Any]) -> dict[str, Any]:
    files, test = prepare(given, part)
    pairs = {name: files[name] for name in ("source", "target")}
    valid = {name: path for name, path in files.items() if name not in pairs}
    size = part["teacher"].get("size", "default")
    named = f"{part['corpus']}-{part.get('direction', 'en-de')}"
    teacher = given.teacher or given.to / f"{named}-{size}"
    if given.teacher is None:
        regard.train("translate", to=teacher, settings=settings_of(given, part, "teacher"), **files)
    student = given.to / f"{named}-student-{part['student'].get('size', 'default')}"
    lines, seconds, generated = 0, 0.0, time.monotonic()
    for event in regard.distilling(
        teacher, source=files["source"], to=student, settings=settings_of(given, part, "student"), **valid
    ):
        if isinstance(event, regard.Generating):
            lines, seconds = event.total, time.monotonic() - generated
        elif isinstance(event, regard.Validated):
            print(f"step {event.step}: BLEU {event.scores['bleu']:.2f}", flush=True)
    sides = {"teacher": teacher, "student": student}
    if given.baseline:
        sides["same shape, real pairs"] = student.with_name(f"{student.name}-baseline")
        shape = regard.load(student).info.settings
        alone = {"size": shape["size"], "model": {name: shape["model"][name] for name in ("layers", "decoder_layers")}}
        settings = merge(alone, settings_of(given, part, "student"))
        regard.train("translate", to=sides["same shape, real pairs"], settings=settings, **files)
    return {
        "lines": lines,
        "seconds_of_the_teacher_in_this_session": round(seconds, 1),
        "validated_on": "real references" if valid else "the teacher's translations",
        **{f"beam {beam}": race(sides, test, beam, given.turns) for beam in (1, 5)},
    }


def settings_of(given: Any, part: dict[str, Any], who: str) -> Settings:
    minutes = given.teacher_minutes if who == "teacher" else given.student_minutes
    layout: Settings = {"workers": given.workers, "threads": 1} if given.workers else {}
    return merge(merge(part[who], layout), {"stop": {"minutes": minutes}} if minutes else {})


def prepare(given: Any, part: dict[str, Any]) -> tuple[dict[str, Path], dict[str, Path]]:
    """Files of lines to train on, and to test on."""
    given.to.mkdir(parents=True, exist_ok=True)
    if part["corpus"] == MULTI30K:
        data = given.data if (given.data / MULTI30K).exists() else given.data.parent
        files, test = multi30k_files(data, part)
    else:
        data = given.data if (given.data / TATOEBA).exists() else given.data.parent
        train, tested = tatoeba_files(data, given.to / TATOEBA, part)
        files, test = split(train["source"]), split(tested["source"])
    if given.lines:
        files |= {side: cut(files[side], given.to, given.lines) for side in ("source", "target")}
    return files, test


def split(pairs: Path) -> dict[str, Path]:
    """The English and the German of a file of pairs, as files of lines."""
    rows = [line.split("\t")[:2] for line in pairs.read_text(encoding="utf-8").splitlines()]
    sides = {"source": pairs.with_suffix(".en"), "target": pairs.with_suffix(".de")}
    for place, path in enumerate(sides.values()):
        write_once(path, "".join(f"{row[place]}\n" for row in rows))
    return sides


def cut(path: Path, to: Path, count: int) -> Path:
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)[:count]
    return write_once(to / f"{path.stem}.{count}{path.suffix}", "".join(lines))


def write_once(path: Path, text: str) -> Path:
    """A file that is the same as before keeps its time, by which its translations are known to be of it."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
    return path


def race(sides: dict[str, Path], test: dict[str, Path], beam: int, turns: int) -> dict[str, Any]:
    """BLEU and lines a second of each, in float32 and int8; how they compare with the teacher, turn by turn."""
    lines = test["source"].read_text(encoding="utf-8").splitlines()
    found: dict[str, Any] = {}
    for precision in ("float32", "int8"):
        models = {name: regard.load(folder, precision=precision) for name, folder in sides.items()}
        seconds: dict[str, list[float]] = {name: [] for name in models}
        for turn in range(turns + 1):
            for name, model in models.items():
                began = time.perf_counter()
                model(lines, beam=beam)
                if turn:  # the first is to warm up
                    seconds[name].append(time.perf_counter() - began)
        scores = {name: model.evaluate(**test, beam=beam) for name, model in models.items()}
        best = scores["teacher"]["bleu"]
        found[precision] = {
            name: {
                "bleu": round(scores[name]["bleu"], 2),
                "bleu_minus_teacher": round(scores[name]["bleu"] - best, 2),
                "share_of_teacher_bleu": round(scores[name]["bleu"] / max(best, 1e-9), 4),
                "lines_per_second": round(len(lines) / statistics.median(seconds[name]), 1),
                "times_as_fast": round(
                    statistics.median(a / b for a, b in zip(seconds["teacher"], seconds[name], strict=True)), 3
                ),
                "weights": model.info.parameters,
                "training_minutes": round(model.info.training["seconds"] / 60, 1),
                "signature": scores[name]["signature"],
            }
            for name, model in models.items()
        }
    return found


if __name__ == "__main__":
    sys.exit(main())
