"""From attention between subwords to links between words. Imports no torch; knows tokens and numbers.

A decoder attends to a source word when it generates its translation, and some heads again, often more sharply, one
step later. Which step, layer and heads align best is selected in `heads.py`. Attention shows where a word may come
from; a lexicon corrects it by how likely that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

Links = list[tuple[int, int]]  # (word of the source, word of the target), both from 0
Map = Sequence[Sequence[float]]

FLOOR = 0.1  # added to every weight: a decoder sure of its next word may not attend to its source at all
UNLIKE = 1e-3  # probability that a word becomes punctuation, or punctuation a word
FAINT = 0.1  # an unlinked source word is linked to the target word that attends to it most, if at least this much
NEIGHBOURS = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]


def words_of(tokens: Sequence[str]) -> list[int | None]:
    """The word that each token begins in, counted by the spaces in between; None for one that is only space."""
    words: list[int | None] = []
    word, is_inside = -1, False
    for token in tokens:
        first = None
        for letter in token:
            if letter.isspace():
                is_inside = False
                continue
            if not is_inside:
                word, is_inside = word + 1, True
            first = word if first is None else first
        words.append(first)
    return words


def align_words(
    attention: Map, source_tokens: Sequence[str], target_tokens: Sequence[str], probabilities: Map | None = None
) -> Links:
    """Word links: each target word with the source word it most likely comes from, and each unlinked source word with
    the target word that attends to it most, unless faintly.

    attention (T, S + 1): of each target token to each source token; the last column, the end of the source, is not
    aligned, and neither are tokens without a row. probabilities (T, S): of a lexicon.
    """
    sources = words_of(source_tokens)
    if probabilities is not None:
        attention = combine(attention, probabilities, [has_letters(token) for token in source_tokens],
                        [has_letters(token) for token in target_tokens])  # fmt: skip
    by_word = _between_words(attention, sources, _voters(target_tokens))
    links = set()
    for target, row in by_word.items():
        best = max(range(len(row)), key=row.__getitem__)
        if row[best] > 0:
            links.add((best, target))
    linked = {source for source, _ in links}
    for source in {word for word in sources if word is not None} - linked:
        reader = max(by_word, key=lambda target: by_word[target][source], default=None)
        if reader is not None and by_word[reader][source] >= FAINT:
            links.add((source, reader))
    return sorted(links)


def combine(attention: Map, probabilities: Map, sources: Sequence[bool], targets: Sequence[bool]) -> list[list[float]]:
    """Attention times a lexicon's probabilities: (T, S), not normalized. sources, targets: whether each token has
    letters."""
    return [
        [
            (weight + FLOOR) * probability * (1.0 if is_word == is_mine else UNLIKE)
            for weight, probability, is_word in zip(row, likely, sources, strict=False)
        ]
        for row, likely, is_mine in zip(attention, probabilities, targets, strict=False)
    ]


@lru_cache(maxsize=2**16)
def has_letters(token: str) -> bool:
    """Or digits; else it is a mark, or only space."""
    return any(letter.isalnum() for letter in token)


def _voters(tokens: Sequence[str]) -> list[int | None]:
    """The word that each token is counted for: a comma at the end of a word is not."""
    words = words_of(tokens)
    lettered = {word for word, token in zip(words, tokens, strict=True) if has_letters(token)}
    return [
        None if word in lettered and not has_letters(token) else word for word, token in zip(words, tokens, strict=True)
    ]


def _between_words(
    attention: Map, sources: Sequence[int | None], targets: Sequence[int | None]
) -> dict[int, list[float]]:
    """Of each target word: how likely each source word is where it comes from, the mean of its tokens."""
    count = 1 + max((word for word in sources if word is not None), default=-1)
    totals: dict[int, list[float]] = {}
    sizes: dict[int, int] = {}
    for target, row in zip(targets, attention, strict=False):
        if target is None or not count:
            continue
        found = [0.0] * count
        for source, word in enumerate(sources):
            if word is not None:
                found[word] += row[source]
        whole = sum(found) or 1.0
        total = totals.setdefault(target, [0.0] * count)
        totals[target] = [before + new / whole for before, new in zip(total, found, strict=True)]
        sizes[target] = sizes.get(target, 0) + 1
    return {target: [value / sizes[target] for value in row] for target, row in totals.items()}


def symmetrise(forward: Links, backward: Links) -> Links:
    """One alignment from those of both directions, both as (source, target): their common links, then neighbours of
    those that either has and that link a word not linked yet, then what links two such words (grow-diag-final-and,
    Koehn et al. 2003).
    """
    union = set(forward) | set(backward)
    links = set(forward) & set(backward)
    sources, targets = {source for source, _ in links}, {target for _, target in links}
    is_growing = True
    while is_growing:
        is_growing = False
        for source, target in sorted(links):
            for down, right in NEIGHBOURS:
                new = source + down, target + right
                if new in union - links and (new[0] not in sources or new[1] not in targets):
                    links.add(new)
                    sources.add(new[0])
                    targets.add(new[1])
                    is_growing = True
    for side in (forward, backward):
        for source, target in sorted(side):
            if source not in sources and target not in targets:
                links.add((source, target))
                sources.add(source)
                targets.add(target)
    return sorted(links)


def to_pharaoh(links: Links) -> str:
    """As in `0-0 1-2`."""
    return " ".join(f"{source}-{target}" for source, target in links)


def read_pharaoh(line: str) -> tuple[Links, Links]:
    """The sure links of a line, and all of them: `0-0` is sure, `1?2` and `1p2` are possible. Raises ValueError."""
    sure: Links = []
    every: Links = []
    for word in line.split():
        mark = next((mark for mark in "-?p" if mark in word), "-")
        source, _, target = word.partition(mark)
        link = (int(source), int(target))
        every.append(link)
        if mark == "-":
            sure.append(link)
    return sure, every


class AlignmentScore:
    """Alignment error rate against gold alignments with sure and possible links."""

    def __init__(self) -> None:
        self._found = self._sure = self._found_sure = self._found_possible = 0

    def add(self, found: Links, sure: Links, possible: Links) -> None:
        """Counts one pair of sentences; sure links are possible too."""
        links, certain = set(found), set(sure)
        self._found += len(links)
        self._sure += len(certain)
        self._found_sure += len(links & certain)
        self._found_possible += len(links & (certain | set(possible)))

    @property
    def scores(self) -> dict[str, float]:
        """Alignment error rate, precision and recall (Och and Ney 2003)."""
        there = self._found + self._sure
        return {
            "aer": 1 - (self._found_sure + self._found_possible) / there if there else 0.0,
            "precision": self._found_possible / self._found if self._found else 0.0,
            "recall": self._found_sure / self._sure if self._sure else 0.0,
        }
