"""Long lines in parts that fit."""

import random

from hypothesis import given
from hypothesis import strategies as st

from regard.text.segments import split_to_fit


def by_letters(texts):
    return [list(map(ord, text)) for text in texts]


def closed(texts):
    return [[*ids, 0] for ids in by_letters(texts)]


def split(text, longest):
    parts, ids = split_to_fit(text, by_letters([text])[0], by_letters, longest)
    assert ids == by_letters(parts)
    return parts


def test_sentences_before_clauses_before_words_before_letters():
    assert split("One two. Three four. Five.", 12) == ["One two.", "Three four.", "Five."]
    assert split("One two, three four, five.", 12) == ["One two,", "three four,", "five."]
    assert split("one two three four", 9) == ["one two", "three", "four"]
    assert split("abcdefgh", 3) == ["abc", "def", "gh"]
    assert split("他来了。她走了。", 5) == ["他来了。", "她走了。"]


def test_as_few_cuts_as_needed():
    assert split("One. Two. Three. Four.", 12) == ["One. Two.", "Three. Four."]
    assert split("short", 12) == ["short"]


@given(st.text(max_size=80), st.integers(1, 20))
def test_nothing_but_blanks_is_lost_and_every_part_fits(text, longest):
    parts = split(text, longest)
    assert "".join("".join(parts).split()) == "".join(text.split())
    assert all(len(part) <= longest for part in parts)


def test_a_long_text_is_measured_a_few_times_for_each_part():
    """Work, not time: whatever there is to cut at, each part is tried a few times, not once for each of its words."""
    for text in ("a. " * 3000, "a " * 5000, "x" * 10_000, "a, b. " * 2000):
        measured = 0

        def encode(parts):
            nonlocal measured
            measured += sum(len(part) + 1 for part in parts)
            return closed(parts)

        parts, _ = split_to_fit(text, closed([text])[0], encode, 40)
        assert all(len(part) < 40 for part in parts) and measured < 12 * len(text)


def test_no_text_is_encoded_twice_not_even_to_know_the_ids_of_its_parts():
    for text in ("a. " * 300, "a b, c. " * 100, "x" * 1000, "".join(map(chr, range(0x4E00, 0x5000))) + "。" * 9):
        seen = [text]
        parts, ids = split_to_fit(text, closed([text])[0], lambda some: seen.extend(some) or closed(some), 40)  # noqa: B023
        assert len(seen) == len(set(seen))
        assert ids == closed(parts)


def test_parts_that_do_not_fit_are_cut_again_all_at_once():
    """Where letters cost very different numbers of tokens, many parts are too long at first."""
    asked = 0

    def encode(texts):
        nonlocal asked
        asked += 1
        return [[ord(letter) for letter in text for _ in range(9 if letter == "b" else 1)] for text in texts]

    text = "".join(random.Random(1).choices("aaab", k=3000))
    parts, ids = split_to_fit(text, encode([text])[0], encode, 20)
    assert "".join(parts) == text and all(map(len, parts)) and max(map(len, ids)) <= 20 and asked < 10
