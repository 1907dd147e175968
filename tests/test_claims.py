"""A finished model claims a class of transformers only if it computes the same logits there."""

import dataclasses
import json
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError

import pytest
import torch
from conftest import family_settings
from safetensors.torch import save

import regard
import regard.config
from regard import compare
from regard.cli.info import describe
from regard.convert import export_model
from regard.families import find_recipe
from regard.folder import ModelFolder
from regard.formats import own
from regard.training import claims
from regard.training.card import describe_comparison

FOLDERS = ["folder", "writer_folder", "filler_folder"]


def read(folder, name):
    return json.loads((folder / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("fixture", FOLDERS)
def test_a_trained_model_tells_how_far_transformers_is_from_it(fixture, request):
    folder = request.getfixturevalue(fixture)
    found = read(folder, "regard.json")["transformers"]
    assert found["version"] and 0 <= found["largest_difference"] < claims.TOLERANCE
    assert not read(folder, "config.json")["model_type"].startswith(own.PREFIX)
    info = regard.load(folder).info
    assert describe_comparison(info) in describe(info, 1, 1)
    assert describe_comparison(info) in (folder / "README.md").read_text(encoding="utf-8")


def test_an_answerer_claims_nothing(answerer_folder):
    assert "transformers" not in read(answerer_folder, "regard.json")


@pytest.mark.parametrize(("task", "wrong"), [
    ("fill", {"hidden_act": "relu"}),
    ("write", {"vocab_size": 7}),  # which does not open there at all
])  # fmt: skip
def test_a_model_that_differs_there_claims_nothing_and_opens_here(task, wrong, tmp_path, family_files, monkeypatch):
    family = find_recipe(task)

    def pack(model, weights, tokenizer):
        """The model's files, with something in config.json that is not so."""
        contents = family.pack(model, weights, tokenizer)
        return contents | {"config.json": json.dumps(json.loads(contents["config.json"]) | wrong)}

    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(f"regard.families.{task}.recipe.{task.upper()}", dataclasses.replace(family, pack=pack))
    to = tmp_path / "model"
    finished = regard.train(task, to=to, settings=family_settings(task, 20), **family_files[task])
    info = ModelFolder(to).info
    assert read(to, "config.json")["model_type"] == f"{own.PREFIX}{task}"
    assert info.transformers["differs"] in finished.note and "opens here only" in describe_comparison(info)
    assert regard.load(to).model.config.activation == info.settings["model"]["activation"]
    opened = regard.load(to)
    assert claims.recall_claim(regard.config.resolve(info.settings), opened.tokenizer) is None
    with pytest.raises(regard.ConfigError, match=re.escape(info.transformers["differs"])):
        export_model(to, "huggingface", tmp_path / "exported")


def test_one_comparison_serves_all_sizes_but_no_other_setting(filler_folder, writer_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path))  # other tests compare other settings, in any order
    opened = regard.load(filler_folder)
    tokenizer, told = opened.tokenizer, regard.config.resolve(read(filler_folder, "regard.json")["settings"])
    assert claims.recall_claim(told, tokenizer) is None
    compared = claims.compare_claim(filler_folder, told, opened.model, tokenizer)
    known = claims.recall_claim(told, tokenizer)
    assert known.about["largest_difference"] == pytest.approx(compared.about["largest_difference"], abs=1e-9)

    def other(**settings):
        return told.model_copy(update={"model": told.model.model_copy(update=settings)})

    assert claims.recall_claim(other(width=64, layers=3), tokenizer) == known
    odd = {"width": told.model.heads * 3}  # of each head
    for settings in ({"activation": "relu"}, {"tie_embeddings": False}, {"norm": "pre"}, {"epsilon": 1e-6},
                     {"kv_heads": 2}, {"kv_heads": 1}, {"value_width": 5}, odd):  # fmt: skip
        assert claims.recall_claim(other(**settings), tokenizer) is None, settings
    assert claims.recall_claim(told, regard.load(writer_folder).tokenizer) is None


def test_without_transformers_the_model_says_that_it_was_not_compared(family_files, tmp_path, monkeypatch):
    def absent(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(claims, "version", absent)
    regard.train("fill", to=tmp_path / "model", settings=family_settings("fill", 5), **family_files["fill"])
    info = ModelFolder(tmp_path / "model").info
    assert info.transformers == {"not_compared": "transformers is not installed"}
    assert describe_comparison(info) == "not yet: transformers is not installed"
    assert read(tmp_path / "model", "config.json")["model_type"] == "bert"


def test_a_comparison_that_is_interrupted_ends_at_once_and_says_so(filler_folder, monkeypatch):
    monkeypatch.delitem(sys.modules, "transformers", raising=False)  # else it is compared in this process
    opened = regard.load(filler_folder)
    told = regard.config.resolve(read(filler_folder, "regard.json")["settings"])
    asked = iter([False, False, True])
    found = claims.compare_claim(filler_folder, told, opened.model, opened.tokenizer, lambda: next(asked))
    assert found.problem is None and "interrupted" in found.about["not_compared"]


@pytest.mark.parametrize("problem", [MemoryError("no more"), OSError("disk"), RuntimeError("cannot allocate memory")])
def test_what_fails_on_this_machine_is_no_difference(problem, filler_folder, monkeypatch):
    def fail(*args, **options):
        raise problem

    monkeypatch.setattr(compare, "load", fail)
    found = compare.main(filler_folder, save({"rows": torch.zeros(1)}))
    assert str(problem) in found["not_compared"]


def test_nothing_of_transformers_stays_imported(pairs, tmp_path):
    code = (
        "import json, sys, regard\n"
        "regard.train('translate', to=sys.argv[1], settings=json.loads(sys.argv[2]), **json.loads(sys.argv[3]))\n"
        "assert 'transformers' not in sys.modules"
    )
    words = [str(tmp_path / "model"), json.dumps(family_settings("translate", 5)),
             json.dumps({name: str(path) for name, path in pairs.items()})]  # fmt: skip
    subprocess.run([sys.executable, "-c", code, *words], check=True)
    assert "largest_difference" in read(tmp_path / "model", "regard.json")["transformers"]
