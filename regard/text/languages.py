"""Which language lines are in: by function words of common languages, by scripts, and by the other side of a corpus.

Says nothing where it is not sure: a wrong alarm costs a reader more than a line that was missed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain

WORD = re.compile(r"[^\W\d_]{2,}")
FEWEST = 100  # lines of a side needed to detect its language
ROUNDS = 4  # of searching for lines like those found before
COMMON = 100  # most frequent words that show at a glance that a line is as the others
Counts = tuple[Counter[str], Counter[str]]
SCRIPTS = {
    "Greek": (0x370, 0x3FF), "Cyrillic": (0x400, 0x52F), "Hebrew": (0x590, 0x5FF), "Arabic": (0x600, 0x77F),
    "Devanagari": (0x900, 0x97F), "Thai": (0xE00, 0xE7F), "Kana": (0x3040, 0x30FF), "Han": (0x3400, 0x9FFF),
    "Hangul": (0xAC00, 0xD7AF),
}  # fmt: skip
NOT_LATIN = re.compile("[\u0370-\u077f\u0900-\u097f\u0e00-\u0e7f\u3040-\u9fff\uac00-\ud7af]")
FUNCTION_WORDS = {language: frozenset(words.split()) for language, words in {
    "en": "the of and to is was that it for are with as his her they have this from not you she he we be on at by an",
    "de": "der die das und ist nicht ich ein eine sie wir mit auf für den dem des zu von im es hat sich auch was an du",
    "fr": "le la les des un une est et dans que qui pas je il elle nous vous ils tu pour avec sur du ce au ne son sont",
    "es": "el la los las un una es en que no por con para se su del al lo como más pero yo está son sus muy",
    "it": "il lo la gli un una di che non per con sono del della nel nella si da alla al ho ha più questo suo le",
    "pt": "os as uma um em que não por com para se seu do da dos das no na ao mais mas eu está são",
    "nl": "de het een en van is dat niet ik zijn op met voor te hij ze er aan ook wat naar maar bij was hebben",
    "sv": "och att det som en ett är på av för med inte jag han hon den var till om har de så men vi",
    "da": "og at det som en et er på af for med ikke jeg han hun den var til om har de så men vi",
    "nb": "og at det som en et er på av for med ikke jeg han hun den var til om har de så men vi",
    "fi": "ja on ei että se hän minä oli mutta kun ovat niin myös tämä olen joka mitä jos sen hänen olla",
    "pl": "nie na się jest to do że jak ale po co tak za od jego czy ma są był przez dla",
    "cs": "je se na že to do ne jak ale po tak si za byl jsem jsou pro které který není",
    "ru": "не на что он как это по но она так его за из мы для от же было есть",
    "uk": "не на що він як це по але вона так його за із ми для від же було та",
    "tr": "ve bir bu da de için çok ne ben var değil ama daha gibi olarak kadar her sonra mi",
    "hu": "az és hogy nem egy van ez is de meg már csak mint volt ha el ki én azt nagyon",
    "ro": "și în de la nu este un pe cu care să că din mai sunt pentru ce dar se lui era",
    "id": "yang dan di ini itu dengan untuk tidak dari dalam ke akan pada juga saya adalah ada dia mereka",
}.items()}  # fmt: skip


def words_of(text: str) -> set[str]:
    """The words of a line, without marks and numbers, in small letters; single letters are words of any language."""
    return set(WORD.findall(text.lower()))


def count_words(lines: Iterable[set[str]]) -> Counter[str]:
    """In how many lines each word is."""
    return Counter(chain.from_iterable(lines))


def guess_language(counts: Counter[str], than: str | None = None) -> str | None:
    """The language of a text by its words, if it is clear; `than`: clearly rather than this one."""
    scores = {language: sum(counts[word] for word in words) for language, words in FUNCTION_WORDS.items()}
    best = max(scores, key=lambda language: scores[language])
    others = [
        score for language, score in scores.items() if language in ((than,) if than else scores) and language != best
    ]
    is_clear = scores[best] > 0.1 * counts.total() and scores[best] > 1.5 * max(others, default=0)
    return best if is_clear else None


def likeness(one: Counter[str], other: Counter[str]) -> float:
    """How much of two texts are the same words, from 0 to 1."""
    total = one.total() or 1, other.total() or 1
    return sum(min(count / total[0], other[word] / total[1]) for word, count in one.items())


def find_foreign(
    sides: tuple[list[str], list[str]], words: tuple[list[set[str]], list[set[str]]], counts: Counts
) -> Iterator[tuple[int, int, str]]:
    """Lines in another language than their side: (place, side, kind), from the lines and their words. The kind is
    "swapped" for the language of the other side, "language" for any other. A line that is the same on both sides is
    neither: it has its own name."""
    if len(sides[0]) < FEWEST:
        return
    for side in (0, 1):
        detector = _Detector(counts[side], counts[1 - side], sides[side])
        left = [place for place, line in enumerate(words[side]) if detector.common.isdisjoint(line)]
        detector.forget(words[side][place] for place in left)
        left = [place for place in left if sides[0][place].strip() != sides[1][place].strip()]
        for _ in range(ROUNDS):
            kinds = {place: detector(sides[side][place], words[side][place]) for place in left}
            found = [place for place, kind in kinds.items() if kind]
            yield from ((place, side, str(kinds[place])) for place in found)
            left = [place for place in left if not kinds[place]]
            if not found:
                break
            detector.learn(words[side][place] for place in found if kinds[place] == "language")


class _Detector:
    """Knows the words of a side and those of the other, and of the lines in third languages that were found."""

    def __init__(self, mine: Counter[str], theirs: Counter[str], lines: list[str]) -> None:
        self.mine, self.theirs = mine.copy(), theirs
        self.language = guess_language(mine)
        own = FUNCTION_WORDS[self.language] if self.language else frozenset()
        self.others = [
            words - own for language, words in FUNCTION_WORDS.items() if self.language not in (None, language)
        ]
        foreign = frozenset().union(*self.others)
        often = {word for word, count in mine.most_common(COMMON) if count > 3 * theirs[word]}
        self.common = often - foreign
        self.own = self.common | own
        self.scripts = Counter(map(script_of, lines))
        self.lines = len(lines)
        self.found: Counter[str] = Counter()

    def forget(self, lines: Iterable[set[str]]) -> None:
        """Removes lines without a common word of this side from its counts: they may be in another language."""
        self.mine -= count_words(line for line in lines if self.own.isdisjoint(line))

    def learn(self, lines: Iterable[set[str]]) -> None:
        """Lines that were found."""
        self.found += count_words(lines)

    def __call__(self, line: str, words: set[str]) -> str | None:
        script = script_of(line)
        if self.scripts[script] < 0.01 * self.lines and (len(words) >= 3 or (script != "Latin" and len(line) >= 4)):
            return "language"
        if len(words) < 3:
            return None
        known = [word for word in words if self.mine[word] > 3 * self.theirs[word]]
        theirs = [word for word in words if self.theirs[word] >= max(5, 3 * self.mine[word])]
        if len(words) >= 4 and len(theirs) >= max(3, 0.6 * len(words)) and len(known) <= len(words) / 8:
            return "swapped"
        if not self.language or not self.own.isdisjoint(words):
            return None
        foreign = sum(self.found[word] > max(1, self.mine[word]) for word in words)
        hits = max(len(words & others) for others in self.others)
        is_new = len(words) >= 4 and (hits >= 3 or (hits == 2 and len(known) <= len(words) / 4))
        return "language" if is_new or (hits and foreign >= max(2, len(words) / 2)) else None


def script_of(line: str) -> str:
    """The script that most letters of a line are in; Latin stands for all that has no name here."""
    letters = NOT_LATIN.findall(line[:200])
    if 3 * len(letters) < len(line[:200]):  # spaces and marks are a part of every line
        return "Latin"
    codes = [ord(letter) for letter in letters]
    return max(SCRIPTS, key=lambda name: sum(SCRIPTS[name][0] <= code <= SCRIPTS[name][1] for code in codes))
