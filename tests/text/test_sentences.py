"""Where sentences end, in several scripts; and where a mark that may end one does not."""

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from regard.text.sentences import TERMINALS, group_sentences, sentences


def split(text, language=None):
    return [text[first:last] for first, last in sentences(text, language)]


@pytest.mark.parametrize("text", [
    "The dog sees a cat.|The cat sees the dog.",
    "What?!|Really...|Yes!|No…|Fine.",
    '"Stop!" he said.|"Go home."|(He did.)|«Bien.»|„Ich komme.“|Er ging.',
    "¿Qué?|¡No!|Sí.",
    "It ended at 5 p.m.|He left at 10:30.|It was 3.14 or 1,000.50 by now.",
    "Apples, pears etc. are good.|Äpfel, Birnen usw. sind gut.|Er ging.",
    "I saw example.com and Node.js.|It works.",
    "1. Introduction.|It begins.",
    "a man . |a dog runs .|two men sit down .".replace(". |", ".|"),  # lowercased and tokenised
    "the dog sees a cat. |the cat sees mr. smith.".replace(". |", ".|"),
    "यह घर है।|वह कुत्ता है।",
    "هل هذا بيت؟|نعم، هذا بيت.",
    "Սա տուն է։|Այո։",
    "ይህ ቤት ነው።|አዎ።",
])  # fmt: skip
def test_sentences_end_where_people_would_say(text):
    assert split(text.replace("|", " ")) == text.split("|")


@pytest.mark.parametrize("text", [
    "他来了。|她走了！|真的？|是的", "「行く。」と彼は言った。|雨だ。", "真的？？|好。",
    "他说：“我来了。”然后走了。|她也走了。",
])  # fmt: skip
def test_where_there_are_no_blanks_sentences_end_without_one(text):
    assert split(text.replace("|", "")) == text.split("|")


@pytest.mark.parametrize("text", [
    "Mr. Smith, Mrs. Brown and Dr. Jones met Prof. Lee in St. Louis.",
    "The U.S. Army, J. R. R. Tolkien and George W. Bush were there.",
    "We need tools, e.g. Hammers, i.e. Things.", "Er mag Obst, z. B. Äpfel, d. h. Süßes, z.B. Birnen.",
    "See No. 5, Fig. 3 and Vol. 2 of Jan. 7.", "Das ist Nr. 5 und Hr. Meier bzw. Frau Schulz.",
    "Am 1. Mai und im 19. Jahrhundert unter Ludwig XIV. Er",
    "He said it ... and left.", "Wait… what is it? no.", "One word", "", " ", "...", "!", "3.14", "A.",
])  # fmt: skip
def test_abbreviations_initials_ordinals_and_numbers_end_no_sentence(text):
    assert split(text) == [text]


def test_a_number_ends_a_sentence_in_languages_whose_ordinals_have_no_full_stop():
    assert split("He is 5. She is 6.", "en") == ["He is 5.", "She is 6."]
    assert split("Am 1. Mai.", "de") == split("Am 1. Mai.", "de-AT") == ["Am 1. Mai."]


def test_the_marks_are_those_of_unicode():
    plane = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x10000)]))
    theirs = set(regex.findall(r"\p{Sentence_Terminal}", plane))
    assert set(TERMINALS) <= theirs and len(theirs - set(TERMINALS)) < 5  # newer versions of Unicode have more


@given(st.text(alphabet="aB1 .!?。…\"')\n", max_size=60))
def test_nothing_but_blanks_is_between_sentences(text):
    spans = sentences(text)
    reached = 0
    for first, last in spans:
        assert not text[reached:first].strip() and first <= last
        reached = last
    assert reached == len(text)


@pytest.mark.parametrize("text", ["!" * 10**5, "! " * 10**5, "1. " * 10**5, "。" * 10**5, ".)" * 10**5, "A " * 10**5])
def test_marks_without_end_take_no_longer_than_they_are_long(text):
    assert len(sentences(text)) == 1  # would not come back if it were quadratic


def test_groups_have_at_most_so_many_sentences_and_no_cut_inside_what_is_kept():
    spans = [(0, 2), (3, 5), (6, 8), (9, 11)]
    assert group_sentences(spans, 1) == spans
    assert group_sentences(spans, 3) == [(0, 5), (6, 11)]
    assert group_sentences(spans, 9) == [(0, 11)]
    assert group_sentences(spans, 1, [(4, 7)]) == [(0, 2), (3, 8), (9, 11)]
