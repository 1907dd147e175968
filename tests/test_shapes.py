"""Settings of a network's shape that reach the weights, the folder, both engines and a resumed run."""

import json
import warnings

import pytest
import torch
from conftest import family_settings
from test_families import bits

import regard
from regard.config import ModelConfig
from regard.decoding.settings import Search
from regard.model.transformer import CausalLM, EncoderDecoder
from regard.training.loop import Progress

UNTIED = [
    ("translate", "post", "MarianMTModel"),
    ("translate", "pre", "PegasusForConditionalGeneration"),
    ("fill", "post", "BertForMaskedLM"),
]
TEXTS = {"translate": "The dog sees a cat.", "write": "The dog", "fill": "The [MASK] sees a cat."}


def train(task, shape, files, to, *, steps=6, again=False):
    """A short run, and the same again in two runs if asked for; the folder of the first."""
    settings = family_settings(task, steps, valid_every=steps)
    settings |= {"model": settings["model"] | shape}
    regard.train(task, to=to / "whole", settings=settings, **files)
    if not again:
        return to / "whole"
    for event in regard.training(task, to=to / "parts", settings=settings, **files):
        if isinstance(event, Progress) and event.step == 3:
            break
    regard.train(task, to=to / "parts", settings=settings, **files)
    assert bits(to / "parts") == bits(to / "whole")
    return to / "whole"


@pytest.mark.parametrize(("task", "norm", "name"), UNTIED)
def test_an_untied_model_has_an_output_table_of_its_own_here_and_in_transformers(
    task, norm, name, family_files, tmp_path
):
    transformers = pytest.importorskip("transformers")
    shape = {"tie_embeddings": False, "norm": norm}
    to = train(task, shape, family_files[task], tmp_path, again=name == "MarianMTModel")
    ours = regard.load(to, engine="torch") if task == "translate" else regard.load(to)
    table, output = ours.model.embedding.table.weight, ours.model.output.weight
    assert output.shape == table.shape and not torch.allclose(output, table, atol=1e-2)
    theirs, told = getattr(transformers, name).from_pretrained(to, output_loading_info=True)
    assert not told["missing_keys"] and not told["unexpected_keys"]
    ids = torch.randint(6, 300, (2, 9))
    with torch.no_grad():
        if task == "translate":
            mine, other = ours.model.logits(ours.model(ids, ids)), theirs(input_ids=ids, decoder_input_ids=ids).logits
        else:
            mine, other = ours.model.logits(ours.model(ids)), theirs(input_ids=ids).logits
    assert float((mine - other).abs().max()) < 1e-4
    assert ours.look(TEXTS[task]).kinds


def test_both_engines_say_the_same_with_an_untied_translator(family_files, tmp_path):
    to = train("translate", {"tie_embeddings": False}, family_files["translate"], tmp_path, steps=50)
    fast, slow = regard.load(to, engine="ctranslate2"), regard.load(to, engine="torch")
    ids = [fast.tokenizer.encode(line) for line in family_files["translate"]["source"].read_text().splitlines()[:20]]
    for search in (Search(), Search(beams=3)):
        found = [opened.run(ids, [12] * len(ids), search) for opened in (fast, slow)]
        said, expected = ([row[0].ids for row in rows] for rows in found)
        assert said == expected


@pytest.mark.parametrize(
    ("task", "shape"), [("translate", {}), ("write", {}), ("write", {"kind": "gpt2"}), ("fill", {})]
)  # fmt: skip
def test_values_of_another_width_go_through_training_loading_and_looking(task, shape, family_files, tmp_path):
    to = train(task, shape | {"value_width": 5}, family_files[task], tmp_path, again=task == "translate")
    assert json.loads((to / "config.json").read_text())["architectures"] == [f"Regard{task.capitalize()}"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # CTranslate2 has no such model
        opened = regard.load(to)
    assert getattr(opened, "engine", "torch") == "torch"
    values = [weight for name, weight in opened.model.named_parameters() if name.endswith("attention.value.weight")]
    assert values and all(weight.shape == (4 * 5, 32) for weight in values)
    assert opened.look(TEXTS[task], why=True).kinds
    if task != "fill":
        with pytest.raises(regard.RegardError, match="CTranslate2 has no"):
            regard.load(to, engine="ctranslate2")


def test_a_cached_step_with_values_of_another_width_is_the_full_forward():
    config = ModelConfig(vocab_size=50, layers=2, width=32, heads=4, ffn_width=48, value_width=11)
    translator, writer = EncoderDecoder(config, pad_id=49).eval(), CausalLM(config).eval()
    source, ids = torch.randint(0, 49, (2, 6)), torch.randint(0, 49, (2, 5))
    memory, may_attend = translator.encode(source)
    caches = translator.open_cache(memory, may_attend, 5), writer.open_cache(2, 5)
    for network, cache, whole in zip((translator, writer), caches, (translator(source, ids), writer(ids)), strict=True):
        steps = [network.advance(ids[:, place : place + 1], cache) for place in range(5)]
        assert torch.allclose(torch.cat(steps, 1), whole, atol=1e-5)
        cache.keep(torch.tensor([1, 0]))
        assert torch.equal(cache.layers[0].value, cache.values[0]) and cache.values.shape[-1] == 11


def test_a_setting_that_says_what_holds_anyway_changes_no_class(family_files, tmp_path):
    same = {"value_width": 8, "decoder_layers": 2, "kv_heads": 4}
    to = train("translate", same, family_files["translate"], tmp_path, steps=2)
    assert json.loads((to / "config.json").read_text())["model_type"] == "pegasus"
    assert regard.load(to).engine == "ctranslate2"
