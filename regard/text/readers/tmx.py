"""Reads TMX, the exchange format of translation memories: a stream of units, each with a text in several languages.

Knows what XML can do to its reader: entities are not declared here, nothing outside the file is opened, and a tag, a
text or a nesting without end is refused.
"""

import html.entities
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.parsers import expat

from regard.errors import CorpusError
from regard.text.readers.packed import open_unpacked
from regard.text.readers.rows import Choice, Lines, Row, Second, Table

BLOCK = 2**16  # bytes that are parsed at a time
LONGEST = 2**20  # letters of a segment, and bytes of a tag or a comment
DEEPEST, MOST_NAMES = 100, 10_000  # nested elements, and different names of elements and attributes
MOST_LANGUAGES = 1000
PEEKED = 1000  # units by which the languages of a file are known
NATIVE = {"bpt", "ept", "it", "ph", "ut"}  # elements with codes of another format, which are no text
GAP = "\0"  # where a code stood, which no XML text contains

Unit = tuple[int, dict[str, list[str]]]  # its line, and its texts by language


def open_tmx(path: Path, lines: Lines, wanted: Choice | None) -> Table:
    """Languages are those of the first units; a wanted one is looked for until it is found."""
    names: list[str] = []
    missing = [str(one) for one in wanted or ()]
    for count, (_, texts) in enumerate(_units(path)):
        names += [language for language in texts if language not in names]
        if len(names) > MOST_LANGUAGES:
            raise CorpusError(f"{path} has more than {MOST_LANGUAGES} languages; check the xml:lang of its <tuv>")
        missing = [one for one in missing if not any(_speaks(language, one) for language in texts)]
        if count >= PEEKED and not missing:
            break
    if not names:
        raise CorpusError(f"{path} has no translation unit with a text; a TMX file has <tu> with <tuv> and <seg>")
    listed = ", ".join(names)
    if missing:
        raise CorpusError(f"{path} has no language {missing[0]!r}; it has {listed}. Choose with --keys, as in --keys "
                          f"{','.join(names[:2])}")  # fmt: skip
    offered = [*names, *(one for one in map(str, wanted or ()) if one not in names)]

    def rows(places: Sequence[int]) -> Iterator[Row]:
        chosen = [offered[place] for place in places]
        for number, texts in _units(path):
            other = next((one for one in texts if not wanted and one not in names), None)
            if other:
                raise CorpusError(f"{path} line {number} has the language {other!r}, and the units before have "
                                  f"{listed}; say which to read with --keys")  # fmt: skip
            found = [_find(texts, language) for language in chosen]
            yield number, [texts[language][0] if language else "" for language in found]
            if sum(map(len, texts.values())) > len({*found} - {None}):
                for place, text in _further(texts, chosen, found):
                    yield number, [Second(text) if place == other else "" for other in range(len(found))]

    return Table(path, offered, rows, word="languages")


def _speaks(language: str, wanted: str) -> bool:
    """Whether a language is the wanted one, or a variety of it: `en-US` is `en`."""
    mine, other = (name.lower().replace("_", "-") for name in (language, wanted))
    return mine == other or mine.startswith(f"{other}-")


def _find(texts: dict[str, list[str]], wanted: str) -> str | None:
    """The language of a unit that is the wanted one."""
    return wanted if wanted in texts else next((one for one in texts if _speaks(one, wanted)), None)


def _further(texts: dict[str, list[str]], chosen: list[str], found: list[str | None]) -> Iterator[tuple[int, str]]:
    """The texts of a unit in the chosen languages that are not the first, with the place of the language."""
    for language, several in texts.items():
        speaks = [place for place, one in enumerate(chosen) if one == language or _speaks(language, one)]
        rest = several[1:] if language in found else several
        yield from ((found.index(language) if language in found else speaks[0], text)
                    for text in rest if speaks and text.strip())  # fmt: skip


def _units(path: Path) -> Iterator[Unit]:
    parser = _Parser(path)
    with open_unpacked(path) as file:
        try:
            while block := file.read(BLOCK):
                parser.feed(block)
                yield from parser.take()
            parser.feed(b"", is_last=True)
            yield from parser.take()
        except EOFError as problem:
            raise CorpusError(f"{path} is damaged ({problem}); fetch or pack it again") from None
        except OSError as problem:
            raise CorpusError(f"{path} cannot be read: {problem.strerror or problem}") from None


class _Parser:
    """Takes the bytes of a file and gives the units in them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._units: list[Unit] = []
        self._open: list[str] = []  # elements, from the outermost
        self._line, self._language = 0, ""
        self._texts: dict[str, list[str]] = {}
        self._parts: list[str] | None = None  # of the segment that is being read
        self._letters = self._native = self._fed = 0
        self._expat = expat.ParserCreate()
        self._expat.buffer_text = True
        self._expat.StartElementHandler = self._start
        self._expat.EndElementHandler = self._end
        self._expat.CharacterDataHandler = self._add
        self._expat.EntityDeclHandler = self._refuse_entity
        self._expat.AttlistDeclHandler = self._refuse_default
        self._expat.ExternalEntityRefHandler = lambda *_: 0
        self._expat.SkippedEntityHandler = self._add_entity

    def feed(self, block: bytes, *, is_last: bool = False) -> None:
        """Parses what comes next."""
        try:
            self._expat.Parse(block, is_last)
        except expat.ExpatError as problem:
            what = expat.ErrorString(problem.code)
            raise self._error(f"is not XML that can be read ({what})", "correct it there, or export the file again",
                              problem.lineno) from None  # fmt: skip
        except (LookupError, ValueError) as problem:
            remedy = "convert the file to UTF-8, as with iconv, and change its first line"
            raise self._error(f"names an encoding that cannot be read here ({problem})", remedy) from None
        self._fed += len(block)
        if not is_last and self._fed - self._expat.CurrentByteIndex > LONGEST + BLOCK:
            raise self._error(f"has a tag or a comment of more than {LONGEST // 2**20} MB", "no translation memory has")
        if len(self._expat.intern) > MOST_NAMES:
            raise self._error(f"has more than {MOST_NAMES} different names of elements", "it is not TMX")

    def take(self) -> list[Unit]:
        """The units that were completed."""
        found, self._units = self._units, []
        return found

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2].lower()
        if not self._open and name != "tmx":
            raise self._error(f"begins with <{name}>", "a translation memory in TMX begins with <tmx>")
        self._open.append(name)
        if len(self._open) > DEEPEST:
            raise self._error(f"has more than {DEEPEST} elements within each other", "it is not TMX")
        if name == "tu":
            self._line, self._texts, self._letters = self._expat.CurrentLineNumber, {}, 0
        elif name == "tuv":
            self._language = attributes.get("xml:lang") or attributes.get("lang") or ""
        elif name == "seg":
            self._parts, self._native = [], 0
        elif self._parts is not None and name in NATIVE:
            self._native += 1
            if name not in {"bpt", "ept"}:
                self._keep(GAP)

    def _end(self, name: str) -> None:
        name = self._open.pop()
        if name == "seg" and self._parts is not None:
            if not self._language:
                raise self._error("has a text without a language", "give its <tuv> the attribute xml:lang")
            text = re.sub(rf"(?<=\w){GAP}+(?=\w)", " ", "".join(self._parts)).replace(GAP, "")
            self._keep(self._language)
            self._texts.setdefault(self._language, []).append(text)
            self._parts = None
        elif name == "tuv":
            self._language = ""
        elif name == "tu" and self._texts:
            self._units.append((self._line, self._texts))
        elif self._parts is not None and name in NATIVE:
            self._native -= 1

    def _add(self, text: str) -> None:
        if not self._native:
            self._keep(text)

    def _keep(self, text: str) -> None:
        if self._parts is None:
            return
        self._letters += len(text)
        if self._letters > LONGEST:
            raise self._error(f"has a unit of more than {LONGEST // 2**20} MB of text", "a translation unit is shorter")
        self._parts.append(text)

    def _add_entity(self, name: str, is_parameter: bool) -> None:
        """One that the file's DTD may declare, which is not read: those of HTML are known."""
        text = html.entities.html5.get(f"{name};")
        if text is None:
            raise self._error(f"has the entity &{name};, which is not declared", "put its text in its place")
        self._add(text)

    def _refuse_entity(self, name: str, *_: Any) -> None:
        raise self._error(f"declares the entity {name!r}", "entities are not expanded: put their text in their place")

    def _refuse_default(self, element: str, *_: Any) -> None:
        raise self._error(f"declares attributes of <{element}>", "defaults are not filled in: leave the DTD out")

    def _error(self, found: str, rule: str, line: int | None = None) -> CorpusError:
        return CorpusError(f"{self._path} line {line or self._expat.CurrentLineNumber} {found}; {rule}")
