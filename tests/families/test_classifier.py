"""A classifier: labels are keys, probabilities are calibrated, and every line gets an answer."""

import json
import random
from itertools import pairwise

import numpy as np
import pytest
import torch
from conftest import family_settings, write_labelled, write_lines
from typer.testing import CliRunner

import regard
from regard.cli.commands import app
from regard.config import ModelConfig
from regard.data.labelled import word_batch
from regard.families.classify.pipeline import Classification
from regard.model.attention import soft_attention
from regard.model.labels import LabelAttention
from regard.text.classes import calibration_error, confusion, paired_test, score_classes
from regard.text.ngrams import SCALES, count_ngrams, hash_ngrams, mix, split_words, weigh


@pytest.fixture(scope="module")
def classifier(classifier_folder):
    return regard.load(classifier_folder, family=regard.Classifier)


@pytest.fixture(scope="module")
def held_out(tmp_path_factory):
    return write_labelled(tmp_path_factory.mktemp("held") / "test.tsv", 30, held_out=True)


def run(*arguments, **options):
    return CliRunner().invoke(app, list(map(str, arguments)), **options)


def test_it_really_learns_to_distinguish_languages_and_reports_how_sure_it_is(classifier, held_out):
    scores = classifier.evaluate(held_out)
    assert scores["accuracy"] > 0.9 and scores["macro_f1"] > 0.9 and scores["texts"] == 90
    assert scores["calibration_error"] < 0.2
    assert sum(map(sum, (row.values() for row in scores["confusion"].values()))) == 90


def test_the_last_layer_is_soft_attention_of_the_text_over_the_keys_of_the_labels(classifier):
    model, words = classifier.model, split_words("Der Hund ist alt.")
    batch = word_batch([words], model.row_weights.numpy())
    with torch.inference_mode(), regard.record_attention(classifier) as recorded:
        model(batch.ngrams, batch.weights, batch.sizes)
        query = model.query(batch.ngrams, batch.weights, batch.sizes)  # (1, D)
    scale = model.config.width**0.5 * model.temperature
    keys = torch.cat([model.keys / scale, model.bias[:, None] / model.temperature], dim=1)
    _, weights = soft_attention(torch.cat([query, torch.ones(1, 1)], dim=1), keys)
    assert torch.allclose(recorded["attention"][0][:, 0], weights, atol=1e-6)
    found = classifier.classify("Der Hund ist alt.")
    assert sum(label.probability for label in found.labels) == pytest.approx(1, abs=1e-5)


def test_the_key_of_a_label_begins_from_the_words_of_its_name():
    torch.manual_seed(1)
    config = ModelConfig(labels=["good", "bad"], buckets=256, width=16)
    rows = torch.tensor([3, 5, 8])
    model = LabelAttention(config, [rows, rows + 50])
    directions = model.keys / 4
    assert torch.allclose(directions @ directions.T, torch.eye(2), atol=1e-5)
    assert torch.allclose(model.table[rows], directions[:1].expand(3, -1), atol=1e-6)
    assert torch.allclose(model.table[rows + 50], directions[1:].expand(3, -1), atol=1e-6)


def test_a_text_alone_and_among_others_gets_the_same_probabilities(classifier):
    texts = ["Der Hund ist alt.", "x", "", "The old man reads a book in the garden. " * 40]
    together = classifier.classify_all(texts)
    for text, found in zip(texts, together, strict=True):
        alone = classifier.classify(text)
        assert [one.name for one in alone.labels] == [one.name for one in found.labels]
        assert np.allclose(
            [one.probability for one in alone.labels], [one.probability for one in found.labels], atol=1e-6
        )


def test_as_many_lines_come_out_as_go_in(classifier_folder):
    lines = ["Der Hund ist alt.", "", "The dog is old.", "\t", "😀 " * 5]
    done = run("classify", classifier_folder, input="".join(line + "\n" for line in lines))
    assert done.exit_code == 0, done.output
    answers = done.stdout.splitlines()
    assert len(answers) == len(lines) and answers[0].startswith("de\t") and answers[2].startswith("en\t")
    done = run("classify", classifier_folder, "--json", "--top", 2, input="".join(line + "\n" for line in lines))
    objects = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(objects) == len(lines) and [len(one["labels"]) for one in objects] == [2, 0, 2, 0, 2]
    assert objects[0]["label"] == "de" and objects[1]["label"] is None and objects[4]["is_unlike"]


def test_no_label_is_given_below_the_probability_that_is_asked_for(classifier, classifier_folder):
    assert classifier.classify("qqq 123", unsure=1.0).label is None
    assert classifier.classify("Der Hund ist alt.", unsure=0.5).label == "de"
    done = run("classify", classifier_folder, "qqq 123", "--unsure", 1)
    assert done.exit_code == 0 and done.stdout.startswith("-\t")
    with pytest.raises(regard.ConfigError, match="from 0 to 1"):
        classifier.classify("a", unsure=2.0)


def test_leaving_out_the_words_that_are_said_to_matter_costs_more_than_leaving_out_others(tmp_path):
    draw, filler = random.Random(1), ["the", "book", "has", "a", "long", "plot", "and", "some", "music", "in"]
    tones, rows = (("great", "fine", "lovely"), ("awful", "dull", "poor")), []
    for number in range(300):
        words = [*draw.sample(filler, 6), draw.choice(tones[number % 2])]
        draw.shuffle(words)
        label = number % 2 if draw.random() < 0.9 else 1 - number % 2  # some labels are wrong: nothing is certain
        rows.append((("good", "bad")[label], " ".join(words)))
    path = write_lines(tmp_path / "rows.tsv", ["\t".join(row) for row in rows])
    settings = {"model": {"buckets": 4096}, "threads": 1, "stop": {"steps": 100}}
    regard.train("classify", to=tmp_path / "m", settings=settings, text=path)
    classifier, costs = regard.load(tmp_path / "m"), {"left_out": [], "gradient": [], "attention": []}
    for _, text in rows[:20]:
        seen, words = classifier.look(text, why=True), text.split()
        worth = {"left_out": seen.why.left_out[0], "gradient": seen.why.gradient[0], "attention": seen.map("words")[0]}
        for name, values in worth.items():
            best = max(range(len(words)), key=values.__getitem__)
            lost = [seen.why.left_out[0][place] for place in range(len(words)) if place != best]
            costs[name].append(seen.why.left_out[0][best] - np.mean(lost))
    assert all(np.mean(found) > 0.1 for found in costs.values()), costs


def test_a_look_shows_words_and_labels_and_adds_up(classifier, tmp_path):
    seen = classifier.look("Der alte Hund.", why=True)
    assert seen.answer == "de" and seen.kinds["words"].columns == ["der", "alte", "hund", "."]
    for kind in seen.kinds.values():
        assert torch.allclose(kind.weights.sum(-1), torch.ones(()), atol=1e-5)
    assert len(seen.why.left_out[0]) == len(seen.why.gradient[0]) == 4
    seen.save(tmp_path / "look.html")
    with pytest.raises(regard.CorpusError, match="no word"):
        classifier.look("  ")


def plain_mix(*numbers):
    mixed = 2166136261
    for number in numbers:
        mixed = (mixed ^ number) * 16777619 % 2**32
    mixed = (mixed ^ mixed >> 15) * 739982445 % 2**32
    return mixed ^ mixed >> 12


def test_ngrams_are_hashed_as_is_written_down():
    words = split_words("Two words, isn't it?")
    assert words == ["two", "words", ",", "isn't", "it", "?"]
    numbers = [plain_mix(*map(ord, word)) for word in words]
    marked, letters = [1, *numbers, 2], [*map(ord, f" {' '.join(words)} ")]
    wanted = [
        [*(plain_mix(1, one) for one in numbers), *(plain_mix(2, *pair) for pair in pairwise(marked)),
         *(plain_mix(3, *three) for three in zip(marked, marked[1:], marked[2:], strict=False))],
        [plain_mix(k, *letters[i : i + k]) for k in range(2, 6) for i in range(len(letters) - k + 1)],
        [*(plain_mix(6, numbers[0], one) for one in numbers[1:]),
         *(plain_mix(7, *numbers[:2], one) for one in numbers[2:])],
    ]  # fmt: skip
    for text in (0, 1):  # alone, and after another
        found = hash_ngrams([["before"]] * text + [words])
        assert [sorted(hashes[of == text].tolist()) for hashes, of in found] == [sorted(one) for one in wanted]
    assert [len(hashes) for hashes, _ in hash_ngrams([[]])] == [1, 1, 0]
    assert mix(7, np.array([3, 2**32 - 1])).tolist() == [plain_mix(7, 3), plain_mix(7, 2**32 - 1)]


def test_each_block_of_a_text_is_a_vector_of_its_length():
    texts = [split_words("a b a b c"), [], ["d"]]
    for block, (sizes, rows, counts) in enumerate(count_ngrams(texts, 1 << 12)):
        counted = weigh(block, sizes, rows, counts, np.linspace(0.5, 2, 1 << 12, dtype=np.float32))
        lengths = [float((part**2).sum()) for part in np.split(counted, sizes.cumsum()[:-1]) if len(part)]
        assert lengths == pytest.approx([SCALES[block] ** 2] * len(lengths))


def test_numpy_gives_the_numbers_that_torch_gives(classifier, classifier_folder):
    other = regard.load(classifier_folder, engine="torch")
    texts = ["Der Hund ist alt.", "", "x", "The old man reads a book in the garden. " * 40]
    for one, two in zip(classifier.classify_all(texts), other.classify_all(texts), strict=True):
        assert [label.name for label in one.labels] == [label.name for label in two.labels]
        assert [a.probability for a in one.labels] == pytest.approx([b.probability for b in two.labels], abs=1e-5)
    assert (classifier.engine, other.engine) == ("numpy", "torch")


def test_scores_are_those_of_their_definitions():
    truth, given = [("a",), ("a",), ("b",), ("b",)], [("a",), ("b",), ("b",), ("b",)]
    found = score_classes(truth, given, ["a", "b", "never"])
    assert found["accuracy"] == 0.75 and found["macro_f1"] == pytest.approx((2 / 3 + 4 / 5) / 2)
    assert confusion(truth, given) == {"a": {"a": 1, "b": 1}, "b": {"b": 2}}
    assert calibration_error([0.9] * 10, [True] * 9 + [False]) == pytest.approx(0)
    assert calibration_error([0.99, 0.99], [True, False]) == pytest.approx(0.49)
    assert paired_test([True] * 10, [False] * 10)["p_value"] == pytest.approx(2 / 2**10)
    assert paired_test([True, False], [True, False])["p_value"] == 1


def test_two_classifiers_are_compared_on_the_same_texts(classifier, held_out):
    found = classifier.evaluate(held_out, against=classifier)
    assert found["p_value"] == 1 and found["against_accuracy"] == found["accuracy"]


def train(to, rows, **options):
    path = write_lines(to / "rows.tsv", ["\t".join(row) for row in rows])
    settings = family_settings("classify", 2)
    regard.train("classify", to=to / "m", settings=settings, text=path, **options)
    return regard.load(to / "m")


ROWS = [(label, f"{word} {number}") for number in range(6) for label, word in (("x", "one"), ("y", "two"))]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([("x", "one"), ("x", "two")], "rows.tsv: every text has the label 'x'; at least two labels are needed"),
        ([*ROWS, ("X", "three")], r"differ by case alone.*'X' \(1\) and 'x' \(6\)"),
        ([("x", "one"), ("y", "two")], "one for each label; at least one label needs two"),
        ([("x", " "), ("y", "")], "no text has a label"),
        ([(f"a long text {n}", "ab"[n % 2]) for n in range(40)], "the other way round.*--columns 2,1"),
    ],
)
def test_labels_that_cannot_be_learned_are_refused_in_clear_words(rows, words, tmp_path):
    with pytest.raises(regard.CorpusError, match=words):
        train(tmp_path, rows)
    assert not (tmp_path / "m").exists()


def test_blanks_around_a_label_do_not_make_another_and_empty_texts_are_counted(tmp_path):
    rows = [*ROWS, (" x ", "more"), ("y", " ")]
    path, settings = write_lines(tmp_path / "r.tsv", ["\t".join(row) for row in rows]), family_settings("classify", 2)
    events = list(regard.training("classify", to=tmp_path / "m", settings=settings, text=path))
    plan = next(event for event in events if isinstance(event, regard.Plan))
    assert plan.config.model.labels == ["x", "y"]
    assert [(one.reason, one.count) for one in plan.left_out] == [("an empty text", 1)]


def test_a_label_with_one_text_is_kept_to_learn_from(tmp_path):
    assert train(tmp_path, [*ROWS, ("z", "once")]).labels == ("x", "y", "z")


@pytest.mark.parametrize("count", [2, 3, 5, 7, 65])
def test_there_may_be_any_number_of_labels(count, tmp_path):
    rows = [(f"l{n % count}", f"word{n % count} here {n}") for n in range(4 * count)]
    assert len(train(tmp_path, rows).labels) == count


def test_thousands_of_labels_and_a_text_of_a_megabyte(tmp_path):
    rows = [(f"label {n}", f"word{n} here {m}") for n in range(3000) for m in range(2)]
    classifier = train(tmp_path, rows)
    assert len(classifier.labels) == 3000
    assert len(classifier.classify_all(["a word " * 150_000, "b"], top=3)[0].labels) == 3


def test_a_text_may_have_several_labels(tmp_path):
    words = ("sun", "rain", "wind", "snow")
    rows = [
        {"labels": [one, other], "text": f"{one} and {other} today"} for one in words for other in words if one < other
    ]
    path = write_lines(tmp_path / "r.jsonl", [json.dumps(row) for row in rows * 12])
    settings = {"model": {"buckets": 4096}, "threads": 1}
    regard.train("classify", to=tmp_path / "m", settings=settings, text=path, valid=path)
    classifier = regard.load(tmp_path / "m")
    assert set(classifier.classify("rain and wind today").given) == {"rain", "wind"}
    assert classifier.evaluate(path)["accuracy"] > 0.9


def test_a_file_or_a_folder_for_each_label_is_the_same_as_a_table(tmp_path):
    (tmp_path / "files").mkdir()
    for label, word in (("x", "one"), ("y", "two")):
        write_lines(tmp_path / "files" / f"{label}.txt", [f"{word} {number}" for number in range(6)])
        (tmp_path / "folders" / label).mkdir(parents=True)
        for number in range(6):
            (tmp_path / "folders" / label / f"{number}.txt").write_text(f"{word}\n{number}\n")
    settings = family_settings("classify", 2)
    for name in ("files", "folders"):
        regard.train("classify", to=tmp_path / f"m-{name}", settings=settings, text=tmp_path / name)
        opened = regard.load(tmp_path / f"m-{name}")
        assert opened.labels == ("x", "y") and opened.info.data["texts"] == 10


def test_labels_may_be_numbers_and_columns_have_names(tmp_path):
    objects = [{"text": f"{word} {n}", "label": label} for n in range(6) for label, word in ((0, "one"), (1, "two"))]
    path = write_lines(tmp_path / "r.jsonl", map(json.dumps, objects))
    regard.train("classify", to=tmp_path / "m", settings=family_settings("classify", 2), text=path)
    assert regard.load(tmp_path / "m").labels == ("0", "1")
    table = write_lines(tmp_path / "r.csv", ["text,id,label", *(f"{one['text']},7,{one['label']}" for one in objects)])
    assert regard.load(tmp_path / "m").evaluate(table)["texts"] == 12


def test_a_text_without_words_has_no_label_and_its_line_is_empty(classifier, classifier_folder):
    none, one = classifier.classify_all([" \u2003\n", "Der Hund ist alt."])
    assert none == Classification((), []) and none.label is None and one.label == "de"
    assert classifier.classify("") == none and classifier(["", " "]) == [None, None]
    result = run("classify", classifier_folder, input="Der Hund ist alt.\n\n \nThe dog is old.\n")
    assert result.stdout.splitlines()[1:3] == ["", ""] and result.stdout.startswith("de\t")
    assert "never seen" not in result.stderr
