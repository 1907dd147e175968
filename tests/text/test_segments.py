"""Long lines in parts that fit."""

from hypothesis import given
from hypothesis import strategies as st

from regard.text.segments import split_to_fit


def split(text, longest):
    return split_to_fit(text, lambda part: len(part) <= longest)


def test_sentences_before_clauses_before_words_before_letters():
    assert split("One two. Three four. Five.", 12) == ["One two.", "Three four.", "Five."]
    assert split("One two, three four, five.", 12) == ["One two,", "three four,", "five."]
    assert split("one two three four", 9) == ["one two", "three", "four"]
    assert split("abcdefgh", 3) == ["ab", "cd", "ef", "gh"]
    assert split("他来了。她走了。", 5) == ["他来了。", "她走了。"]


def test_as_few_cuts_as_needed():
    assert split("One. Two. Three. Four.", 12) == ["One. Two.", "Three. Four."]
    assert split("short", 12) == ["short"]


@given(st.text(max_size=80), st.integers(1, 20))
def test_nothing_but_blanks_is_lost_and_every_part_fits(text, longest):
    parts = split(text, longest)
    assert "".join("".join(parts).split()) == "".join(text.split())
    assert all(len(part) <= longest for part in parts)
