"""A classifier that learns on: steps that go too far, runs that are resumed, labels that come later."""

import json
import math
import random

import numpy as np
import pytest
import torch
from conftest import family_settings, write_labelled, write_lines, write_topics

import regard
from regard.config import ModelConfig
from regard.data.labelled import EncodedTexts, label_batches
from regard.families.classify.network import find_logits, label_loss
from regard.model.labels import LabelAttention
from regard.text.labels import LabelFiles, Labelled, hold_out_labelled, read_labelled
from regard.text.ngrams import LONGEST_REMEMBERED, MOST_REMEMBERED, _remembered, hash_word
from regard.training.checkpoint import CheckpointStore


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    folder = tmp_path_factory.mktemp("three")
    path = write_topics(folder / "rows.tsv", ["food", "music", "sport"], 300)
    regard.train("classify", to=folder / "m", settings={"model": {"buckets": 4096}, "threads": 1}, text=path)
    return folder / "m"


def test_a_step_that_goes_too_far_is_taken_back_and_the_run_ends_lower(tmp_path):
    path = write_labelled(tmp_path / "rows.tsv", 80)
    settings = family_settings("classify", 15, learning_rate=40.0)  # the first step is 40 long
    losses = []
    for steps in (15, 30):  # and resumed
        for event in regard.training(
            "classify", to=tmp_path / "m", text=path, settings=settings | {"stop": {"steps": steps}}
        ):
            if isinstance(event, regard.Progress):
                assert not event.is_skipped
                losses.append(event.loss)
    assert len(losses) == 30 and max(losses) > 2 * losses[0]
    assert math.isfinite(losses[-1]) and losses[-1] < losses[14] < losses[0]


def test_long_words_are_not_remembered():
    before = _remembered.cache_info().currsize
    assert hash_word("x" * 20_000) == hash_word("x" * 20_000)
    assert _remembered.cache_info().currsize == before
    hash_word("y" * LONGEST_REMEMBERED)
    assert _remembered.cache_info().maxsize == MOST_REMEMBERED


def test_a_label_that_is_added_begins_from_its_name_and_leaves_the_logits_of_the_others_as_they_were():
    torch.manual_seed(1)
    names = [torch.tensor([3, 5, 8]), torch.tensor([50, 51]), torch.tensor([3, 70, 71])]
    old = LabelAttention(ModelConfig(labels=["a", "b"], buckets=256, width=4, heads=1), names[:2])
    with torch.no_grad():
        old.table.normal_()
        old.bias.normal_()
        old.temperature.fill_(1.7)
    model = LabelAttention(ModelConfig(labels=["a", "b", "c"], buckets=256, width=16, heads=1), names)
    model.adopt(old.state_dict(), names)
    text = torch.tensor([1, 3, 50]), torch.rand(3), torch.tensor([[3]])
    assert torch.allclose(model(*text)[:, :2], old(*text), atol=1e-6)
    directions = model.keys / 4
    assert torch.allclose(directions @ directions.T, torch.eye(3), atol=1e-5)
    before = torch.nn.functional.pad(old.table[70] / 1.7, (0, 12))
    assert torch.allclose(model.table[70] - before, directions[2], atol=1e-6)


@pytest.mark.parametrize("with_old", [False, True])
def test_a_label_is_added_from_a_handful_of_texts_and_the_others_are_not_forgotten(three, tmp_path, with_old):
    labels = ["travel", *(["food", "music", "sport"] if with_old else [])]
    new = write_topics(tmp_path / "new.tsv", labels, 10 * len(labels), seed=2)
    regard.train("classify", to=tmp_path / "m", start=three, text=new, settings={"threads": 1})
    before, after = regard.load(three), regard.load(tmp_path / "m")
    assert after.labels == (*before.labels, "travel")
    old = write_topics(tmp_path / "old.tsv", ["food", "music", "sport"], 90, seed=3)
    assert after.evaluate(old)["accuracy"] >= before.evaluate(old)["accuracy"] - 0.01
    assert after.evaluate(write_topics(tmp_path / "more.tsv", ["travel"], 30, seed=4))["accuracy"] > 0.9
    assert after.classify("hotel road", top=1).label == "travel"
    assert "hotel" not in after.classify("hotel").unknown and "soup" not in after.classify("soup").unknown


def test_a_fine_tuned_classifier_is_resumed_bit_for_bit_and_begins_where_the_other_ended(three, tmp_path):
    new = write_topics(tmp_path / "new.tsv", ["sport", "travel"], 40, seed=2)
    for name, every in (("parts", (3, 9)), ("whole", (9,))):
        for steps in every:
            settings = {"threads": 1, "stop": {"steps": steps}, "train": {"valid_every": 3}}
            regard.train("classify", to=tmp_path / name, start=three, text=new, settings=settings)
    one, other = (regard.load(tmp_path / name, engine="torch").model.state_dict() for name in ("parts", "whole"))
    assert all(one[name].equal(other[name]) for name in one)


def test_labels_that_differ_by_case_from_those_of_the_model_are_refused(three, tmp_path):
    path = write_lines(tmp_path / "new.tsv", ["Food\tsoup and bread", "Food\tbread and salt"])
    with pytest.raises(regard.CorpusError, match=r"new.tsv.*differ by case alone.*'food' \(0\) and 'Food' \(1\)"):
        regard.train("classify", to=tmp_path / "m", start=three, text=path)
    several = write_lines(tmp_path / "new.jsonl", ['{"label": ["food", "x"], "text": "soup of the day"}'] * 9)
    with pytest.raises(regard.CorpusError, match="gives one label a text; train a new one to give several"):
        regard.train("classify", to=tmp_path / "m", start=three, text=several, valid=several)


def test_an_ngram_weighs_what_is_written_down_however_many_labels_there_are():
    draw = random.Random(3)
    words, labels, buckets = [f"w{n}" for n in range(30)], 7, 512
    examples = [Labelled((str(n % labels),), " ".join(draw.choices(words, k=5))) for n in range(60)]
    texts = EncodedTexts.of_examples(examples, [str(n) for n in range(labels)], buckets)
    counts = np.zeros((labels, buckets))
    for number in range(60):
        for block in texts.ngrams:
            counts[number % labels, block[number]] += 1
    here, there = counts + 1, (counts + 1).sum(0) - counts - 1
    most = np.abs(np.log(here / here.sum(1)[:, None]) - np.log(there / there.sum(1)[:, None])).max(0)
    rarity = np.log(61 / (1 + np.minimum(counts.sum(0), 60))) + 1
    assert np.allclose(texts.find_weights(labels, buckets), rarity * np.sqrt(most), atol=1e-5)


def test_a_model_of_another_kind_is_not_fine_tuned_to_classify_and_the_remedy_is_named(writer_folder, tmp_path):
    path = write_topics(tmp_path / "new.tsv", ["sport", "travel"], 20)
    with pytest.raises(regard.ConfigError, match=r"is a model to write; a model to classify .* Leave --from out"):
        regard.train("classify", to=tmp_path / "m", start=writer_folder, text=path)
    assert not (tmp_path / "m" / "config.json").exists()


@pytest.mark.parametrize("is_given", [False, True])
def test_texts_that_are_held_out_are_learned_from_at_last_unless_they_were_given(is_given, tmp_path):
    rows = write_topics(tmp_path / "rows.tsv", ["food", "music"], 80)
    given = {"valid": write_topics(tmp_path / "valid.tsv", ["food", "music"], 20, seed=5)} if is_given else {}
    settings = {"model": {"buckets": 4096}, "threads": 1}
    regard.train("classify", to=tmp_path / "m", text=rows, settings=settings, **given)
    model = regard.load(tmp_path / "m", engine="torch").model
    best = CheckpointStore(tmp_path / "m" / "run" / "state").get("best", read_step(tmp_path / "m"))
    assert model.temperature.equal(best["temperature"]) and model.table.equal(best["table"]) == is_given
    texts = read_labelled(LabelFiles.of(given.get("valid", rows)))[0]
    held_out = texts if is_given else hold_out_labelled(texts, 16, seed=1)[1]
    batches = list(label_batches(held_out, model.config.labels, best["row_weights"].numpy()))
    before = LabelAttention(model.config)
    before.load_state_dict(best)
    losses = [float(label_loss(find_logits(one, batches, lambda: None), torch.cat([b.labels for b in batches]), False))
              for one in (model, before)]  # fmt: skip
    assert losses[0] == losses[1] if is_given else losses[0] < losses[1]


def read_step(folder):
    return json.loads((folder / "regard.json").read_text(encoding="utf-8"))["step"]
