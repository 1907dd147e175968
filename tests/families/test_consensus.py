"""Of several translations that are sampled, the one closest to all is taken; a line gets the same in any company."""

import json
import math
import random

import pytest
import sacrebleu
from typer.testing import CliRunner

import regard
from regard.cli.commands import app
from regard.decoding.settings import Search
from regard.errors import ConfigError
from regard.text.consensus import chrf, closest_to_all, count_ngrams

ONE, OTHER = "The old dog sleeps.", "A cat sees the red house."


def test_chrf_is_sacrebleus():
    rng = random.Random(3)
    words = ["Hund", "ein", "Straße", "läuft", "über", "日本", "a", ".", "  "]
    texts = [" ".join(rng.choices(words, k=rng.randint(0, 9))) for _ in range(60)]
    for text, reference in zip(texts[::2], texts[1::2], strict=True):
        found = chrf(count_ngrams(text), count_ngrams(reference))
        assert found == pytest.approx(sacrebleu.sentence_chrf(text, [reference], eps_smoothing=False).score, abs=1e-9)


def test_the_text_closest_to_all_is_chosen():
    assert closest_to_all(["", "x", ""]) == 1  # nothing has no n-grams to share
    assert closest_to_all(["same", "same"]) == 0
    texts = ["the dog is here", "a dog was here", "dogs are there", "the dog is there", "the dog was here"]
    means = [sum(sacrebleu.sentence_chrf(text, [other]).score for other in texts) for text in texts]
    assert closest_to_all(texts) == means.index(max(means))


def test_a_line_is_drawn_the_same_alone_in_a_batch_and_on_both_engines(folder):
    fast, slow = regard.load(folder, engine="ctranslate2"), regard.load(folder, engine="torch")
    lines = [ONE, OTHER, "The dog.", ONE, ""]
    found = fast(lines, consensus=5, seed=3)
    assert found == slow(lines, consensus=5, seed=3) == [slow(line, consensus=5, seed=3) for line in lines]
    assert found[0] == found[3] and found[4] == ""
    assert len({slow(" ".join(lines), consensus=2, seed=seed) for seed in range(5)}) > 1


def test_what_is_taken_is_one_of_the_samples_and_closest_to_them(translator):
    source = translator.split([ONE])[0][0].ids
    ((_, samples),) = translator.native.begin([source], [40], Search(samples=6, seed=1))()
    texts = [translator.tokenizer.decode(one.ids) for one in samples]
    assert len(samples) == 6 and len(set(texts)) > 1
    taken = translator.translate(ONE, consensus=6, seed=1)
    place = closest_to_all(texts)
    assert taken.text == texts[place] and taken.score == pytest.approx(samples[place].score, abs=1e-4)


def test_scores_alignments_sentences_and_prefixes_are_those_of_what_was_taken(translator):
    alone = [translator.translate(text, consensus=4, alignments=True) for text in (ONE, OTHER)]
    whole = translator.translate(f"{ONE} {OTHER}", consensus=4, alignments=True)
    assert whole.text == " ".join(one.text for one in alone) and whole.alignment and not whole.alternatives
    assert math.isclose(whole.score, sum(one.score for one in alone), rel_tol=1e-4)
    assert alone[0].alignment == translator.align([ONE], [alone[0].text])[0]
    assert translator.translate(ONE, consensus=4, prefix="Le vieux").text.startswith("Le vieux")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"consensus": 1}, "at least 2"),
        ({"consensus": 4, "n_best": 2}, "consensus and n_best"),
        ({"consensus": 4, "terms": {"dog": "chien"}}, "consensus and terms"),
        ({"consensus": 4, "fast": True}, "consensus and fast"),
    ],
)
def test_what_cannot_be_combined_is_refused(translator, options, words):
    with pytest.raises(ConfigError, match=words):
        translator(ONE, **options)


def test_the_command_samples_and_refuses_what_it_cannot_combine(folder):
    def run(*words):
        return CliRunner().invoke(app, ["translate", str(folder), "--text", ONE, *words])

    expected = regard.load(folder, engine="torch").translate(ONE, consensus=4, seed=2)
    made = run("--consensus", "4", "--seed", "2", "--json")
    assert json.loads(made.stdout)["text"] == expected.text
    assert json.loads(made.stdout)["score"] == pytest.approx(expected.score, abs=1e-4)
    for words in (["--beam", "4"], ["--n-best", "2"], ["--length-penalty", "1"], ["--fast"], ["--precision", "int8"]):
        refused = run("--consensus", "4", *words)
        assert refused.exit_code == 1 and f"--consensus and {words[0]} cannot go together" in refused.stderr
    assert "leave --engine out" in run("--consensus", "4", "--engine", "ctranslate2").stderr
    assert "add --consensus" in run("--seed", "1").stderr
