"""A model is a folder: whole or not at all, checked when it is opened."""

import json
import os
import shutil
import subprocess
import sys
import time

import pytest

import regard
from regard.errors import FolderError
from regard.files import hash_file
from regard.folder import ModelFolder, write_model


def contents(mark):
    return {"model.safetensors": f"weights {mark}", "config.json": json.dumps({"mark": mark}), "tokenizer.json": mark}


def marks(path):
    """What each file of a model says of its version; they must agree."""
    folder = ModelFolder(path)
    folder.weights()
    return {folder.config["mark"], folder.info.mark, folder.file("tokenizer.json").read_text()}


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


REWRITE = """
import json, sys, time
from pathlib import Path
from regard.folder import write_model
place, pause = Path(sys.argv[1]), float(sys.argv[2])
contents = lambda mark: {"model.safetensors": f"weights {mark}", "config.json": json.dumps({"mark": mark}),
                         "tokenizer.json": mark} | ({"shortlist.txt": mark} if mark == "old" else {})
while True:
    for mark in ("old", "new"):
        write_model(place, {"mark": mark}, contents(mark))
        print(mark, flush=True)
        time.sleep(pause)
"""


@pytest.fixture
def rewritten(tmp_path):
    """A folder into which another process writes two models in turn, as fast as it can or with a pause."""
    running = []

    def begin(pause):
        command = [sys.executable, "-c", REWRITE, tmp_path / "m", str(pause)]
        with (tmp_path / "log").open("wb") as log:
            running.append(subprocess.Popen(command, stdout=log))
        while not (tmp_path / "log").stat().st_size:
            assert running[0].poll() is None
            time.sleep(0.01)
        return tmp_path / "m"

    yield begin
    for process in running:
        process.kill()
        process.wait()


@pytest.mark.parametrize("pause", [0, 0.003])
def test_a_reader_never_sees_a_mixture_of_two_models(rewritten, pause):
    path = rewritten(pause)
    whole, seen = 0, set()
    for _ in range(400):
        try:
            folder = ModelFolder(path)
        except regard.FolderError as problem:
            assert "no longer holds the model" in str(problem)
            continue
        try:
            found = [folder.config["mark"], folder.info.mark, folder.read("tokenizer.json").decode()]
            found += [folder.weights()[0].read_text().removeprefix("weights ")]
            found += [folder.read("shortlist.txt").decode()] if folder.has("shortlist.txt") else []
            folder.refuse_changed()
        except (regard.FolderError, OSError) as problem:
            assert "damaged" not in str(problem) and folder.has_changed()
            continue
        assert len(set(found)) == 1 and len(found) == (5 if found[0] == "old" else 4), found
        whole += 1
        seen |= set(found)
    assert whole and seen == {"old", "new"}


def test_what_is_read_after_the_folder_was_written_again_is_an_error(tmp_path):
    write_model(tmp_path / "m", {"mark": "old"}, contents("old"))
    opened = ModelFolder(tmp_path / "m")
    assert opened.read("tokenizer.json") == b"old" and not opened.has_changed()
    write_model(tmp_path / "m", {"mark": "new"}, contents("new"))
    for read in (lambda: opened.read("tokenizer.json"), opened.weights, opened.refuse_changed):
        with pytest.raises(regard.FolderError, match="no longer holds the model that was opened; open it again"):
            read()
    shutil.rmtree(tmp_path / "m")
    with pytest.raises(regard.FolderError, match="no longer holds"):
        opened.read("tokenizer.json")


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "lexicon.safetensors"])
def test_a_file_of_another_model_is_noticed(folder, tmp_path, name):
    """As when a folder is copied while a training writes into it."""
    shutil.copytree(folder, tmp_path / "m", ignore=shutil.ignore_patterns("run"))
    (tmp_path / "m" / name).write_bytes((folder / name).read_bytes() + b" ")
    with pytest.raises(regard.FolderError, match=rf"{name} is not the file listed in regard\.json"):
        regard.load(tmp_path / "m")


def test_a_model_of_0_1_without_hashes_still_opens_and_is_written_again(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "m", ignore=shutil.ignore_patterns("run"))
    about = json.loads((folder / "regard.json").read_text())
    (tmp_path / "m" / "regard.json").write_text(json.dumps({k: v for k, v in about.items() if k != "files_sha256"}))
    assert regard.load(tmp_path / "m")("The dog sleeps.") == regard.load(folder)("The dog sleeps.")
    write_model(tmp_path / "m", {"mark": "new"}, contents("new") | {"README.md": "new"})
    assert marks(tmp_path / "m") == {"new"} and (tmp_path / "m" / "README.md").read_text() == "new"


@pytest.mark.parametrize("name", ["config.json", "regard.json", "tokenizer.json", "model.safetensors"])
@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_special_files_are_refused_by_name(tmp_path, name, kind):
    write_model(tmp_path, {"mark": "old"}, contents("old"))
    (tmp_path / name).unlink()
    match kind:
        case "pipe":
            os.mkfifo(tmp_path / name)
        case "device":
            (tmp_path / name).symlink_to("/dev/zero")
        case "folder":
            (tmp_path / name).mkdir()
    with pytest.raises(
        regard.FolderError, match=rf"{name} cannot be read: it is a .*, and only regular files are read"
    ):
        ModelFolder(tmp_path).weights()


def test_a_changed_byte_is_noticed(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "m")
    path = tmp_path / "m" / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(regard.FolderError, match=r"model\.safetensors is not the file listed in regard\.json"):
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

    for steps in (1, 2):
        regard.train("translate", to=tmp_path / "m", settings=SHORT | {"stop": {"steps": steps}}, **pairs)
    assert isinstance(regard.load(tmp_path / "m")("The dog sleeps."), str)


def test_the_card_and_the_description_tell_how_it_was_made(folder, translator):
    info = translator.info
    assert info.task == "translate"
    assert (translator.source_language, translator.target_language) == ("en", "fr")
    assert info.data["files"] == {"source": "train.en", "target": "train.fr"}
    assert set(info.data["sha256"]) == {"source", "target"}
    assert {"bleu", "chrf", "loss"} <= info.scores.keys()
    card = (folder / "README.md").read_text()
    assert "en to fr" in card and "bleu" in card


def test_a_translator_without_its_description_is_opened_as_one_of_hugging_faces(folder, translator, tmp_path):
    shutil.copytree(folder, tmp_path / "m", ignore=shutil.ignore_patterns("run", "ctranslate2"))
    (tmp_path / "m" / "regard.json").unlink()
    opened = regard.load(tmp_path / "m")
    assert opened.engine == "torch" and opened.info.foreign == "PegasusForConditionalGeneration"
    assert opened("The dog sees the cat.") == translator("The dog sees the cat.")
    assert not (tmp_path / "m" / "ctranslate2").exists()  # nothing is written into a folder that is not ours


def test_a_folder_of_models_names_them(folder, writer_folder, tmp_path):
    shutil.copytree(folder, tmp_path / "models" / "en-fr", ignore=shutil.ignore_patterns("run"))
    shutil.copytree(writer_folder, tmp_path / "models" / "tales", ignore=shutil.ignore_patterns("run"))
    (tmp_path / "models" / "text").mkdir()
    with pytest.raises(regard.FolderError, match=r"it holds models \(en-fr, tales\); name one of them"):
        regard.load(tmp_path / "models")


def test_the_weights_are_hashed_once_and_again_only_if_they_changed(folder, tmp_path, monkeypatch):
    trial = shutil.copytree(folder, tmp_path / "m", ignore=shutil.ignore_patterns("run"))
    hashed = []
    monkeypatch.setattr("regard.folder.hash_file", lambda path: (hashed.append(path.name), hash_file(path))[1])
    regard.load(trial, engine="torch")
    assert hashed.count("model.safetensors") == 1
    opened = ModelFolder(trial)
    opened.weights()
    (trial / "model.safetensors").write_bytes((trial / "model.safetensors").read_bytes()[:-1] + b"x")
    with pytest.raises(FolderError, match="SHA-256 differs"):
        opened.weights()
