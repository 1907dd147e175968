"""A setting does something in exactly those families that have it; elsewhere it is refused."""

import pytest
import torch
from conftest import TASKS

import regard
from regard.config import ModelConfig, TextConfig, TrainConfig
from regard.families import find_recipe
from regard.training.settings import BESIDE, FOLLOWS, refuse_unused

KINDS = [("translate", "transformer"), ("write", "llama"), ("fill", "bert"), ("answer", "memory"),
         ("answer", "transformer"), ("classify", "ngrams")]  # fmt: skip
SMALL = {
    "buckets": 256,
    "labels": ("a", "b"),
    "vocab_size": 40,
    "layers": 2,
    "width": 32,
    "heads": 4,
    "ffn_width": 48,
    "max_positions": 32,
    "dropout": 0.1,
}
OTHER = {
    "layers": 3, "decoder_layers": 3, "width": 64, "heads": 2, "kv_heads": 2, "value_width": 5, "ffn_width": 40,
    "norm": "post", "norm_kind": "layer", "epsilon": 0.5, "activation": "gelu_new", "is_gated": False, "has_bias": True,
    "positions": "sinusoidal", "rotary_base": 3.0, "token_types": 1, "has_output_bias": True, "tie_embeddings": False,
    "dropout": 0.5, "hops": 2, "tying": "layer-wise", "controller": "zero", "restarts": 3, "buckets": 512,
}  # fmt: skip
# What differs from OTHER.
BASE = {
    "norm": "pre", "norm_kind": "rms", "activation": "silu", "is_gated": True, "has_bias": False, "positions": "rotary",
}  # fmt: skip


class Ids:
    """As much of a tokenizer as building needs."""

    pad_id, vocab_size = 39, 40


@pytest.mark.parametrize(("task", "kind"), KINDS)
def test_a_setting_of_the_network_changes_it_exactly_where_the_family_has_it(task, kind):
    before = outcome(task, ModelConfig(kind=kind, **SMALL | BASE))
    for name, value in OTHER.items():
        after = outcome(task, ModelConfig(kind=kind, **SMALL | BASE | {name: value}))
        is_same = before.shape == after.shape and torch.equal(before, after)
        assert is_same == (f"model.{name}" not in find_recipe(task).uses[kind]), name


def outcome(task, config):
    """All weights and what is computed with them, in one vector."""
    torch.manual_seed(1)
    network = find_recipe(task).build(config, Ids()).train()
    torch.manual_seed(2)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
        ids = torch.arange(1, 13).view(2, 6)
        if task == "translate":
            said = network.logits(network(ids, ids))
        elif task == "answer":
            said = network(ids[:, None].repeat(1, 3, 1), torch.tensor([[2, 1, 0]] * 2), ids)
        elif task == "classify":
            said = network(ids.flatten(), torch.ones(12), torch.tensor([[6, 6]]))
        else:
            said = network.logits(network(ids))
    return torch.cat([said.flatten(), *(p.flatten() for p in network.state_dict().values())])


SECTIONS = {"text": TextConfig, "model": ModelConfig, "train": TrainConfig}
NAMES = {f"{section}.{name}" for section, kind in SECTIONS.items() for name in kind.model_fields}
NAMES |= {"source_language", "target_language", "corpus_weights", "back_translated"}


def used_by(task):
    return frozenset().union(*find_recipe(task).uses.values())


def test_every_setting_is_one_of_some_family_or_follows_from_something():
    assert frozenset().union(*map(used_by, TASKS)) | FOLLOWS.keys() == NAMES
    assert BESIDE.keys() <= NAMES
    assert all(find_recipe(task).uses.keys() == find_recipe(task).kinds.keys() for task in TASKS)


@pytest.mark.parametrize("task", TASKS)
def test_a_setting_of_another_family_is_refused_before_any_file_is_read_and_one_of_its_own_is_not(task):
    recipe = find_recipe(task)
    for name in NAMES:
        section, _, key = name.rpartition(".")
        settings = {section: {key: 400}} if section else {key: "xx"}
        if name in used_by(task):
            refuse_unused(recipe, settings)
        else:
            with pytest.raises(regard.ConfigError, match=rf"{name}.*(changes nothing for a model to {task}|follows)"):
                refuse_unused(recipe, settings)


@pytest.mark.parametrize(
    ("task", "settings", "words"),
    [
        ("translate", {"model": {"rotary_base": 500.0}}, r"it goes with model\.positions=rotary"),
        ("translate", {"model": {"vocab_size": 500}}, r"follows from the tokenizer; set text\.vocab_size"),
        ("translate", {"corpus_weights": [1.0, 2.0]}, r"corpus_weights follows from --also"),
        ("translate", {"corpus_weights": 1}, r"corpus_weights=1 is not a list of numbers"),
        ("translate", {"corpus_weights": ["much"]}, r"corpus_weights.0='much' is not a list of numbers"),
        ("translate", {"train": {"decay_steps": 5000}}, r"it goes with train\.schedule=linear"),
        ("write", {"text": {"tokenizer": "char", "vocab_size": 500}}, r"goes with text\.tokenizer=bpe or wordpiece"),
        ("fill", {"text": {"tokenizer": "bpe", "lowercase": True}}, r"goes with text\.tokenizer=wordpiece"),
        (
            "answer",
            {"model": {"kind": "memory", "dropout": 0.1}},
            r"dropout=0.1 changes nothing for a model to answer \(model\.kind=mem",
        ),
        (
            "answer",
            {"model": {"kind": "transformer", "tying": "adjacent"}},
            r"it goes with model\.kind=memory, leave it out",
        ),
    ],
)
def test_what_changes_nothing_beside_the_other_settings_is_refused_and_leaves_nothing_behind(
    task, settings, words, family_files, tmp_path
):
    with pytest.raises(regard.ConfigError, match=words):
        regard.train(task, to=tmp_path / "m", settings=settings, **family_files[task])
    assert not (tmp_path / "m").exists()


def test_settings_of_a_tokenizer_are_refused_where_one_is_taken_over(family_files, folder, tmp_path):
    with pytest.raises(regard.ConfigError, match=r"leave text\.vocab_size out"):
        regard.train("translate", to=tmp_path / "m", start=folder, settings={"text": {"vocab_size": 500}},
                     **family_files["translate"])  # fmt: skip
