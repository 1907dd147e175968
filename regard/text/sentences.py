"""Where one sentence ends and the next begins: Unicode's sentence ends, less abbreviations, initials and ordinals.

Follows the default rules of Unicode (UAX 29), and asks in addition what is before a full stop. Knows no model.
"""

import re
from collections.abc import Sequence

Span = tuple[int, int]

# The property Sentence_Terminal, as far as it is in the basic plane; of these, a full stop also ends abbreviations.
TERMINALS = "!.?։؝؞؟۔܀܁܂߹࠷࠹࠽࠾।॥၊။።፧፨᙮᜵᜶។៕᠃᠉᥄᥅᪨᪩᪪᪫᭎᭏᭚᭛᭞᭟᭽᭾᭿᰻᰼᱾᱿․‼‽⁇⁈⁉⳹⳺⳻⸮⸼⹓⹔⹠⹡。꓿꘎꘏꛳꛷꡶꡷꣎꣏꤯꧈꧉꩝꩞꩟꫰꫱꯫︒︕︖﹒﹖﹗！．？｡"
NEED_SPACE = "!?.․﹒．…‼‽⁇⁈⁉"  # the next sentence begins after a blank; after others it may follow at once
_CLOSING = re.escape("\"'”’»›“‘«)]}」』】〉》）］｝〕〗〙〛")
_END = re.compile(rf"(?<![{TERMINALS}…])([{TERMINALS}…]++)([{_CLOSING}]*+)(\s*+)(?=\S)")
_WORD_BEFORE = re.compile(r"[^\W_]+(?:[.:,][^\W_]+)*(?=\s*$)")
_INITIALS = re.compile(r"[^\W\d_](?:\.[^\W\d_]{1,2})*")  # J. · U.S. · z.B.
_ORDINAL = re.compile(r"\d{1,2}|[IVX]{2,}")
_LETTER, _LETTER_OR_DIGIT = re.compile(r"[^\W\d_]"), re.compile(r"[^\W_]")
NEAR = 40  # characters before and after a mark that decide about it


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Never the last word of a sentence. Words of one language do little harm in others.
TITLES = _words("""
    mr mrs ms messrs dr prof rev hon st mt ft gen col maj capt lt sgt cpl gov sen rep supt vs cf viz approx esp incl
    hr hrn fr frl bzw ca evtl ggf vgl inkl zzgl bspw sog geb dipl ing str mme mlle sr sra srta dra ud uds av sig dott
    avv dhr mevr drs bijv проф акад ул
""")
# Not before a number.
NUMBERED = _words("""
    no nos nr art fig figs vol pp abs kap ch chap sec sect op bd ex eq tab tel pos lit ziff núm num стр рис гл
    jan feb mar apr jun jul aug sep sept oct okt nov dec dez
""")
CLOSING_INITIALS = _words("a.m p.m u.s.w")  # may be the last word
# Languages that write "1st" as "1."; where the language is not known, it may be one of them.
ORDINAL_LANGUAGES = _words("de da nb nn no fi et lv cs sk pl hu hr sl sr bs tr is fo eu lb hsb dsb")


def sentences(text: str, language: str | None = None) -> list[Span]:
    """Where each sentence of a text begins and ends, without the blanks in between; language: its code, if known."""
    if _END.search(text) is None:
        return [(0, len(text))]
    spans, first, letter, is_small = [], 0, _LETTER.search(text), text.islower()
    for found in _END.finditer(text):
        if letter is None:
            break
        # What has no letter, as "1." before a heading, is no sentence.
        if letter.start() < found.start() and _is_end(text, found, language, is_small):
            spans.append((first, found.end(2)))
            first = found.end()
            letter = _LETTER.search(text, first)
    return [*spans, (first, len(text))]


def group_sentences(spans: list[Span], most: int, kept: Sequence[Span] = ()) -> list[Span]:
    """Spans of at most so many sentences, as equal as can be; no cut is within what is kept."""
    whole = spans[:1]
    for start, end in spans[1:]:
        if any(one < whole[-1][1] and other > start for one, other in kept):
            whole[-1] = whole[-1][0], end
        else:
            whole.append((start, end))
    count = -(-len(whole) // most)
    groups = [whole[number * len(whole) // count : (number + 1) * len(whole) // count] for number in range(count)]
    return [(group[0][0], group[-1][1]) for group in groups]


def _is_end(text: str, found: re.Match[str], language: str | None, is_small: bool) -> bool:
    """Whether a sentence ends at a mark that may end one; something follows it. is_small: all letters of the text."""
    marks, closing, blank = found.groups()
    if not blank:
        return not closing and marks[-1] not in NEED_SPACE
    after = _LETTER_OR_DIGIT.search(text, found.end(), found.end() + NEAR)
    if after is None or (after[0].islower() and not is_small):
        return False
    before = _WORD_BEFORE.search(text, max(0, found.start() - NEAR), found.start())
    if marks != "." or before is None:
        return True
    word = before[0].lower()
    if _INITIALS.fullmatch(word) and word != word.upper():
        return word in CLOSING_INITIALS
    if _ORDINAL.fullmatch(before[0]):
        return language is not None and re.split("[-_]", language)[0] not in ORDINAL_LANGUAGES
    return word not in TITLES and not (after[0].isdigit() and word in NUMBERED)
