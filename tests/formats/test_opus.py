"""opus-mt folders (MarianMTModel, two SentencePiece models, one vocabulary) open, run and align as ours do."""

import json
import re
import shutil

import pytest
import torch

transformers = pytest.importorskip("transformers")
sentencepiece = pytest.importorskip("sentencepiece")

import regard  # noqa: E402
from regard.decoding.settings import Search  # noqa: E402


@pytest.fixture(scope="module")
def opus(tmp_path_factory, pairs):
    """A small one with random weights, as their converter leaves it; and the folder it lies in."""
    folder = tmp_path_factory.mktemp("opus")
    pieces: set[str] = set()
    for name, side in (("source", "source"), ("target", "target")):
        sentencepiece.SentencePieceTrainer.train(
            input=str(pairs[side]), model_prefix=str(folder / name), vocab_size=150, minloglevel=2,
            bos_id=-1, eos_id=0, unk_id=1, model_type="unigram", hard_vocab_limit=False,
        )  # fmt: skip
        (folder / f"{name}.model").rename(folder / f"{name}.spm")
        model = sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{name}.spm"))
        pieces |= {model.id_to_piece(number) for number in range(2, model.get_piece_size())}
    names = ["</s>", "<unk>", *sorted(pieces), "<pad>"]
    (folder / "vocab.json").write_text(json.dumps({name: number for number, name in enumerate(names)}))
    torch.manual_seed(4)
    pad = len(names) - 1
    theirs = transformers.MarianMTModel(transformers.MarianConfig(
        vocab_size=len(names), d_model=32, encoder_layers=3, decoder_layers=2, encoder_ffn_dim=48, decoder_ffn_dim=48,
        encoder_attention_heads=4, decoder_attention_heads=4, activation_function="swish", pad_token_id=pad,
        eos_token_id=0, decoder_start_token_id=pad, scale_embedding=True, max_position_embeddings=64,
        forced_eos_token_id=None, static_position_embeddings=True, normalize_before=False,
    ))  # fmt: skip
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
        theirs.model.shared.weight[pad] = 0
        theirs.final_logits_bias.normal_()
    theirs.save_pretrained(folder)
    return transformers.MarianMTModel.from_pretrained(folder).eval(), folder  # with the paper's waves again


def test_text_is_split_as_their_tokenizer_does(opus, pairs):
    _, folder = opus
    theirs = transformers.MarianTokenizer(
        source_spm=str(folder / "source.spm"), target_spm=str(folder / "target.spm"), vocab=str(folder / "vocab.json"),
        separate_vocabs=False,
    )  # fmt: skip
    ours = regard.load(folder).tokenizer
    for side, encode in (("source", ours.encode), ("target", lambda text: ours.encode_targets([text])[0])):
        for line in pairs[side].read_text().splitlines()[:30]:
            expected = theirs(line) if side == "source" else theirs(text_target=line)
            assert encode(line) == expected["input_ids"]
    line = pairs["target"].read_text().splitlines()[0]
    assert ours.decode(ours.encode_targets([line])[0]) == line


@torch.no_grad()
@pytest.mark.parametrize("name", ["source.spm", "target.spm"])
def test_an_empty_sentencepiece_model_is_refused_by_name_when_the_folder_is_opened(opus, tmp_path, name):
    shutil.copytree(opus[1], tmp_path / "m")
    (tmp_path / "m" / name).write_bytes(b"")
    with pytest.raises(regard.FolderError, match=f"{name} is empty"):
        regard.load(tmp_path / "m")


def test_logits_and_greedy_translations_are_theirs(opus, pairs):
    theirs, folder = opus
    ours = regard.load(folder)
    source, target = torch.randint(2, 100, (2, 9)), torch.randint(2, 100, (2, 7))
    expected = theirs(input_ids=source, decoder_input_ids=target).logits
    assert torch.allclose(ours.model.logits(ours.model(source, target))[..., :-1], expected[..., :-1], atol=1e-5)
    pad = ours.tokenizer.pad_id
    for line in pairs["source"].read_text().splitlines()[:5]:
        ids = ours.tokenizer.encode(line)
        said = theirs.generate(input_ids=torch.tensor([ids]), num_beams=1, do_sample=False, max_new_tokens=12,
                               bad_words_ids=[[pad]])[0, 1:].tolist()  # fmt: skip
        said = said[: said.index(0)] if 0 in said else said
        assert dict(ours.native.begin([ids], [12], Search())())[0][0].ids == said


def test_an_imported_one_runs_on_the_fast_engine_and_says_the_same(opus, pairs, tmp_path):
    from regard.convert import import_model

    _, folder = opus
    import_model(str(folder), tmp_path / "m")
    fast, slow = regard.load(tmp_path / "m"), regard.load(folder)
    assert (fast.engine, slow.engine) == ("ctranslate2", "torch")
    lines = pairs["source"].read_text().splitlines()[:20]
    mine, theirs = (list(one.translate_all(lines, max_length=12, alignments=True)) for one in (fast, slow))
    assert [one.tokens for one in mine] == [one.tokens for one in theirs]
    assert [one.alignment for one in mine] == [one.alignment for one in theirs]
    assert slow.look(lines[0]).kinds["cross"].weights.shape[0] == 2


def test_positions_that_were_learned_and_other_tables_are_refused(opus, tmp_path):

    from safetensors.torch import load_file, save_file

    _, folder = opus
    shutil.copytree(folder, tmp_path / "m")
    weights = load_file(folder / "model.safetensors")
    for name, told in (
        ("model.encoder.embed_positions.weight", "not the paper's waves"),
        ("model.decoder.embed_tokens.weight", "differ, and config"),
    ):
        shape = (64, 32) if "positions" in name else weights["model.shared.weight"].shape
        save_file(weights | {name: torch.ones(shape)}, tmp_path / "m" / "model.safetensors")
        with pytest.raises(regard.FolderError, match=f"{re.escape(str(tmp_path))}.*{told}"):
            regard.load(tmp_path / "m")


def test_it_is_trained_further_and_opens_in_transformers_again(opus, pairs, tmp_path):
    _, folder = opus
    settings = {"stop": {"steps": 30}, "threads": 1, "workers": 1, "train": {"tokens_per_batch": 512}}
    short = settings | {"stop": {"steps": 11}}
    for to, first in (("whole", settings), ("parts", short)):
        regard.train("translate", to=tmp_path / to, settings=first, start=folder, **pairs)
    finished = regard.train("translate", to=tmp_path / "parts", settings=settings, start=folder, **pairs)
    whole, parts = (tmp_path / to / "model.safetensors" for to in ("whole", "parts"))
    assert whole.read_bytes() == parts.read_bytes()  # an interruption changes nothing
    log = [json.loads(line) for line in (tmp_path / "whole" / "run" / "metrics.jsonl").read_text().splitlines()]
    losses = [entry["loss"] for entry in log if "tokens_per_second" in entry]
    assert losses[-1] < losses[0] - 0.2 and finished.scores["loss"] < losses[0]
    ours = regard.load(tmp_path / "whole")
    assert ours.engine == "ctranslate2" and ours.tokenizer.pieces == regard.load(folder).tokenizer.pieces
    for name in ours.tokenizer.FILES:
        assert (tmp_path / "whole" / name).read_bytes() == (folder / name).read_bytes()
    theirs = transformers.MarianMTModel.from_pretrained(tmp_path / "whole").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "whole")
    line = pairs["source"].read_text().splitlines()[0]
    source, target = torch.tensor([tokenizer(line)["input_ids"]]), torch.randint(2, 100, (1, 7))
    assert source[0].tolist() == ours.tokenizer.encode(line)
    with torch.no_grad():
        expected = theirs(input_ids=source, decoder_input_ids=target).logits
        assert torch.allclose(ours.model.logits(ours.model(source, target))[..., :-1], expected[..., :-1], atol=1e-4)


def test_it_is_exported_for_both_other_programs(opus, tmp_path):
    from regard.convert import export_model, import_model

    import_model(str(opus[1]), tmp_path / "m")
    for kind in ("ctranslate2", "huggingface"):
        assert "differ by at most" in export_model(tmp_path / "m", kind, tmp_path / kind)
        assert (tmp_path / kind / "source.spm").is_file()
