"""Word alignment of a source and its translation, by a translator's attention and a lexicon."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.alignment.links import (
    AlignmentScore,
    Links,
    align_words,
    has_letters,
    read_pharaoh,
    symmetrise,
    words_of,
)
from regard.decoding.found import Hypothesis
from regard.engines.stored import length_ratio
from regard.errors import CorpusError
from regard.folder import ModelFolder
from regard.text.corpus import PairFiles, read_pairs
from regard.text.lines import read_lines
from regard.text.tokenizer import ROLES

if TYPE_CHECKING:
    from regard.alignment.lexical_table import LexicalTable
    from regard.families.translate.pipeline import Translator

LOST, LEAST_LOST = 1 / 3, 3  # share and number of source words whose absence is reported
# Words are aligned to be sure of a translation whose tokens are such a share of those to expect; of one that is not
# very short only if such a share of its source tokens has no likely translation in it.
SHORT, VERY_SHORT, UNCOVERED = 0.85, 0.65, 0.25
LEAST_TOKENS = 12  # of a source that is checked; a shorter one has no part to lose


class Aligner:
    """Aligns what a model's engine generated, or a forced target."""

    def __init__(self, folder: ModelFolder, tokenizer: Any) -> None:
        self._folder, self._tokenizer = folder, tokenizer
        self.is_after = bool((folder.info.alignment or {}).get("is_after", True))
        self._length_ratio = length_ratio(folder.info)

    def align(self, source: Sequence[int], found: Hypothesis) -> Links:
        """Links of words. source: ids with the end; found: with the attention of every step."""
        return self.align_all([(source, found)])[0]

    def align_all(self, pairs: Sequence[tuple[Sequence[int], Hypothesis]]) -> list[Links]:
        """The same of several, which is faster than one after another; none of those without attention."""
        seen = [(list(source[:-1]), found) for source, found in pairs if found.attention]
        tables = self._table.of_all([(mine, found.ids) for mine, found in seen]) if seen and self._table else None
        rows = [table.tolist() for table in tables] if tables else [None] * len(seen)
        links = (self._links(mine, found, row) for (mine, found), row in zip(seen, rows, strict=True))
        return [next(links) if found.attention else [] for _, found in pairs]

    def _links(self, mine: list[int], found: Hypothesis, probabilities: list[list[float]] | None) -> Links:
        attention = found.attention[1:] if self.is_after else found.attention
        return align_words(attention, self._written(mine), self._written(found.ids), probabilities)

    def is_suspect(self, source: Sequence[int], target: Sequence[int]) -> bool:
        """Whether a translation may lack a part of its source, by lengths and the lexicon: a cheap test before words
        are aligned."""
        share = len(target) / (self._length_ratio * len(source))
        if len(source) < LEAST_TOKENS or share >= SHORT:
            return False
        return share < VERY_SHORT or (
            self._table is not None and self._table.uncovered(source[:-1], target) >= UNCOVERED
        )

    def lost_words(self, source: Sequence[int], found: Hypothesis) -> list[int]:
        """Source words that nothing is aligned with, if they are a third of all or more. Arguments as of `align`."""
        tokens = self._written(list(source[:-1]))
        words = {word for word, token in zip(words_of(tokens), tokens, strict=True) if has_letters(token)}
        lost = sorted({word for word in words if word is not None} - {mine for mine, _ in self.align(source, found)})
        return lost if len(lost) >= max(LEAST_LOST, LOST * len(words)) else []

    def _written(self, ids: list[int]) -> list[str]:
        """Tokens as people read them; a mark such as [CLS] is no word, but one that stands for an unknown word is."""
        special, tokens = self._tokenizer.special_ids, self._tokenizer.tokens(ids)
        return [
            " " if number in special and token.strip() not in ROLES["unknown"] else token
            for number, token in zip(ids, tokens, strict=True)
        ]

    def reads(self, ids: Sequence[int]) -> float:
        """Share of the tokens of a text that were seen as sources in training; 1 where nothing is known."""
        if self._table is None or not ids:
            return 1.0
        return sum(number in self._table.sources for number in ids) / len(ids)

    @cached_property
    def _table(self) -> LexicalTable | None:
        """Models from elsewhere have none."""
        from regard.alignment.lexical_table import FILE, MOST_BYTES, LexicalTable

        return LexicalTable.read(self._folder.read(FILE, MOST_BYTES)) if self._folder.has(FILE) else None


def align_pairs(translator: Translator, sources: Sequence[str], targets: Sequence[str]) -> list[Links]:
    """The alignment of given translations, by a forced pass over each."""
    tokenizer = translator.tokenizer
    read, target_ids = tokenizer.encode_all(list(sources)), tokenizer.encode_targets(list(targets))
    for mine, theirs in zip(read, target_ids, strict=True):
        translator.refuse_long("text", theirs, mine)
    forced = [[Hypothesis(ids[:-1], 0.0, True)] for ids in target_ids]
    traced = translator.native.trace(read, forced)
    return translator.aligner.align_all([(ids, found[0]) for ids, found in zip(read, traced, strict=True)])


def score_alignment(
    translator: Translator, files: PairFiles, gold: str | Path, reverse: Translator | None
) -> dict[str, float | int]:
    """AER, precision and recall against gold links, one line for each pair."""
    pairs, _ = read_pairs(files)
    lines = list(read_lines(Path(gold)))
    if pairs and len(lines) < pairs[-1].line:
        raise CorpusError(f"{gold} has {len(lines)} lines of links, but there is a pair on line {pairs[-1].line}; "
                          f"line N must hold the links of pair N")  # fmt: skip
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    found = align_pairs(translator, sources, targets)
    if reverse is not None:
        back = [[(source, target) for target, source in links] for links in align_pairs(reverse, targets, sources)]
        found = [symmetrise(one, other) for one, other in zip(found, back, strict=True)]
    score = AlignmentScore()
    for pair, links in zip(pairs, found, strict=True):
        try:
            sure, possible = read_pharaoh(lines[pair.line - 1])
        except ValueError:
            raise CorpusError(f"{gold}, line {pair.line}: {lines[pair.line - 1][:60]!r} is not links as in "
                              f"`0-0 1-2 2?1` (- sure, ? possible)") from None  # fmt: skip
        score.add(links, sure, possible)
    return score.scores | {"aligned_pairs": len(pairs)}
