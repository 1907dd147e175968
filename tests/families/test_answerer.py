"""An answerer gives an answer, its probability and its attention, whatever it is asked."""

import pytest
from conftest import family_settings

import regard

STORY = ["Brian is a frog.", "Brian is yellow.", "Greg is a frog."]
QUESTION = "What color is Greg?"


@pytest.fixture(scope="module", params=["memory", "transformer"])
def answerer(request, family_files, tmp_path_factory):
    settings = family_settings("answer", 30)
    settings["model"] = {"kind": request.param, "width": 16} | (
        {"ffn_width": 32} if request.param == "transformer" else {}
    )
    to = tmp_path_factory.mktemp("answerer") / request.param
    regard.train("answer", to=to, settings=settings, **family_files["answer"])
    return regard.load(to)


def test_a_story_is_a_text_or_a_list_of_sentences(answerer):
    answer = answerer.answer(STORY, QUESTION)
    assert answer == answerer.answer(" ".join(STORY), QUESTION)
    assert answerer(STORY, QUESTION) == answer.text and 0 < answer.probability <= 1
    assert len(answer.hops) == 3 and all(len(weights) == 3 for weights in answer.hops)
    assert all(0 <= weight <= 1 for weights in answer.hops for weight in weights)


def test_many_questions_are_answered_as_one_by_one(answerer):
    stories = regard.induction(9, seed=5)
    together = answerer.answer_all(stories)
    for story, found in zip(stories, together, strict=True):
        alone = answerer.answer(story.sentences, story.question)
        assert alone.text == found.text and alone.probability == pytest.approx(found.probability, abs=1e-5)
        assert [len(weights) for weights in found.hops] == [len(story.sentences)] * 3


def test_nothing_told_and_nothing_known_still_have_an_answer(answerer):
    assert answerer.answer([], QUESTION).text
    strange = answerer.answer(["Xyzzy plugh."], "Frobnicate?")
    assert strange.text and strange.unknown == ["frobnicate", "plugh", "xyzzy"]
    with pytest.raises(regard.ConfigError, match="question is empty"):
        answerer.answer(STORY, " ")


def test_a_long_story_keeps_its_newest_sentences(answerer):
    most = answerer.model.config.max_positions * 2 // 3
    answer = answerer.answer(["Lily is gray."] * most + STORY, QUESTION)
    assert len(answer.sentences) == most and answer.sentences[-3:] == STORY


def test_evaluate_tells_accuracy_and_whether_the_hops_find_what_matters(answerer, family_files):
    report = answerer.evaluate(family_files["answer"]["stories"])
    assert report["questions"] == 150 and 0 <= report["accuracy"] <= 1 and 0 <= report["support_found"] <= 1
    assert report["unknown_words"] == 0


def test_only_a_memory_network_starts_linear(family_files, tmp_path):
    settings = {"model": {"kind": "transformer"}, "train": {"linear_start": 3}, "threads": 1}
    with pytest.raises(regard.ConfigError, match=r"linear_start=3 changes nothing.*it goes with model\.kind=memory"):
        regard.train("answer", to=tmp_path / "m", settings=settings, **family_files["answer"])
