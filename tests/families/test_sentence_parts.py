"""A translator whose training lines are single sentences translates a line sentence by sentence; none is lost."""

import json
import math
import shutil

import pytest

import regard
from regard.families.translate.parts import Part, Sentences, join_windows, share_prefix, split_lines
from regard.families.translate.translation import Translation, join
from regard.text.segments import find_windows

ONE, OTHER = "The old dog sleeps.", "A cat sees the red house."
LINE = f"{ONE} {OTHER}"


def with_data(folder, tmp_path, **data):
    """A copy of a model whose regard.json says something else of its training text."""
    copy = shutil.copytree(folder, tmp_path / "copy")
    about = json.loads((copy / "regard.json").read_text())
    about["data"] = {name: value for name, value in (about["data"] | data).items() if value is not None}
    (copy / "regard.json").write_text(json.dumps(about))
    return regard.load(copy)


@pytest.fixture(scope="module", params=["ctranslate2", "torch"])
def either(request, folder):
    return regard.load(folder, engine=request.param)


def test_the_training_text_was_measured(translator):
    assert translator.info.data["sentences_per_line"] == 1
    assert 0.5 < translator.info.data["length_ratio"] < 2


def test_a_line_of_sentences_is_translated_as_they_are_one_by_one(either):
    alone = [either.translate(text, alignments=True) for text in (ONE, OTHER)]
    whole = either.translate(LINE, alignments=True)
    assert whole.text == " ".join(one.text for one in alone) and "\n" not in whole.text
    assert math.isclose(whole.score, sum(one.score for one in alone), rel_tol=1e-4)
    assert whole.source_words == LINE.split() and whole.tokens == alone[0].tokens + alone[1].tokens
    read, written = len(alone[0].source_words), len(alone[0].words)
    shifted = [(mine + read, theirs + written) for mine, theirs in alone[1].alignment]
    assert whole.alignment == alone[0].alignment + shifted
    assert not any("longer than any" in note for note in whole.notes)


def test_older_folders_and_models_of_longer_lines_are_not_split(folder, tmp_path):
    older = with_data(folder, tmp_path / "a", sentences_per_line=None, length_ratio=None)
    assert [len(parts) for parts in older.split([LINE])] == [1]
    assert older(LINE, split_sentences=True) == " ".join(older([ONE, OTHER]))
    longer = with_data(folder, tmp_path / "b", sentences_per_line=2)
    assert [[part.text for part in parts] for parts in longer.split([LINE, f"{LINE} {LINE}"])] == [[LINE], [LINE, LINE]]
    assert [len(parts) for parts in longer.split([LINE], True)] == [2]


def test_n_best_of_a_split_line_are_the_best_of_all_combinations(translator):
    found = translator.translate(LINE, n_best=4, beam=4)
    alone = [translator.translate(text, n_best=4, beam=4) for text in (ONE, OTHER)]
    options = [[one, *one.alternatives] for one in alone]
    every = {f"{a.text} {b.text}": a.score + b.score for a in options[0] for b in options[1]}
    texts = [found.text, *(one.text for one in found.alternatives)]
    assert len(texts) == 4 and len(set(texts)) == 4 and found.text == f"{alone[0].text} {alone[1].text}"
    assert all(math.isclose(one.score, every[one.text], rel_tol=1e-3) for one in (found, *found.alternatives))


def test_the_cheapest_alternatives_are_combined_first():
    def made(text, *costs):
        others = [Translation(f"{text}{number}", -1 - cost, ["x"], []) for number, cost in enumerate(costs, 1)]
        return Translation(text, -1.0, ["x"], [], alternatives=others)

    whole = join([made("a", 1, 9, 9), made("b", 2, 9, 9)], [Part("", [])] * 2, "en")
    assert [one.text for one in (whole, *whole.alternatives)] == ["a b", "a1 b", "a b1", "a1 b1"]


@pytest.mark.parametrize("prefix", ["Le", "Le vieux chien dort. Un", "Le chien. Le chat. Un"])
def test_a_line_begins_with_its_prefix_and_the_rest_is_translated(either, prefix):
    made = either.translate(LINE, prefix=prefix, alignments=True, beam=2)
    assert made.text.startswith(prefix)
    if prefix == "Le":
        assert made.text == f"{either(ONE, prefix='Le', beam=2)} {either(OTHER, beam=2)}"
    elif prefix.count(".") == 1:
        assert made.text == f"Le vieux chien dort. {either(OTHER, prefix='Un', beam=2)}"


def test_a_prefix_is_shared_out_sentence_by_sentence():
    assert share_prefix("A cat. A dog", None, [1, 1, 1]) == ["A cat.", "A dog", ""]
    assert share_prefix("One cat. One dog. One", None, [1, 1]) == ["One cat.", "One dog. One"]
    assert share_prefix("One cat. One dog. One", None, [2, 1]) == ["One cat. One dog.", "One"]


def test_terms_are_found_in_every_sentence_and_none_is_cut(either):
    made = either.translate("A cat. The dog sees a cat.", terms={"cat": "zèbre"}, beam=2)
    assert made.text.count("zèbre") == 2
    assert [len(parts) for parts in either.split(["Wells. Fargo sleeps. A cat."], None, {"Wells. Fargo": "x"})] == [2]


def test_words_of_a_line_without_blanks_are_counted_as_the_line_has_them(tokenizer):
    (parts,) = split_lines(tokenizer, ["他来了。她走了。 好。"], 50, Sentences(1))
    assert [(part.text, part.follows_blank) for part in parts] == [
        ("他来了。", True),
        ("她走了。", False),
        ("好。", True),
    ]
    made = [Translation("x", 0.0, ["x"], tokenizer.tokens(part.ids[:-1]), [(0, 0)]) for part in parts]
    whole = join(made, parts, "en")
    assert len(whole.source_words) == 2 and whole.alignment == [(0, 0), (0, 1), (1, 2)]


def test_a_translation_that_lacks_a_third_of_its_source_says_so(folder):
    """Forced to be short, it must lack something; as it is, the words it lacks are named by their places."""
    translator = regard.load(folder)
    text = "The old dog sleeps in the garden and a cat sees the red house of my father."
    made = translator.translate(text, max_length=4)
    lost = [note for note in made.notes if "no counterpart" in note]
    assert len(lost) == 1 and len(made.unaligned) >= len(text.split()) / 3
    assert made.source_words[made.unaligned[-1]] in lost[0]
    both = translator.translate(f"{ONE} {text}", max_length=4)
    assert [place - len(ONE.split()) for place in both.unaligned if place >= len(ONE.split())] == made.unaligned


def test_a_line_is_split_in_windows_as_in_one(tokenizer):
    """The server splits them one after another."""
    line = " ".join(f"{ONE} {OTHER}" for _ in range(200)) + "他来了。" * 900
    windows = find_windows(line)
    whole, *parts = split_lines(tokenizer, [line, *(line[a:b] for a, b in windows)], 20, Sentences(1))
    assert len(windows) > 2 and join_windows(line, windows, parts) == whole
    assert "".join("".join(part.text for part in whole).split()) == "".join(line.split())


def test_sentences_that_are_too_long_are_encoded_all_together(tokenizer, monkeypatch):
    """However many there are: each would take a few calls for itself."""
    calls, encode = [], tokenizer.encode_all
    monkeypatch.setattr(
        tokenizer, "encode_all", lambda texts, **options: calls.append(texts) or encode(texts, **options)
    )
    (parts,) = split_lines(tokenizer, ["The old, old dog sees a red house and a blue one. " * 300], 6, Sentences(1))
    assert len(parts) > 600 and all(len(part.ids) <= 6 for part in parts) and len(calls) < 15
