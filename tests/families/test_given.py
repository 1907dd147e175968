"""Models are given texts, and nothing of a text vanishes without a word."""

import json

import pytest
import torch
from conftest import family_settings
from tokenizers import Tokenizer as Pieces
from tokenizers import models, normalizers, pre_tokenizers
from typer.testing import CliRunner

import regard
from regard.cli.commands import app
from regard.families.translate.translation import notes_on
from regard.text.given import name_unknown
from regard.text.tokenizer import Tokenizer

STORY, QUESTION = ["Brian is a frog.", "Brian is yellow."], "What color is Brian?"
OTHER_THAN_TEXT = [b"a text", None, 3, 2.5, ["a", ["b"]], [["a text"]], {"a": 1}.values(), object()]


@pytest.fixture(scope="module")
def letters(tmp_path_factory, family_files):
    """A writer of characters that sees 16 of them."""
    settings = family_settings("write", 5)
    settings |= {"text": {"tokenizer": "char"}, "model": settings["model"] | {"max_positions": 16}}
    to = tmp_path_factory.mktemp("letters") / "model"
    regard.train("write", to=to, settings=settings, **family_files["write"])
    return to


@pytest.fixture(scope="module")
def encoder(encoder_folder):
    return regard.load(encoder_folder)


@pytest.fixture
def calls(translator, letters, filler_folder, answerer_folder, encoder):
    """Every way to hand a model one text."""
    writer, filler, answerer = regard.load(letters), regard.load(filler_folder), regard.load(answerer_folder)
    return [
        translator.translate, translator.look, lambda text: translator.look("A dog.", target=text),
        lambda text: translator("A dog.", prefix=text), lambda text: translator.align(text, ["a"]),
        lambda text: translator.align(["a"], text),
        writer, lambda text: list(writer.stream(text)), writer.sample, writer.look,
        lambda text: writer("A", stop=[text]),
        filler, filler.fill, filler.look,
        lambda text: answerer.answer(text, QUESTION), lambda text: answerer.answer(STORY, text),
        lambda text: answerer.look(text, STORY),
        encoder, encoder.encode, encoder.look,
    ]  # fmt: skip


def test_what_is_no_text_is_refused_in_words_everywhere(calls):
    for call in calls:
        for odd in OTHER_THAN_TEXT:
            if odd is None and call in calls[2:4]:
                continue  # no target and no prefix
            with pytest.raises(regard.ConfigError, match=r"is not|several texts|no story"):
                call(odd)


def test_several_texts_are_no_single_text_and_the_other_way_round(translator, encoder):
    for odd in ("a text", b"a text", None, 3):
        with pytest.raises(regard.ConfigError, match="several texts and got a single one"):
            list(translator.translate_all(odd))
        with pytest.raises(regard.ConfigError, match="is not a list of"):
            translator.align(odd, odd)
    with pytest.raises(regard.ConfigError, match=r"decode it, as in value\.decode\(\), and put it into one"):
        encoder.encode(b"a text")
    with pytest.raises(regard.ConfigError, match=r"3 is not a text .*: a str is wanted, not int"):
        translator(["a", 3])


def test_one_text_is_one_vector_and_a_list_is_a_matrix(encoder):
    one = encoder.encode("a text")
    assert one.shape == (16,) and torch.equal(one, encoder("a text"))
    assert torch.allclose(encoder.encode(["a text", "dogs"])[0], one, atol=1e-6)
    assert encoder.encode([]).shape == (0, 16) and encoder.encode(("dogs",)).shape == (1, 16)


def test_an_encoder_tells_what_it_does_not_know_and_what_is_too_long(encoder):
    with pytest.warns(RuntimeWarning, match="read as unknown: 漢, 字, xyz"):
        encoder.encode(["a text", "漢字 dog xyz"])
    with pytest.warns(RuntimeWarning, match="1 of 1 texts have more than 8 tokens; their beginnings count"):
        encoder.encode("dog " * 20)
    seen = encoder.look("dog " * 20)
    assert len(seen.labels()[0]) == 8 and "more than 8 tokens" in seen.notes[0]


def test_a_filler_keeps_the_text_around_its_gaps_and_tells_unknown_words(filler_folder):
    filler = regard.load(filler_folder)
    text = "The  Xylophonist, 漢字 [MASK] 😀 the dog."
    filled = filler.fill(text)
    before, after = text.split("[MASK]")
    assert filled.text.startswith(before.rstrip()) and filled.text.endswith(after)
    assert filled.unknown and all(part in text for part in filled.unknown) and "😀" in filled.unknown
    assert filler.look(text).answer == filled.text and "read as unknown" in filler.look(text).notes[0]
    with pytest.warns(RuntimeWarning, match="read as unknown"):
        assert filler(text) == filled.text
    assert filler.fill("The dog [MASK].").unknown == []
    run = CliRunner().invoke(app, ["fill", str(filler_folder), text, "--json"])
    assert json.loads(run.stdout)["unknown"] == filled.unknown and "read as unknown" in run.stderr


def test_a_writer_tells_characters_it_has_never_seen(letters):
    writer = regard.load(letters)
    assert writer.unknown("The dog 漢漢 😀") == ["漢", "😀"] and writer.unknown("The") == []
    with pytest.warns(RuntimeWarning, match="read as unknown: 漢, 😀"):
        writer("The 漢 😀", tokens=2)
    assert writer.sample("漢", tokens=2).unknown == ["漢"]
    run = CliRunner().invoke(app, ["write", str(letters), "The 漢", "--tokens", "2"])
    assert run.exit_code == 0 and run.stderr == "Note: never seen in training, and read as unknown: 漢\n"
    assert name_unknown(["\ufeff", "a\u200b"]) == "never seen in training, and read as unknown: \\ufeff, a\\u200b"


def test_looking_at_a_text_longer_than_a_writer_sees_shows_its_end_and_says_so(letters, tmp_path):
    writer = regard.load(letters)
    text = "The dog sees the cat."
    seen = writer.look(text)
    assert "".join(seen.labels()[0]) == text[-16:]
    assert seen.notes == ["the text has 22 tokens, and the model sees 16 at a time; the last 16 are shown"]
    assert writer.look("The dog").notes == []
    to = tmp_path / "look.html"
    run = CliRunner().invoke(app, ["look", str(letters), text, "--to", str(to)])
    assert f"Note: {seen.notes[0]}\n" in run.stderr and seen.notes[0] in to.read_text()


def test_a_prompt_longer_than_a_writer_sees_is_continued_from_its_end_and_that_is_noted(letters):
    for engine in ("torch", "ctranslate2"):
        writer = regard.load(letters, engine=engine)
        note = "the prompt has 22 tokens, and the model sees 16 at a time; the last ones count"
        with pytest.warns(RuntimeWarning, match=note):
            writer("The dog sees the cat.", tokens=2)
        assert writer.sample("The dog sees the cat.", tokens=2).notes == [note]
        assert writer.sample("The dog sees th", tokens=2).notes == []
    run = CliRunner().invoke(app, ["write", str(letters), "The dog sees the cat.", "--tokens", "2"])
    assert run.exit_code == 0 and run.stderr == f"Note: {note}\n"


def test_a_story_longer_than_an_answerer_holds_is_told(answerer_folder):
    answerer = regard.load(answerer_folder)
    most = answerer.model.config.max_positions * 2 // 3
    answer = answerer.answer(["Lily is gray."] * most + STORY, QUESTION)
    assert answer.left_out == 2 and f"the model holds {most}; the oldest were left out" in answer.notes[0]
    assert answerer.look(QUESTION, ["Lily is gray."] * most + STORY).notes == answer.notes
    assert answerer.answer(STORY, QUESTION).notes == []


def test_what_a_vocabulary_leaves_out_is_found():
    pieces = Pieces(models.BPE({"a": 0, "b": 1}, []))  # no unknown: what it does not have is dropped
    pieces.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = Tokenizer(pieces)
    assert tokenizer.unknown("ab c a") == ["c"] and tokenizer.unknown("ab ba") == []
    assert tokenizer.unknown("漢b字") == ["漢", "字"] and tokenizer.unknown("") == []
    assert tokenizer.unknown("a漢b") == ["漢"] and tokenizer.unknown("ab漢漢 a") == ["漢漢"]
    assert tokenizer.unknown("a\u0301b") == ["\u0301"]
    pieces.normalizer = normalizers.NFC()
    assert Tokenizer(pieces).unknown("a\u0301b") == ["a\u0301"]  # á is not in it
    composed = Pieces(models.BPE({"á": 0, "b": 1}, []))
    composed.normalizer = normalizers.NFC()
    assert Tokenizer(composed).unknown("a\u0301b漢") == ["漢"]


def test_what_a_vocabulary_without_an_unknown_piece_drops_is_noted(encoder_folder):
    pieces = Pieces(models.BPE({"a": 0, "b": 1, "</s>": 2, "<pad>": 3}, []))
    pieces.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = Tokenizer(pieces)
    ids = tokenizer.encode_all(["a 漢 b", "ab"])
    assert notes_on(tokenizer, "a 漢 b", ids[:1]) == ["never seen in training, and read as unknown: 漢"]
    assert notes_on(tokenizer, "ab", ids[1:]) == []
    encoder = regard.load(encoder_folder)
    encoder.__dict__["tokenizer"] = tokenizer
    assert "漢" in encoder._notes(["a 漢 b"], ids[:1])[0] and encoder._notes(["ab"], ids[1:]) == []


def test_files_that_an_evaluation_leaves_out_of_a_folder_are_named(letters, filler_folder, answerer_folder, tmp_path):
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\0\0\1\2" * 100)
    for model, text in (
        (letters, "The dog sees the cat.\n" * 9), (filler_folder, "The dog sees the cat.\n" * 9),
        (answerer_folder, "1 Brian is a frog.\n2 What is Brian?\tfrog\t1\n"),
    ):  # fmt: skip
        (tmp_path / "text.txt").write_text(text)
        run = CliRunner().invoke(app, ["evaluate", str(model), str(tmp_path)])
        assert run.exit_code == 0 and f"Note: {tmp_path / 'picture.png'} is left out: binary" in run.stderr, run.output


def test_a_prompt_without_end_or_not_in_utf8_is_refused_in_one_line(letters):
    for given, why in ((b"a" * (2**20 + 1), "more than 1 MB"), (b"\xff\xfe", "not UTF-8")):
        run = CliRunner().invoke(app, ["write", str(letters), "-"], input=given)
        assert run.exit_code == 1 and run.stderr.startswith("Error: standard input") and why in run.stderr
