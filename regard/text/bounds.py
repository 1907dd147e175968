"""Whether a tokenizer from a file costs no more than its text is worth: known parts, each with bounded settings.

A small file may ask for replacements that multiply, patterns that never come to an end, or ids beyond any table.
Whatever we cannot bound is refused by name. Knows the files' formats, and nothing of what is done with them.
"""

import base64
import re
from collections.abc import Iterator
from math import prod
from typing import Any

MOST_BYTES = 64 * 2**20  # of a file; the largest we know have half of that
MOST_PARTS = 64  # of a normalizer, pre-tokenizer, decoder or template
MOST_ADDED, LONGEST_ADDED, MOST_ADDED_TEXT = 50_000, 256, 2**20  # added pieces, characters of each, and of all
LONGEST_PIECE = 1024  # characters of a piece, and of a word that is split into pieces
LONGEST_MARK = 16  # characters that are put before or after a word
MOST_GROWTH = 32  # times that replacements may make a text longer
MOST_CHARSMAP_BYTES = 2 * 2**20  # of a table of normal forms
MOST_ALTERNATIVES, MOST_WAYS = 8, 256  # of a pattern, and ways to match it at one place of a text
GAPS = 1000  # ids that may be unused, beside as many as there are pieces

KNOWN = {
    "normalizer": ("BertNormalizer", "ByteLevel", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Nmt", "Precompiled",
                   "Prepend", "Replace", "Sequence", "Strip", "StripAccents"),
    "pre_tokenizer": ("BertPreTokenizer", "ByteLevel", "CharDelimiterSplit", "Digits", "Metaspace", "Punctuation",
                      "Sequence", "Split", "UnicodeScripts", "Whitespace", "WhitespaceSplit"),
    "post_processor": ("BertProcessing", "ByteLevel", "RobertaProcessing", "Sequence", "TemplateProcessing"),
    "decoder": ("BPEDecoder", "ByteFallback", "ByteLevel", "CTC", "Fuse", "Metaspace", "Replace", "Sequence", "Strip",
                "WordPiece"),
}  # fmt: skip
ONCE = ("BertNormalizer", "ByteLevel", "Metaspace", "Precompiled", "TemplateProcessing")  # each makes text longer
MODELS = ("BPE", "Unigram", "WordLevel", "WordPiece")
_CASES = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_REST, _SPACES = r"| ?[^\s\p{L}\p{N}]+", r"|\s*[\r\n]+|\s+(?!\S)|\s+"
_WORDS = (r"[^\r\n\p{L}\p{N}]?" + _UPPER + "*" + _LOWER + "+", r"|[^\r\n\p{L}\p{N}]?" + _UPPER + "+" + _LOWER + "*")
# Patterns of well-known tokenizers that `_is_linear` cannot verify. All of them match in linear time.
FAMOUS = {
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+" + _REST + r"|\s+(?!\S)|\s+",  # GPT-2
    r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+",  # CLIP
    r" ?[\p{L}\p{M}]+| ?\p{N}| ?[^\s\p{L}\p{M}\p{N}]+|\s+(?!\S)|\s+",  # our own
    r" ?[^(\s|[.,!?…。，、।۔،])]+",  # BLOOM
    *(_CASES + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}" + digits + _REST + r"[\r\n]*" + _SPACES  # cl100k, Llama 3, Qwen
      for digits in ("{1,3}", "")),
    _WORDS[0] + _CASES + "?" + _WORDS[1] + _CASES + r"?|\p{N}{1,3}" + _REST + r"[\r\n/]*" + _SPACES,  # o200k
    _WORDS[0] + _WORDS[1] + r"|\p{N}" + _REST + r"[\r\n/]*" + _SPACES,  # Mistral
}  # fmt: skip


def most_bytes(rows: int | None) -> int:
    """Of the file of a tokenizer whose model has a table of so many rows."""
    return MOST_BYTES if rows is None else min(MOST_BYTES, 4 * 2**20 + 2**10 * rows)


def check_tokenizer(content: Any, rows: int | None = None) -> None:
    """Raises a ValueError that names what a tokenizer.json has that cannot be bounded, or has no row in the table."""
    if not isinstance(content, dict):
        raise ValueError("it is not a JSON object")
    growth = 1
    for role, known in KNOWN.items():
        parts = list(_parts(content.get(role), role, known))
        if len(parts) > MOST_PARTS:
            raise ValueError(f"its {role} has {len(parts)} parts, and at most {MOST_PARTS} are supported")
        for kind in ONCE:
            if sum(part["type"] == kind for part in parts) > 1:
                raise ValueError(f"its {role} has more than one {kind}, and one is supported")
        for part in parts:
            growth *= _check_part(part)
        if growth > MOST_GROWTH:
            raise ValueError(f"its {role} replaces parts of a text by much longer ones, again and again")
    _check_ids(_check_model(content.get("model")), content.get("added_tokens"), rows)


def check_pieces(model: bytes) -> None:
    """Raises a ValueError for a SentencePiece model that is not one, or whose table of normal forms leads astray."""
    for number, spec in _fields(model):
        if number in (3, 5) and isinstance(spec, bytes):  # how texts are normalised, and back
            for inner, value in _fields(spec):
                if inner == 2 and isinstance(value, bytes) and _check_charsmap(value) > MOST_GROWTH:
                    raise ValueError("its table of normal forms replaces parts of a text by much longer ones")


def check_vocabulary(ids: Any, rows: int | None = None) -> None:
    """Raises a ValueError for a vocabulary that is not one, or whose ids lie beyond its pieces or the model's table."""
    if not isinstance(ids, dict) or not all(type(number) is int and number >= 0 for number in ids.values()):
        raise ValueError("its vocabulary is not pieces with their ids")
    if (longest := max(map(len, ids), default=0)) > LONGEST_PIECE:
        raise ValueError(f"its longest piece has {longest} characters, and at most {LONGEST_PIECE} are supported")
    if rows is not None and max(len(ids), 1 + max(ids.values(), default=-1)) > rows:
        raise ValueError(f"it has {len(ids)} entries with ids up to {max(ids.values())}, and config.json and the "
                         f"weights have {rows} rows; they are not of the same model")  # fmt: skip
    if ids and max(ids.values()) > 2 * len(ids) + GAPS:
        raise ValueError(f"its ids go up to {max(ids.values())}, and it has {len(ids)} pieces")


def _parts(content: Any, role: str, known: tuple[str, ...], depth: int = 0) -> Iterator[dict[str, Any]]:
    """The parts of a chain, one after another."""
    if content is None and not depth:
        return
    kind = content.get("type") if isinstance(content, dict) else None
    if kind not in known:
        raise ValueError(f"it has a {role} {kind!r:.40}, and only {', '.join(known)} are supported")
    if kind != "Sequence":
        yield content
        return
    inner = next(
        (content[key] for key in ("normalizers", "pretokenizers", "processors", "decoders") if key in content), None
    )
    if depth > 4 or not isinstance(inner, list):
        raise ValueError(f"its {role} is nested too deep, or is no list")
    for part in inner:
        yield from _parts(part, role, known, depth + 1)


def _check_part(part: dict[str, Any]) -> int:
    """How many times longer a text may become by it."""
    match part["type"]:
        case "Replace":
            return _growth(part)
        case "Split":
            _check_pattern(part.get("pattern"))
        case "Prepend" | "BPEDecoder" | "WordPiece":
            for name in ("prepend", "suffix", "prefix"):
                _check_mark(part.get(name))
        case "Precompiled":
            try:
                return _check_charsmap(base64.b64decode(part.get("precompiled_charsmap") or b"", validate=True))
            except TypeError:
                raise ValueError("its table of normal forms is no text") from None
        case "TemplateProcessing":
            lists = [part.get(name) or [] for name in ("single", "pair")]
            special = part.get("special_tokens") or {}
            ids = [one.get("ids", []) for one in special.values()] if isinstance(special, dict) else []
            if any(not isinstance(one, list) or len(one) > MOST_PARTS for one in [*lists, *ids]) or len(ids) > 2**10:
                raise ValueError(f"its template puts more than {MOST_PARTS} pieces around a text")
            if any(sum("Sequence" in one for one in pieces if isinstance(one, dict)) > 2 - (pieces is lists[0])
                   for pieces in lists):  # fmt: skip
                raise ValueError("its template repeats a text")
    return 1


def _growth(part: dict[str, Any]) -> int:
    pattern: Any = part.get("pattern")
    content = part.get("content")
    _check_pattern(pattern)
    if not isinstance(content, str):
        raise ValueError("it replaces something by what is no text")
    if "Regex" in pattern:
        return 1 + len(content)  # it may match between any two characters
    return max(1, -(-len(content) // len(pattern["String"])))


def _check_pattern(pattern: Any) -> None:
    kind, text = next(iter(pattern.items()), (None, None)) if isinstance(pattern, dict) else (None, None)
    if kind not in ("String", "Regex") or not isinstance(text, str) or not text or len(pattern) != 1:
        raise ValueError("it has a pattern that is none")
    if kind == "Regex" and text not in FAMOUS and not _is_linear(text):
        raise ValueError(f"its pattern {text!r:.80} may take for ever on some texts; supported are those of well-known "
                         f"tokenizers, and up to {MOST_ALTERNATIVES} alternatives that repeat without end only what "
                         f"they end with; write it so, or as several patterns")  # fmt: skip


def _is_linear(pattern: str) -> bool:
    """Whether a pattern costs about the same at each place of a text that it does not match.

    Then whatever is repeated without end must be the end of an alternative: nothing after it can fail, and so nothing
    is tried again. `(a+)+` would take for ever, and `a+b` the square of a text's length.
    """
    if len(pattern) > LONGEST_PIECE:
        return False
    escapes = r"\\[pP]\{\^?\w+\}|\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\[dDsSwWbBAzZnrtf]|\\[!-/:-@\[-`{-~]"
    bare = re.sub(escapes, "x", pattern)  # escapes and classes are one character each
    bare = re.sub(r"\[\^?[^\[\]^][^\[\]]*\]", "x", bare)
    bare = re.sub(r"\((?:\?(?:[=!:]|i:))?", "(", bare)
    bare = re.sub(r"\{\d+,\}", "+", bare)
    bounds = [int(most) for most in re.findall(r"\{(?:\d{1,3},)?(\d{1,3})\}", bare)]
    bare = re.sub(r"\{(?:\d{1,3},)?\d{1,3}\}", "#", bare)
    if re.search(r"[\\\[\]{}]|\(\?|[*+?#][*+?#]|\)[*+#]|[*+][^|]", bare):
        return False
    ways = prod(bounds) * 2 ** bare.count("?")
    while "(" in bare:
        groups = re.findall(r"\([^()]*\)", bare)
        ways *= prod(1 + group.count("|") for group in groups)
        if not groups or ways > MOST_WAYS or re.search(r"[*+]", "".join(groups)):
            return False
        bare = re.sub(r"\([^()]*\)", "x", bare)
    return ways <= MOST_WAYS and bare.count("|") < MOST_ALTERNATIVES


def _check_mark(mark: Any) -> None:
    if mark is not None and (not isinstance(mark, str) or len(mark) > LONGEST_MARK):
        raise ValueError(f"it puts {mark!r:.40} before or after words; at most {LONGEST_MARK} characters are supported")


def _check_model(model: Any) -> dict[str, Any]:
    """Its vocabulary, as pieces with their ids."""
    kind = model.get("type", "BPE") if isinstance(model, dict) else None
    if kind not in MODELS:
        raise ValueError(f"it has a model {kind!r:.40}, and only {', '.join(MODELS)} are supported")
    for name in ("continuing_subword_prefix", "end_of_word_suffix"):
        _check_mark(model.get(name))
    longest = model.get("max_input_chars_per_word", 100)
    if type(longest) is not int or not 0 <= longest <= LONGEST_PIECE:
        raise ValueError(f"it splits words of {longest!r:.40} characters, and at most {LONGEST_PIECE} are supported")
    if model.get("dropout"):
        raise ValueError("it splits words at random (dropout), so the same text would have other ids every time")
    vocab = model.get("vocab")
    if kind == "Unigram":
        if not isinstance(vocab, list) or not all(
            isinstance(one, list) and len(one) == 2 and isinstance(one[0], str) for one in vocab
        ):
            raise ValueError("its vocabulary is not pieces with their scores")
        vocab = {one[0]: number for number, one in enumerate(vocab)}
    check_vocabulary(vocab)
    assert isinstance(vocab, dict)
    return vocab


def _check_ids(vocab: dict[str, Any], added: Any, rows: int | None) -> None:
    added = [] if added is None else added
    if not isinstance(added, list) or len(added) > MOST_ADDED or not all(isinstance(one, dict) for one in added):
        raise ValueError(f"its added pieces are no list, or more than {MOST_ADDED}")
    if not all(isinstance(one.get("content"), str) and one["content"] for one in added):
        raise ValueError("an added piece is empty, and would be found everywhere")
    lengths = [len(one["content"]) for one in added]
    if max(lengths, default=0) > LONGEST_ADDED or sum(lengths) > MOST_ADDED_TEXT:
        raise ValueError(f"its added pieces have up to {max(lengths)} characters, {sum(lengths)} in all; supported are "
                         f"{LONGEST_ADDED} each, {MOST_ADDED_TEXT} in all")  # fmt: skip
    check_vocabulary(vocab | {one["content"]: one.get("id") for one in added}, rows)


def _check_charsmap(table: bytes) -> int:
    """A double array that finds texts, and what they become; crafted numbers would lead out of it. The characters of
    the longest entry.
    """
    if not table:
        return 1
    import numpy as np  # few tokenizers have such a table, and importing it takes longer than to translate a line

    size = int.from_bytes(table[:4], "little")
    if len(table) > MOST_CHARSMAP_BYTES or size % 4 or not 0 < size <= len(table) - 4:
        raise ValueError("its table of normal forms is larger than any we know, or not whole")
    units, normal = np.frombuffer(table[4 : 4 + size], "<u4").astype(np.int64), table[4 + size :]
    is_value = units >> 31 == 1
    offsets = (units >> 10) << ((units & 2**9) >> 6)
    beyond = ((np.arange(len(units)) ^ offsets) | 255) >= len(units)
    if (beyond & ~is_value).any() or ((units & (2**31 - 1)) >= len(normal))[is_value].any() or normal[-1:] != b"\0":
        raise ValueError("its table of normal forms leads out of itself; the file is damaged")
    return max(1, *(len(entry.decode(errors="replace")) for entry in normal.split(b"\0")))


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a protobuf message: number, and a number or bytes."""
    place = 0

    def varint() -> int:
        nonlocal place
        for length in range(1, 11):
            if place + length > len(message):
                break
            if message[place + length - 1] < 128:
                found = sum((byte & 127) << 7 * i for i, byte in enumerate(message[place : place + length]))
                place += length
                return found
        raise ValueError("it is not a whole protobuf message")

    while place < len(message):
        key = varint()
        match key & 7:
            case 0:
                yield key >> 3, varint()
            case 1 | 5:
                place += 8 if key & 7 == 1 else 4
            case 2:
                length = varint()
                yield key >> 3, message[place : place + length]
                place += length
            case _:
                raise ValueError("it is not a whole protobuf message")
        if place > len(message):
            raise ValueError("it is not a whole protobuf message")
