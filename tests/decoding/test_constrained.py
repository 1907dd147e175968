"""A search that must say certain phrases says them, as likely a text as it can; and terms are found as whole words."""

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import regard
from regard.decoding.constrained import beam_with, compare_forced
from regard.decoding.found import Hypothesis
from regard.decoding.settings import Search
from regard.text.terms import read_terms, terms_in

SIZE, END = 6, 0


class Table:
    """Next-token logits by the last token only."""

    def __init__(self, seed: int) -> None:
        self.logits = torch.randn(SIZE, SIZE, generator=torch.Generator().manual_seed(seed))

    def __call__(self, last):
        return self.logits[last]

    def keep(self, rows):
        pass


def contains(ids, phrase) -> bool:
    return any(ids[i : i + len(phrase)] == list(phrase) for i in range(len(ids) - len(phrase) + 1))


@given(
    st.integers(0, 10**6), st.lists(st.lists(st.integers(1, SIZE - 1), min_size=1, max_size=3), min_size=1, max_size=2)
)
def test_every_phrase_is_said_and_scores_are_those_of_the_sequence(seed, phrases):
    step = Table(seed)
    found = beam_with(step, torch.tensor([1]), [END], 14, Search(6, 1.0, 3), phrases)
    log_probs = step.logits.log_softmax(-1)
    for one in found:
        assert one.is_finished and all(contains(one.ids, phrase) for phrase in phrases)
        way = [1, *one.ids, END]
        assert one.score == pytest.approx(sum(float(log_probs[a, b]) for a, b in itertools.pairwise(way)), abs=1e-4)
    assert [one.rank(1.0) for one in found] == sorted((one.rank(1.0) for one in found), reverse=True)


@given(st.integers(0, 10**6), st.integers(1, SIZE - 1))
def test_a_wide_beam_finds_the_best_of_all_sequences_with_a_token(seed, token):
    step, limit = Table(seed), 4
    log_probs = step.logits.log_softmax(-1)
    every = [way for n in range(1, limit) for way in itertools.product(range(1, SIZE), repeat=n) if token in way]
    scores = {way: sum(float(log_probs[a, b]) for a, b in itertools.pairwise((1, *way, END))) for way in every}
    found = beam_with(step, torch.tensor([1]), [END], limit, Search(400, 0.0, 1), [[token]])
    assert found[0].score == pytest.approx(max(scores.values()), abs=1e-4)


def test_a_phrase_for_which_there_is_no_room_is_the_nearest_miss():
    found = beam_with(Table(1), torch.tensor([1]), [END], 2, Search(4, 1.0, 2), [[1, 2, 3]])
    assert len(found) == 1 and not found[0].is_finished and found[0].ids == [1, 2]


def test_terms_are_whole_words_and_the_longest_come_first(tmp_path):
    terms = {"house": "Haus", "green house": "Gewächshaus", "ous": "?"}
    assert terms_in("the green house by the house", terms) == [("green house", "Gewächshaus"), ("house", "Haus")]
    assert terms_in("greenhouses", terms) == []
    (tmp_path / "t.tsv").write_bytes("\ufeff# our words\nhouse\tHaus\n\r\nsea \t das Meer\r\na\x0bb\tc\u2028d".encode())
    assert read_terms(tmp_path / "t.tsv") == {"house": "Haus", "sea": "das Meer", "a\x0bb": "c\u2028d"}
    for text, told in (("house Haus\n", "line 1"), ("house\tHaus\nhouse\tHütte\n", "line 2.*before")):
        (tmp_path / "t.tsv").write_text(text, encoding="utf-8")
        with pytest.raises(regard.CorpusError, match=told):
            read_terms(tmp_path / "t.tsv")


def test_a_translation_honours_its_terms_and_others_are_left_alone(translator):
    lines = ["The dog sees the cat.", "The old man sleeps.", "The dog sleeps."]
    free = translator(lines)
    bound = list(translator.translate_all(lines, terms={"dog": "cheval", "cat": "vache"}, alignments=True))
    assert bound[1].text == free[1]
    assert "cheval" in bound[0].text and "vache" in bound[0].text and "cheval" in bound[2].text
    assert all(one.alignment for one in bound)
    with pytest.raises(regard.ConfigError, match="same time"):
        translator("The dog.", prefix="Le", terms={"dog": "chien"})


def test_terms_that_ruin_a_translation_are_told_and_those_that_cost_little_are_not(translator):
    ruined = translator.translate("The dog sleeps.", terms={"dog": "qxzwk ## qxzwk ## qxzwk"})
    assert any("far less likely" in note and "check it" in note for note in ruined.notes)
    free = Hypothesis([1, 2, 3], -2.0, True)
    assert compare_forced(Hypothesis([1, 4, 3], -5.0, True), free, [[4]]) == ()
    assert compare_forced(Hypothesis([4, 3], -12.0, True), free, [[4]])


def test_a_term_that_could_not_be_said_is_told(translator):
    short = translator.translate("The dog sleeps.", terms={"dog": "x" * 20}, max_length=1)
    cut = Hypothesis([1, 2], -3.0, False)
    assert compare_forced(cut, cut, [[2, 3]]) == ("a term could not be placed in it",)
    assert compare_forced(cut, cut, [[1, 2]]) == ()
    assert "x" * 20 in short.text or short.notes
