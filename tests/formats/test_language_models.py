"""Writers and fillers open in `transformers` and say the same there."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

transformers = pytest.importorskip("transformers")

import regard  # noqa: E402
from regard.config import ModelConfig  # noqa: E402
from regard.engines.network import shapes_of  # noqa: E402
from regard.formats import bert, gpt2, llama, own  # noqa: E402
from regard.model.transformer import CausalLM, MaskedLM  # noqa: E402

SHAPE = {"vocab_size": 50, "layers": 2, "width": 32, "heads": 4, "ffn_width": 48, "dropout": 0.0, "max_positions": 24}
LAYOUTS = {
    "gpt2": (gpt2, "gelu", transformers.GPT2LMHeadModel),
    "llama": (llama, "silu", transformers.LlamaForCausalLM),
    "bert": (bert, "gelu", transformers.BertForMaskedLM),
}


def make(kind):
    torch.manual_seed(5)
    layout, activation, _ = LAYOUTS[kind]
    config = ModelConfig(kind=kind, activation=activation, **SHAPE, **layout.SHAPE)
    network = MaskedLM(config, pad_id=0) if kind == "bert" else CausalLM(config)
    with torch.no_grad():  # nothing stays zero or one by chance of the start
        for parameter in network.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    return network.eval(), layout


@pytest.fixture(params=LAYOUTS)
def both(request, tmp_path):
    network, layout = make(request.param)
    (tmp_path / "config.json").write_text(json.dumps(layout.export_config(network.config, 0)))
    exported = layout.export_weights(network.state_dict())
    save_file(exported, tmp_path / "model.safetensors", metadata={"format": "pt"})
    theirs, told = LAYOUTS[request.param][2].from_pretrained(tmp_path, output_loading_info=True)
    assert not told["missing_keys"] and not told["unexpected_keys"] and not told["mismatched_keys"]
    return network, theirs.eval()


@torch.no_grad()
def test_logits_are_equal_on_random_weights(both):
    network, theirs = both
    ids = torch.randint(1, 50, (3, 24))
    assert torch.allclose(network.logits(network(ids)), theirs(input_ids=ids).logits, atol=1e-5)


@torch.no_grad()
def test_logits_are_equal_with_padding_and_segments():
    network, layout = make("bert")
    theirs = transformers.BertForMaskedLM(transformers.BertConfig(**layout.export_config(network.config, 0))).eval()
    theirs.load_state_dict(layout.export_weights(network.state_dict()), strict=False)
    theirs.tie_weights()
    ids = torch.randint(1, 50, (2, 10))
    ids[1, 6:] = 0
    token_types = torch.tensor([[0] * 5 + [1] * 5] * 2)
    ours = network.logits(network(ids, token_types))
    other = theirs(input_ids=ids, attention_mask=(ids != 0).long(), token_type_ids=token_types).logits
    assert torch.allclose(ours[0], other[0], atol=1e-5) and torch.allclose(ours[1, :6], other[1, :6], atol=1e-5)


@pytest.mark.parametrize("kind", LAYOUTS)
def test_weights_and_shape_come_back(kind):
    network, layout = make(kind)
    exported = {name: tensor.numpy() for name, tensor in layout.export_weights(network.state_dict()).items()}
    back = layout.import_weights(exported, shapes_of(network))
    assert all(torch.equal(torch.tensor(back[name]), tensor) for name, tensor in network.state_dict().items())
    assert back.keys() == network.state_dict().keys()
    assert layout.import_config(layout.export_config(network.config, 0)) == network.config
    with pytest.raises(regard.FolderError, match="unknown"):
        layout.import_weights(exported | {"x": np.ones(1)}, shapes_of(network))


def test_a_trained_writer_opens_with_its_tokenizer_and_says_the_same(writer_folder):
    writer = regard.load(writer_folder)
    theirs = transformers.AutoModelForCausalLM.from_pretrained(writer_folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(writer_folder)
    text = "The old dog sleeps.\n  I see <|endoftext|> it."
    ids = tokenizer(text, return_tensors="pt").input_ids
    assert ids[0].tolist() == writer.encode_text(text) == [writer.tokenizer.end_id, *writer.tokenizer.encode_part(text)]
    assert tokenizer.decode(ids[0], skip_special_tokens=True) == text
    ids = ids[:, :20]
    with torch.no_grad():
        assert torch.allclose(writer.model.logits(writer.model(ids)), theirs(input_ids=ids).logits, atol=1e-4)
    start = tokenizer("The old", return_tensors="pt").input_ids
    said = theirs.generate(start, do_sample=False, max_new_tokens=12, pad_token_id=0)[0, start.shape[1] :].tolist()
    cut = said.index(writer.tokenizer.end_id) if writer.tokenizer.end_id in said else len(said)
    assert writer("The old", temperature=0, tokens=12) == writer.tokenizer.decode(said[:cut])


def test_a_trained_filler_opens_with_its_tokenizer_and_says_the_same(filler_folder):
    filler = regard.load(filler_folder)
    theirs = transformers.AutoModelForMaskedLM.from_pretrained(filler_folder).eval()
    assert isinstance(theirs, transformers.BertForMaskedLM)
    tokenizer = transformers.AutoTokenizer.from_pretrained(filler_folder)
    text = "The old [MASK] sleeps in the house."
    batch = tokenizer(text, return_tensors="pt")
    assert batch.input_ids[0].tolist() == filler.encode_text(text)
    with torch.no_grad():
        chances = theirs(**batch).logits[0, filler.encode_text(text).index(filler.tokenizer.mask_id)].softmax(-1)
    best = filler.fill(text, top=1).gaps[0][0]
    assert best.probability == pytest.approx(chances[filler.tokenizer.id_of(best.text)].item(), abs=1e-4)


def test_a_shape_without_a_class_there_says_so_and_opens_here(tmp_path, family_files):
    from conftest import family_settings

    settings = family_settings("write", 5)
    settings["model"] = settings["model"] | {"kind": "gpt2", "positions": "rotary"}
    regard.train("write", to=tmp_path / "m", settings=settings, **family_files["write"])
    config = json.loads((tmp_path / "m" / "config.json").read_text())
    assert config["model_type"] == "regard-write"
    assert own.import_config(config).positions == "rotary"
    assert isinstance(regard.load(tmp_path / "m")("The", tokens=3, seed=0), str)
