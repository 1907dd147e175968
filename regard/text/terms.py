"""Terminology constraints: a source term, a tab, its translation; one per line."""

import re
from pathlib import Path

from regard.errors import CorpusError

Terms = dict[str, str]


def read_terms(path: Path) -> Terms:
    """The terms of a file. Blank lines, and lines that begin with #, say nothing."""
    try:
        lines = path.read_bytes().decode("utf-8-sig").split("\n")
    except OSError as problem:
        raise CorpusError(f"{path} cannot be read: {problem.strerror}") from None
    except UnicodeDecodeError as problem:
        raise CorpusError(f"{path}: byte {problem.start + 1} is not UTF-8; save the file as UTF-8") from None
    terms: Terms = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        source, _, target = (part.strip() for part in line.partition("\t"))
        if not (source and target):
            raise CorpusError(f"{path}, line {number}: {line!r} is not a term, a tab and its translation")
        if terms.get(source, target) != target:
            raise CorpusError(f"{path}, line {number}: {source!r} was to become {terms[source]!r} before")
        terms[source] = target
    return terms


def term_spans(text: str, terms: Terms) -> list[tuple[int, int]]:
    """Where terms occur in a text as whole words."""
    return [found.span() for source in terms if source in text for found in _whole(source).finditer(text)]


def terms_in(text: str, terms: Terms) -> list[tuple[str, str]]:
    """The terms that occur in a text as whole words, longer ones first; each place belongs to one term only."""
    found = []
    for source in sorted(terms, key=len, reverse=True):
        text, count = _whole(source).subn("\0", text, count=1)
        if count:
            found.append((source, terms[source]))
    return found


def _whole(source: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(source)}(?!\w)")
