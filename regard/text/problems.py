"""Problems of a corpus: what each is, whether it hurts, what training does about it, and how to fix it.

Advice must not harm when it is followed to the letter: it never breaks the pairing of two files, and never thins out
running text. Commands are run by tests/text/test_check.py.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from regard.errors import CorpusError

EXAMPLES = 3  # of each finding
LONGEST_WORDS, LONGEST_LETTERS = 256, 4000  # of a line that is not long
TOGETHER = "remove such pairs as a whole (the same line of both files), or correct them"


class Problem(NamedTuple):
    """One kind of finding. `what` has words in two forms, as `{line|lines}`; `fix` may depend on the shape of the
    corpus: files (two), tsv, jsonl, text or stories."""

    what: str
    hurts: str
    training: str
    fix: str
    fixes: dict[str, str] = {}  # noqa: RUF012  by shape, where it is another


PROBLEMS: dict[str, Problem] = {
    "not utf-8": Problem(
        "{line|lines} with bytes that are not UTF-8",
        "yes",
        "stops, and names the line",
        "correct these lines; the rest of the file is UTF-8 and must not be converted",
    ),
    "encoding": Problem(
        "{line|lines} with bytes that are not UTF-8, and none with letters that are",
        "yes",
        "stops, and names the line",
        "convert the file from its encoding: if that is Windows-1252, iconv -f WINDOWS-1252 -t UTF-8 < old > new",
    ),
    "nul": Problem(
        "{line|lines} with NUL bytes",
        "yes",
        "stops, and names the line",
        "tr -d '\\000' < old > new (if nearly every line has them: is it UTF-16?)",
        {"jsonl": "correct the escape \\u0000 in these lines"},
    ),
    "control": Problem(
        "{line|lines} with control characters",
        "a little",
        "learns them as they are",
        "if they mean nothing: tr -d '\\001-\\010\\013\\014\\016-\\037\\177' < old > new",
    ),
    "line separator": Problem(
        "{line|lines} with U+2028, U+2029 or U+0085 inside: other tools end the line there",
        "if other tools wrote the file",
        "keeps them inside the line",
        "LC_ALL=C sed 's/\\xe2\\x80\\xa8/ /g; s/\\xe2\\x80\\xa9/ /g; s/\\xc2\\x85/ /g' < old > new",
        {"jsonl": "replace the characters in these lines by spaces"},
    ),
    "carriage return": Problem(
        "{line|lines} with carriage returns inside",
        "if lines were meant to end there",
        "keeps them",
        "LC_ALL=C sed 's/\\r\\r*\\([^\\r]\\)/ \\1/g' < old > new makes spaces of them, and no new lines",
        {"jsonl": "replace the escape \\r in these lines by a space"},
    ),
    "windows": Problem("Windows line {end|ends} (CRLF)", "no", "removes them", "nothing to do"),
    "mark": Problem("byte order {mark|marks} at the start of a file", "no", "removes them", "nothing to do"),
    "inner mark": Problem(
        "{line|lines} with a byte order mark inside",
        "a little",
        "learns them as they are",
        "LC_ALL=C sed 's/\\xef\\xbb\\xbf//g' < old > new",
        {"jsonl": "remove U+FEFF from these lines"},
    ),
    "replaced": Problem(
        "{line|lines} with U+FFFD: characters lost in an earlier conversion",
        "a little",
        "learns them as they are",
        "go back to the original text",
    ),
    "empty": Problem(
        "{pair|pairs} with an empty side",
        "no",
        "leaves them out, and counts them",
        "nothing to do (removing a line from one file alone would shift all that follow)",
        {"tsv": "nothing to do", "jsonl": "nothing to do"},
    ),
    "copy": Problem(
        "untranslated {pair|pairs}: both sides are the same",
        "yes, if there are many: the model learns to copy",
        "learns them",
        TOGETHER,
    ),
    "repeated": Problem(
        "duplicate {pair|pairs}",
        "a little: they count twice",
        "learns them",
        "paste -d \"$(printf '\\1')\" SOURCE TARGET | LC_ALL=C awk -F \"$(printf '\\1')\" "
        '\'!seen[$0]++ { print $1 > "unique.source"; print $2 > "unique.target" }\'',
        dict.fromkeys(("tsv", "jsonl"), "LC_ALL=C awk '!seen[$0]++' < old > new"),
    ),
    "left out": Problem(
        "{file|files} of the folder that {is|are} not read",
        "if they hold text to learn from",
        "leaves them out, and counts them",
        "convert them to text in UTF-8, put files in the place of links, or move them out of the folder",
    ),
    "hidden": Problem(
        "hidden {file|files} of the folder that {is|are} not read ({its|their} name, or a folder's, starts with a dot)",
        "no",
        "leaves them out, and counts them",
        "nothing to do; to learn from them, name them",
    ),
    "same file": Problem(
        "{file|files} that {is|are} the same as another",
        "a little: they count twice",
        "learns them",
        "name each document once",
    ),
    "ratio": Problem(
        "length ratio {outlier|outliers}: one side is more than three times as long as usual",
        "yes: they are often no translations",
        "learns them",
        TOGETHER,
    ),
    "long": Problem(
        f"{{pair|pairs}} with a side of more than {LONGEST_WORDS} words or {LONGEST_LETTERS} characters",
        "no",
        "leaves pairs out that have more than text.max_length tokens, and counts them",
        "nothing to do; to learn from them, split both sides at the same places",
    ),
    "swapped": Problem(
        "{line|lines} in the language of the other side",
        "yes",
        "learns them",
        TOGETHER,
    ),
    "language": Problem(
        "{line|lines} in a third language",
        "yes",
        "learns them",
        TOGETHER,
    ),
    "scripts": Problem(
        "{line|lines} with words of two scripts",
        "a little: often a look-alike letter",
        "learns them",
        "replace the look-alike letters",
    ),
    "markup": Problem(
        "{line|lines} with HTML tags or entities",
        "yes, if translations are to be without them",
        "learns them, so they appear in the output",
        "remove tags and decode entities inside the lines, in both languages alike",
    ),
    "overlap": Problem(
        "training {pair|pairs} whose source is also in the text to validate or test on",
        "yes: scores will be too good",
        "learns them",
        "remove these pairs as a whole from the training text, or choose other text to validate on",
        dict.fromkeys(("text", "stories"), "choose other text to validate on"),
    ),
    "shift": Problem(
        "{pair|pairs} that {does|do} not belong together: lines are shifted",
        "yes: they teach wrong translations",
        "learns them",
        "compare both files near the first line named: add the line that is missing there, or remove the extra one, "
        "and check again (until then, what a shift brings about within these lines is not reported)",
        dict.fromkeys(
            ("tsv", "jsonl"),
            "compare both sides near the first line named: one side lacks a text there, or has one too many. Move the "
            "texts of that side, or make the file again from its source, and check again (until then, what a shift "
            "brings about within these lines is not reported)",
        ),
    ),
    "exchanged": Problem(
        "{side|sides} that {is|are} exchanged",
        "yes: it learns, or is validated on, the other direction",
        "does not notice",
        "give the files in the other order, or rename them",
        {"tsv": "choose the columns with --columns", "jsonl": "choose the keys with --keys"},
    ),
    "columns": Problem(
        "{line|lines} without two texts: too few columns, or no JSON object with both",
        "yes",
        "stops, and names the line",
        "correct the lines, or choose others with --columns or --keys",
    ),
    "unequal": Problem(
        "{pair|pairs} of files with different numbers of lines",
        "yes: nothing after the shift belongs together",
        "stops",
        "add the line that is missing near the place named, or remove the extra one (two running texts: use --plain)",
    ),
}


def agreeing(count: int, text: str) -> str:
    """A text with, of each `{one|many}`, the form that goes with the count."""
    return re.sub(r"\{(.*?)\|(.*?)\}", r"\1" if count == 1 else r"\2", text)


def counted(count: int, units: str) -> str:
    """A count and what it counts: `1 line`, `2 lines`."""
    return f"{count} {units.removesuffix('s') if count == 1 else units}"


def _shown(letter: str) -> str:
    """A letter on a page: a tab as an arrow, any space as one, what cannot be printed as U+FFFD."""
    if letter.isprintable():
        return letter
    return "→" if letter == "\t" else " " if unicodedata.category(letter) == "Zs" else "\ufffd"


@dataclass
class Finding:
    """Something about a corpus: how often, and where."""

    kind: str
    count: int = 0
    examples: list[dict[str, str | int]] = field(default_factory=list)

    def words(self, shape: str) -> dict[str, str]:
        """What it is, whether it hurts, what training does about it, how to fix it."""
        problem = PROBLEMS[self.kind]
        fix = problem.fixes.get(shape, problem.fix)
        return {
            "what": agreeing(self.count, problem.what),
            "hurts": problem.hurts,
            "training": problem.training,
            "fix": fix,
        }


@dataclass
class Report:
    """What was found in a corpus."""

    files: list[str]
    shape: str = "text"  # or files (two of them), tsv, jsonl, stories
    lines: int = 0
    findings: dict[str, Finding] = field(default_factory=dict)
    stops: str | None = None  # why training would refuse the corpus

    @property
    def has_problems(self) -> bool:
        """Whether anything is there that hurts, or may."""
        return bool(self.stops) or any(not PROBLEMS[kind].hurts.startswith("no") for kind in self.findings)

    def note(self, kind: str, path: Path, line: int, shown: str, count: int = 1) -> None:
        """Counts something, and keeps the first few as examples."""
        found = self.findings.setdefault(kind, Finding(kind))
        found.count += count
        if len(found.examples) < EXAMPLES:
            found.examples.append({"file": path.name, "line": line, "text": "".join(map(_shown, shown[:160]))})

    def leave_out(self, skipped: Iterable[tuple[Path, str]]) -> None:
        """Counts the files of a folder that are not read. All are named but hidden ones, which may be thousands."""
        for path, reason in skipped:
            kind = "hidden" if reason == "hidden" else "left out"
            found = self.findings.setdefault(kind, Finding(kind))
            found.count += 1
            if kind == "left out" or len(found.examples) < EXAMPLES:
                found.examples.append({"file": str(path), "line": 0, "text": reason})

    def stop_for(self, verify: Callable[[], None]) -> None:
        """Lets training's own reader decide whether it would stop."""
        try:
            verify()
        except CorpusError as problem:
            self.stops = str(problem)
