"""Checks each line of a file by itself: bytes that are no text, letters that do not belong there, markup."""

from __future__ import annotations

import re
from pathlib import Path

from regard.text.lines import UTF8_MARK
from regard.text.problems import EXAMPLES, LONGEST_LETTERS, LONGEST_WORDS, Report

STRANGE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffd]|\r")
MARKUP = re.compile(r"</?[a-zA-Z][^<>]*>|&(?:[a-zA-Z]{2,8}|#\d{1,6});")
TWO_SCRIPTS = re.compile(
    "[A-Za-z][\u0400-\u04ff]|[\u0400-\u04ff][A-Za-z]|[A-Za-z][\u0370-\u03ff]|[\u0370-\u03ff][A-Za-z]"
)


class Side:
    """One file while it is read."""

    def __init__(self, report: Report, path: Path) -> None:
        self.report, self.path = report, path
        self._is_utf8 = False  # some line has letters beyond ASCII in UTF-8
        self._broken: list[tuple[int, str]] = []  # the first lines that are not UTF-8
        self._broken_count = 0

    def add(self, number: int, raw: bytes, *, is_sentence: bool) -> str:
        """One line: what is strange in it is noted; its text as training would read it."""
        line = raw.removesuffix(b"\n")
        if line.endswith(b"\r"):
            line = line[:-1]
            self.report.note("windows", self.path, number, "")
        if number == 1 and line.startswith(UTF8_MARK):
            line = line[len(UTF8_MARK) :]
            self.report.note("mark", self.path, number, "")
        try:
            text = line.decode()
            self._is_utf8 = self._is_utf8 or not text.isascii()
        except UnicodeDecodeError as problem:
            text = line.decode(errors="replace")
            self._broken.append((number, f"byte {line[problem.start]:#04x} at offset {problem.start}: {text[:80]}"))
            del self._broken[EXAMPLES:]
            self._broken_count += 1
            text = text.replace("\ufffd", "")
        if STRANGE.search(text):
            note_strange(self.report, self.path, number, text)
        if is_sentence:
            self._check_sentence(number, text)
        return text

    def _check_sentence(self, number: int, text: str) -> None:
        if len(text) > LONGEST_LETTERS or (len(text) > LONGEST_WORDS and text.count(" ") >= LONGEST_WORDS):
            self.report.note("long", self.path, number, text)
        if ("<" in text or "&" in text) and MARKUP.search(text):
            self.report.note("markup", self.path, number, text)
        if not text.isascii() and TWO_SCRIPTS.search(text):
            self.report.note("scripts", self.path, number, text)

    def finish(self) -> None:
        """Lines that are not UTF-8: where others are, the file is not to be converted as a whole."""
        kind = "not utf-8" if self._is_utf8 else "encoding"
        for number, shown in self._broken:
            self.report.note(kind, self.path, number, shown)
        if self._broken:
            self.report.findings[kind].count += self._broken_count - len(self._broken)


def note_strange(report: Report, path: Path, number: int, text: str) -> None:
    """Letters that no text has."""
    for kind, letters in (
        ("nul", "\0"), ("line separator", "\u2028\u2029\x85"), ("carriage return", "\r"), ("inner mark", "\ufeff"),
        ("replaced", "\ufffd"),
    ):  # fmt: skip
        if any(letter in text for letter in letters):
            report.note(kind, path, number, text)
    if re.search("[\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]", text):
        report.note("control", path, number, text)
