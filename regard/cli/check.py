"""`regard check`: what is wrong with a corpus, on one page of plain words."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress

from regard.cli.output import print_data, print_status
from regard.errors import ConfigError, CorpusError
from regard.families.options import Columns, Glob, Keys, Separator, choose_columns
from regard.text.check import check_pairs, check_text, hashes_of
from regard.text.check_labels import check_labelled, look_like_labels
from regard.text.corpus import PairFiles, counted, kind_of, refuse_unread
from regard.text.labels import LabelFiles
from regard.text.problems import Report
from regard.text.readers import find_kind
from regard.text.readers.folders import files_below, find_shards
from regard.text.readers.packed import without_packing
from regard.text.readers.rows import Choice
from regard.text.running import TextFiles
from regard.text.stories import look_like_stories

WORST_FIRST = ("yes", "a little", "if", "no")
QUICK_LINES = 50_000  # that the check at the beginning of a training reads


def check(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Two parallel files, one file of rows (TSV, CSV, JSONL, TMX, …), or running text.", show_default=False
        ),
    ],
    against: Annotated[
        list[Path] | None,
        typer.Option(
            help="Validation or test text: lines that are also in it are reported. Repeatable (source, target)."
        ),
    ] = None,
    plain: Annotated[
        bool, typer.Option("--plain", help="Treat two files as running text, not as parallel text.")
    ] = False,
    labels: Annotated[
        bool, typer.Option("--labels", help="Treat files as labelled texts; a table of few labels is known for one.")
    ] = False,
    columns: Columns = None,
    keys: Keys = None,
    separator: Separator = None,
    glob: Glob = [],  # noqa: B006
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 for any problem.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Find problems in a corpus.

    What is wrong, where, what training would do about it, and how to fix it. The exit code is 1 if training would
    stop; with --strict, for any problem; else 0.

    Example:
      regard check train.en train.de --against test.en --against test.de
    """
    chosen = choose_columns(columns, keys)
    wanted = chosen["keys"] or chosen["columns"]
    if labels or separator or (not plain and not wanted and len(files) == 1 and look_like_labels(files[0])):
        _print_report(_check_labelled(files, against, wanted, separator), strict, as_json)
        return
    pairs = None if plain or len(wanted or ()) == 1 else pairs_of(files, **chosen, glob=glob)
    if not wanted or not pairs or pairs.target:
        kinds = [kind for file in files if (kind := find_kind(file))] if not pairs else []
    else:
        kinds = [kind_of(pairs)]
    refuse_unread(chosen["columns"], chosen["keys"], *kinds)
    texts = None
    try:
        known = hashes_of(_existing(against or []), pairs)
        valid = pairs_of(against, **chosen) if pairs and against else None
        with reading(files) as tick:
            if pairs:
                report = check_pairs(pairs, known, tick, valid=valid)
            else:
                texts = TextFiles.of([*files], wanted, glob)  # also of folders, as training
                report = check_text(texts, known, tick)
    except CorpusError as problem:  # a file that cannot be read as lines at all
        report = Report([file.name for file in files], stops=str(problem))
    report.leave_out(texts.skipped if texts else ())
    _print_report(report, strict, as_json)


def _existing(against: list[Path]) -> list[Path]:
    for path in against:
        if not path.exists():
            raise ConfigError(f"--against {path} does not exist; check the name and the folder you are in")
    return against


def _check_labelled(
    files: list[Path], against: list[Path] | None, wanted: Choice | None, separator: str | None
) -> Report:
    try:
        tested = LabelFiles.of(_existing(against), wanted, separator) if against else None
        return check_labelled(LabelFiles.of(files, wanted, separator), tested)
    except CorpusError as problem:
        return Report([file.name for file in files], "labels", stops=str(problem))


def _print_report(report: Report, strict: bool, as_json: bool) -> None:
    print_data(json.dumps(_as_json(report), ensure_ascii=False) if as_json else describe(report))
    if report.stops or (strict and report.has_problems):
        raise typer.Exit(1)


def pairs_of(
    files: list[Path], columns: Choice | None, keys: tuple[str, ...] | None, glob: Sequence[str] = ()
) -> PairFiles | None:
    """Files as pairs, if they are: two of them, or one whose name says so."""
    if len(files) == 2 and not look_like_stories(files):
        return PairFiles(files[0], files[1])
    if len(files) == 1 and files[0].is_dir():
        parts = sorted(files_below(files[0], glob)) if glob else find_shards(files[0])
        return PairFiles(files[0], None, columns, keys, tuple(parts)) if parts and find_kind(parts[0]) else None
    if len(files) == 1 and find_kind(files[0]):
        return PairFiles(files[0], None, columns, keys)
    return None


@contextmanager
def reading(files: list[Path]) -> Iterator[Callable[[int, int], None]]:
    """A bar of how far it got, on a terminal; without an end where files are packed."""
    is_packed = any(without_packing(file) != file for file in files)
    total = None if is_packed else sum(file.stat().st_size for file in files if file.is_file())
    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        row = bar.add_task("reading", total=total)

        def tick(lines: int, read: int) -> None:
            bar.update(row, completed=read, description=f"{lines} lines")

        yield tick


def _as_json(report: Any) -> dict[str, Any]:
    findings = [asdict(finding) | finding.words(report.shape) for finding in report.findings.values()]
    facts = {"files": report.files, "shape": report.shape, "lines": report.lines}
    return facts | {"stops": report.stops, "findings": findings}


def describe(report: Any) -> str:
    """One page: what hurts most comes first."""
    names = report.files
    title = (
        " and ".join(names)
        if len(names) < 3
        else f"{len(names)} files: {', '.join(names[:3])}" + ", ..." * (len(names) > 3)
    )
    unit = {"text": "lines", "stories": "lines", "labels": "texts"}.get(report.shape, "pairs")
    places = f" in {len(names)} files" if len(names) > 1 and unit != "pairs" else ""
    lines = [f"{title}: {counted(report.lines, unit)}{places}"]
    if report.stops:
        lines += ["", f"Training would stop: {report.stops}"]
    elif not report.findings:
        return "\n".join([*lines, "No problems found."])

    def order(finding: Any) -> tuple[int, int]:
        hurts = finding.words(report.shape)["hurts"]
        rank = next((n for n, word in enumerate(WORST_FIRST) if hurts.startswith(word)), len(WORST_FIRST))
        return rank, -finding.count

    for finding in sorted(report.findings.values(), key=order):
        words = finding.words(report.shape)
        lines += ["", f"{finding.counted} {words['what']}", f"  harmful: {words['hurts']}"]
        lines += [f"  training {words['training']}", f"  fix: {words['fix']}"]
        for one in finding.examples:
            shown = f": {one['text']}" if one["text"] else ""
            line = f" line {one['line']}" if one["line"] else ""
            lines.append(f"  {one['file']}{line}{shown}")
    return "\n".join(lines)


def print_problems(text: PairFiles | TextFiles | LabelFiles, valid: Any = None) -> None:
    """The first lines of a training: what a quick check finds in its text, a line each."""
    try:
        if isinstance(text, LabelFiles):
            report = check_labelled(text, valid, QUICK_LINES)
        elif isinstance(text, PairFiles):
            report = check_pairs(text, most=QUICK_LINES, valid=valid)
        else:
            report = check_text(text, most=QUICK_LINES)
    except CorpusError:
        return  # training itself stops with it
    found = [(finding, finding.words(report.shape)) for finding in report.findings.values()]
    harmful = [
        (f, words) for f, words in found if words["hurts"].startswith(("yes", "a little")) and f.kind != "unequal"
    ]
    for finding, words in harmful:
        one = finding.examples[0]
        print_status(
            f"{finding.counted} {words['what']} ({one['file']} line {one['line']}); training {words['training']}"
        )
    if harmful:
        print_status("`regard check` shows examples and fixes")
