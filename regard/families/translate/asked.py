"""What may be asked of a translator, checked. Knows no model."""

from __future__ import annotations

from dataclasses import dataclass

from regard.decoding.settings import BEAM, Search, refuse_below_one
from regard.errors import ConfigError
from regard.text.given import a_text
from regard.text.terms import Terms


@dataclass(frozen=True, kw_only=True)
class TranslateOptions:
    """How texts are translated: options of `translate`, `translate_all` and of a translator that is called."""

    beam: int = BEAM  # beam width; 1 is greedy search
    length_penalty: float = 1.0  # hypotheses are ranked by score / length^penalty
    max_length: int | None = None  # most tokens of a translation; by default three times its source
    n_best: int = 1  # translations of each text, the others as its alternatives
    prefix: str = ""  # what every translation begins with; with several beams, torch runs it
    terms: Terms | None = None  # words of a source, and how they must be translated; torch runs texts that have one
    scores: bool = True  # False makes greedy search a little faster
    alignments: bool = False  # also align words
    fast: bool = False  # use a shortlist of the source's likely translations
    # Translate each sentence of a text for itself. By default in parts of as many sentences as nearly all lines of the
    # training text had, if that is known.
    split_sentences: bool | None = None
    consensus: int | None = None  # so many translations are sampled by torch, and the one closest to all is taken
    seed: int = 0  # of what is sampled

    def __post_init__(self) -> None:
        refuse_below_one(beam=self.beam, n_best=self.n_best, max_length=self.max_length)
        a_text(self.prefix, "a prefix")
        if self.prefix and self.terms:
            raise ConfigError("a prefix and terms cannot be asked for at the same time")
        if self.consensus is not None:
            self._check_consensus(self.consensus)

    def _check_consensus(self, samples: int) -> None:
        if samples < 2:
            raise ConfigError(f"consensus={samples}: the translation closest to all is taken of at least 2")
        others = {"n_best": self.n_best > 1, "terms": self.terms, "fast": self.fast}
        if found := [name for name, is_asked in others.items() if is_asked]:
            raise ConfigError(f"consensus and {found[0]} cannot be asked for at the same time: one of the translations "
                              f"that are sampled from the whole vocabulary is taken")  # fmt: skip

    @property
    def search(self) -> Search:
        """Settings of the search."""
        if self.consensus:
            return Search(return_attention=self.alignments, samples=self.consensus, seed=self.seed)
        width = max(self.beam, self.n_best)
        return Search(width, self.length_penalty, self.n_best, self.scores, self.alignments, self.fast)
