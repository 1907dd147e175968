"""A model is a folder: whole or not at all, checked when it is opened."""

import json
import os
import shutil

import pytest

import regard
from regard.folder import ModelFolder, write_model


def contents(mark):
    return {"model.safetensors": f"weights {mark}", "config.json": json.dumps({"mark": mark}), "tokenizer.json": mark}


def marks(path):
    """What each file of a model says of its version; they must agree."""
    folder = ModelFolder(path)
    folder.weights()
    return {folder.config["mark"], folder.about["mark"], folder.file("tokenizer.json").read_text()}


def test_a_crash_at_any_moment_leaves_one_whole_model(tmp_path, monkeypatch):
    """Every call that touches the disk is made to fail in turn, as if the power went out there."""
    calls = ("fsync", "replace", "rename", "link", "mkdir")
    survived = set()
    for moment in range(200):
        path = tmp_path / str(moment)
        write_model(path, {"mark": "old"}, contents("old"))
        count = 0

        def failing(original, limit=moment):
            def call(*args, **kwargs):
                nonlocal count
                count += 1
                if count > limit:
                    raise KeyboardInterrupt  # not an error anybody handles
                return original(*args, **kwargs)

            return call

        with monkeypatch.context() as patch:
            for name in calls:
                patch.setattr(os, name, failing(getattr(os, name)))
            try:
                write_model(path, {"mark": "new"}, contents("new"))
                finished = True
            except KeyboardInterrupt:
                finished = False
        found = marks(path)
        assert len(found) == 1, f"a mixture after {moment} calls: {found}"
        survived |= found
        write_model(path, {"mark": "third"}, contents("third"))  # and it can be written again
        assert marks(path) == {"third"}
        assert not any(p.name.startswith(".") for p in path.iterdir())
        if finished:
            break
    assert finished and survived == {"old", "new"}


def test_a_changed_byte_is_noticed(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "m")
    path = tmp_path / "m" / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(regard.FolderError, match=r"model\.safetensors is not the file regard\.json tells of"):
        regard.load(tmp_path / "m")


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_missing_file_is_named(folder, tmp_path, name):
    shutil.copytree(folder, tmp_path / "m", ignore=shutil.ignore_patterns("run"))
    (tmp_path / "m" / name).unlink()
    with pytest.raises(regard.FolderError, match=name.replace(".", r"\.")):
        regard.load(tmp_path / "m")


@pytest.mark.parametrize("name", ["config.json", "regard.json"])
@pytest.mark.parametrize("content", ["", "[]", "{", '{"a": 1}', "null", "\x00" * 9, "[" * 100_000])
def test_a_damaged_description_is_an_error_of_ours(folder, tmp_path, name, content):
    shutil.copytree(folder, tmp_path / "m", ignore=shutil.ignore_patterns("run"))
    (tmp_path / "m" / name).write_text(content)
    with pytest.raises(regard.RegardError):
        regard.load(tmp_path / "m")


def test_pickles_are_refused_with_the_way_out(tmp_path):
    (tmp_path / "model.pt").write_bytes(b"\x80\x04")
    for given in (tmp_path / "model.pt", tmp_path):
        with pytest.raises(regard.FolderError, match=r"never read here; convert them to safetensors"):
            regard.load(given)
    with pytest.raises(regard.FolderError, match="does not exist"):
        regard.load(tmp_path / "nothing")


def test_save_then_load_is_identity(translator, tmp_path):
    translator.save(tmp_path / "copy")
    again = regard.load(tmp_path / "copy")
    texts = ["The dog sleeps.", "A red house."]
    assert again(texts) == translator(texts)
    assert not (tmp_path / "copy" / "run").exists()
    with pytest.raises(regard.FolderError, match="exists already"):
        translator.save(tmp_path / "copy")


def test_no_user_file_is_ever_unpickled(folder, pairs, tmp_path, monkeypatch):
    import pickle

    import torch

    def refuse(*args, **kwargs):
        raise AssertionError("something was unpickled")

    monkeypatch.setattr(pickle, "loads", refuse)
    monkeypatch.setattr(pickle, "load", refuse)
    monkeypatch.setattr(pickle, "Unpickler", refuse)
    monkeypatch.setattr(torch, "load", refuse)
    from conftest import SHORT

    for steps in (3, 6):
        regard.train("translate", to=tmp_path / "m", settings=SHORT | {"stop": {"steps": steps}}, **pairs)
    assert isinstance(regard.load(tmp_path / "m")("The dog sleeps."), str)


def test_the_card_and_the_description_tell_how_it_was_made(folder, translator):
    about = translator.about
    assert about["task"] == "translate"
    assert (translator.source_language, translator.target_language) == ("en", "fr")
    assert about["data"]["files"] == {"source": "train.en", "target": "train.fr"}
    assert set(about["data"]["sha256"]) == {"source", "target"}
    assert {"bleu", "chrf", "loss"} <= about["scores"].keys()
    card = (folder / "README.md").read_text()
    assert "en to fr" in card and "bleu" in card


def test_a_translator_without_its_description_is_opened_as_one_of_hugging_faces(folder, translator, tmp_path):
    shutil.copytree(folder, tmp_path / "m", ignore=shutil.ignore_patterns("run", "ctranslate2"))
    (tmp_path / "m" / "regard.json").unlink()
    opened = regard.load(tmp_path / "m")
    assert opened.engine == "torch" and opened.about["foreign"] == "PegasusForConditionalGeneration"
    assert opened("The dog sees the cat.") == translator("The dog sees the cat.")
    assert not (tmp_path / "m" / "ctranslate2").exists()  # nothing is written into a folder that is not ours
