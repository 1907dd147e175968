"""BERT as encoder and decoder, alone and put together, as `transformers` has them; and the worked example."""

import json

import pytest
import torch
from typer.testing import CliRunner

transformers = pytest.importorskip("transformers")

from test_foreign import MODELS, SMALL, save  # noqa: E402

import regard  # noqa: E402
from regard.cli.commands import app  # noqa: E402
from regard.decoding.settings import Search  # noqa: E402
from regard.model.masks import padding_mask  # noqa: E402


def config(**options):
    return transformers.BertGenerationConfig(**SMALL, bos_token_id=2, eos_token_id=3, pad_token_id=0, **options)


@pytest.fixture
def sides(tmp_path, pairs):
    """An encoder and a decoder of theirs, and the folders they lie in."""
    encoder = transformers.BertGenerationEncoder(config())
    decoder = transformers.BertGenerationDecoder(config(is_decoder=True, add_cross_attention=True))
    for name, model in (("encoder", encoder), ("decoder", decoder)):
        save(model, tmp_path / name, pairs)
        model.set_attn_implementation("eager")
    return encoder, decoder, tmp_path


@torch.no_grad()
def test_a_decoder_looks_at_an_encoder_and_every_number_agrees(sides):
    their_encoder, their_decoder, folder = sides
    encoder, decoder = regard.load(folder / "encoder"), regard.load(folder / "decoder")
    source, target = torch.randint(5, 400, (2, 9)), torch.randint(5, 400, (2, 7))
    source[1, 6:] = 0
    mask = (source != 0).long()
    asked = {"output_hidden_states": True, "output_attentions": True}
    read = their_encoder(input_ids=source, attention_mask=mask, **asked)
    said = their_decoder(
        input_ids=target, encoder_hidden_states=read.last_hidden_state, encoder_attention_mask=mask, **asked
    )
    with regard.record_hidden(encoder.model) as states, regard.record_attention(encoder.model) as looks:
        memory = encoder.model(source)
    agree(states["stack"], read.hidden_states, mask)
    agree([one[0] for one in looks.values()], read.attentions, mask)
    with regard.record_hidden(decoder.model) as states, regard.record_attention(decoder.model) as looks:
        hidden = decoder.model(target, read.last_hidden_state, padding_mask(source == 0))
    agree(states["stack"], said.hidden_states, None)
    for kind, expected in (("self", said.attentions), ("cross", said.cross_attentions)):
        agree([one[0] for name, one in looks.items() if kind in name], expected, None)
    logits = decoder.model.logits(hidden)
    assert logits.shape == (2, 7, 420) and torch.allclose(logits, said.logits, atol=1e-5)
    assert torch.allclose(decoder.logits(target, memory, padding_mask(source == 0)), said.logits, atol=1e-4)


def agree(mine, theirs, mask):
    """Everywhere but on padding: there, attention and hidden states do not matter, and the two differ."""
    assert len(mine) == len(theirs)
    for one, other in zip(mine, theirs, strict=True):
        apart = (one - other).abs()
        if mask is not None:
            apart = apart * (mask[:, None, :, None] if apart.ndim == 4 else mask[..., None])
        assert float(apart.max()) < 1e-5


def test_the_two_put_together_translate_as_generate_does(sides, tmp_path, pairs):
    encoder, decoder, _ = sides
    both = transformers.EncoderDecoderModel(encoder=encoder, decoder=decoder)
    both.config.decoder_start_token_id, both.config.pad_token_id = 2, 0
    both.eval().save_pretrained(tmp_path / "both")
    (tmp_path / "both" / "vocab.txt").write_text((tmp_path / "encoder" / "vocab.txt").read_text())
    translator = regard.load(tmp_path / "both")
    assert translator.engine == "torch"
    texts = ["The dog sees the cat.", "The old man sleeps here."]
    for text in texts:
        ids = torch.tensor([translator.tokenizer.encode(text)])
        said = both.generate(input_ids=ids, max_new_tokens=12, do_sample=False, num_beams=1, decoder_start_token_id=2,
                             eos_token_id=3, pad_token_id=0)[0, 1:].tolist()  # fmt: skip
        said = said[: said.index(3)] if 3 in said else said
        assert dict(translator.native.begin(ids.tolist(), [12], Search())())[0][0].ids == said
        assert translator.translate(text, beam=1, max_length=12).tokens[0] == translator.tokenizer.tokens(said)[0]
    assert translator.look(texts[0]).kinds["cross"].weights.shape[:2] == (2, 4)
    config = json.loads((tmp_path / "both" / "config.json").read_text())
    config["decoder"]["model_type"] = "gpt2"
    (tmp_path / "both" / "config.json").write_text(json.dumps(config))
    with pytest.raises(regard.FolderError, match="model_type='gpt2'"):
        regard.load(tmp_path / "both")


def test_a_plain_bert_opens_as_either_and_tells_what_was_dropped_and_what_is_new(tmp_path, pairs):
    theirs = save(MODELS["bert of the first days"](), tmp_path, pairs)
    encoder, decoder = regard.load(tmp_path, part="encoder"), regard.load(tmp_path, part="decoder")
    assert isinstance(encoder, regard.Encoder) and isinstance(decoder, regard.Decoder)
    assert encoder.new == [] and "cls.seq_relationship.weight" in encoder.dropped
    assert all("cross" in name for name in decoder.new) and len(decoder.new) == 20
    assert "bert.embeddings.token_type_embeddings.weight" in decoder.dropped
    ids = torch.tensor([[2, 30, 31, 3]])
    with torch.no_grad():
        expected = theirs.bert(input_ids=ids).last_hidden_state
        assert torch.allclose(encoder.model(ids), expected, atol=1e-5) and encoder.architecture == "BertModel"
        other, generation = regard.load(tmp_path, part="generation-encoder"), transformers.BertGenerationEncoder
        expected = generation.from_pretrained(tmp_path).eval()(input_ids=ids).last_hidden_state
        assert torch.allclose(other.model(ids), expected, atol=1e-5) and other.architecture == generation.__name__
        assert other.new == [] and float((other.model(ids) - encoder.model(ids)).abs().max()) > 0.01
    assert decoder.architecture == "BertGenerationDecoder"
    assert torch.equal(decoder.model.bias, theirs.cls.predictions.bias)
    with pytest.raises(regard.ConfigError, match="part=tail is not one of"):
        regard.load(tmp_path, part="tail")
    save(MODELS["gpt2"](), tmp_path / "g", pairs)
    with pytest.raises(regard.ConfigError, match="only a plain BERT"):
        regard.load(tmp_path / "g", part="encoder")


@pytest.mark.parametrize("part", ["encoder", "generation-encoder", "decoder"])
def test_a_plain_bert_is_imported_as_either(part, tmp_path, pairs):
    save(MODELS["bert of the first days"](), tmp_path / "theirs", pairs)
    words = ["import", str(tmp_path / "theirs"), "--as", part, "--to", str(tmp_path / "ours")]
    told = CliRunner().invoke(app, words)
    assert told.exit_code == 0 and "Dropped: " in told.output, told.output
    assert ("New, with fresh weights" in told.output) == (part == "decoder")
    before, after = regard.load(tmp_path / "theirs", part=part), regard.load(tmp_path / "ours")
    assert type(before) is type(after)
    assert before.architecture == after.architecture
    kind = getattr(transformers, before.architecture)
    _, info = kind.from_pretrained(tmp_path / "ours", output_loading_info=True)
    assert not info["unexpected_keys"]
    weights = after.model.state_dict()
    known = [name for name in weights if name not in before.new]
    assert all(torch.equal(weights[name], before.model.state_dict()[name]) for name in known)
