"""regard.json is typed: a newer format is refused in words, and a model can be opened as what it must be."""

import json

import pytest

import regard
from regard.config import ModelConfig, resolve
from regard.families import find_recipe
from regard.folder import FORMAT, ModelFolder, ModelInfo
from regard.training.encode import encode_listed
from regard.training.recipe import TrainBatches


def rewrite(folder, **changes):
    path = folder / "regard.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_regard_json_is_read_with_types(folder):
    info = ModelFolder(folder).info
    assert isinstance(info, ModelInfo) and (info.format, info.task) == (FORMAT, "translate")
    assert info.parameters > 0 and info.scores["bleu"] >= 0 and info.training["steps"] == 300
    assert info.to_dict() == json.loads((folder / "regard.json").read_text())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"format": FORMAT + 1}, rf"has format {FORMAT + 1}, .* reads formats up to {FORMAT}: .* newer one .*; update"),
        ({"format": "new"}, r"regard\.json is not as regard writes it \(format: .*copy or train it again"),
        ({"scores": [1]}, r"is not as regard writes it \(scores: "),
    ],
)
def test_a_newer_format_and_other_contents_are_refused_in_words(folder, tmp_path, changes, words):
    regard.load(folder).save(tmp_path / "m")
    rewrite(tmp_path / "m", **changes)
    with pytest.raises(regard.FolderError, match=words):
        regard.load(tmp_path / "m")


def test_a_model_is_opened_as_the_class_it_must_be_of(folder):
    assert isinstance(regard.load(folder, family=regard.Translator), regard.Translator)
    with pytest.raises(regard.ConfigError, match="is a model to translate, which is opened as Translator and not as"):
        regard.load(folder, family=regard.Writer)


def test_validating_chooses_among_networks_and_leaves_the_model_as_it_was(answerer_folder, family_files):
    recipe, tokenizer = find_recipe("answer"), regard.load(answerer_folder).tokenizer
    config = resolve({"model": {"kind": "memory", "width": 8, "heads": 1, "restarts": 4, "vocab_size": 60}})
    corpus = recipe.read(*recipe.gather(family_files["answer"]["stories"]), config)
    arrays = encode_listed(recipe, corpus.examples.listed(), tokenizer, config)
    batches: TrainBatches = recipe.batches(arrays, tokenizer, config)
    validator = recipe.validator(corpus.examples.valid, batches, tokenizer, config, lambda: None)
    model = recipe.build(ModelConfig(**config.model.model_dump() | {"vocab_size": tokenizer.vocab_size}), tokenizer)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    found = validator.score(model, lambda: None)
    assert all(tensor.equal(before[name]) for name, tensor in model.state_dict().items())
    assert 0 <= int(found.chosen["chosen"]) < 4 and found.chosen["chosen"].shape == before["chosen"].shape
