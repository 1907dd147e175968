"""A translator's folder opens in `transformers` and says the same there."""

import json

import pytest
import torch
from safetensors.torch import save_file

transformers = pytest.importorskip("transformers")

from regard.decoding.repetition import cut_repetition  # noqa: E402
from regard.decoding.settings import Search  # noqa: E402
from regard.engines.network import fill, shapes_of  # noqa: E402
from regard.engines.torch import translate_ids  # noqa: E402
from regard.formats import marian as hf  # noqa: E402
from regard.model.transformer import EncoderDecoder  # noqa: E402

CLASSES = {"post": transformers.MarianMTModel, "pre": transformers.PegasusForConditionalGeneration}


def write(network: EncoderDecoder, to) -> None:
    pad = network.pad_id
    (to / "config.json").write_text(json.dumps(hf.export_config(network.config, 0, pad)))
    (to / "generation_config.json").write_text(json.dumps(hf.generation_config(0, pad, 1, 64)))
    weights = hf.export_weights(network.state_dict(), network.config, pad)
    save_file(weights, to / "model.safetensors", metadata={"format": "pt"})


@pytest.fixture
def theirs(network, tmp_path):
    write(network, tmp_path)
    return CLASSES[network.config.norm].from_pretrained(tmp_path).eval()


def padded(rows, pad):
    longest = max(map(len, rows))
    ids = torch.tensor([row + [pad] * (longest - len(row)) for row in rows])
    return ids, (ids != pad).long()


def test_nothing_is_missing_and_nothing_is_unknown_there(network, tmp_path):
    write(network, tmp_path)
    _, told = CLASSES[network.config.norm].from_pretrained(tmp_path, output_loading_info=True)
    assert not told["missing_keys"] and not told["unexpected_keys"]


@torch.no_grad()
def test_logits_are_equal_in_padded_batches_on_random_weights(network, theirs):
    source, mask = padded([[5, 6, 7, 8, 0], [9, 0], [3, 2, 0]], 49)
    target = torch.tensor([[49, 4, 8, 1], [49, 7, 7, 2], [49, 1, 2, 3]])
    ours = network.logits(network(source, target))
    other = theirs(input_ids=source, attention_mask=mask, decoder_input_ids=target, use_cache=False).logits
    assert torch.allclose(ours, other, atol=1e-5)


@torch.no_grad()
def test_logits_are_equal_step_by_step_with_both_caches(network, theirs):
    source, mask = padded([[5, 6, 7, 8, 0], [9, 0]], 49)
    target = torch.tensor([[49, 4, 8, 1], [49, 7, 7, 2]])
    memory, may_attend = network.encode(source)
    cache, past = network.open_cache(memory, may_attend, room=4), None
    for t in range(4):
        mine = network.logits(network.advance(target[:, t : t + 1], cache))
        out = theirs(
            input_ids=source,
            attention_mask=mask,
            decoder_input_ids=target[:, t : t + 1],
            past_key_values=past,
            use_cache=True,
        )
        past = out.past_key_values
        assert torch.allclose(mine, out.logits, atol=1e-5)


def test_greedy_says_the_same_on_random_weights(network, theirs):
    torch.manual_seed(1)
    rows = [[*torch.randint(1, 49, (n,)).tolist(), 0] for n in (3, 7, 5, 1, 9, 4)]
    limit = 20
    ours = translate_ids(network, rows, [limit] * len(rows), ends=[0], search=Search())
    source, mask = padded(rows, 49)
    other = theirs.generate(input_ids=source, attention_mask=mask, num_beams=1, do_sample=False, max_new_tokens=limit)
    for mine, row in zip(ours, other.tolist(), strict=True):
        said = [token for token in row[1:] if token != 49]
        assert mine[0].ids == (said[: said.index(0)] if 0 in said else said)


def test_a_trained_folder_opens_with_its_tokenizer_and_says_the_same(folder, translator):
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    assert isinstance(model, CLASSES[translator.model.config.norm])
    texts = ["The old dog sleeps.", "I see </s> the red house today.", "Does the woman read the book?"]
    batch = tokenizer(texts, return_tensors="pt", padding=True)
    for text, ids, mask in zip(texts, batch.input_ids, batch.attention_mask, strict=True):
        assert ids[mask.bool()].tolist() == translator.tokenizer.encode(text)
    target = torch.tensor([[translator.tokenizer.pad_id, 30, 31]] * 3)
    with torch.no_grad():
        ours = translator.model.logits(translator.model(batch.input_ids, target))
        theirs = model(input_ids=batch.input_ids, attention_mask=batch.attention_mask, decoder_input_ids=target).logits
    assert torch.allclose(ours, theirs, atol=1e-5)
    said = model.generate(**batch, num_beams=1, do_sample=False, max_new_tokens=30)
    rows = [[number for number in row[1:] if number != translator.tokenizer.pad_id] for row in said.tolist()]
    rows = [row if translator.tokenizer.end_id in row else cut_repetition(row) for row in rows]  # as we end a loop
    assert tokenizer.batch_decode(rows, skip_special_tokens=True) == translator(texts, beam=1, max_length=30)


def test_weights_come_back_under_our_names(network):
    exported = hf.export_weights(network.state_dict(), network.config, 49)
    back = hf.import_weights({name: tensor.numpy() for name, tensor in exported.items()}, shapes_of(network))
    assert back.keys() == network.state_dict().keys()
    assert all(torch.equal(torch.tensor(back[name]), tensor) for name, tensor in network.state_dict().items())
    assert hf.import_config(hf.export_config(network.config, 0, 49)) == network.config


@torch.no_grad()
def test_a_pegasus_of_other_people_says_the_same_here():
    torch.manual_seed(1)
    sides = {f"{side}_{name}": value for side in ("encoder", "decoder")
             for name, value in (("layers", 2), ("attention_heads", 4), ("ffn_dim", 48))}  # fmt: skip
    config = transformers.PegasusConfig(vocab_size=60, d_model=32, scale_embedding=True, **sides)  # padding is 0
    theirs = transformers.PegasusForConditionalGeneration(config).eval()
    shape = hf.import_config(config.to_dict())
    assert shape.norm == "pre"
    ours = EncoderDecoder(shape, 0).eval()
    weights = {name: tensor.numpy() for name, tensor in theirs.state_dict().items()}
    fill(ours, hf.import_weights(weights, shapes_of(ours)))
    source, target = torch.tensor([[5, 6, 7, 1], [8, 1, 0, 0]]), torch.tensor([[0, 4, 5], [0, 9, 9]])
    mine = ours.logits(ours(source, target))[..., 1:]  # all but padding, which is never generated here
    other = theirs(input_ids=source, attention_mask=(source != 0).long(), decoder_input_ids=target).logits[..., 1:]
    assert torch.allclose(mine, other, atol=1e-5)
