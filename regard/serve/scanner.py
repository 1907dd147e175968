"""HTML cut into text and markup where a browser's tokenizer cuts it (WHATWG HTML, section 13.2.5), in linear time.

Knows tokens, no tree. Tokens are slices of the source: put together they are the source again. Where it depends on the
tree what a piece means (svg, select, unclosed comments), the piece, or all that is left, is one token to be copied.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import NamedTuple

TEXT, OPEN, CLOSE, COPY = "text", "open", "close", "copy"  # COPY: comments, raw text, whatever is not to be touched

SPACE = r"\t\n\f\r "
MARKUP = re.compile(r"<(?=[A-Za-z!?]|/.)", re.DOTALL)  # any other < is text
NAME = re.compile(rf"</?([A-Za-z][^{SPACE}/>]*)")
# The rest of a tag. Possessive throughout: no character is read more than twice, whatever is (not) there.
ATTRIBUTES = re.compile(
    rf"""(?>
        [{SPACE}/]++
      | [^{SPACE}/>][^{SPACE}/>=]*+                                                   # a name may begin with =
        (?: [{SPACE}]*+ = [{SPACE}]*+ (?> "[^"]*+(?:"|\Z) | '[^']*+(?:'|\Z) | [^{SPACE}>"'][^{SPACE}>]*+ )?+ )?+
    )*+ >""",
    re.VERBOSE,
)
COMMENT_END = re.compile(r"--!?>")
LONG_REFERENCE = re.compile(r"&#0*[0-9]{8,};?")  # of no character; int() would refuse thousands of digits

RAW = frozenset({"script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes", "noscript"})
NEVER_ENDS = frozenset({"plaintext", "frameset"})  # after which nothing is as it seems
# Foreign elements that hold nothing a tokenizer reads in another way. Of the leaves, that hold text only.
LEAVES = frozenset({"mi", "mo", "mn", "ms", "mtext", "title", "style"})
FOREIGN = {
    "svg": LEAVES | {
        "svg", "g", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "defs", "use", "symbol", "stop",
        "lineargradient", "radialgradient", "clippath", "mask", "pattern", "marker", "image", "text", "tspan",
    },
    "math": LEAVES | {
        "math", "mrow", "mfrac", "msqrt", "mroot", "mstyle", "merror", "mpadded", "mphantom", "mfenced", "menclose",
        "msub", "msup", "msubsup", "munder", "mover", "munderover", "mmultiscripts", "mprescripts", "mtable", "mtr",
        "mtd", "mspace", "semantics", "annotation", "none",
    },
}  # fmt: skip
MARKUP_INSIDE = re.compile(r"<[A-Za-z!?/]")
SCRIPT = re.compile(r"<script", re.IGNORECASE | re.ASCII)


class Token(NamedTuple):
    """A slice of the source; of a tag, its name."""

    kind: str
    source: str
    name: str = ""


def scan(html: str) -> Iterator[Token]:
    """All tokens, in order."""
    place, has_select = 0, False
    while place < len(html):
        found = MARKUP.search(html, place)
        start = found.start() if found else len(html)
        if start > place:
            yield Token(TEXT, html[place:start])
        if start == len(html):
            return
        token = read_markup(html, start)
        place = start + len(token.source)
        if token.kind == OPEN and (token.name in NEVER_ENDS or token.name in FOREIGN or token.name in RAW):
            end = _end_of_special(html, token, place, has_select)
            token, place = Token(COPY, html[start:end]), end
        has_select = has_select or token.name == "select"
        yield token


def read_markup(html: str, start: int) -> Token:
    """The tag, comment or declaration that begins here; what has no end is all that is left."""
    named = NAME.match(html, start)
    if named:
        ended = ATTRIBUTES.match(html, named.end())
        if ended is None:
            return Token(COPY, html[start:])
        name = named[1].lower() if named[1].isascii() else named[1]  # a browser knows capitals of ASCII only
        return Token(CLOSE if html[start + 1] == "/" else OPEN, html[start : ended.end()], name)
    if html.startswith(("<!-->", "<!--->"), start):
        end = html.index(">", start) + 1
    elif html.startswith("<!--", start):
        closing = COMMENT_END.search(html, start + 4)
        end = closing.end() if closing else len(html)
    else:  # <!doctype>, <![CDATA[, <?php, </3: up to the next >
        end = html.find(">", start) + 1 or len(html)
    return Token(COPY, html[start:end])


def text_of(source: str) -> str:
    """What a slice of text says: character references are resolved; a browser drops NUL."""
    return unescape(LONG_REFERENCE.sub("\ufffd", source)).replace("\0", "")


def _end_of_special(html: str, opened: Token, place: int, has_select: bool) -> int:
    """Where what this tag opens is over and a browser, whatever its tree, reads on as we do; else the end."""
    if opened.name in NEVER_ENDS:
        return len(html)
    if opened.name in FOREIGN:
        return place if opened.source.endswith("/>") else _end_of_foreign(html, opened.name, place)
    end, content = _end_of_raw(html, opened.name, place)
    # noscript is raw where scripts run; in a select most of these may be ignored, and what is in them read as markup.
    is_doubtful = opened.name == "noscript" or (has_select and opened.name != "script")
    # In a script, <!-- <script> makes the next end tag count for the inner one.
    is_nested = opened.name == "script" and SCRIPT.search(content.partition("<!--")[2]) is not None
    return len(html) if is_nested or (is_doubtful and MARKUP_INSIDE.search(content)) else end


def _end_of_raw(html: str, name: str, place: int) -> tuple[int, str]:
    """Behind the end tag, and what is before it."""
    found = re.compile(rf"</{name}(?=[{SPACE}/>])", re.IGNORECASE | re.ASCII).search(html, place)
    if found is None:
        return len(html), html[place:]
    return found.start() + len(read_markup(html, found.start()).source), html[place : found.start()]


def _end_of_foreign(html: str, root: str, place: int) -> int:
    """Behind the end tag of an svg or math, if nothing in it is read otherwise there than elsewhere."""
    depth, leaf = 1, ""
    while depth:
        found = MARKUP.search(html, place)
        if found is None:
            return len(html)
        token = read_markup(html, found.start())
        place = found.start() + len(token.source)
        is_comment = token.source.startswith("<!--")
        if not is_comment and (token.name not in FOREIGN[root] or (leaf and (token.kind, token.name) != (CLOSE, leaf))):
            return len(html)
        if token.kind == OPEN and not token.source.endswith("/>"):
            depth += token.name == root
            leaf = token.name if token.name in LEAVES else ""
        elif token.kind == CLOSE:
            depth -= token.name == root
            leaf = ""
    return place
