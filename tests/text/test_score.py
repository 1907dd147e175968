"""Scores with their signatures."""

import pytest
import sacrebleu

from regard.errors import ConfigError
from regard.text.score import compare_translations, score_translations

TEXTS = ["the cat sat on the mat .", "a dog runs in the park ."]
REFERENCES = ["the cat sat on a mat .", "a dog runs through the park ."]


@pytest.mark.parametrize("tokenize", ["13a", "none", "intl"])
def test_scores_are_sacrebleus_and_say_so(tokenize):
    scores = score_translations(TEXTS, REFERENCES, tokenize)
    assert scores.bleu == sacrebleu.corpus_bleu(TEXTS, [REFERENCES], tokenize=tokenize).score
    assert scores.chrf == sacrebleu.corpus_chrf(TEXTS, [REFERENCES]).score
    assert f"tok:{tokenize}" in scores.signature
    assert scores.exact == 0 and score_translations(TEXTS, TEXTS).exact == 1


def test_an_unknown_tokenizer_is_told_with_those_there_are():
    with pytest.raises(ConfigError, match=r"tokenize=moses .*13a"):
        score_translations(TEXTS, REFERENCES, "moses")


def test_a_system_is_no_better_than_itself_but_better_than_noise():
    references = [
        f"sentence number {i} is about the {w} house" for i, w in enumerate(["red", "blue", "old", "new", "big"] * 8)
    ]
    noise = [" ".join(reference.split()[::-1]) for reference in references]
    assert compare_translations(references, references, references)["p_value"] == 1.0
    comparison = compare_translations(references, noise, references)
    assert comparison["against_bleu"] < 50 and comparison["p_value"] < 0.01


def test_text_that_is_tokenised_is_scored_without_a_word_about_it(caplog):
    lines = [f"line {number} ends in a period of its own ." for number in range(200)]
    assert score_translations(lines, lines).bleu == pytest.approx(100)
    assert not caplog.records
