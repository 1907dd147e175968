"""`regard check`: what is wrong with a corpus, on one page of plain words."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from regard.cli.settings import Columns, Keys, pair_of_numbers, pair_of_words
from regard.cli.told import put, say
from regard.errors import CorpusError
from regard.text.corpus import PairFiles

OF_SENTENCES = ("repeated", "language", "markup", "scripts")  # findings that are none in running text
HURTS_FIRST = ("yes", "a little", "if", "no")


def check(
    files: Annotated[
        list[Path],
        typer.Argument(help="Two parallel files, one .tsv or .jsonl of pairs, or running text.", show_default=False),
    ],
    against: Annotated[
        list[Path] | None, typer.Option(help="Text to validate or test on: what is also in it is told. Repeatable.")
    ] = None,
    plain: Annotated[bool, typer.Option("--plain", help="Two files are running text, not translations.")] = False,
    columns: Columns = None,
    keys: Keys = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object for machines.")] = False,
) -> None:
    """Tell what is wrong with a corpus, where, and what training would do about it."""
    from regard.text.doctor import check_pairs, check_text, hashes_of

    known = hashes_of(against or [])
    pairs = None if plain else pairs_of(files, pair_of_numbers(columns or "1,2"), pair_of_words(keys) if keys else None)
    with reading(files) as tick:
        report = check_pairs(pairs, known, tick) if pairs else check_text(files, known, tick)
    put(json.dumps(_told(report), ensure_ascii=False) if as_json else describe(report))


def pairs_of(files: list[Path], columns: tuple[int, int], keys: tuple[str, str] | None) -> PairFiles | None:
    """Files as pairs, if they are: two of them, or one whose name says so."""
    if len(files) == 2:
        return PairFiles(files[0], files[1])
    names = {ending for file in files for ending in file.suffixes}
    if len(files) == 1 and names & {".tsv", ".tab", ".jsonl", ".ndjson"}:
        return PairFiles(files[0], None, columns, keys)
    return None


@contextmanager
def reading(files: list[Path]) -> Iterator[Callable[[int, int], None]]:
    """A bar of how far it got, for whoever sits at a terminal; without an end where files are packed."""
    from rich.console import Console
    from rich.progress import Progress

    is_packed = any(file.suffix == ".gz" for file in files)
    total = None if is_packed else sum(file.stat().st_size for file in files if file.is_file())
    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        row = bar.add_task("reading", total=total)

        def tick(lines: int, read: int) -> None:
            bar.update(row, completed=read, description=f"{lines} lines")

        yield tick


def _told(report: Any) -> dict[str, Any]:
    findings = []
    for finding in report.findings.values():
        what, hurts, training, mend = finding.words
        findings.append(asdict(finding) | {"what": what, "hurts": hurts, "training": training, "mend": mend})
    return {"files": report.files, "lines": report.lines, "findings": findings}


def describe(report: Any) -> str:
    """One page: what hurts most comes first."""
    unit = "lines" if len(report.files) != 2 else "pairs of lines"
    lines = [f"{' and '.join(report.files)}: {report.lines} {unit}"]
    if not report.findings:
        return "\n".join([*lines, "Nothing was found that would be in the way."])

    def order(finding: Any) -> tuple[int, int]:
        hurts = finding.words[1]
        rank = next((n for n, word in enumerate(HURTS_FIRST) if hurts.startswith(word)), len(HURTS_FIRST))
        return rank, -finding.count

    for finding in sorted(report.findings.values(), key=order):
        what, hurts, training, mend = finding.words
        lines += ["", f"{finding.count} x {what}", f"  hurts: {hurts}", f"  training {training}", f"  to mend: {mend}"]
        for one in finding.examples:
            shown = f": {one['text']}" if one["text"] else ""
            lines.append(f"  {one['file']} line {one['line']}{shown}")
    return "\n".join(lines)


def say_what_hurts(pairs: PairFiles | None, texts: list[Path], most: int = 100_000) -> None:
    """The first lines of a training: what the doctor would say of the beginning of its text, a line each."""
    from regard.text.doctor import check_pairs, check_text

    try:
        report = check_pairs(pairs, most=most) if pairs else check_text(texts, most=most)
    except CorpusError:
        return  # training itself will say it, with the line
    for finding in report.findings.values():
        what, hurts, training, _ = finding.words
        is_of_text = pairs is None and finding.kind in OF_SENTENCES  # code and tales may well repeat lines
        if hurts.startswith(("yes", "a little")) and finding.kind != "unequal" and not is_of_text:
            one = finding.examples[0]
            say(f"{finding.count} x {what} ({one['file']} line {one['line']}); training {training}. "
                f"`regard check` tells more")  # fmt: skip
