"""Long lines in parts that fit."""

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text import segments
from regard.text.segments import find_windows, split_to_fit


def by_letters(texts):
    return [list(map(ord, text)) for text in texts]


def closed(texts):
    return [[*ids, 0] for ids in by_letters(texts)]


def with_ends(encode):
    """Where each id ends, of an encoding that has one a letter and maybe one at the end."""

    def found(texts):
        pairs = zip(texts, encode(texts), strict=True)
        return [(ids, [*range(1, len(text) + 1), 0][: len(ids)]) for text, ids in pairs]

    return found


def fit(texts, encode, longest):
    """The parts of each text and their ids."""
    return [
        ([part for part, _ in found], [ids for _, ids in found])
        for found in split_to_fit(texts, encode, with_ends(encode), longest)
    ]


def split(text, longest):
    ((parts, ids),) = fit([text], by_letters, longest)
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

        ((parts, _),) = fit([text], encode, 40)
        assert all(len(part) < 40 for part in parts) and measured < 12 * len(text)


def test_parts_that_do_not_fit_are_cut_again_all_at_once():
    """Where letters cost very different numbers of tokens, many parts are too long at first; and of many texts, too."""
    asked = 0

    def encode(texts):
        nonlocal asked
        asked += 1
        return [[ord(letter) for letter in text for _ in range(9 if letter == "b" else 1)] for text in texts]

    rng = random.Random(1)
    texts = ["".join(rng.choices("aaab", k=length)) for length in (3000, *range(1, 300))]
    found = split_to_fit(texts, encode, lambda some: [(ids, [9] * len(ids)) for ids in encode(some)], 20)
    for text, parts in zip(texts, found, strict=True):
        assert "".join(part for part, _ in parts) == text and all(part for part, _ in parts)
        assert max(len(ids) for _, ids in parts) <= 20
    assert asked < 12


def test_what_cannot_fit_is_a_letter_or_left_whole():
    assert split("ab", 1) == ["a", "b"]
    ((parts, _),) = fit(["ab"], lambda texts: [[1, 0] if text else [0] for text in texts], 1)
    assert parts == ["ab"], "two letters that have one token, where the end has the only place"


@given(st.text(alphabet="ab. ,。\n", max_size=300), st.integers(5, 60))
def test_windows_are_the_text_without_blanks_between_them(text, size):
    text = text.strip()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "WINDOW", size)
        patch.setattr(segments, "NEAR_END", size // 2)
        spans = find_windows(text)
    assert "".join("".join(text[a:b] for a, b in spans).split()) == "".join(text.split())
    assert all(b - a <= size and text[a:b] == text[a:b].strip() for a, b in spans)
    assert all(b <= a for (_, b), (a, _) in pairwise(spans))


def test_a_window_ends_at_a_sentence_end_else_at_a_clause_else_at_a_blank():
    sentence, clause, word = ("One two. " * 600, "one two, " * 600, "onetwo " * 600)
    assert all(sentence[a:b].endswith("two.") for a, b in find_windows(sentence.strip()))
    assert all(clause[a:b].endswith("two,") for a, b in find_windows(clause.strip()))
    assert all(word[a:b].endswith("onetwo") for a, b in find_windows(word.strip()))
    (_, end), *_ = find_windows(sentence.strip())
    assert find_windows(sentence.strip(), [(end - 3, end + 3)])[0] == (0, end - 9), "not within what is kept"
    assert find_windows("x" * 4500) == [(0, 2000), (2000, 4000), (4000, 4500)] and find_windows("") == [(0, 0)]
