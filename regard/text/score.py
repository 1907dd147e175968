"""How good translations are, by the field's own measures (sacrebleu), always with the signature that says which.

Knows lists of strings and nothing of how they were made.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from regard.errors import ConfigError


@dataclass(frozen=True)
class TranslationScores:
    """BLEU and chrF of a set of translations, 0 to 100."""

    bleu: float
    chrf: float
    signature: str  # of BLEU
    chrf_signature: str
    exact: float  # share of translations equal to their reference, 0 to 1
    count: int


def score_translations(texts: Sequence[str], references: Sequence[str], tokenize: str = "13a") -> TranslationScores:
    """BLEU and chrF of `texts` against one reference each."""
    from sacrebleu.metrics import CHRF

    bleu, chrf = _bleu(tokenize), CHRF()
    bleu_score = bleu.corpus_score(list(texts), [list(references)])
    chrf_score = chrf.corpus_score(list(texts), [list(references)])
    same = sum(text == reference for text, reference in zip(texts, references, strict=True))
    signatures = str(bleu.get_signature()), str(chrf.get_signature())
    return TranslationScores(bleu_score.score, chrf_score.score, *signatures, same / len(texts), len(texts))


def compare_translations(
    texts: Sequence[str], others: Sequence[str], references: Sequence[str], tokenize: str = "13a"
) -> dict[str, float | str]:
    """Whether `texts` differ from `others` in BLEU by more than chance: paired bootstrap, 1,000 resamples of the
    sentences. The p-value is the probability of a difference this large between systems of the same quality.
    """
    from sacrebleu.significance import PairedTest

    systems = [("other", list(others)), ("this", list(texts))]  # the first is the baseline the second is tested against
    test = PairedTest(systems, {"BLEU": _bleu(tokenize)}, [list(references)], test_type="bs", n_samples=1000)
    signatures, results = test()
    other, this = results["BLEU"]
    p_value = 1.0 if this.score == other.score else float(this.p_value)  # sacrebleu finds 1/1001 when nothing differs
    return {"against_bleu": other.score, "p_value": p_value, "comparison": str(signatures["BLEU"])}


def _bleu(tokenize: str):  # type: ignore[no-untyped-def]
    from sacrebleu.metrics import BLEU
    from sacrebleu.metrics.bleu import _TOKENIZERS

    known = sorted(_TOKENIZERS)
    if tokenize not in known:
        raise ConfigError(f"tokenize={tokenize} is not one of sacrebleu's tokenizers; choose from {', '.join(known)}")
    return BLEU(tokenize=tokenize, force=True)  # else it warns at every validation of text that is tokenised


def report_translations(
    texts: Sequence[str], references: Sequence[str], tokenize: str, others: Sequence[str] | None = None
) -> dict[str, float | str | int]:
    """The scores of translations by name; with those of another translator, whether the two differ by chance."""
    report: dict[str, float | str | int] = dict(vars(score_translations(texts, references, tokenize)))
    return report if others is None else report | compare_translations(texts, others, references, tokenize)
