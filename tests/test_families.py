"""What holds for every family: it resumes bit for bit, its folder is whole, nothing is unpickled."""

import json
import math
import shutil
from dataclasses import replace

import pytest
import torch
from conftest import TASKS, family_settings
from hostile import reseal

import regard
from regard.families import find_recipe
from regard.files import hash_file
from regard.training import session
from regard.training.loop import Progress
from regard.training.recipe import no_snapshots

STEPS = 44
FOLDERS = {
    "write": "writer_folder",
    "fill": "filler_folder",
    "answer": "answerer_folder",
    "classify": "classifier_folder",
}


def bits(to):
    state = max((to / "run" / "state").glob("weights-*.safetensors"))
    return hash_file(to / "model.safetensors"), hash_file(state), state.name


@pytest.mark.parametrize("task", TASKS)
def test_a_run_that_was_stopped_goes_on_bit_for_bit(task, family_files, tmp_path):
    files, settings = family_files[task], family_settings(task, STEPS, valid_every=20)
    regard.train(task, to=tmp_path / "whole", settings=settings, **files)
    for stop_after in (5, 27):
        for event in regard.training(task, to=tmp_path / "parts", settings=settings, **files):
            if isinstance(event, Progress) and event.step >= stop_after:
                break
    regard.train(task, to=tmp_path / "parts", settings=settings, **files)
    assert bits(tmp_path / "parts") == bits(tmp_path / "whole")


@pytest.mark.parametrize("kind", ["memory", "transformer"])
def test_every_kind_of_answerer_goes_on_bit_for_bit(kind, family_files, tmp_path):
    model = {"kind": kind} | ({"restarts": 2} if kind == "memory" else {"width": 16, "ffn_width": 32})
    settings = {"model": model, "train": {"valid_every": 10}, "threads": 1}
    for steps in (7, 24):
        regard.train(
            "answer", to=tmp_path / "parts", settings=settings | {"stop": {"steps": steps}}, **family_files["answer"]
        )
    regard.train("answer", to=tmp_path / "whole", settings=settings | {"stop": {"steps": 24}}, **family_files["answer"])
    assert bits(tmp_path / "parts") == bits(tmp_path / "whole")


@pytest.mark.parametrize("task", ["write", "fill", "answer", "classify"])
def test_a_folder_is_all_there_is_to_a_model(task, request, tmp_path):
    folder = request.getfixturevalue(FOLDERS[task])
    opened = regard.load(folder)
    opened.save(tmp_path / "copy")
    again = regard.load(tmp_path / "copy")
    for one, other in zip(opened.model.parameters(), again.model.parameters(), strict=True):
        assert one.equal(other)
    assert opened.info.task == task and opened.info.data["tokens"] > 0
    count = f"{sum(one.numel() for one in {*opened.model.parameters()}):,} parameters"
    assert repr(opened) == f"<{type(opened).__name__} {folder}: {count}, {opened.engine}>"
    card = (folder / "README.md").read_text()
    assert f"# {task}" in card and "regard" in card
    shutil.rmtree(tmp_path / "copy")


@pytest.mark.parametrize("task", ["write", "fill", "answer", "classify"])
def test_a_description_of_another_model_is_refused(task, request, tmp_path):
    folder = request.getfixturevalue(FOLDERS[task])
    for content in ("{}", '{"model_type": "t5"}', '{"model_type": "gpt2", "vocab_size": 3}'):
        shutil.rmtree(tmp_path / "m", ignore_errors=True)
        shutil.copytree(folder, tmp_path / "m", ignore=shutil.ignore_patterns("run"))
        (tmp_path / "m" / "config.json").write_text(content)
        reseal(tmp_path / "m")
        with pytest.raises(regard.FolderError):
            regard.load(tmp_path / "m")


@pytest.mark.parametrize("task", ["write", "fill", "answer", "classify"])
def test_nothing_is_unpickled(task, family_files, tmp_path, monkeypatch):
    import pickle

    import torch

    def refuse(*args, **kwargs):
        raise AssertionError("something was unpickled")

    for module, name in ((pickle, "loads"), (pickle, "load"), (pickle, "Unpickler"), (torch, "load")):
        monkeypatch.setattr(module, name, refuse)
    for steps in (3, 6):
        regard.train(task, to=tmp_path / "m", settings=family_settings(task, steps), **family_files[task])
    assert regard.load(tmp_path / "m").info.task == task


def test_sizes_and_kinds_are_settings_that_single_settings_stand_above(family_files, tmp_path):
    settings = {
        "size": "small",
        "model": {"heads": 8, "layers": 1, "ffn_width": 64},
        "stop": {"steps": 1},
        "threads": 1,
    }
    settings |= {"text": {"vocab_size": 300}}
    regard.train("fill", to=tmp_path / "m", settings=settings, **family_files["fill"])
    model = regard.load(tmp_path / "m").model.config
    assert (model.width, model.heads, model.layers, model.kind) == (256, 8, 1, "bert")
    for task in map(find_recipe, TASKS):
        assert set(task.sizes) == {"tiny", "small", "base", "big"} and task.kinds


@pytest.mark.parametrize("task", TASKS)
def test_what_a_training_looks_at_is_written_down_once_and_changes_nothing(task, family_files, tmp_path, monkeypatch):
    monkeypatch.setattr(session, "SNAPSHOT_SHARE", math.inf)  # of a run of seconds
    settings = family_settings(task, 13, valid_every=4)
    for steps in (6, 13):  # in two sessions
        regard.train(task, to=tmp_path / "m", settings=settings | {"stop": {"steps": steps}}, **family_files[task])
    frames = [json.loads(line) for line in (tmp_path / "m" / "run" / "snapshots.jsonl").read_text().splitlines()]
    assert [frame["step"] for frame in frames] == [0, 1, 2, 4, 8, 12]
    for frame in frames:
        assert frame["probes"] and all(len(sample) == 3 for sample in frame["samples"])
        assert [one[::2] for one in frame["samples"]] == [one[::2] for one in frames[0]["samples"]] != []
        for probe in frame["probes"]:
            maps = torch.tensor(probe["maps"])  # (layers, T, S)
            assert maps.shape[1:] == (len(probe["rows"]), len(probe["columns"]))
            assert maps.min() >= 0 and maps.sum(-1).max() < 1.03
    assert frames[0]["probes"] != frames[-1]["probes"]
    family = find_recipe(task)
    monkeypatch.setattr(f"regard.families.{task}.recipe.{task.upper()}", replace(family, snapshot=no_snapshots))
    regard.train(task, to=tmp_path / "blind", settings=settings, **family_files[task])
    assert (tmp_path / "m" / "model.safetensors").read_bytes() == (
        tmp_path / "blind" / "model.safetensors"
    ).read_bytes()


ODD = [
    ("translate", {"is_gated": True}),
    ("translate", {"norm_kind": "rms", "has_bias": False}),
    ("translate", {"kv_heads": 2}),
    ("translate", {"positions": "rotary"}),
    ("translate", {"epsilon": 1e-3}),
    ("write", {"norm": "post"}),
    ("write", {"has_bias": True}),
    ("fill", {"norm": "pre"}),
    ("fill", {"positions": "rotary", "is_gated": True}),
    ("fill", {"token_types": 0}),
    ("fill", {"value_width": 12}),
]


@pytest.mark.parametrize(("task", "shape"), ODD)
def test_a_shape_that_has_no_class_elsewhere_says_so_and_opens_here(task, shape, family_files, tmp_path):
    settings = family_settings(task, 2, valid_every=2)
    settings |= {"model": settings.get("model", {}) | shape}
    regard.train(task, to=tmp_path / "odd", settings=settings, **family_files[task])
    assert json.loads((tmp_path / "odd" / "config.json").read_text())["model_type"] == f"regard-{task}"
    opened = regard.load(tmp_path / "odd", engine="torch") if task != "fill" else regard.load(tmp_path / "odd")
    assert {name: getattr(opened.model.config, name) for name in shape} == shape
