"""Stories are read as they are written, and errors name the line."""

import pytest

import regard
from regard.errors import CorpusError
from regard.text.samples import induction, standard_library
from regard.text.stories import hold_out_stories, read_sentences, read_stories, write_stories

TWO = (
    "1 Mary went home.\n2 Where is Mary?\thome\t1\n3 John left.\n4 What is it?\tapple,football\t3 1\n"
    "1 A b.\n2 C?\td\t1\n"
)


def test_a_question_sees_the_sentences_before_it(tmp_path):
    (tmp_path / "a.txt").write_text(TWO)
    first, second, third = read_stories([tmp_path / "a.txt"])
    assert first.sentences == ("Mary went home.",) and first.answer == "home" and first.support == (0,)
    assert second.sentences == ("Mary went home.", "John left.") and second.support == (1, 0)
    assert second.answer == "apple,football"
    assert third.sentences == ("A b.",) and first.tale == second.tale != third.tale


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Mary went home.\n", "line 1 does not begin with a number"),
        ("2 Mary went home.\n", "line 1 has the number 2 after 0"),
        ("1 A b.\n1 C?\td\t\n3 D.\n3 E?\tf\n", "line 4 has the number 3 after 3"),
        ("1 A b.\n2 C?\t\t1\n", "line 2 is a question without its answer"),
        ("1 A b.\n2 C d.\n", "has no question"),
    ],
)
def test_what_is_no_story_is_told_with_its_line(tmp_path, text, message):
    (tmp_path / "a.txt").write_text(text)
    with pytest.raises(regard.CorpusError, match=message):
        read_stories([tmp_path / "a.txt"])


def test_sentences_of_a_story_may_stand_as_they_like(tmp_path):
    for text in ("A b. C d!\nE f.\n", "1 A b.\n2 C d!\n3 E f.\n4 Who?\tA\t1\n", "A b.\n\nC d!\nE f.\n"):
        (tmp_path / "a.txt").write_text(text)
        assert read_sentences(tmp_path / "a.txt") == ["A b.", "C d!", "E f."]
    (tmp_path / "a.txt").write_text("3 men came.\nThey left.\n")
    assert read_sentences(tmp_path / "a.txt") == ["3 men came.", "They left."]
    (tmp_path / "a.txt").write_text("\n \n1 Who?\tA\n")
    with pytest.raises(CorpusError, match=r"a\.txt has no sentence in it"):
        read_sentences(tmp_path / "a.txt")


def test_questions_about_one_tale_stay_on_one_side(tmp_path):
    (tmp_path / "a.txt").write_text(TWO * 20)
    train, held = hold_out_stories(read_stories([tmp_path / "a.txt"]), 10, seed=1)
    assert len(train) + len(held) == 60 and 10 <= len(held) <= 12
    assert not {s.tale for s in train} & {s.tale for s in held}


def test_written_stories_are_read_back(tmp_path):
    stories = induction(20)
    (tmp_path / "a.txt").write_text(write_stories(stories))
    back = read_stories([tmp_path / "a.txt"])
    assert [(s.sentences, s.question, s.answer, s.support) for s in back] == [
        (s.sentences, s.question, s.answer, s.support) for s in stories
    ]


def test_the_answer_of_an_induction_follows_from_its_support_and_from_nothing_else():
    for story in induction(300):
        what, other, color = (story.sentences[place] for place in story.support)
        asked, kind = what.split()[0], what.split()[-1]
        assert story.question == f"What color is {asked}?"
        assert other.split()[-1] == kind and color.split()[0] == other.split()[0]
        assert color == f"{other.split()[0]} is {story.answer}."
        kinds = [sentence for sentence in story.sentences if sentence.split()[-1] == kind]
        assert len(kinds) == 2 and f"{asked} is {story.answer}." not in story.sentences


def test_held_out_stories_ask_about_what_never_met_in_training():
    def meeting(story):
        return *story.sentences[story.support[0]].split()[::3], story.answer

    train, held = induction(2000), induction(200, held_out=True)
    assert not {meeting(s) for s in train} & {meeting(s) for s in held}
    assert induction(5) == induction(5) != induction(5, seed=1)


def test_the_standard_library_is_text_on_every_machine():
    files = standard_library(1_000_000)
    assert len(files) > 20 and sum(path.stat().st_size for path in files) <= 1_000_000
    assert all(path.suffix == ".py" for path in files)
