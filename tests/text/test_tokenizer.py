"""Text to ids and back."""

from collections import Counter, defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as Pieces
from tokenizers import models

from regard.errors import ConfigError, FolderError
from regard.formats.tokenizers import _with_roles
from regard.text.running import split_lines
from regard.text.tokenizer import Tokenizer
from regard.text.vocabulary import (
    _broken_up,
    learn_bytes,
    learn_characters,
    learn_masked,
    learn_pairs,
    learn_running,
    learn_wordpieces,
    learn_words,
)

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
    ways = [
        lambda: learn_pairs(lines, 500),
        lambda: learn_running(lines, 500),
        lambda: learn_masked(lines, 500),
        lambda: learn_wordpieces(lines, 500, lowercase=False),
        lambda: learn_characters(lines),
        lambda: learn_words(lines, ["yes", "n,s"]),
    ]
    for learn in ways:
        assert learn().files() == learn().files()


def test_save_then_load_is_identity(tokenizer, tmp_path):
    (tmp_path / "tokenizer.json").write_bytes(tokenizer.files()["tokenizer.json"])
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


@given(any_text)
@settings(max_examples=100)
def test_running_text_comes_back_and_may_be_cut_after_a_line(running, text):
    assert running.decode(running.encode(text)) == text
    lines = split_lines(text)
    assert "".join(lines) == text
    assert [0, *(i for line in lines for i in running.encode_part(line))] == running.encode(text)  # after its mark
    single = learn_bytes()
    assert single.decode(single.encode(text)) == text


@pytest.fixture(scope="module")
def running():
    return learn_running(["def a():\n    return 1\n\n\n    b = 'é'\n"] * 3, 300)


def test_characters_are_those_that_were_seen():
    tokenizer = learn_characters(["ab\n c<|é"])
    assert tokenizer.decode(tokenizer.encode("cab\né |")) == "cab\né |"
    assert tokenizer.encode_part("a!")[1] == tokenizer.unknown_id


def test_wordpieces_mark_what_goes_on_and_special_names_in_a_text_are_text():
    tokenizer = learn_wordpieces(["The dogs sleep, the dog sleeps."] * 9, 60, lowercase=True)
    tokens = tokenizer.tokens(tokenizer.encode("THE dogs?"))
    assert tokens[0] == "[CLS]" and tokens[-1] == "[SEP]" and tokens[1] == " the"
    assert tokenizer.mask_id not in tokenizer.encode("a [MASK] b")
    starts = dict(zip(range(tokenizer.vocab_size), tokenizer.starts_word(), strict=True))
    shown = {i: tokenizer.tokens([i])[0] for i in starts.keys() - tokenizer.special_ids}
    assert all(starts[i] == token.startswith(" ") for i, token in shown.items() if token[-1].isalpha())
    ids = tokenizer.encode("The dogs sleep, the dog.")
    assert "".join(shown[i] for i in ids[1:-1]).strip() == tokenizer.decode(ids)  # words by spaces, as in the text


def test_answers_of_several_words_are_one_piece():
    tokenizer = learn_words(["Go north, Mary.", "Where?"], ["n,s", "north"])
    assert tokenizer.tokens(tokenizer.encode("mary GO n,s north!")) == ["mary", "go", "[UNK]", "[UNK]", "north"]
    assert tokenizer.id_of("n,s") is not None


@given(st.text("ab 1.\n", max_size=200))
def test_words_of_a_usual_length_are_learned_from_as_they_are(text):
    assert list(_broken_up([text])) == [text]


def test_a_word_without_an_end_is_learned_from_in_parts_and_comes_back_whole():
    """Learning takes the square of a word's length: one of 200,000 letters would take minutes."""
    endless = "ab" * 100_000
    (parts,) = _broken_up([endless])
    assert parts.replace("\n", "") == endless and max(map(len, parts.split("\n"))) == 1000
    for learned in (learn_running([endless, "a house"], 300), learn_pairs([endless, "a house"], 300)):
        assert learned.decode(learned.encode(endless)) == endless
    pieces = learn_wordpieces([endless, "a house", "a house"], 300, lowercase=False)
    assert pieces.decode(pieces.encode("a house")) == "a house"


def test_special_tokens_are_added_at_once_however_many_are_listed():
    """One after another took 16 s for 4,000 of them, with the square of their number."""
    calls = Counter()

    class Counted:
        def __init__(self, pieces):
            self.pieces = pieces

        def __getattr__(self, name):
            calls[name] += 1
            return getattr(self.pieces, name)

    words = [f"w{number}" for number in range(500)]
    plain = Pieces(models.WordLevel({word: number for number, word in enumerate(["<unk>", *words])}, "<unk>"))
    settings = defaultdict(lambda: None, unk_token="<unk>", additional_special_tokens=words, added_tokens_decoder={})
    found = _with_roles(Counted(plain), settings, False)
    assert calls["add_special_tokens"] + calls["get_added_tokens_decoder"] < 10
    assert [token.content for token in plain.get_added_tokens_decoder().values()] == ["<unk>", *words]
    assert found.unknown_id == 0
