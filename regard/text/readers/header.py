"""Whether the first row of a table is its header, by the names in it and the rows below."""

import re

from regard.text.readers.rows import Choice

LANGUAGES = {
    "ar": "arabic", "cs": "czech", "da": "danish", "de": "german deutsch allemand", "el": "greek",
    "en": "english englisch anglais inglés", "es": "spanish spanisch español", "et": "estonian", "fa": "persian",
    "fi": "finnish", "fr": "french französisch français", "he": "hebrew", "hi": "hindi", "hr": "croatian",
    "hu": "hungarian", "id": "indonesian", "it": "italian italienisch italiano", "ja": "japanese", "ko": "korean",
    "lt": "lithuanian", "lv": "latvian", "nb": "norwegian", "nl": "dutch nederlands", "pl": "polish polski",
    "pt": "portuguese português", "ro": "romanian", "ru": "russian", "sk": "slovak", "sl": "slovenian",
    "sv": "swedish svenska", "th": "thai", "tr": "turkish", "uk": "ukrainian", "vi": "vietnamese", "zh": "chinese",
}  # fmt: skip
MEANING = {name: code for code, names in LANGUAGES.items() for name in [code, *names.split()]}
ROLES = {
    "source", "target", "src", "tgt", "trg", "text", "sentence", "translation", "translated", "original", "reference",
    "ref", "hypothesis", "input", "output", "prompt", "completion", "response", "question", "answer", "context",
    "label", "class", "title", "body", "content", "document", "summary", "idx", "index", "key", "split", "lang",
    "language", "score", "url", "date", "author", "name", "segment", "comment",
}  # fmt: skip
NUMBER = re.compile(r"[-+]?\d[\d.,]*(?:[eE][-+]?\d+)?%?")
NAME = re.compile(r"[^\W\d][\w.-]{0,39}(?: [\w.-]{1,20})?")


def find_header(rows: list[list[str]], wanted: Choice | None) -> tuple[bool, bool]:
    """Whether the first row looks like a header, and whether it surely is one."""
    if not rows:
        return False, False
    first, below = rows[0], rows[1:]
    cells = [cell.strip().lower() for cell in first if cell.strip()]
    names = [one for one in wanted or () if isinstance(one, str)]
    if names and all(_same(name, cells) for name in names):
        return True, True
    if not cells or len(set(cells)) < len(cells) or not all(NAME.fullmatch(cell) for cell in cells):
        return False, False
    meanings = [meaning for cell in cells if (meaning := _meaning(cell))]
    is_known = len(meanings) >= min(2, len(cells)) and len(set(meanings)) == len(meanings)
    texts = [cell for row in below for cell in row if cell.strip() and not NUMBER.fullmatch(cell.strip())]
    words = sum(len(text.split()) for text in texts) / max(1, len(texts))
    is_certain = (is_known and (words >= 2 or max(map(len, cells)) > 3)) or _has_numbers_below(first, below)
    return is_certain or is_known or words > 3, is_certain


def _same(name: str, cells: list[str]) -> bool:
    return name.strip().lower().replace("_", "-") in {cell.replace("_", "-") for cell in cells}


def _meaning(cell: str) -> str | None:
    """What a name stands for, if it is one that headers have: `de`, `German`, `source_text`, `en-US`, `text2`."""
    parts = [MEANING.get(part, part) for part in re.split(r"[ _.-]", cell)]
    known = [part in LANGUAGES or part.rstrip("0123456789") in ROLES for part in parts]
    has_region = len(parts) == 2 and parts[0] in LANGUAGES and len(parts[1]) <= 4
    return "-".join(parts) if all(known) or has_region else None


def _has_numbers_below(first: list[str], below: list[list[str]]) -> bool:
    """Whether some column has a name above at least two numbers, and nothing else."""
    for place, name in enumerate(first):
        column = [row[place].strip() for row in below if len(row) > place]
        if name.strip() and len(column) >= 2 and all(map(NUMBER.fullmatch, column)):
            return True
    return False
