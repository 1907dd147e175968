"""Text to ids and back."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import ConfigError, FolderError
from regard.text.tokenizer import Tokenizer, choose_vocab_size

any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


@given(any_text | st.sampled_from(["</s>", "<pad> <unk>", "  two  spaces ", "\u2028\r\t", "a\x00b", "नमस्ते", "👩‍👩‍👧"]))
@settings(max_examples=300)
def test_any_text_comes_back_as_it_was(tokenizer, text):
    assert tokenizer.decode(tokenizer.encode(text)) == text


@given(any_text)
def test_the_end_stands_at_the_end_and_only_there(tokenizer, text):
    ids = tokenizer.encode(text)
    assert ids[-1] == tokenizer.end_id
    assert not {tokenizer.end_id, tokenizer.pad_id} & set(ids[:-1])


def test_padding_is_the_last_id_and_the_end_the_first(tokenizer):
    assert tokenizer.pad_id == tokenizer.vocab_size - 1
    assert tokenizer.end_id == 0


def test_a_word_is_spelled_alike_at_the_start_and_inside(tokenizer):
    assert tokenizer.encode("the dog")[-2] == tokenizer.encode("dog")[-2]


def test_the_same_text_gives_the_same_pieces(pairs):
    lines = pairs["source"].read_text().splitlines()
    assert Tokenizer.learn(lines, 500).dump() == Tokenizer.learn(lines, 500).dump()


def test_save_then_load_is_identity(tokenizer, tmp_path):
    (tmp_path / "tokenizer.json").write_text(tokenizer.dump(), encoding="utf-8")
    again = Tokenizer.load(tmp_path / "tokenizer.json")
    text = "The old dogs </s> sleep."
    assert again.encode(text) == tokenizer.encode(text)
    assert (again.pad_id, again.end_id, again.vocab_size) == (tokenizer.pad_id, tokenizer.end_id, tokenizer.vocab_size)


def test_half_a_character_is_refused(tokenizer):
    with pytest.raises(ConfigError, match="half a character"):
        tokenizer.encode("a\ud800b")


@pytest.mark.parametrize("content", ["", "{}", "[1, 2", '{"model": 3}', "\x00"])
def test_a_file_that_is_no_tokenizer_is_told(tmp_path, content):
    (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(FolderError, match=r"tokenizer\.json is not a tokenizer"):
        Tokenizer.load(tmp_path / "tokenizer.json")


def test_numbers_are_read_digit_by_digit_and_tokens_show_their_space(tokenizer):
    tokens = tokenizer.tokens(tokenizer.encode("The 12 dogs of 1984"))[:-1]
    assert all(sum(letter.isdigit() for letter in token) <= 1 for token in tokens)
    assert "".join(tokens) == " The 12 dogs of 1984"


def test_vocabularies_grow_with_the_corpus():
    sizes = [choose_vocab_size(words) for words in (100, 10_000, 750_000, 5_000_000, 10**9)]
    assert sizes == sorted(sizes) and sizes[0] >= 300 and sizes[-1] == 32_000
