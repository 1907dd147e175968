"""Every key of a foreign folder's files is used, known to change nothing, or refused by name."""

import warnings

import pytest

from regard.errors import FolderError
from regard.formats import bert, bert_generation, gpt2, llama, marian
from regard.formats.generation import FILE, GENERATION, read_generation
from regard.formats.keys import take

TABLES = {
    "GPT2Config": gpt2.KEYS,
    "LlamaConfig": llama.KEYS,
    "BertConfig": bert.KEYS,
    "BertGenerationConfig": bert_generation.ENCODER_KEYS,
    "MarianConfig": marian.KEYS["marian"],
    "PegasusConfig": marian.KEYS["pegasus"],
    "GenerationConfig": GENERATION,
}
WORKED_OUT = {"decoder_vocab_size", "num_key_value_heads", "head_dim", "rope_parameters"}  # from other keys, if absent


@pytest.mark.parametrize("reader", TABLES)
def test_the_tables_name_every_key_of_transformers_with_its_default(reader):
    transformers = pytest.importorskip("transformers")
    table = TABLES[reader]
    for name, default in vars(getattr(transformers, reader)()).items():
        if name.startswith("_"):
            continue
        assert (name in table.used) + (name in table.only) + (name in table.idle) == 1, name
        if name in table.only:
            assert default in table.only[name], name
        if name in table.used and name not in WORKED_OUT:
            assert table.used[name] == default, name


def test_a_key_that_is_on_no_list_is_reported():
    with pytest.warns(RuntimeWarning, match="does not know and ignores: residual_fun"):
        take({"residual_fun": 3}, gpt2.KEYS)


def test_a_key_that_only_transformers_knows_is_refused_unless_it_has_its_default():
    pytest.importorskip("transformers")
    older = type(gpt2.KEYS)(gpt2.KEYS.file, "GPT2Config", {})  # as if all of them were new
    with pytest.raises(FolderError, match=r"n_head=3, which GPT2Config of transformers reads \(its default is 12\)"):
        take({"n_head": 3}, older)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        take({"n_head": 12}, older)
    assert len(said) == 1


@pytest.mark.parametrize(
    ("layout", "config", "told"),
    [
        (gpt2, {"n_head": "4"}, "n_head='4', which is not a whole number"),
        (gpt2, {"n_head": 5}, "cannot be: width=768 cannot be shared equally by heads=5; try width=770"),
        (gpt2, {"n_layer": 0}, "layers=0"),
        (llama, {"num_attention_heads": 0, "head_dim": 4}, "head_dim=4"),
        (llama, {"rope_parameters": {"type": "linear", "factor": 4.0}}, "factor=4.0"),
        (llama, {"rope_parameters": {"type": "dynamic"}}, "rope_type='dynamic'"),
        (llama, {"rope_scaling": "linear"}, "which is not an object"),
        (bert, {"pruned_heads": {"0": [1]}}, "pruned_heads"),
        (bert_generation, {"is_decoder": True}, "is_decoder=True"),
        (marian, {"model_type": "marian"}, "scale_embedding=False"),
        (marian, {"model_type": "marian", "scale_embedding": True, "decoder_ffn_dim": 8}, "decoder_ffn_dim=8"),
        (marian, {"model_type": "marian", "scale_embedding": None}, "scale_embedding=None"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(layout, config, told):
    with pytest.raises(FolderError) as problem:
        layout.import_config(config)
    assert told in str(problem.value) and "\n" not in str(problem.value)
    assert "validation" not in str(problem.value)


@pytest.mark.parametrize(
    ("config", "base"),
    [
        ({}, 10_000),
        ({"rope_theta": 500.0}, 500),
        ({"rope_theta": 500.0, "rope_parameters": {"rope_type": "default"}}, 500),
        ({"rope_theta": 500.0, "rope_parameters": {"rope_theta": 700.0}}, 700),
        ({"rope_scaling": {"rope_type": "default"}, "head_dim": None}, 10_000),
        ({"rope_scaling": {"type": "default", "rope_theta": 9}, "rope_parameters": {"rope_theta": 7}}, 9),
    ],
)
def test_rotary_positions_are_read_from_old_and_new_keys(config, base):
    assert llama.import_config(config).rotary_base == base
    transformers = pytest.importorskip("transformers")
    assert transformers.LlamaConfig(**config).rope_parameters["rope_theta"] == base


@pytest.mark.parametrize(
    "told",
    [
        {"no_repeat_ngram_size": 2}, {"repetition_penalty": 1.2}, {"min_length": 3}, {"bad_words_ids": [[1, 2]]},
        {"sequence_bias": [[[3], 1.0]]}, {"eos_token_id": None}, {"eos_token_id": 9}, {"forced_eos_token_id": 3},
        {"begin_suppress_tokens": [1]}, {"stop_strings": ["a"]}, {"eos_token_id": [True]},
    ],
)  # fmt: skip
def test_what_would_change_a_text_and_is_not_done_here_is_refused(told):
    with pytest.raises(FolderError, match=next(iter(told))):
        read_generation({"eos_token_id": 2} | told, FILE, 9, is_translator=True)


def test_what_an_opus_folder_says_is_used():
    opus = {"bad_words_ids": [[8]], "bos_token_id": 0, "decoder_start_token_id": 8, "eos_token_id": 0,
            "forced_eos_token_id": 0, "max_length": 512, "num_beams": 4, "pad_token_id": 8,
            "renormalize_logits": True}  # fmt: skip
    told = read_generation(opus, FILE, 9, is_translator=True)
    assert (told.ends, told.start, told.suppressed, told.is_end_forced) == ((0,), 8, (8,), True)
