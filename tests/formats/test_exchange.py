"""Models come in, go out, and are trained further; what goes out says the same there as here."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file
from typer.testing import CliRunner

transformers = pytest.importorskip("transformers")

from conftest import SHORT, family_settings, plan_of  # noqa: E402
from test_foreign import MODELS, save  # noqa: E402

import regard  # noqa: E402
from regard.cli.commands import app  # noqa: E402
from regard.convert import export_model  # noqa: E402


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.mark.parametrize("name", ["gpt2", "llama, keys shared, tied", "bert to fill", "bert"])
def test_an_imported_model_is_one_of_ours_and_says_the_same(name, tmp_path, pairs):
    save(MODELS[name](), tmp_path / "theirs", pairs)
    told = run("import", tmp_path / "theirs", "--to", tmp_path / "ours")
    assert told.exit_code == 0, told.output
    before, after = regard.load(tmp_path / "theirs"), regard.load(tmp_path / "ours")
    if name.startswith("bert"):
        ids = torch.tensor([[2, 9, 30, 3]])
        assert torch.equal(before.model(ids), after.model(ids))
    else:
        assert after.engine == "ctranslate2"
        assert before("The dog", tokens=30, temperature=0) == after("The dog", tokens=30, temperature=0)
    assert "foreign" in json.loads(run("info", tmp_path / "ours", "--json").stdout)
    for place in ("ours", "theirs"):
        told = run("info", tmp_path / place)
        assert told.exit_code == 0 and "weights " in told.stdout and "from " in told.stdout, told.output
    again = run("import", tmp_path / "theirs", "--to", tmp_path / "ours")
    assert again.exit_code == 1 and "exists already" in again.output


def test_a_model_of_ours_is_not_imported_and_a_name_that_is_nothing_is_told(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert "made by regard already" in run("import", folder, "--to", tmp_path / "a").output
    told = run("import", "nobody/nothing-of-this-name", "--to", tmp_path / "a")
    assert told.exit_code == 1 and "no folder here" in told.output and not (tmp_path / "a").exists()


@pytest.mark.parametrize("task", ["translate", "write", "fill"])
def test_an_export_opens_in_transformers_and_is_tried_there(task, request, tmp_path):
    names = {"translate": "folder", "write": "writer_folder", "fill": "filler_folder"}
    model = request.getfixturevalue(names[task])
    told = run("export", model, "--as", "huggingface", "--to", tmp_path / "out")
    assert told.exit_code == 0 and "differ by at most" in told.output, told.output
    assert not (tmp_path / "out" / "run").exists() and (tmp_path / "out" / "README.md").exists()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_translator_of_ours_that_transformers_saved_in_half_precision_opens(dtype, folder, tmp_path):
    half = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder, dtype=getattr(torch, dtype))
    shutil.copytree(folder, tmp_path / "half", ignore=shutil.ignore_patterns("regard.json", "run", "ctranslate2"))
    half.save_pretrained(tmp_path / "half")
    opened, rounded = regard.load(tmp_path / "half"), half.float()
    source, target = torch.tensor([[5, 6, 7, 8]]), torch.tensor([[9, 10, 11]])
    with torch.inference_mode():
        found = opened.model.logits(opened.model(source, target))
        expected = rounded(source, decoder_input_ids=target).logits
    real = [number for number in range(found.shape[-1]) if number != opened.tokenizer.pad_id]
    assert torch.allclose(found[..., real], expected[..., real], atol=2e-2) and expected.argmax(-1).equal(
        found.argmax(-1)
    )


@pytest.mark.parametrize("task", ["translate", "write"])
def test_an_export_runs_in_plain_ctranslate2(task, request, tmp_path):
    model = request.getfixturevalue("folder" if task == "translate" else "writer_folder")
    told = run("export", model, "--as", "ctranslate2", "--to", tmp_path / "out")
    assert told.exit_code == 0 and "numbers in ctranslate2 differ by at most" in told.output, told.output
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {"model.bin", "config.json", "tokenizer.json"}
    assert "exists already" in run("export", model, "--as", "ctranslate2", "--to", tmp_path / "out").output


def test_an_export_that_is_not_right_is_not_written(folder, answerer_folder, tmp_path, monkeypatch):
    monkeypatch.setattr("regard.compare.TOLERANCE", -1.0)  # nothing is right enough
    told = run("export", folder, "--as", "huggingface", "--to", tmp_path / "out")
    assert told.exit_code == 1 and f"{folder}: numbers in transformers differ by" in told.output
    assert list(tmp_path.iterdir()) == []
    told = run("export", answerer_folder, "--as", "huggingface", "--to", tmp_path / "b")
    assert "those to translate, write, fill, classify are exported" in told.output


def test_training_goes_on_from_a_model_with_its_tokenizer(folder, pairs, tmp_path):
    to = tmp_path / "m"
    settings = {"stop": {"steps": 20}, "train": SHORT["train"], "threads": 1}
    first = plan_of(regard.training("translate", to=to, settings=settings, start=folder, **pairs))
    assert first.config.model.width == SHORT["model"]["width"] and first.config.train.learning_rate == 0.005
    finished = regard.train("translate", to=to, settings=settings, start=folder, **pairs)
    fresh = regard.train("translate", to=tmp_path / "fresh", settings=SHORT | {"stop": {"steps": 20}}, **pairs)
    assert finished.scores["loss"] < fresh.scores["loss"] - 1  # it knew something
    assert (to / "tokenizer.json").read_bytes() == (folder / "tokenizer.json").read_bytes()
    weights = load_file(folder / "model.safetensors")
    shutil.copytree(folder, tmp_path / "other", ignore=shutil.ignore_patterns("run"))
    changed = weights | {"model.shared.weight": weights["model.shared.weight"] + 1}
    save_file(changed, tmp_path / "other" / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(regard.FolderError, match="SHA-256 differs"):
        regard.train("translate", to=to, settings=settings, start=tmp_path / "other", **pairs)
    with pytest.raises(regard.RunError, match="was not begun from the weights"):
        regard.train("translate", to=to, settings=settings, start=tmp_path / "fresh", **pairs)


def test_an_interrupted_run_from_a_model_goes_on_bit_for_bit(writer_folder, family_files, tmp_path):
    settings = {name: value for name, value in family_settings("write", 12).items() if name not in {"model", "text"}}
    regard.train("write", to=tmp_path / "whole", settings=settings, start=writer_folder, **family_files["write"])
    short = settings | {"stop": {"steps": 5}}
    regard.train("write", to=tmp_path / "parts", settings=short, start=writer_folder, **family_files["write"])
    regard.train("write", to=tmp_path / "parts", settings=settings, start=writer_folder, **family_files["write"])
    whole, parts = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "parts"))
    assert all(torch.equal(tensor, parts[name]) for name, tensor in whole.items())


def test_what_does_not_fit_the_model_gone_on_from_is_told(folder, writer_folder, pairs, tmp_path):
    with pytest.raises(regard.ConfigError, match="a model to translate cannot be fine-tuned from it"):
        regard.train("translate", to=tmp_path / "m", start=writer_folder, **pairs)
    with pytest.raises(regard.ConfigError, match="size and shape are those of the model"):
        regard.train("translate", to=tmp_path / "m", start=folder, settings={"size": "tiny"}, **pairs)
    swapped = {"source": pairs["target"], "target": pairs["source"]}
    with pytest.raises(regard.CorpusError, match=r"is read as fr to en, and .* translates en to fr; name the files in"):
        regard.train("translate", to=tmp_path / "m", start=folder, **swapped)


@pytest.mark.parametrize("name", ["gpt2", "bert to fill"])
def test_a_foreign_model_is_trained_further(name, pairs, tmp_path):
    save(MODELS[name](), tmp_path / "theirs", pairs)
    task = "fill" if name.startswith("bert") else "write"
    settings = {"stop": {"steps": 6}, "threads": 1, "train": {"tokens_per_batch": 256}}
    regard.train(task, to=tmp_path / "m", settings=settings, start=tmp_path / "theirs", text=pairs["source"])
    assert regard.load(tmp_path / "m").info.settings["model"]["width"] == 32


def test_what_an_import_takes_along_is_json_of_a_sensible_size(tmp_path, pairs):
    """A link may lead to a secret of the user, or to a file without end."""
    save(MODELS["bert"](), tmp_path / "theirs", pairs)
    (tmp_path / "secret").write_text("my secret")
    beside = tmp_path / "theirs" / "special_tokens_map.json"
    (tmp_path / "theirs" / "tokenizer_config.json").write_text('{"added_tokens_decoder": {}}')
    beside.symlink_to(tmp_path / "secret")
    told = run("import", tmp_path / "theirs", "--to", tmp_path / "ours")
    assert told.exit_code == 1 and "special_tokens_map.json is not a JSON file" in told.output
    beside.unlink()
    beside.write_text("[" + " " * 5 * 2**20 + "]")
    told = run("import", tmp_path / "theirs", "--to", tmp_path / "ours")
    assert told.exit_code == 1 and "at most" in told.output and not (tmp_path / "ours").exists()


def test_keys_that_mean_nothing_here_do_no_harm_in_transformers(tmp_path, pairs):
    save(MODELS["bert"](), tmp_path / "theirs", pairs)
    path = tmp_path / "theirs" / "config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps(config | {"num_labels": 2**31}))
    told = run("import", tmp_path / "theirs", "--to", tmp_path / "a")
    assert told.exit_code == 1 and f"{tmp_path / 'theirs'}: config.json has num_labels=2147483648" in told.output
    path.write_text(json.dumps(config | {"return_dict": False, "attn_implementation": "nobody/kernel-of-mine"}))
    told = run("import", tmp_path / "theirs", "--to", tmp_path / "b")
    assert told.exit_code == 0, told.output
    path.write_text(json.dumps(config | {"id2label": 5}))
    told = run("import", tmp_path / "theirs", "--to", tmp_path / "c")
    assert told.exit_code in (0, 1) and (told.exception is None or isinstance(told.exception, SystemExit)), told.output


def test_a_page_is_not_written_over_a_file(folder, tmp_path):
    (tmp_path / "page.html").write_text("mine")
    with pytest.raises(regard.FolderError, match=r"page\.html exists already; export to a new file"):
        export_model(folder, "page", tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == "mine"
