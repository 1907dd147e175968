"""A classifier that is a fine-tuned encoder: it learns, is resumed bit for bit, and is the same in transformers."""

import json

import pytest
import torch
from conftest import write_labelled, write_topics
from typer.testing import CliRunner

import regard
from regard.cli.commands import app
from regard.families.classify.encoded import extend
from regard.model.attention import soft_attention

LANGUAGES = ["de", "en", "fr"]


def settings(steps):
    return {"threads": 1, "workers": 1, "stop": {"steps": steps},
            "train": {"learning_rate": 4e-3, "tokens_per_batch": 128, "valid_every": 30}}  # fmt: skip


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    return write_labelled(tmp_path_factory.mktemp("rows") / "rows.tsv", 60)


@pytest.fixture(scope="module")
def tuned(filler_folder, rows, tmp_path_factory):
    to = tmp_path_factory.mktemp("tuned") / "m"
    for steps in (80, 160):  # and resumed
        regard.train("classify", to=to, text=rows, start=filler_folder, settings=settings(steps))
    return to


@pytest.fixture(scope="module")
def classifier(tuned):
    return regard.load(tuned, family=regard.Classifier)


def test_a_filler_learns_to_classify_and_is_resumed_bit_for_bit(classifier, filler_folder, rows, tmp_path):
    found = classifier.evaluate(write_labelled(tmp_path / "test.tsv", 30, held_out=True))
    assert found["accuracy"] > 0.9 and classifier.labels == tuple(LANGUAGES)
    regard.train("classify", to=tmp_path / "m", text=rows, start=filler_folder, settings=settings(160))
    one, other = classifier.model.state_dict(), regard.load(tmp_path / "m").model.state_dict()
    assert all(one[name].equal(other[name]) for name in one)


def test_it_opens_in_transformers_and_gives_the_same_logits(classifier, tuned):
    transformers = pytest.importorskip("transformers")
    theirs = transformers.BertForSequenceClassification.from_pretrained(tuned).eval()
    assert theirs.config.id2label == dict(enumerate(LANGUAGES))
    ids = torch.tensor([classifier.tokenizer.encode("Der Hund ist alt.")])
    with torch.inference_mode():
        assert torch.allclose(theirs(ids).logits, classifier.model(ids), atol=1e-5)
    assert classifier.info.to_dict()["transformers"]["largest_difference"] < 1e-5


def test_its_last_layer_is_soft_attention_over_the_keys_of_the_labels(classifier):
    model, ids = classifier.model, torch.tensor([classifier.tokenizer.encode("The duck sleeps.")])
    with torch.inference_mode(), regard.record_attention(classifier) as recorded:
        model(ids)
        query = model.query(ids)
    scale = model.config.width**0.5
    keys = torch.cat([model.keys / scale, model.labels.bias[:, None]], dim=1) / model.temperature
    _, weights = soft_attention(torch.cat([query, torch.ones(1, 1)], dim=1), keys)
    assert torch.allclose(recorded["attention"][0][:, 0], weights, atol=1e-6)


def test_a_text_alone_and_among_longer_ones_gets_the_same_probabilities_and_a_blank_one_none(classifier):
    texts = ["The duck sleeps.", "", "La maison est grande. " * 20, "Der Hund ist alt."]
    together = classifier.classify_all(texts)
    for text, found in zip(texts, together, strict=True):
        alone = classifier.classify(text)
        assert alone.given == found.given
        pairs = zip(alone.labels, found.labels, strict=True)
        assert all(one.probability == pytest.approx(other.probability, abs=1e-5) for one, other in pairs)
    assert together[1].labels == []


def test_a_look_shows_the_encoder_and_the_labels_and_what_each_token_is_worth(classifier, tuned):
    seen = classifier.look("La maison est grande.", why=True)
    assert set(seen.kinds) == {"text", "labels"} and seen.answer == "fr"
    assert seen.kinds["labels"].weights.sum() == pytest.approx(1, abs=1e-5)
    model, ids = classifier.model, classifier.tokenizer.encode("La maison est grande.")
    with torch.inference_mode():
        whole, without = (model(torch.tensor([row])).log_softmax(-1)[0, 2] for row in (ids, ids[:1] + ids[2:]))
    lost, slope = seen.why.left_out[0], seen.why.gradient[0]
    assert lost[1] == pytest.approx(float(whole - without), abs=1e-5) and lost[0] == lost[-1] == 0
    assert len(lost) == len(slope) == len(ids) and any(slope)
    asked = CliRunner().invoke(app, ["export", str(tuned), "--as", "page", "--to", str(tuned.parent / "m.html")])
    assert asked.exit_code == 1 and "this one has an encoder" in asked.output


def test_texts_are_embedded_and_searched_by_what_the_encoder_makes_of_them(classifier):
    lines = ["The duck sleeps.", "La maison est grande.", "Der Hund ist alt."]
    assert classifier.index(lines).search("La maison est grande")[0].line == 2
    vectors = classifier.encode(lines)
    assert vectors.shape == (3, classifier.model.config.width)
    assert torch.allclose(vectors.norm(dim=1), torch.ones(3), atol=1e-5)


def test_more_labels_leave_the_logits_of_the_others_as_they_were(classifier):
    model, ids = classifier.model, torch.tensor([classifier.tokenizer.encode("The duck sleeps.")])
    names, weights = [*LANGUAGES, "it"], model.state_dict() | {"temperature": torch.tensor([2.0])}
    shape, _, found = extend(model.config, names, False, classifier.tokenizer, weights)
    assert shape.labels == names and found["labels.weight"].shape == (4, shape.width)
    larger = type(model)(shape, model.pad_id).eval()
    larger.load_state_dict(found)
    with torch.inference_mode():
        assert torch.allclose(larger(ids)[:, :3], model(ids) / 2, atol=1e-5)


def test_an_encoder_that_pools_by_the_mean_keeps_that_and_its_folder_says_that_it_opens_here_only(
    encoder_folder, tmp_path
):
    rows = tmp_path / "rows.tsv"
    lines = [
        f"{label}\t{'a ' * number}{word}\n" for number in range(4) for label, word in (("x", "dog"), ("y", "text"))
    ]
    rows.write_text("".join(lines * 4), encoding="utf-8")
    regard.train("classify", to=tmp_path / "m", text=rows, start=encoder_folder, settings=settings(60))
    config = json.loads((tmp_path / "m" / "config.json").read_text(encoding="utf-8"))
    assert config["model_type"] == "regard-classify" and config["pooling"] == "mean"
    tuned, encoder = regard.load(tmp_path / "m"), regard.load(encoder_folder)
    assert tuned.labels == ("x", "y") and tuned.model.pooler is None
    one, other = (model.state_dict() for model in (tuned.model.encoder, encoder.model))
    assert one.keys() == other.keys() and not one["embedding.table.weight"].equal(other["embedding.table.weight"])
    ids = torch.tensor([tuned.tokenizer.encode("a dog")])
    with torch.inference_mode():
        assert torch.allclose(tuned.model.query(ids), tuned.model.encoder(ids).mean(1), atol=1e-6)


def test_one_label_and_an_encoder_without_weights_are_refused(filler_folder, rows, tmp_path):
    one = write_topics(tmp_path / "one.tsv", ["food"], 20)
    with pytest.raises(regard.CorpusError, match="at least two labels are needed"):
        regard.train("classify", to=tmp_path / "m", text=one, start=filler_folder)
    with pytest.raises(regard.ConfigError, match=r"model\.kind=bert is an encoder .* name one with --from"):
        regard.train("classify", to=tmp_path / "m", text=rows, settings={"model": {"kind": "bert"}})
