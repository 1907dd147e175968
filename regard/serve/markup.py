"""HTML in, HTML out: tags are lifted from a text, the text is translated, and the alignment puts them back in place.

Knows tags and links between words, no model. Nothing of what was given is executed or trusted: it is markup in the
answer as it was in the question.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from html import escape
from html.parser import HTMLParser

from regard.look.align import Links
from regard.serve.limits import RequestError

INLINE = frozenset({
    "a", "abbr", "b", "bdi", "bdo", "big", "cite", "data", "del", "dfn", "em", "font", "i", "ins", "kbd", "label",
    "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var",
})  # fmt: skip
VOID = frozenset(["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"])
RAW = frozenset({"script", "style"})  # in which & and < mean nothing
SILENT = RAW | {"code", "pre", "textarea"}  # what is in them is no text to translate
MOST_TAGS = 2000  # of a text


@dataclass
class Span:
    """Inline markup around some words of a passage, or at a place between two."""

    opening: str
    closing: str
    first: int  # word of the source it begins before
    last: int  # word of the source it ends before


@dataclass
class Passage:
    """Running text between two pieces of other markup."""

    words: list[str] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    is_open: bool = False  # whether the last word may still go on
    leads: str = ""  # space before and after, kept as it was
    trails: str = ""

    @property
    def text(self) -> str:
        """What is to be translated."""
        return " ".join(self.words)


def lift(html: str) -> list[str | Passage]:
    """Markup as it was, and passages between it."""
    parser = _Lifter()
    parser.feed(html)
    parser.close()
    parser.end_passage()
    return parser.parts


def put_back(passage: Passage, text: str, links: Links) -> str:
    """The translation of a passage with its inline markup, around the words that its words became."""
    words = text.split()
    became: dict[int, tuple[int, int]] = {}  # the first and the last word that a linked word became
    for source, target in links:
        if target < len(words):
            first, last = became.get(source, (target, target))
            became[source] = min(first, target), max(last, target)
    linked = sorted(became)
    before: list[list[str]] = [[] for _ in range(len(words) + 1)]
    after: list[list[str]] = [[] for _ in range(len(words) + 1)]
    for span in passage.spans:
        next_linked = bisect_left(linked, span.first)
        targets = [became[source] for source in linked[next_linked : bisect_left(linked, span.last)]]
        if targets:
            before[min(first for first, _ in targets)].append(span.opening)
            after[max(last for _, last in targets)].insert(0, span.closing)
        else:  # before what the next linked word became
            is_last = span.first >= len(passage.words) or next_linked == len(linked)
            before[len(words) if is_last else became[linked[next_linked]][0]].append(span.opening + span.closing)
    said = [f"{''.join(before[n])}{escape(word, quote=False)}{''.join(after[n])}" for n, word in enumerate(words)]
    return passage.leads + " ".join(said) + "".join(before[len(words)]) + passage.trails


class _Lifter(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str | Passage] = []
        self._passage: Passage | None = None
        self._open: list[tuple[str, Span]] = []
        self._opened = Counter[str]()  # how many of each are open
        self._silent: list[str] = []  # that are open
        self._tags = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = self.get_starttag_text() or f"<{tag}>"
        self._tags += 1
        if self._tags > MOST_TAGS:
            raise RequestError(413, f"a text with more than {MOST_TAGS} tags; send it in parts")
        if self._silent or tag in SILENT:
            self._silent += [tag] * (tag in SILENT)
            self._markup(told)
        elif tag in INLINE:
            passage = self._current()
            place = len(passage.words)
            span = Span(told, "", place, place)
            passage.spans.append(span)
            self._open.append((tag, span))
            self._opened[tag] += 1
        elif tag in VOID and tag in {"br", "img", "wbr"} and self._passage is not None:
            place = len(self._passage.words)
            self._passage.spans.append(Span(told, "", place, place))
            self._passage.is_open = False
        else:
            self._markup(told)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs) if tag in VOID else self._markup(self.get_starttag_text() or f"<{tag}/>")

    def handle_endtag(self, tag: str) -> None:
        if self._silent:
            if tag in self._silent:
                del self._silent[self._silent.index(tag) :]
            self._markup(f"</{tag}>")
        elif self._opened[tag]:
            _, span = self._open.pop(next(n for n in range(len(self._open) - 1, -1, -1) if self._open[n][0] == tag))
            self._opened[tag] -= 1
            span.closing = f"</{tag}>"
            span.last = len(self._current().words)
        elif tag not in INLINE and tag not in VOID:
            self._markup(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        if self._silent:
            self._markup(data if self._silent[-1] in RAW else escape(data, quote=False))
            return
        if not data.strip() and self._passage is None:
            self.parts.append(data)
            return
        passage = self._current()
        if not passage.words and not passage.spans:
            passage.leads = data[: len(data) - len(data.lstrip())]
        words = data.split()
        if words and passage.is_open and passage.words and not data[:1].isspace():
            passage.words[-1] += words.pop(0)  # markup in the middle of a word is around all of it
            for _, span in reversed(self._open):
                if span.first < len(passage.words):
                    break  # those opened before it begin with this word too, or earlier
                span.first = len(passage.words) - 1
        passage.words += words
        passage.is_open = bool(data) and not data[-1].isspace()
        passage.trails = data[len(data.rstrip()) :] if data.strip() else data

    def handle_comment(self, data: str) -> None:
        self._markup(f"<!--{data}-->")

    def handle_decl(self, decl: str) -> None:
        self._markup(f"<!{decl}>")

    def handle_pi(self, data: str) -> None:
        self._markup(f"<?{data}>")

    def unknown_decl(self, data: str) -> None:
        self._markup(f"<![{data}]>")

    def end_passage(self) -> None:
        """What is open ends here."""
        for tag, span in self._open:
            span.closing = f"</{tag}>"
            span.last = len(self._passage.words) if self._passage else span.first
        self._open = []
        self._opened.clear()
        self._passage = None

    def _current(self) -> Passage:
        if self._passage is None:
            self._passage = Passage()
            self.parts.append(self._passage)
        return self._passage

    def _markup(self, told: str) -> None:
        self.end_passage()
        self.parts.append(told)
