"""HTML in, HTML out: text is translated and escaped again, markup is copied, and inline tags follow the alignment.

Knows tags and links between words, no model. Nothing that is inert in the question is live in the answer: the elements
of the answer are those of the question. Inline tags only move where they enclose each other properly; elsewhere they
stay where they are, and the text between them is translated by itself.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from html import escape

from regard.alignment.links import Links
from regard.serve.limits import RequestError
from regard.serve.scanner import CLOSE, COPY, OPEN, TEXT, Token, scan, text_of

INLINE = frozenset({
    "a", "abbr", "b", "bdi", "bdo", "big", "cite", "data", "del", "dfn", "em", "font", "i", "ins", "kbd", "label",
    "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var",
})  # fmt: skip
VOID_INLINE = frozenset({"br", "img", "wbr"})
SILENT = frozenset({"code", "pre"})  # what is in them is no text to translate
# Inside of these an end tag does not reach an element that was opened outside (HTML, "has an element in scope").
SCOPES = frozenset({"applet", "caption", "html", "marquee", "object", "select", "table", "td", "template", "th"})
MOST_TAGS, MOST_DEPTH = 2000, 32  # of a text; of inline tags in each other that are still moved


@dataclass
class Span:
    """Inline markup around some words of a passage, or at a place between two."""

    opening: str
    first: int  # word of the source it begins before
    last: int = 0  # word of the source it ends before
    closing: str = ""
    inner: list[Span] = field(default_factory=list)


@dataclass
class Passage:
    """Running text between two pieces of other markup."""

    words: list[str] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    leads: str = ""  # space before and after, kept as it was
    trails: str = ""

    @property
    def text(self) -> str:
        """What is to be translated."""
        return " ".join(self.words)


def lift(html: str) -> list[str | Passage]:
    """Markup as it was, and passages between it."""
    lifter = _Lifter()
    for token in scan(html):
        lifter.take(token)
    lifter.end_run()
    return lifter.parts


def put_back(passage: Passage, text: str, links: Links) -> str:
    """The translation of a passage with its inline markup, around the words that its words became.

    Spans enclose each other as they did in the source: where the words of two were mixed, the first keeps them.
    """
    words = [escape_text(word) for word in text.split()]
    became = _Became(len(passage.words), len(words), links)
    written: list[str] = [passage.leads]
    spaced = 0  # the word before which a space was written last

    def space(place: int) -> None:
        nonlocal spaced
        if spaced < place < len(words):
            written.append(" ")
            spaced = place

    def write(spans: list[Span], first: int, last: int) -> None:
        ranges = sorted(((*became.range_of(span), number) for number, span in enumerate(spans)))
        place = first
        for low, high, number in ranges:
            start = min(max(low, place), last)
            end = max(start, min(high, last))
            write_words(place, start)
            space(start)
            written.append(spans[number].opening)
            write(spans[number].inner, start, end)
            written.append(spans[number].closing)
            place = end
        write_words(place, last)

    def write_words(first: int, last: int) -> None:
        for place in range(first, last):
            space(place)
            written.append(words[place])

    write(passage.spans, 0, len(words))
    return "".join(written) + passage.trails


def escape_text(text: str) -> str:
    """As browsers write text: nothing in it is markup."""
    return escape(text, quote=False).replace("\xa0", "&nbsp;")


class _Became:
    """What the words of a passage became: words of the translation, by word alignment."""

    def __init__(self, source_words: int, target_words: int, links: Links) -> None:
        self._size, self._end = source_words, target_words
        self._words: dict[int, tuple[int, int]] = {}  # the first word that a linked word became, and behind the last
        for source, target in links:
            if target < target_words:
                first, last = self._words.get(source, (target, target + 1))
                self._words[source] = min(first, target), max(last, target + 1)
        self._linked = sorted(self._words)

    def range_of(self, span: Span) -> tuple[int, int]:
        """From where to where a span reaches; where none of its words is linked, nothing before the next that is."""
        first, last = (bisect_left(self._linked, word) for word in (span.first, span.last))
        if first < last:
            found = [self._words[word] for word in self._linked[first:last]]
            return min(low for low, _ in found), max(high for _, high in found)
        is_last = span.first >= self._size or first == len(self._linked)
        place = self._end if is_last else self._words[self._linked[first]][0]
        return place, place


class _Lifter:
    def __init__(self) -> None:
        self.parts: list[str | Passage] = []
        self._run: list[Token] = []  # text and inline tags, of which a passage is made
        self._silent: list[str] = []  # that are open
        self._tags = 0
        self._open_link = ""  # an <a> that its run did not close: "open", or "lost" if it is not known when it ends

    def take(self, token: Token) -> None:
        """The next token."""
        if token.kind in {OPEN, CLOSE}:
            self._tags += 1
            if self._tags > MOST_TAGS:
                raise RequestError(413, f"a text with more than {MOST_TAGS} tags; send it in parts")
        if self._silent or token.name in SILENT:
            self._copy(token)
            if token.kind == OPEN and token.name in SILENT:
                self._silent.append(token.name)
            elif token.kind == CLOSE and token.name in self._silent:
                del self._silent[self._silent.index(token.name) :]
        elif token.kind == TEXT or token.name in INLINE or (token.name in VOID_INLINE and token.kind == OPEN):
            self._run.append(token)
        else:
            self._copy(token)

    def _copy(self, token: Token) -> None:
        self.end_run()
        self.parts.append(token.source)
        if self._open_link and (token.name in SCOPES or token.kind == COPY):
            self._open_link = "lost"

    def end_run(self) -> None:
        """A passage of what came since the last other markup, or several if its tags cannot move."""
        run, self._run = self._run, []
        if self._can_move(run):
            self._lift(run)
        else:
            for token in run:
                self._lift([token]) if token.kind == TEXT else self.parts.append(token.source)

    def _can_move(self, run: list[Token]) -> bool:
        """Whether the inline tags enclose each other properly, and no link is in another, which browsers take apart."""
        is_proper, opened = True, list[str]()
        for token in run:
            if token.kind == OPEN and token.name in INLINE:
                is_proper = is_proper and len(opened) < MOST_DEPTH
                is_proper = is_proper and not (token.name == "a" and ("a" in opened or self._open_link))
                opened.append(token.name)
            elif token.kind == CLOSE and opened and opened[-1] == token.name:
                opened.pop()
            elif token.kind == CLOSE:
                is_proper = False
        self._note_links(run)
        return is_proper and not opened

    def _note_links(self, run: list[Token]) -> None:
        for token in run:
            if token.name == "a" and self._open_link != "lost":
                self._open_link = "open" if token.kind == OPEN else ""

    def _lift(self, run: list[Token]) -> None:
        """A passage, if there is a word in it."""
        passage, opened, is_open = Passage(), list[Span](), False
        words = passage.words
        for token in run:
            if token.kind == TEXT:
                is_open = _add_text(passage, text_of(token.source), opened, is_open)
            elif token.kind == CLOSE:
                opened[-1].closing, opened[-1].last = token.source, len(words)
                opened.pop()
            else:
                span = Span(token.source, len(words), len(words))
                (opened[-1].inner if opened else passage.spans).append(span)
                if token.name in INLINE:
                    opened.append(span)
                else:
                    is_open = False  # a line break ends a word
        if words:
            self.parts.append(passage)
        else:
            self.parts += [token.source for token in run]


def _add_text(passage: Passage, text: str, opened: list[Span], is_open: bool) -> bool:
    """Adds words; whether the last of them may still continue."""
    if not text:
        return is_open
    if not passage.words and not passage.spans:
        passage.leads += escape_text(text[: len(text) - len(text.lstrip())])
    words = text.split()
    if words and is_open and not text[0].isspace():
        passage.words[-1] += words.pop(0)  # markup in the middle of a word is around all of it
        for span in reversed(opened):
            if span.first < len(passage.words):
                break  # those opened before it begin with this word too, or earlier
            span.first = len(passage.words) - 1
    passage.words += words
    if passage.words:
        passage.trails = escape_text(text[len(text.rstrip()) :]) if text.strip() else passage.trails + escape_text(text)
    return bool(passage.words) and not text[-1].isspace()
