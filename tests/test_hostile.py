"""Folders from strangers: damaged, swapped or crafted files give an error of ours or a model that works."""

import json
import pickle
import random
import re
import struct
from functools import cache
from pathlib import Path

import pytest
import torch
from crafted import KINDS
from families import Family, ask, import_all, small_families
from hostile import CRAFTED_KB, FINE, MORE_KB, NAMES, STEPS, copied, mutate, reseal, run_apart, study, use
from malformed import malform
from safetensors.torch import load_file, save_file

import regard
from regard.errors import RegardError
from regard.files import hash_file

TASKS = ["translate", "write", "fill", "answer", "classify"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A small run of each family, and its folder."""
    place = tmp_path_factory.mktemp("runs")
    families = small_families(place)
    import_all(families.values(), place)
    for task, family in families.items():
        assert run_apart(lambda family=family, task=task: family.train(place / task, STEPS))[0] == FINE
    return {task: (family, place / task) for task, family in families.items()}


@pytest.fixture(scope="module")
def usual(runs, tmp_path_factory):
    """Of a family and a part of its folder, the peak memory of using it where nothing was done to it; in KB."""

    @cache
    def beyond(task, part):
        """Beyond what this process holds, which a fork begins with."""
        family, intact = runs[task]
        trial = copied(intact, tmp_path_factory.mktemp("usual") / "m")
        return run_apart(use(family, trial, part))[2] - held_kb()

    return lambda task, part: beyond(task, part) + held_kb()


def held_kb():
    return int(re.search(r"VmRSS:\s+(\d+)", Path("/proc/self/status").read_text())[1])


@pytest.mark.parametrize("part", ["model", "run"])
@pytest.mark.parametrize("task", TASKS)
def test_mutations_are_refused_or_survived(task, part, runs, usual, tmp_path):
    family, intact = runs[task]
    most = usual(task, part) + MORE_KB
    chance = random.Random(task + part)
    for _ in range(12 if part == "model" else 3):
        trial = copied(intact, tmp_path / "m")
        what = mutate(trial, part, chance)
        code, _, memory = run_apart(use(family, trial, part))  # a hang is ended by an alarm
        assert code in NAMES, what
        assert memory < most, what


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("task", TASKS)
def test_crafted_folders_are_refused_or_survived_and_nothing_outside_is_touched(
    task, kind, runs, usual, tmp_path, monkeypatch
):
    family, intact = runs[task]
    home = tmp_path / "home"
    home.mkdir()
    (home / "mine").write_text("mine")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    most = usual(task, "model") + CRAFTED_KB
    chance = random.Random(f"{task} {kind.__name__}")
    for _ in range(3):
        trial = copied(intact, tmp_path / "m")
        what = kind(trial, chance)
        if (trial / "regard.json").is_file():  # a pipe would be waited for
            reseal(trial)
        code, _, memory = run_apart(use(family, trial, "model"))  # a hang is ended by an alarm
        assert code in NAMES, what
        assert memory < most, what
        assert [path.name for path in home.iterdir()] == ["mine"] and (home / "mine").read_text() == "mine", what


FOREIGN = [("BertForMaskedLM", "vocabulary"), ("EncoderDecoderModel", "any"), ("MarianMTModel", "spm")]


@pytest.mark.parametrize(("architecture", "what"), FOREIGN, ids=lambda one: one)
def test_crafted_folders_of_others_are_refused_or_survived_and_nothing_outside_is_touched(
    architecture, what, tmp_path, monkeypatch
):
    pytest.importorskip("transformers")
    pytest.importorskip("sentencepiece")
    import foreign

    home = tmp_path / "home"
    home.mkdir()
    (home / "mine").write_text("mine")
    monkeypatch.setenv("HOME", str(home))
    theirs = foreign.draw_one(tmp_path, architecture, what)
    most = run_apart(lambda: foreign.ask(theirs))[2] + CRAFTED_KB
    chance = random.Random(architecture)
    for kind in foreign.KINDS:
        trial = copied(theirs, tmp_path / "m")
        did = f"{kind.__name__}: {kind(trial, chance)}"
        code, _, memory = run_apart(lambda trial=trial: foreign.ask(trial))  # a hang is ended by an alarm
        assert code in NAMES, did
        assert memory < most, did
        assert [path.name for path in home.iterdir()] == ["mine"] and (home / "mine").read_text() == "mine", did


@pytest.mark.parametrize("task", TASKS)
def test_malformed_corpora_are_refused_or_learned_from(task, runs, tmp_path):
    family, _ = runs[task]
    chance = random.Random(task)
    (tmp_path / "corpus").mkdir()
    for number in range(6):
        files, what = malform(family.files, tmp_path / "corpus", chance)
        code, _, _ = run_apart(study(Family(task, files), tmp_path / str(number)))
        assert code in NAMES, what


@pytest.mark.parametrize("task", TASKS)
def test_nothing_is_unpickled_in_any_family(task, runs, tmp_path, monkeypatch):
    """Neither when a model is opened nor when a run is resumed."""
    family, intact = runs[task]
    trial = copied(intact, tmp_path / "m")

    class Refuse:  # others may have it as their base
        def __init__(self, *args, **kwargs):
            raise AssertionError("something was unpickled")

    for home, name in ((pickle, "Unpickler"), (pickle, "loads"), (pickle, "load"), (torch, "load")):
        monkeypatch.setattr(home, name, Refuse)
    ask(trial, **({"engine": "torch"} if task in {"translate", "write"} else {}))
    ask(trial)
    family.train(trial, STEPS + 1)


@pytest.mark.parametrize("name", ["model.bin", "weights.pt", "pytorch_model.bin"])
def test_a_pickle_beside_a_model_is_not_looked_at(folder, tmp_path, name):
    regard.load(folder).save(tmp_path / "m")
    (tmp_path / "m" / name).write_bytes(b"\x80\x04cos\nsystem\n(S'touch owned'\ntR.")
    assert regard.load(tmp_path / "m")("The dog.") == regard.load(folder)("The dog.")


def rewrite_weights(folder, change):
    """An attacker changes weights, and corrects the hash."""
    path = folder / "model.safetensors"
    weights = load_file(path)
    name = max(weights, key=lambda name: weights[name].numel())
    save_file(weights | {name: change(weights[name])}, path, metadata={"format": "pt"})
    about = json.loads((folder / "regard.json").read_text())
    (folder / "regard.json").write_text(json.dumps(about | {"weights_sha256": hash_file(path)}))
    return name


@pytest.mark.parametrize("task", TASKS)
def test_weights_of_another_shape_are_refused_by_name(task, runs, tmp_path):
    trial = copied(runs[task][1], tmp_path / "m")
    name = rewrite_weights(trial, lambda weight: weight[:-1].contiguous())
    with pytest.raises(RegardError, match=name.rpartition(".")[2]):
        ask(trial, engine="torch")


@pytest.mark.parametrize("task", TASKS)
def test_weights_that_are_not_numbers_are_refused(task, runs, tmp_path):
    trial = copied(runs[task][1], tmp_path / "m")
    rewrite_weights(trial, lambda weight: weight.index_fill(0, torch.tensor([0]), float("nan")))
    with pytest.raises(RegardError, match="not a number"):
        ask(trial, engine="torch")


@pytest.mark.parametrize("task", TASKS)
def test_weights_with_which_every_probability_would_be_none_are_refused(task, runs, tmp_path):
    trial = copied(runs[task][1], tmp_path / "m")
    rewrite_weights(trial, lambda weight: weight.index_fill(0, torch.tensor([0]), -3e37))
    for engine in ("torch", None):
        with pytest.raises(RegardError, match="has a weight of 3e"):
            ask(trial, engine=engine)


@pytest.mark.parametrize("task", TASKS)
def test_a_config_that_lies_about_a_number_is_refused_in_one_line_or_changes_nothing(task, runs, tmp_path):
    trial = copied(runs[task][1], tmp_path / "m")
    config = json.loads((trial / "config.json").read_text())
    refused = 0
    for key, value in config.items():
        if type(value) is not int:
            continue
        for lie in (1_000_000, 2**31, 10**400, -1, 0, 1.5, "4", True, [], {}):
            (trial / "config.json").write_text(json.dumps(config | {key: lie}))
            reseal(trial)
            try:
                ask(trial, engine=None if task in {"fill", "answer"} else "torch")
            except RegardError as problem:
                refused += 1
                assert "\n" not in str(problem), (key, lie)
    assert refused > 50


@pytest.mark.parametrize("odd", [[], {}, 5, None, ["x"]])
@pytest.mark.parametrize("task", TASKS)
def test_a_kind_that_is_no_word_is_refused(task, odd, runs, tmp_path):
    trial = copied(runs[task][1], tmp_path / "m")
    config = json.loads((trial / "config.json").read_text())
    (trial / "config.json").write_text(json.dumps(config | {"model_type": odd, "architectures": [odd]}))
    reseal(trial)
    with pytest.raises(RegardError, match=r"config\.json"):
        ask(trial, engine=None if task in {"fill", "answer"} else "torch")
    (trial / "regard.json").unlink()
    with pytest.raises(RegardError, match=r"config\.json"):
        ask(trial)


@pytest.mark.parametrize("labels", [[], ["a"], ["a", "a"], ["a", "b\tc"], ["a", "b\n0.99"], ["a", ""], ["a", 5], "ab"])
def test_labels_that_a_table_cannot_have_are_refused(labels, runs, tmp_path):
    trial = copied(runs["classify"][1], tmp_path / "m")
    config = json.loads((trial / "config.json").read_text())
    (trial / "config.json").write_text(json.dumps(config | {"labels": labels}))
    reseal(trial)
    with pytest.raises(RegardError, match=r"labels|keys|bias"):
        ask(trial)


@pytest.mark.parametrize("temperature", [0.0, -1.0, 1e-40])
def test_a_temperature_that_is_none_is_refused(temperature, runs, tmp_path):
    trial = copied(runs["classify"][1], tmp_path / "m")
    weights = load_file(trial / "model.safetensors")
    save_file(weights | {"temperature": torch.tensor([temperature])}, trial / "model.safetensors")
    reseal(trial)
    with pytest.raises(RegardError, match="temperature"):
        ask(trial)


HUGE = (
    b'{"model.shared.weight": {"dtype": "F32", "shape": [1099511627776, 1048576], "data_offsets": [0, 4611686018427]}}'
)


@pytest.mark.parametrize(
    "header",
    [struct.pack("<Q", 2**63) + b"{}", struct.pack("<Q", 2) + b"{}", struct.pack("<Q", len(HUGE)) + HUGE],
    ids=["size", "nothing", "huge"],
)
def test_weights_that_promise_too_much_are_refused(folder, tmp_path, header):
    regard.load(folder).save(tmp_path / "m")
    (tmp_path / "m" / "model.safetensors").write_bytes(header)
    about = json.loads((tmp_path / "m" / "regard.json").read_text())
    about["weights_sha256"] = hash_file(tmp_path / "m" / "model.safetensors")  # the attacker corrected the hash
    (tmp_path / "m" / "regard.json").write_text(json.dumps(about))
    with pytest.raises(RegardError):
        regard.load(tmp_path / "m", engine="torch")


def test_a_folder_cannot_reach_outside_its_place(folder, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("mine")
    regard.load(folder).save(tmp_path / "m")
    (tmp_path / "m" / "regard.json").unlink()  # a folder of Hugging Face's, whose index names its files
    (tmp_path / "m" / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "../secret"}}))
    with pytest.raises(RegardError, match="does not map weights to files"):
        regard.load(tmp_path / "m")
    regard.load(folder).save(tmp_path / "n")
    (tmp_path / "n" / "extra.json").symlink_to(secret)
    regard.load(tmp_path / "n").save(tmp_path / "copy")
    assert secret.read_text() == "mine"
    assert not (tmp_path / "copy" / "extra.json").exists()


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff", b"\t\n", b"no tab"])
def test_a_shortlist_that_is_none_is_left_alone(folder, tmp_path, content):
    regard.load(folder).save(tmp_path / "m")
    (tmp_path / "m" / "shortlist.txt").write_bytes(content)
    reseal(tmp_path / "m")
    assert run_apart(lambda: ask(tmp_path / "m"))[0] == FINE
    with pytest.raises(RegardError, match="shortlist"):
        regard.load(tmp_path / "m")("The dog.", fast=True)
