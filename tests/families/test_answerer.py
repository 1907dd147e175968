"""An answerer gives an answer, its probability and its attention, whatever it is asked."""

from dataclasses import replace

import pytest
from conftest import family_settings

import regard
from regard.engines.network import shapes_of
from regard.families.answer.surface import as_fields, describe_answer
from regard.formats import own

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


def test_an_answer_says_in_every_form_whether_the_story_has_one(answerer):
    for text in ("yellow", "unknown"):
        found = replace(answerer.answer(STORY, QUESTION), text=text)
        assert found.abstained == as_fields(found)["abstained"] == (text == "unknown")
        assert ("the story has no answer" in describe_answer(found)) == found.abstained


def test_your_own_answer_unknown_means_that_the_story_has_none(family_files, tmp_path):
    told = family_files["answer"]["stories"].read_text()
    (tmp_path / "s.txt").write_text(told.replace("\tyellow", "\tUnknown"))
    settings = family_settings("answer", 20)
    regard.train("answer", stories=tmp_path / "s.txt", to=tmp_path / "m", settings=settings)
    answerer = regard.load(tmp_path / "m")
    assert {"abstained", "unanswerable_found"} <= set(answerer.info.scores)
    none = [line if "\t" not in line else line.split("\t")[0] + "\tUnknown" for line in told.splitlines()]
    (tmp_path / "none.txt").write_text("\n".join(none))
    report = answerer.evaluate(tmp_path / "none.txt")
    assert report["accuracy"] == report["abstained"], "it is right to abstain where that is the answer, and only there"


def test_without_made_questions_it_never_abstains_and_a_folder_of_before_opens(family_files, tmp_path):
    settings = family_settings("answer", 20)
    settings["train"] = settings.get("train", {}) | {"unanswerable": 0.0}
    regard.train("answer", to=tmp_path / "m", settings=settings, **family_files["answer"])
    answerer = regard.load(tmp_path / "m")
    assert answerer.tokenizer.id_of("unknown") is None and "unanswerable_found" not in answerer.info.scores
    assert answerer.evaluate(family_files["answer"]["stories"])["abstained"] == 0
    weights = answerer.model.state_dict()
    weights.pop("answer_temperature")
    shapes = shapes_of(answerer.model)
    read = own.import_weights({name: tensor.numpy() for name, tensor in weights.items()}, shapes)
    assert read["answer_temperature"].tolist() == [[[1.0]]]
