"""`regard check`: what is wrong with a corpus, on one page of plain words."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from regard.cli.told import put, say

HURTS_FIRST = ("yes", "a little", "if", "no")


def check(
    files: Annotated[
        list[Path], typer.Argument(help="Two parallel files, or files of running text.", show_default=False)
    ],
    against: Annotated[
        list[Path] | None, typer.Option(help="Text to validate or test on: what is also in it is told. Repeatable.")
    ] = None,
    plain: Annotated[bool, typer.Option("--plain", help="Two files are running text, not translations.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object for machines.")] = False,
) -> None:
    """Tell what is wrong with a corpus, where, and what training would do about it."""
    from regard.text.doctor import check_pairs, check_text, hashes_of

    known = hashes_of(against or [])
    is_pair = len(files) == 2 and not plain
    report = check_pairs(files[0], files[1], known, _tick) if is_pair else check_text(files, known, _tick)
    if sys.stderr.isatty():
        sys.stderr.write("\r" + " " * 40 + "\r")
    put(json.dumps(_told(report), ensure_ascii=False) if as_json else describe(report))


def _tick(lines: int) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{lines} lines read")
        sys.stderr.flush()


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


def say_what_hurts(files: list[Path], is_pair: bool, most: int = 100_000) -> None:
    """The first lines of a training: what the doctor would say of the beginning of its text, a line each."""
    from regard.errors import CorpusError
    from regard.text.doctor import check_pairs, check_text

    try:
        report = check_pairs(files[0], files[1], most=most) if is_pair else check_text(files, most=most)
    except CorpusError:
        return  # training itself will say it, with the line
    for finding in report.findings.values():
        what, hurts, training, _ = finding.words
        if hurts.startswith(("yes", "a little")) and finding.kind != "unequal":
            one = finding.examples[0]
            say(f"{finding.count} x {what} ({one['file']} line {one['line']}); training {training}. "
                f"`regard check` tells more")  # fmt: skip
