"""A run is resumed with the text it began with: whatever option changes what is read is refused by its name."""

import gzip
import inspect
import json
import shutil
from pathlib import Path

import pytest
from conftest import TASKS, family_settings, write_lines, write_pairs

import regard
from regard.families import find_recipe
from regard.text.stories import write_stories


def pair_lines(count, **options):
    return [(p.source, p.target) for p in regard.phrasebook("en", "fr", count, **options)]


def write_tsv(path, pairs):
    return write_lines(path, ["\t".join(pair) for pair in pairs])


def write_jsonl(path, pairs):
    return write_lines(path, [json.dumps({"en": one, "fr": other}) for one, other in pairs])


@pytest.fixture(scope="module")
def place(tmp_path_factory, folder):
    """Files of every kind: two parts of the same sort, and something to validate on."""
    tmp_path = tmp_path_factory.mktemp("reading")
    train, more, held = pair_lines(120), pair_lines(200)[120:], pair_lines(20, held_out=True)
    for name, pairs in (("a", train), ("b", more), ("v", held)):
        write_lines(tmp_path / f"{name}.en", [one for one, _ in pairs])
        write_lines(tmp_path / f"{name}.fr", [other for _, other in pairs])
        write_tsv(tmp_path / f"{name}.tsv", pairs)
        write_tsv(tmp_path / f"{name}3.tsv", [(*pair, pair[0].upper()) for pair in pairs])
        write_jsonl(tmp_path / f"{name}.jsonl", pairs)
    for name, count in (("a", 60), ("b", 80), ("v", 20)):
        (tmp_path / f"{name}.stories").write_text(write_stories(regard.induction(count, held_out=name == "v")))
    for name, pairs in (("a", train), ("b", more)):
        rows = [(label, *pair) for pair in pairs for label in ("en", "fr")]
        rows = [(label, one if label == "en" else other, other) for label, one, other in rows]
        write_tsv(tmp_path / f"{name}.labels.tsv", rows)
        objects = [dict(zip(("label", "text", "other"), row, strict=True)) for row in rows]
        write_lines(tmp_path / f"{name}.labels.jsonl", map(json.dumps, objects))
    (tmp_path / "many").mkdir()
    for name in ("a.en", "b.en", "a.fr", "a.tsv", "b.tsv", "a.stories", "b.stories"):
        shutil.copy(tmp_path / name, tmp_path / "many" / name)
    for name in ("en", "fr", "stories"):
        shutil.copy(tmp_path / f"a.{name}", tmp_path / f"copy.{name}")
        (tmp_path / f"copy.{name}.gz").write_bytes(gzip.compress((tmp_path / f"a.{name}").read_bytes()))
    model = Path(shutil.copytree(folder, tmp_path / "model"))
    about = json.loads((model / "regard.json").read_text())
    about["settings"] |= {"source_language": None, "target_language": None}  # so that it could be of any direction
    (model / "regard.json").write_text(json.dumps(about))
    return tmp_path


@pytest.fixture(scope="module")
def begun(place):
    """Makes copies of runs that began with these files, each trained once."""
    made = {}

    def copy(task, options, to):
        key = task, json.dumps(options)
        if key not in made:
            made[key] = place / f"run-{len(made)}"
            begin(task, made[key], at(place, options))
        shutil.copytree(made[key], to)
        return to

    return copy


# Of each family: with which files a run begins, and what may change: the option, and how the refusal names it.
TEXTS = [
    ({"text": ["a.en", "b.en"]}, {"text": ["b.en", "a.en"]}, "order of the files: a.en, b.en -> b.en, a.en"),
    ({"text": ["a.en", "b.en"]}, {"text": ["a.en"]}, "text_2: b.en -> none"),
    ({"text": ["a.en"]}, {"text": ["a.en", "b.en"]}, "text_2: none -> b.en"),
    ({"text": "a.en"}, {"text": "a.fr"}, "text_1: a.en -> a.fr"),
    ({"text": "a.en"}, {"text": "a.en", "valid": "v.en"}, "valid_1: none -> v.en"),
    ({"text": "a.en", "valid": "v.en"}, {"text": "a.en"}, "valid_1: v.en -> none"),
    ({"text": "a.en", "valid": "v.en"}, {"text": "a.en", "valid": "b.en"}, "valid_1: v.en -> b.en"),
    ({"text": "a.en", "valid": "v.en"}, {"text": "v.en", "valid": "a.en"}, "order of the files"),
    ({"text": "a3.tsv", "columns": 1}, {"text": "a3.tsv", "columns": 2}, "columns: 1 -> 2"),
    ({"text": "a.jsonl", "keys": "en"}, {"text": "a.jsonl", "keys": "fr"}, "columns: en -> fr"),
    ({"text": "many", "glob": "*.en"}, {"text": "many", "glob": "*.fr"}, "glob: *.en -> *.fr"),
]
STORIES = [
    ({"stories": ["a.stories", "b.stories"]}, {"stories": ["b.stories", "a.stories"]}, "order of the files"),
    ({"stories": ["a.stories", "b.stories"]}, {"stories": "a.stories"}, "stories_2: b.stories -> none"),
    ({"stories": "a.stories"}, {"stories": "a.stories", "valid": "v.stories"}, "valid_1: none -> v.stories"),
    ({"stories": "a.stories"}, {"stories": "b.stories"}, "stories_1: a.stories -> b.stories"),
    (
        {"stories": "many", "glob": "a*.stories"},
        {"stories": "many", "glob": "*.stories"},
        "stories_2: none -> b.stories",
    ),
]
TWO = {"source": "a.en", "target": "a.fr"}
BACK = {"monolingual": ["b.fr"], "rounds": 1}
PAIRS = [
    ({"source": "a.tsv"}, {"source": "a.tsv", "columns": (2, 1)}, "columns: 1,2 -> 2,1"),
    ({"source": "a3.tsv", "columns": (1, 2)}, {"source": "a3.tsv", "columns": (1, 3)}, "columns: 1,2 -> 1,3"),
    ({"source": "a.jsonl"}, {"source": "a.jsonl", "keys": ("fr", "en")}, "keys: en,fr -> fr,en"),
    ({"source": "a.en", "target": "a.fr"}, {"source": "a.fr", "target": "a.en"}, "order of the files"),
    ({"source": "a.en", "target": "a.fr"}, {"source": "a.tsv", "columns": (2, 1)}, "target: a.fr -> none"),
    ({"source": "a.en", "target": "a.fr"}, {"source": "b.en", "target": "b.fr"}, "source: a.en -> b.en"),
    (
        {"source": "a.en", "target": "a.fr", "valid_source": "v.en", "valid_target": "v.fr"},
        {"source": "a.en", "target": "a.fr", "valid_source": "v.fr", "valid_target": "v.en"},
        "name the files in the other order",
    ),
    (
        {"source": "a.en", "target": "a.fr", "valid_source": "v.tsv"},
        {"source": "a.en", "target": "a.fr", "valid_source": "v.tsv", "columns": (2, 1)},
        "valid_columns: 1,2 -> 2,1",
    ),
    (
        {"source": "a.en", "target": "a.fr", "valid_source": "v.jsonl"},
        {"source": "a.en", "target": "a.fr", "valid_source": "v.jsonl", "keys": ("fr", "en")},
        "choose with --keys or --columns",
    ),
    ({"source": "many", "glob": ["a.tsv"]}, {"source": "many", "glob": ["[ab].tsv"]}, "source_2: none -> b.tsv"),
    ({**TWO, "also": [["b.en", "b.fr"]]}, {**TWO, "also": [["v.en", "v.fr"]]}, "also_1_source: b.en -> v.en"),
    ({**TWO, "also": [["b.en", "b.fr"]]}, {**TWO, "also": [["b.en", "b.fr", 2.0]]}, "corpus_weights"),
    ({**TWO, **BACK}, {**TWO, "monolingual": ["v.fr"], "rounds": 1}, "monolingual_1: b.fr -> v.fr"),
    ({**TWO, **BACK}, {**TWO, **BACK, "reverse": "model"}, "reverse: trained here -> model ("),
]
LABELS = [
    ({"text": ["a.labels.tsv", "b.labels.tsv"]}, {"text": ["b.labels.tsv", "a.labels.tsv"]}, "order of the files"),
    ({"text": "a.labels.tsv"}, {"text": "b.labels.tsv"}, "text_1: a.labels.tsv -> b.labels.tsv"),
    ({"text": "a.labels.tsv"}, {"text": "a.labels.tsv", "valid": "b.labels.tsv"}, "valid_1: none -> b.labels.tsv"),
    ({"text": "a.labels.tsv"}, {"text": "a.labels.tsv", "columns": (1, 3)}, "columns: 1,2 -> 1,3"),
    (
        {"text": "a.labels.jsonl"},
        {"text": "a.labels.jsonl", "keys": ("label", "other")},
        "columns: label,text -> label,other",
    ),
    ({"text": "a.labels.tsv"}, {"text": "a.labels.tsv", "separator": "n"}, "separator: not recorded -> n"),
]
CHANGES = {"translate": PAIRS, "write": TEXTS, "fill": TEXTS, "answer": STORIES, "classify": LABELS}


def at(place, options):
    """The options with their files in a folder."""

    def whole(value):
        if isinstance(value, list):
            return [whole(one) for one in value]
        return place / value if isinstance(value, str) else value

    chosen = ("columns", "keys", "glob", "separator")
    return {name: value if name in chosen else whole(value) for name, value in options.items()}


def begin(task, to, files, **settings):
    """A run of one step that can be resumed."""
    regard.train(task, to=to, settings=one_step(task) | settings, **files)


def one_step(task):
    settings = family_settings(task, 1)
    if task == "answer":
        settings["model"] = {"kind": "memory", "restarts": 1}
    return settings


CASES = [(task, *case) for task, cases in CHANGES.items() for case in cases]


@pytest.mark.parametrize(("task", "before", "after", "named"), CASES, ids=lambda value: None)
def test_whatever_changes_the_text_is_refused_by_its_name(task, before, after, named, place, begun, tmp_path):
    run = begun(task, before, tmp_path / "m")
    with pytest.raises((regard.RunError, regard.CorpusError)) as refused:
        begin(task, run, at(place, after))
    remedy = "the model is for en to fr" if isinstance(refused.value, regard.CorpusError) else "--fresh"
    assert named in str(refused.value) and remedy in str(refused.value)


@pytest.mark.parametrize("task", TASKS)
def test_every_option_of_every_family_is_among_them(task):
    """An option that is added to what a family reads is listed here, with how a resumed run notices it."""
    tried = {name for case in CHANGES[task] for one in case[:2] for name in one}
    assert tried == set(inspect.signature(find_recipe(task).gather).parameters)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    ("section", "name", "value"),
    [("text", "max_length", 99), ("text", "lowercase", "other"), ("train", "held_out", 3), (None, "seed", 7),
     (None, "source_language", "xx")],
)  # fmt: skip
def test_a_setting_that_shapes_the_text_is_refused_by_its_name(task, section, name, value, place, begun, tmp_path):
    run = begun(task, CHANGES[task][0][0], tmp_path / "m")
    if value == "other":
        value = not json.loads((run / "run" / "run.json").read_text())["config"][section][name]
    changed = one_step(task)
    if section:
        changed[section] = changed.get(section, {}) | {name: value}
    else:
        changed[name] = value
    with pytest.raises(regard.RegardError, match=rf"{name}(: .* -> |=){value}"):
        regard.train(task, to=run, settings=changed, **at(place, CHANGES[task][0][0]))


SAME = [
    ("translate", {"source": "a.tsv"}, {"source": "a.tsv", "columns": (1, 2)}),
    ("translate", {"source": "a.jsonl"}, {"source": "a.jsonl", "keys": ("en", "fr")}),
    ("translate", {"source": "a.en", "target": "a.fr"}, {"source": "copy.en", "target": "copy.fr.gz"}),
    ("translate", {**TWO, **BACK}, {"source": "copy.en", "target": "copy.fr.gz", **BACK, "rounds": None}),
    ("write", {"text": ["a.en", "b.en"]}, {"text": ["copy.en", "b.en"]}),
    ("fill", {"text": "a.en", "valid": "v.en"}, {"text": "copy.en.gz", "valid": ["v.en"]}),
    ("answer", {"stories": "a.stories"}, {"stories": ["copy.stories"]}),
]


@pytest.mark.parametrize(("task", "before", "after"), SAME, ids=lambda value: None)
def test_the_same_text_in_another_spelling_is_resumed(task, before, after, place, begun, tmp_path):
    begin(task, begun(task, before, tmp_path / "m"), at(place, after))


def test_a_path_may_be_given_from_elsewhere(place, begun, tmp_path, monkeypatch):
    run = begun("fill", {"text": "a.en"}, tmp_path / "m")
    monkeypatch.chdir(place)
    begin("fill", run, {"text": "./a.en"})


def test_a_file_that_was_changed_is_named(place, begun, tmp_path):
    run = begun("fill", {"text": ["a.en", "b.en"]}, tmp_path / "m")
    (tmp_path / "b.en").write_text((place / "b.en").read_text() + "One more line.\n")
    with pytest.raises(regard.RunError, match=r"text_2: b\.en was changed"):
        begin("fill", run, {"text": [place / "a.en", tmp_path / "b.en"]})


def test_a_name_that_tells_another_language_is_refused(tmp_path):
    files = write_pairs(tmp_path, 60)
    begin("translate", tmp_path / "m", files)
    other = files["target"].with_suffix(".de")
    shutil.copy(files["target"], other)
    with pytest.raises(regard.RunError, match="target_language: fr -> de"):
        begin("translate", tmp_path / "m", files | {"target": other})
    begin("translate", tmp_path / "m", files | {"target": other}, target_language="fr")
    shutil.copy(files["target"], other.with_suffix(".txt"))
    begin("translate", tmp_path / "m", files | {"target": other.with_suffix(".txt")})


def test_a_run_of_another_version_is_refused_in_words_and_kept(place, begun, tmp_path):
    run = begun("fill", CHANGES["fill"][0][0], tmp_path / "m")
    path = run / "run" / "run.json"
    record = json.loads(path.read_text())
    old = json.dumps({name: value for name, value in record.items() if name != "format"})
    path.write_text(old)
    with pytest.raises(regard.RunError, match=r"begun by another version of regard.*--fresh"):
        begin("fill", run, at(place, CHANGES["fill"][0][0]))
    assert path.read_text() == old


@pytest.mark.parametrize("stage", ["learning the vocabulary", "encoding the text"])
def test_a_text_that_is_changed_while_it_is_read_is_refused(tmp_path, stage):
    """What was read before and after would be of two texts: what is held out, and what is learned from."""
    path = write_tsv(tmp_path / "a.tsv", pair_lines(120))
    settings = family_settings("translate", 2)
    with pytest.raises(regard.CorpusError, match=r"a\.tsv was changed while it was read.*run the same command again"):
        for event in regard.training("translate", to=tmp_path / "m", source=path, settings=settings):
            if getattr(event, "stage", None) == stage:
                write_tsv(path, pair_lines(200)[80:])
    fresh = {"fresh": (tmp_path / "m").exists()}
    regard.train("translate", to=tmp_path / "m", source=path, settings=settings, **fresh)
    assert (
        regard.load(tmp_path / "m").info.data["pairs"] + regard.load(tmp_path / "m").info.data["held_out_pairs"] == 120
    )


@pytest.mark.parametrize("change", [{"text": {}}, {"text": None}, {"text": {"source": {}}}, {"facts": None},
                                    {"reading": []}, {"config": None}])  # fmt: skip
def test_a_record_that_was_edited_is_refused_in_words(tmp_path, change):
    path = write_tsv(tmp_path / "a.tsv", pair_lines(120))
    settings = family_settings("translate", 2)
    regard.train("translate", to=tmp_path / "m", source=path, settings=settings)
    record = tmp_path / "m" / "run" / "run.json"
    record.write_text(json.dumps(json.loads(record.read_text()) | change))
    with pytest.raises(regard.RunError, match="--fresh"):
        regard.train("translate", to=tmp_path / "m", source=path, settings=settings)
