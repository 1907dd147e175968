"""A filler ranks what may stand in a gap."""

import pytest
import torch

import regard
from regard.data.collate import TokenMasking
from regard.data.masking import encode_texts, make_masking


@pytest.fixture(scope="module")
def filler(filler_folder):
    return regard.load(filler_folder)


def test_each_gap_has_its_candidates_likeliest_first(filler):
    filled = filler.fill("The [MASK] dog [MASK] in the house.", top=4)
    assert len(filled.gaps) == 2
    for gap in filled.gaps:
        chances = [candidate.probability for candidate in gap]
        assert len(gap) == 4 and chances == sorted(chances, reverse=True) and 0 < sum(chances) <= 1
        assert not any(candidate.text.startswith("[") for candidate in gap)
    assert filler("The [MASK] dog [MASK] in the house.") == filled.text
    for gap in filled.gaps:
        assert gap[0].text.removeprefix("##") in filled.text


def test_a_text_without_a_gap_and_one_too_long_are_told(filler):
    with pytest.raises(regard.ConfigError, match=r"has no \[MASK\]; write \[MASK\] where"):
        filler.fill("The dog sleeps.")
    with pytest.raises(regard.ConfigError, match="the model reads at most 64; shorten it"):
        filler.fill("[MASK] " + "dog " * 100)


def test_evaluating_twice_hides_the_same_tokens(filler, pairs):
    report = filler.evaluate(pairs["source"])
    assert report == filler.evaluate(pairs["source"])
    assert 0 < report["accuracy"] < 1 and report["hidden_tokens"] > 300
    assert "15% hidden" in report["signature"]


VOCABULARY, PAD, MASK = 100, 0, 4


def hiding(share=0.15, starts=None):
    is_special = torch.zeros(VOCABULARY, dtype=torch.bool)
    is_special[:5] = True
    return TokenMasking(share, MASK, is_special, starts)


def test_of_the_chosen_tokens_four_in_five_become_the_mask():
    rows = torch.randint(5, VOCABULARY, (400, 50))
    rows[:, 0], rows[:, -1] = 2, 3
    rows[:200, 30:] = PAD
    read, chosen = hiding()(rows, torch.Generator().manual_seed(0))
    assert not chosen[rows < 5].any()
    assert torch.equal(read[~chosen], rows[~chosen])
    real = (rows >= 5).sum(1)
    assert torch.equal(chosen.sum(1), (real * 0.15).round().long())
    picked = read[chosen]
    masked, kept = (picked == MASK).float().mean(), (picked == rows[chosen]).float().mean()
    assert masked == pytest.approx(0.8, abs=0.02) and kept == pytest.approx(0.1, abs=0.02)
    assert not ((picked < 5) & (picked != MASK)).any()


def test_a_row_of_one_token_still_has_one_to_guess():
    rows = torch.tensor([[2, 7, 3, PAD, PAD]])
    _, chosen = hiding()(rows, torch.Generator().manual_seed(0))
    assert chosen.tolist() == [[False, True, False, False, False]]


def test_whole_words_are_hidden_together():
    starts = torch.arange(VOCABULARY) % 3 == 0  # two of three pieces continue a word
    rows = torch.randint(5, VOCABULARY, (200, 40))
    rows[:, 0] = 2
    _, chosen = hiding(starts=starts)(rows, torch.Generator().manual_seed(1))
    goes_on = ~starts[rows[:, 1:]] & (rows[:, :-1] >= 5)  # belongs to the word of the piece before it
    assert torch.equal(chosen[:, 1:][goes_on], chosen[:, :-1][goes_on])
    assert 0.1 < chosen.float().mean() < 0.3


def test_the_next_time_other_tokens_are_hidden(family_files, tmp_path):
    from conftest import family_settings

    from regard.config import merge, resolve
    from regard.families.fill.recipe import FILL
    from regard.training.encode import encode_listed

    settings = family_settings("fill", 5)
    config = resolve(merge(settings, {"text": {"tokenizer": "wordpiece"}}))
    corpus = FILL.read(*FILL.gather(**family_files["fill"]), config)
    lines = corpus.examples.listed()
    tokenizer = FILL.learn(corpus, config, lambda: None)
    arrays = encode_listed(FILL, lines, tokenizer, config)
    data, again = (FILL.batches(arrays, tokenizer, config) for _ in range(2))
    epochs = [[data.batch(e * data.batches_per_epoch + i) for i in range(data.batches_per_epoch)] for e in range(2)]
    texts = [{tuple(row.tolist()): tuple(h.tolist()) for b in e for row, h in zip(b.labels, b.is_label, strict=True)}
             for e in epochs]  # fmt: skip
    shared = texts[0].keys() & texts[1].keys()
    assert len(shared) > 50 and sum(texts[0][row] != texts[1][row] for row in shared) > 0.8 * len(shared)
    assert torch.equal(again.batch(3).ids, epochs[0][3].ids)  # and from any position the same


def test_long_lines_are_cut_into_parts_and_nothing_is_lost(filler):
    line = " ".join(["the old dog sleeps"] * 60)
    texts = encode_texts([line], filler.tokenizer, longest=32)
    start, end = filler.tokenizer.encode("")
    parts = [texts[i].tolist() for i in range(len(texts))]
    assert all(part[0] == start and part[-1] == end and len(part) <= 32 for part in parts)
    assert [number for part in parts for number in part[1:-1]] == filler.tokenizer.encode_part(line)


@pytest.mark.parametrize("tokenizer", ["wordpiece", "bpe"])
@pytest.mark.parametrize("whole_words", [False, True])
def test_both_tokenizers_train_with_and_without_whole_words(tokenizer, whole_words, family_files, tmp_path):
    from conftest import family_settings

    settings = family_settings("fill", 10, whole_words=whole_words)
    settings["text"] = settings["text"] | {"tokenizer": tokenizer}
    regard.train("fill", to=tmp_path / "m", settings=settings, **family_files["fill"])
    opened = regard.load(tmp_path / "m")
    assert opened.fill("The [MASK] sleeps.").gaps[0]
    assert make_masking(opened.tokenizer, 0.15, True).starts_word.any()
