"""Problems of a corpus, as problems.toml has them: what each is, whether it hurts, and how to fix it."""

import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from regard.errors import CorpusError

EXAMPLES = 3  # of each finding
LONGEST_WORDS, LONGEST_LETTERS = 256, 4000  # of a line that is not long
LINES = ("files", "tsv", "jsonl", "text", "stories")  # shapes of a corpus that commands for lines can fix


class Problem(NamedTuple):
    """One kind of finding."""

    what: str
    hurts: str
    training: str
    fix: str
    fixes: dict[str, str] = {}  # noqa: RUF012  by shape, where it is another


PROBLEMS = {
    name: Problem(**found)
    for name, found in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")).items()
}


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
    is_estimate: bool = False  # of the count
    examples: list[dict[str, str | int]] = field(default_factory=list)

    @property
    def counted(self) -> str:
        """The count, called an estimate where it is one."""
        return f"About {self.count} (estimated)" if self.is_estimate else str(self.count)

    def words(self, shape: str) -> dict[str, str]:
        """What it is, whether it hurts, what training does about it, how to fix it."""
        problem = PROBLEMS[self.kind]
        fix = problem.fixes.get({"csv": "tsv", "tmx": "jsonl"}.get(shape, shape), problem.fix)
        if shape not in LINES and "> new" in fix:
            fix = "correct them in the program that the file comes from"
        return {
            "what": re.sub(r"\{(.*?)\|(.*?)\}", r"\1" if self.count == 1 else r"\2", problem.what),
            "hurts": problem.hurts,
            "training": problem.training,
            "fix": fix,
        }


@dataclass
class Report:
    """What was found in a corpus."""

    files: list[str]
    shape: str = "text"  # or files (two of them), stories, the name of a kind of rows
    lines: int = 0
    findings: dict[str, Finding] = field(default_factory=dict)
    stops: str | None = None  # why training would refuse the corpus
    folder: Path | None = None  # that files are named from; else by their names alone

    @property
    def has_problems(self) -> bool:
        """Whether anything is there that hurts, or may."""
        return bool(self.stops) or any(not PROBLEMS[kind].hurts.startswith("no") for kind in self.findings)

    def name_of(self, path: Path) -> str:
        """What a file is called."""
        if self.folder and self.folder in path.parents:
            return path.relative_to(self.folder).as_posix()
        return path.name

    def note(self, kind: str, path: Path, line: int, shown: str, count: int = 1) -> None:
        """Counts something, and keeps the first few as examples."""
        found = self.findings.setdefault(kind, Finding(kind))
        found.count += count
        if len(found.examples) < EXAMPLES:
            found.examples.append({"file": self.name_of(path), "line": line, "text": "".join(map(_shown, shown[:160]))})

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
