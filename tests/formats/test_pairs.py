"""Translators made of two BERTs: opened, put together, trained, resumed, and opened again in `transformers`."""

import re

import pytest
import torch
from safetensors.torch import load_file
from typer.testing import CliRunner

transformers = pytest.importorskip("transformers")

from test_encoder_decoder import config as generation_config  # noqa: E402
from test_families import bits  # noqa: E402
from test_foreign import SMALL, save  # noqa: E402

import regard  # noqa: E402
from regard.cli.commands import app  # noqa: E402
from regard.decoding.settings import Search  # noqa: E402
from regard.training.loop import Progress  # noqa: E402

TRAIN = {"tokens_per_batch": 512, "valid_every": 4, "warmup_steps": 2, "learning_rate": 0.001}
SETTINGS = {"train": TRAIN, "threads": 1, "workers": 1, "stop": {"steps": 6}}


def bert(**options):
    return transformers.BertConfig(**(SMALL | options))


def save_pair(encoder, decoder, to, pairs):
    """An EncoderDecoderModel of theirs in a folder."""
    save(encoder, to.with_name(to.name + "-encoder"), pairs)
    both = transformers.EncoderDecoderModel(encoder=encoder, decoder=decoder)
    both.config.decoder_start_token_id, both.config.pad_token_id, both.config.eos_token_id = 2, 0, 3
    both.generation_config = transformers.GenerationConfig(decoder_start_token_id=2, eos_token_id=3, pad_token_id=0)
    both.eval().save_pretrained(to)
    (to / "vocab.txt").write_text((to.with_name(to.name + "-encoder") / "vocab.txt").read_text())
    return both


def decoder_of(kind, **options):
    marks = {"is_decoder": True, "add_cross_attention": True}
    if kind == "bert":
        return transformers.BertLMHeadModel(bert(**marks, **options))
    return transformers.BertGenerationDecoder(generation_config(**marks))


def encoder_of(kind, **options):
    return transformers.BertModel(bert(**options)) if kind == "bert" else transformers.BertGenerationEncoder(
        generation_config()
    )  # fmt: skip


def shaken(model):
    """With random biases and norms too, so that nothing is equal by being zero or one."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model


@torch.no_grad()
def assert_same(ours, theirs):
    """Equal logits on random inputs with padding, and the same greedy output."""
    network = ours.model
    source, target = torch.randint(5, 300, (3, 9)), torch.randint(5, 300, (3, 7))
    source[1, 5:] = ours.tokenizer.pad_id
    mask = (source != ours.tokenizer.pad_id).long()
    expected = theirs.eval()(input_ids=source, attention_mask=mask, decoder_input_ids=target).logits
    assert float((network.logits(network(source, target)) - expected).abs().max()) < 1e-4
    for row in source[[0, 2]].tolist():
        said = theirs.generate(input_ids=torch.tensor([row]), max_new_tokens=8, do_sample=False, num_beams=1)[0, 1:]
        said = said.tolist()
        said = said[: said.index(3)] if 3 in said else said
        assert ours.run([row], [8], Search())[0][0].ids == said


@pytest.mark.parametrize(
    ("encoder", "decoder", "wider"),
    [("bert", "bert", 0), ("bert", "bert", 16), ("bert-generation", "bert", 0), ("bert", "bert-generation", 0)],
)  # fmt: skip
def test_a_pair_of_any_two_kinds_and_widths_is_opened_as_it_is(encoder, decoder, wider, tmp_path, pairs):
    options = {"hidden_size": SMALL["hidden_size"] + wider} if wider else {}
    theirs = save_pair(shaken(encoder_of(encoder, **options)), shaken(decoder_of(decoder)), tmp_path / "both", pairs)
    ours = regard.load(tmp_path / "both")
    assert ours.engine == "torch"
    assert_same(ours, theirs)


@pytest.mark.parametrize("kind", ["bert", "bert-generation"])
def test_a_pair_is_trained_further_resumes_bit_for_bit_and_opens_there_again(kind, tmp_path, pairs):
    save_pair(shaken(encoder_of(kind)), shaken(decoder_of(kind)), tmp_path / "both", pairs)
    options = {"settings": SETTINGS, "start": tmp_path / "both", **pairs}
    regard.train("translate", to=tmp_path / "whole", **options)
    for event in regard.training("translate", to=tmp_path / "parts", **options):
        if isinstance(event, Progress) and event.step == 3:
            break
    regard.train("translate", to=tmp_path / "parts", **options)
    assert bits(tmp_path / "parts") == bits(tmp_path / "whole")
    theirs, told = transformers.EncoderDecoderModel.from_pretrained(tmp_path / "whole", output_loading_info=True)
    assert not told["missing_keys"] and not told["unexpected_keys"]
    assert theirs.config.encoder.model_type == theirs.config.decoder.model_type == kind
    with pytest.warns(RuntimeWarning, match="CTranslate2 has no translator of this shape"):
        ours = regard.load(tmp_path / "whole")
    assert_same(ours, theirs)


@pytest.fixture
def berts(tmp_path, pairs):
    """A plain BERT with a head, and a bare one that is narrower; with one vocabulary."""
    save(shaken(transformers.BertForPreTraining(bert())), tmp_path / "a", pairs)
    save(shaken(transformers.BertModel(bert(hidden_size=16, num_attention_heads=2))), tmp_path / "b", pairs)
    return tmp_path / "a", tmp_path / "b"


def train_on_command_line(berts, to, pairs, *more):
    files = [str(pairs["source"]), str(pairs["target"])]
    sides = ["--encoder", str(berts[0]), "--decoder", str(berts[1])]
    settings = ["--set", "train.valid_every=4", "--set", "threads=1", "--workers", "1", "--steps", "4", *more]
    return CliRunner().invoke(app, ["train", "translate", *files, *sides, "--to", str(to), *settings])


@pytest.mark.filterwarnings("ignore:no copy for the fast engine")
def test_two_plain_berts_become_a_translator_that_does_all_that_others_do(berts, tmp_path, pairs):
    done = train_on_command_line(berts, tmp_path / "m", pairs)
    assert done.exit_code == 0, done.output
    theirs, told = transformers.EncoderDecoderModel.from_pretrained(tmp_path / "m", output_loading_info=True)
    assert not told["missing_keys"] and not told["unexpected_keys"]
    ours = regard.load(tmp_path / "m")
    assert_same(ours, theirs)
    text = "The dog sees a cat."
    there = transformers.AutoTokenizer.from_pretrained(tmp_path / "m")
    assert there(text).input_ids == ours.tokenizer.encode(text)
    translation = ours.translate(text, alignments=True, max_length=8)
    words = len(text.split()), len(translation.text.split())
    assert all(source < words[0] and target < words[1] for source, target in translation.alignment)
    assert ours.look(text, "Le chien voit un chat.").kinds["cross"].rows[0] == " le"  # no mark before it
    assert ours.look(text).why is None and ours.look(text, why=True).why.off
    assert ours.align([text], ["Le chien voit un chat."])[0]
    assert ours.evaluate(pairs["source"], pairs["target"], beam=1)["bleu"] >= 0
    bases = [base["name"] for base in ours.info.base_models]
    assert bases == [str(berts[0]), str(berts[1])]
    info = CliRunner().invoke(app, ["info", str(tmp_path / "m")])
    assert info.exit_code == 0 and "translate" in info.output
    both = r"encoder with layers 2, width 32, .*; decoder with layers 2, width 16, "
    card = (tmp_path / "m" / "README.md").read_text(encoding="utf-8")
    assert re.search(both, info.output) and re.search(both, card) and re.search(both, " ".join(done.output.split()))
    tensors = load_file(tmp_path / "m" / "model.safetensors")
    counted = sum(tensor.numel() for name, tensor in tensors.items() if "pooler" not in name)  # which only they want
    assert ours.info.parameters == counted == sum(parameter.numel() for parameter in ours.model.parameters())
    assert all(f"{counted / 1e6:.2f} M" in page for page in (info.output, card, done.output))
    out = CliRunner().invoke(app, ["export", str(tmp_path / "m"), "--as", "huggingface", "--to", str(tmp_path / "out")])
    assert out.exit_code == 0, out.output


@torch.no_grad()
def test_what_the_two_knew_is_where_training_begins_and_only_the_rest_is_fresh(berts):
    from regard.families import find_recipe
    from regard.training.init_from import InitFrom

    begun = InitFrom.read(find_recipe("translate"), berts, regard.load)
    network = find_recipe("translate").build(begun.model, begun.tokenizer)
    fresh = network.state_dict().keys() - begun.weights.keys()
    assert fresh and all("cross_" in n or n.startswith(("bridge.", "decoder.head_", "decoder.bias")) for n in fresh)
    network.load_state_dict(network.state_dict() | begun.weights)
    theirs = transformers.BertModel.from_pretrained(berts[0]).eval()
    ids = torch.tensor([[2, 30, 31, 3]])
    assert torch.allclose(network.encoder.eval()(ids), theirs(input_ids=ids).last_hidden_state, atol=1e-5)


def test_the_loss_is_that_of_transformers_for_the_same_labels(berts, tmp_path, pairs):
    from regard.families.held_out import real_loss

    assert train_on_command_line(berts, tmp_path / "m", pairs, "--set", "train.label_smoothing=0.0").exit_code == 0
    ours = regard.load(tmp_path / "m", engine="torch")
    theirs = transformers.EncoderDecoderModel.from_pretrained(tmp_path / "m").eval()
    source = torch.tensor([ours.tokenizer.encode("The dog sees a cat.")])
    labels = torch.tensor(ours.tokenizer.encode_targets(["Le chien voit un chat."]))
    target = torch.cat([torch.full((1, 1), ours.model.start_id), labels[:, :-1]], dim=1)
    with torch.no_grad():
        total, count = real_loss(ours.model, ours.model(source, target), labels)
        expected = theirs(input_ids=source, labels=labels).loss
    assert float(total / count) == pytest.approx(float(expected), abs=1e-4)


def test_text_beyond_the_positions_is_left_out_split_or_refused_in_words(berts, tmp_path, pairs):
    long = tmp_path / "long.en", tmp_path / "long.fr"
    for path, role in zip(long, ("source", "target"), strict=True):
        path.write_text(pairs[role].read_text() + "word " * 200 + "\n" + "\n".join(["x " * 150] * 3) + "\n")
    done = train_on_command_line(berts, tmp_path / "m", {"source": long[0], "target": long[1]})
    assert done.exit_code == 0 and "longer than 40 tokens" in done.output, done.output
    ours = regard.load(tmp_path / "m", engine="torch")
    assert "parts" in ours.translate("The dog sees a cat and " * 40, beam=1, max_length=9).notes[0]
    assert ours.translate("The dog.", prefix="le chien " * 5, beam=2, max_length=200).text
    long_text = "le chien " * 60
    for call in (lambda: ours.look("The dog.", long_text), lambda: ours.translate("a", prefix=long_text),
                 lambda: ours.align(["The dog."], [long_text]), lambda: ours.align([long_text], ["le"])):  # fmt: skip
        with pytest.raises(regard.ConfigError, match="at most 40"):
            call()


def test_what_cannot_be_put_together_is_refused_by_name(berts, tmp_path, pairs):
    with pytest.raises(regard.ConfigError, match="give both folders"):
        regard.train("translate", to=tmp_path / "m", encoder=berts[0], **pairs)
    with pytest.raises(regard.ConfigError, match="not made of an encoder and a decoder"):
        regard.train("fill", to=tmp_path / "m", encoder=berts[0], decoder=berts[1], text=pairs["source"])
    with pytest.raises(regard.ConfigError, match="size and shape are those of the model"):
        regard.train("translate", to=tmp_path / "m", encoder=berts[0], decoder=berts[1],
                     settings={"model": {"layers": 3}}, **pairs)  # fmt: skip
    with pytest.raises(regard.ConfigError, match="give their folders with --encoder"):
        regard.train("translate", to=tmp_path / "m", settings={"model": {"kind": "bert"}}, **pairs)
    save(transformers.GPT2LMHeadModel(transformers.GPT2Config(n_embd=16, n_layer=1, n_head=2, vocab_size=420)),
         tmp_path / "g", pairs)  # fmt: skip
    with pytest.raises(regard.RegardError, match="GPT2LMHeadModel"):
        regard.train("translate", to=tmp_path / "m", encoder=berts[0], decoder=tmp_path / "g", **pairs)
    words = (berts[1] / "vocab.txt").read_text().splitlines()
    (berts[1] / "vocab.txt").write_text("\n".join([*words[:-2], words[-1], words[-2]]) + "\n")
    with pytest.raises(regard.ConfigError, match="split text differently"):
        regard.train("translate", to=tmp_path / "m", encoder=berts[0], decoder=berts[1], **pairs)
    assert not (tmp_path / "m").exists()
