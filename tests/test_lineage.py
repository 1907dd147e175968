"""A model names its lineage and its size, the same everywhere."""

import json
import re
import shutil
from pathlib import Path

import pytest
from conftest import TASKS, family_settings, plan_of
from typer.testing import CliRunner

import regard
from regard.cli.commands import app
from regard.convert import import_model
from regard.files import hash_file
from regard.folder import ModelInfo
from regard.model.size import count_parameters
from regard.training.lineage import name_bases
from regard.training.plan import Plan

FOLDERS = {"translate": "folder", "write": "writer_folder", "fill": "filler_folder", "answer": "answerer_folder",
           "classify": "classifier_folder"}  # fmt: skip


def info(folder):
    done = CliRunner().invoke(app, ["info", str(folder)])
    assert done.exit_code == 0, done.output
    return done.stdout


def fine_tune(task, start, to, files, steps=1):
    dropped = {name: value for name, value in family_settings(task, steps).items() if name not in {"model", "text"}}
    regard.train(task, to=to, settings=dropped, start=start, **files)
    return json.loads((to / "regard.json").read_text())


@pytest.mark.parametrize("task", TASKS)
def test_a_fine_tuned_model_names_the_one_it_began_from(task, request, family_files, tmp_path):
    base = request.getfixturevalue(FOLDERS[task])
    about = fine_tune(task, base, tmp_path / "tuned", family_files[task])
    (told,) = about["base_models"]
    assert told["name"] == str(base) and told["weights_sha256"] == [hash_file(base / "model.safetensors")]
    card = (tmp_path / "tuned" / "README.md").read_text()
    assert f"Fine-tuned from {base}" in card and "from scratch" not in card
    assert f"from {base}" in info(tmp_path / "tuned")
    assert "from scratch" in (base / "README.md").read_text() and "fine-tuned" not in info(base)


def test_the_chain_of_bases_is_told_with_their_licences_also_after_a_resume(filler_folder, family_files, tmp_path):
    shutil.copytree(filler_folder, tmp_path / "first", ignore=shutil.ignore_patterns("run"))
    card = (tmp_path / "first" / "README.md").read_text()
    (tmp_path / "first" / "README.md").write_text(card.replace("---\n", "---\nlicense: cc-by-4.0\n", 1))
    fine_tune("fill", tmp_path / "first", tmp_path / "second", family_files["fill"])
    for steps in (1, 2):
        about = fine_tune("fill", tmp_path / "second", tmp_path / "third", family_files["fill"], steps)
        (second,) = about["base_models"]
        (first,) = second["base_models"]
        assert second["name"].endswith("second") and first["name"].endswith("first")
        assert first["license"] == "cc-by-4.0"
        words = f"{tmp_path / 'first'} (licence cc-by-4.0"
        assert words in (tmp_path / "third" / "README.md").read_text() and words in info(tmp_path / "third")


def test_an_imported_model_names_its_whole_source_and_so_does_what_is_tuned_from_it(
    filler_folder, family_files, tmp_path
):
    source = tmp_path / "somebody" / "bert-of-theirs"
    shutil.copytree(filler_folder, source, ignore=shutil.ignore_patterns("run", "regard.json"))
    (source / "README.md").write_text("---\ntags: [x]\nlicense: apache-2.0\n---\n# Theirs\n")
    import_model(str(source), tmp_path / "ours")
    card = (tmp_path / "ours" / "README.md").read_text()
    assert str(source) in card and "licence apache-2.0" in card and str(source) in info(tmp_path / "ours")
    about = fine_tune("fill", tmp_path / "ours", tmp_path / "tuned", family_files["fill"])
    assert about["base_models"][0]["imported_from"] == str(source)
    assert f"imported from {source}, licence apache-2.0" in (tmp_path / "tuned" / "README.md").read_text()


def test_nothing_of_a_strangers_description_is_passed_on_unchecked():
    deep = {"name": "x"}
    for _ in range(100):
        deep = {"name": "x", "base_models": [deep]}
    bases = [
        {"name": "a\n# b <script>`", "license": "mit\nx", "weights_sha256": ["no", 3], "base_models": "none"},
        {"name": ["y"], "license": 5, "weights_sha256": "z"},
        deep,
    ]
    named = name_bases(ModelInfo(base_models=bases))
    assert named[0] == "a # b script" and named[1] == "'y'" and len(named) == 3 and len(named[2]) < 1000
    assert name_bases(ModelInfo()) == name_bases(ModelInfo(base_models=[{}] * 1000)) == []
    for odd in ("x", ["nothing"]):
        with pytest.raises(regard.FolderError, match=r"not as regard writes it \(base_models"):
            ModelInfo.read({"base_models": odd}, Path("regard.json"))


@pytest.mark.parametrize("task", TASKS)
def test_parameters_are_counted_the_same_everywhere(task, request, family_files, tmp_path):
    folder = request.getfixturevalue(FOLDERS[task])
    counted = count_parameters(regard.load(folder, engine="torch").model)
    assert json.loads((folder / "regard.json").read_text())["parameters"] == counted
    words = f"{counted / 1e6:.2f} M"
    assert f"{words} parameters" in (folder / "README.md").read_text()
    assert re.search(rf"^weights +{re.escape(words)},", info(folder), re.M)
    settings = family_settings(task, 200, valid_every=100)
    plan = plan_of(regard.training(task, to=tmp_path / "m", settings=settings, **family_files[task]))
    assert isinstance(plan, Plan) and plan.weights == counted


def test_a_folder_that_does_not_tell_its_size_is_counted(filler_folder, tmp_path):
    ignored = shutil.ignore_patterns("run", "regard.json")
    shutil.copytree(filler_folder, tmp_path / "theirs", ignore=ignored)
    expected = re.search(r"^weights +(\S+ M),", info(filler_folder), re.M)[1]
    assert re.search(rf"^weights +{re.escape(expected)},", info(tmp_path / "theirs"), re.M)
