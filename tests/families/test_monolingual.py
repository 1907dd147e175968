"""Text in the target language: translated back, marked, mixed in, and kept only where the paired test says it helps."""

import gzip
import json
import re
import shutil

import pytest
from conftest import SHORT, make_once, write_lines
from typer.testing import CliRunner

import regard
from regard.cli.commands import app
from regard.data.store import TokenStore
from regard.data.tokens import EncodedPairs
from regard.families import bulk
from regard.families.translate import monolingual
from regard.families.translate.reading import gather
from regard.families.translate.recipe import TRANSLATE
from regard.families.translate.target_text import collect, lines_of
from regard.files import hash_file
from regard.text.running import TextFiles
from regard.text.vocabulary import BACK_TRANSLATED, learn_pairs
from regard.training.record import sole_owner
from regard.training.stages import StageRecord
from regard.training.stop import Stopper

SETTINGS = SHORT | {"workers": 1, "stop": {"steps": 24}}
SHORTEST = SHORT | {"workers": 1, "stop": {"steps": 2}}
OWN, ALL = 40, 120  # pairs; of the others there is only the target side


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    monkeypatch.setattr(bulk, "PART", 32)


@pytest.fixture(scope="module")
def text(tmp_path_factory, pairs):
    """French to English: few pairs, more English text, and the pairs to validate on; `folder` is the reverse model."""
    place = tmp_path_factory.mktemp("text")
    english, french = (pairs[side].read_text().splitlines() for side in ("source", "target"))
    held = regard.phrasebook("en", "fr", 30, held_out=True)
    more = [*english[OWN:ALL], "", " ", *english[OWN : OWN + 5], english[0], held[0].source, "dog " * 300]
    return {
        "source": write_lines(place / "own.fr", french[:OWN]),
        "target": write_lines(place / "own.en", english[:OWN]),
        "monolingual": write_lines(place / "text.en", more),
        "valid_source": write_lines(place / "valid.fr", [one.target for one in held]),
        "valid_target": write_lines(place / "valid.en", [one.source for one in held]),
    }


@pytest.fixture(scope="module")
def whole(tmp_path_factory, folder, text):
    """A training that was never interrupted."""

    def make(to):
        regard.train("translate", to=to, reverse=folder, settings=SETTINGS, **text)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bulk, "PART", 32)
        patch.setattr(monolingual, "is_better", lambda **found: True)  # it is too young to be
        return make_once(tmp_path_factory, "monolingual", make)


def run(*words):
    """A command in this process: (exit code, stderr)."""
    result = CliRunner().invoke(app, ["train", "translate", *map(str, words)])
    return result.exit_code, result.stderr


def weights(folder):
    return hash_file(folder / "model.safetensors")


def record_of(folder):
    return json.loads((folder / "run" / "run.json").read_text())["stages"]


def test_back_translations_that_help_are_kept_and_the_model_says_so(whole, folder, text):
    verdict = record_of(whole)["verdicts"]["mixed"]
    assert verdict["is_kept"] and verdict["held_out"] == 30
    assert weights(whole) == weights(whole / "run" / "mixed") != weights(whole / "run" / "pairs")
    info = regard.load(whole).info
    assert info.languages == ["fr", "en"] and info.settings["back_translated"] == 1
    about = info.monolingual
    assert about["lines"] == len(text["monolingual"].read_text().splitlines()) - 10
    assert about["files"] == {"text.en": hash_file(text["monolingual"])}
    assert about["reverse"]["name"] == str(folder) or about["reverse"]["weights_sha256"] == [weights(folder)]
    shown = CliRunner().invoke(app, ["info", str(whole)]).stdout
    assert "back-translation helps, and its model was kept: BLEU" in shown and "text.en" in shown
    assert "back-translation helps" in (whole / "README.md").read_text()
    assert regard.load(whole).evaluate(text["valid_source"], text["valid_target"])["bleu"] == verdict["bleu"]


def test_the_sources_that_are_back_translations_begin_with_the_tag_and_no_others_do(whole):
    tokenizer = regard.load(whole).tokenizer
    tag = tokenizer.id_of(BACK_TRANSLATED)
    pairs = EncodedPairs.named("pairs", TokenStore(whole / "run" / "mixed" / "run").arrays())
    places = [pairs.sources[number].tolist().count(tag) for number in range(len(pairs))]
    assert places == [0] * OWN + [1] * (len(pairs) - OWN)
    assert all(pairs.sources[number][0] == tag for number in range(OWN, len(pairs)))
    assert not any(tag in pairs.targets[number] for number in range(len(pairs)))
    assert regard.load(whole / "run" / "pairs").tokenizer.id_of(BACK_TRANSLATED) is None


def test_the_tags_name_in_a_text_is_text_here_and_in_transformers(whole, tmp_path):
    tokenizer = regard.load(whole).tokenizer
    tag, text = tokenizer.id_of(BACK_TRANSLATED), f"{BACK_TRANSLATED} un {BACK_TRANSLATED}chien"
    assert tag not in tokenizer.encode(text) and tokenizer.decode(tokenizer.encode(text)) == text
    seen = learn_pairs([text] * 50, 400, has_tag=True)
    assert seen.id_of(BACK_TRANSLATED) not in seen.encode(text) and seen.decode(seen.encode(text)) == text
    transformers = pytest.importorskip("transformers")
    theirs = transformers.AutoTokenizer.from_pretrained(whole)
    assert theirs(text)["input_ids"] == tokenizer.encode(text)


def test_a_model_is_kept_where_it_is_better_by_more_than_chance():
    assert monolingual.is_better(bleu=31.0, against_bleu=30.0, p_value=0.01)
    assert not monolingual.is_better(bleu=31.0, against_bleu=30.0, p_value=0.2)
    assert not monolingual.is_better(bleu=29.0, against_bleu=30.0, p_value=0.01)


def test_stopped_in_any_stage_it_ends_with_the_same_bytes(whole, folder, text, tmp_path, monkeypatch):
    monkeypatch.setattr(monolingual, "is_better", lambda **found: True)
    to, options = tmp_path / "m", {"reverse": folder, "settings": SETTINGS, **text}
    stops = [(regard.Progress, 7), (regard.Generating, 3), (regard.Progress, 12)]
    for kind, count in stops:
        stopper, seen = Stopper(), 0
        with pytest.raises(KeyboardInterrupt):
            for event in regard.training("translate", to=to, stopper=stopper, **options):
                seen += isinstance(event, kind)
                stopper.ask() if seen == count else None
    events = list(regard.training("translate", to=to, **options))
    generated = [event for event in events if isinstance(event, regard.Generating)]
    assert generated[0].done == generated[0].total
    assert len([event for event in events if isinstance(event, regard.Plan)]) == 1  # what was over is not opened again
    assert [event.name for event in events if isinstance(event, regard.Stage)] == [
        "the pairs alone", "back-translation", "the pairs and the back-translations"
    ]  # fmt: skip
    assert weights(to) == weights(whole) and isinstance(events[-1], regard.Finished) and events[-1].folder == to


def test_what_does_not_help_is_not_kept_and_the_figures_say_why(pairs, text, tmp_path):
    to = tmp_path / "m"
    words = [to, "--steps", 2, "--workers", 1, "--monolingual", text["monolingual"]]
    for name, value in (("model.width", 16), ("model.layers", 1), ("text.vocab_size", 400), ("threads", 1)):
        words += ["--set", f"{name}={value}"]
    code, err = run(text["source"], text["target"], "--to", *words)
    assert code == 0, err
    assert "Stage 2 of 4: the reverse model" in err and "lines to translate back; left out:" in err
    assert "back-translation was not shown to help, so the model without back-translations was kept: BLEU" in err
    assert weights(to) == weights(to / "run" / "pairs") != weights(to / "run" / "mixed")
    reverse = regard.load(to / "run" / "reverse").info
    assert reverse.languages == ["en", "fr"] and regard.load(to).info.languages == ["fr", "en"]
    held = [json.loads((to / "run" / stage / "run" / "survey.json").read_text())["valid"]
            for stage in ("pairs", "reverse", "mixed")]  # fmt: skip
    assert held[0] == held[2] == [[pair[1], pair[0], *pair[2:]] for pair in held[1]]  # the same pairs, either way round
    with pytest.raises(regard.RunError, match="was trained in stages, with --monolingual; give that again to resume"):
        regard.train("translate", to=to, source=text["source"], target=text["target"])
    changed = write_lines(tmp_path / "text.en", ["A dog sleeps.", "A cat sleeps."])
    with pytest.raises(regard.RunError, match=r"begun with other text \(monolingual_1: text.en was changed"):
        files = {"source": text["source"], "target": text["target"], "monolingual": changed}
        regard.train("translate", to=to, settings=SHORTEST, **files)


def test_each_round_trains_a_reverse_model_with_translations_of_the_best(folder, text, tmp_path, monkeypatch):
    monkeypatch.setattr(monolingual, "is_better", lambda **found: True)
    few = write_lines(tmp_path / "few.en", text["monolingual"].read_text().splitlines()[:8])
    options = {"to": tmp_path / "m", "reverse": folder, "settings": SHORTEST, **text, "monolingual": few}
    events = list(regard.training("translate", rounds=2, **options))
    stages = [event for event in events if isinstance(event, regard.Stage)]
    assert [(stage.number, stage.count) for stage in stages] == [(number, 6) for number in range(1, 7)]
    run = tmp_path / "m" / "run"
    assert (run / "source.txt").read_text() == text["source"].read_text()
    reverse, last = regard.load(run / "reverse-2"), regard.load(tmp_path / "m").info
    assert reverse.info.languages == ["en", "fr"] and reverse.info.settings["back_translated"] == 1
    sources = EncodedPairs.named("pairs", TokenStore(run / "reverse-2" / "run").arrays()).sources
    assert (
        len(sources) == 2 * OWN
        and reverse.tokenizer.decode(sources[0].tolist()) == text["target"].read_text().split("\n")[0]
    )
    assert weights(tmp_path / "m") == weights(run / "mixed-2") and last.monolingual["rounds"] == 2
    with pytest.raises(regard.RunError, match=r"compared after round 2, .* give --rounds 2"):
        regard.train("translate", rounds=1, **options)
    assert weights(tmp_path / "m") == weights(run / "mixed-2")


def test_lines_are_translated_back_once_and_none_that_the_pairs_have(text, pairs, tmp_path):
    options = {name: text[name] for name in ("source", "target", "valid_source", "valid_target")}
    files, valid = gather(**options)
    examples = TRANSLATE.read(files, valid, regard.config.RunConfig()).examples
    for _ in examples.survey():
        pass

    def found(*paths, wanted=None):
        work = collect(TextFiles.of(paths, wanted), examples, 256, tmp_path / "to.txt", lambda: None)
        while True:
            try:
                next(work)
            except StopIteration as end:
                return end.value, (tmp_path / "to.txt").read_text().splitlines()

    result, lines = found(text["monolingual"])
    assert lines == list(dict.fromkeys(pairs["source"].read_text().splitlines()[OWN:ALL]))
    assert result.left_out == {"duplicates": 5, "that the pairs have": 2, "longer than 256 tokens": 1}
    packed, rows = tmp_path / "text.en.gz", tmp_path / "text.jsonl"
    packed.write_bytes(gzip.compress(text["monolingual"].read_bytes()))
    rows.write_text(
        "".join(json.dumps({"fr": "x", "en": one}) + "\n" for one in lines_of(TextFiles.of(text["monolingual"])))
    )
    assert found(packed)[1] == found(rows, wanted="en")[1] == lines
    assert found(text["monolingual"], packed)[0].left_out["duplicates"] == 5 + result.lines + 8


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--monolingual", "none.en"], "none.en cannot be read: there is no such file"),
        (["--monolingual", "empty.en"], "empty.en is empty"),
        (["--monolingual", "blank.en"], "blank.en: no line has text on it"),
        (["--monolingual", "own.fr"], "is not in the target language, it seems: .* % of its words"),
        (["--monolingual", "own.en"], "left out: 40 that the pairs have; there is nothing new to learn from"),
        (["--reverse", "MODEL"], "--reverse .* is for text in the target language; give that with --monolingual"),
        (["--rounds", "2"], "--rounds 2 is for text in the target language"),
        (["--monolingual", "text.en", "--rounds", "9"], "--rounds 9: a number from 1 to 5"),
        (["--monolingual", "text.en", "--from", "MODEL"], "keeps its tokenizer; leave --from"),
        (["--monolingual", "text.en", "--reverse", "WRITER"], "is a model to write; a model to translate is wanted"),
        (["--monolingual", "text.en", "--reverse", "FORWARD"], "translates fr to en, and the pairs are fr to en"),
        (["--monolingual", "text.en", "--set", "back_translated=1"], "back_translated follows from --monolingual"),
    ],
)
def test_what_cannot_be_done_is_refused_before_any_training(
    folder, whole, writer_folder, text, tmp_path, monkeypatch, words, message
):  # fmt: skip
    monkeypatch.chdir(tmp_path)
    for path in (text["source"], text["target"], text["monolingual"]):
        shutil.copy(path, tmp_path)
    write_lines(tmp_path / "blank.en", ["", " "])
    (tmp_path / "empty.en").touch()
    places = {"MODEL": folder, "WRITER": writer_folder, "FORWARD": whole}
    words = [places.get(word, word) for word in words]
    code, err = run("own.fr", "own.en", "--to", "out", "--steps", 1, *words)
    assert code == 1 and re.search(message, err), err
    assert not (tmp_path / "out").exists()


def test_text_that_is_like_neither_side_is_warned_of(text, tmp_path):
    files, valid = gather(**{name: text[name] for name in ("source", "target", "valid_source", "valid_target")})
    examples = TRANSLATE.read(files, valid, regard.config.RunConfig()).examples
    examples.listed()
    other = write_lines(tmp_path / "text.xx", ["Der Hund schläft heute nicht.", "Kein Mensch war dort."])
    with pytest.warns(RuntimeWarning, match="may be in another language than the target side"):
        list(collect(TextFiles.of([other]), examples, 256, tmp_path / "to.txt", lambda: None))


def test_minutes_are_shared_and_what_a_stage_leaves_is_for_the_next(tmp_path):
    shares = [("pairs", 1.0), ("reverse", 1.0), ("mixed", 3.0)]
    with sole_owner(tmp_path / "m", fresh=False) as run:
        record = StageRecord(run, "--monolingual", fresh=False)
        wanted = {"stop": {"minutes": 50.0}}
        assert record.stop("pairs", wanted, shares) == {"minutes": 10.0, "patience": 8}
        record.add_seconds("pairs", 2 * 60)
        assert record.stop("reverse", wanted, shares[1:]) == {"minutes": 12.0, "patience": 8}
        record.add_seconds("reverse", 12 * 60)
        record.add_seconds("back-translations", 6 * 60)
        assert record.stop("mixed", wanted, shares[2:]) == {"minutes": 30.0}
        again = StageRecord(run, "--monolingual", fresh=False)
        longer = {"stop": {"minutes": 80.0}}
        assert again.stop("pairs", longer, shares) == {"minutes": 10.0, "patience": 8}  # what follows from it is there
        assert again.stop("mixed", longer, shares[2:]) == {"minutes": 60.0}
        assert StageRecord(run, "", fresh=True).stop("pairs", {"stop": {"steps": 9}}, shares) == {"steps": 9}
        assert StageRecord(run, "", fresh=True).stop("mixed", {}, shares[2:]) == {"minutes": 240.0, "patience": 8}


def test_a_training_without_the_text_is_not_resumed_with_it(text, tmp_path):
    files = {"source": text["source"], "target": text["target"]}
    regard.train("translate", to=tmp_path / "m", settings=SHORTEST, **files)
    with pytest.raises(regard.RunError, match="was trained without --monolingual; add --fresh to start over"):
        regard.train("translate", to=tmp_path / "m", settings=SHORTEST, **files, monolingual=text["monolingual"])


def test_a_plan_says_what_each_stage_may_take(text):
    words = [text["source"], text["target"], "--monolingual", text["monolingual"], "--minutes", "10", "--workers", "1"]
    result = CliRunner().invoke(app, ["plan", "translate", *map(str, words)])
    assert result.exit_code == 0, result.stderr
    assert (
        "4 stages: the pairs alone at most 2 min, the reverse model at most 2 min, back-translation, " in result.stderr
    )
    assert "the pairs and the back-translations at most 6 min" in result.stderr


def test_a_student_is_not_given_text_in_the_target_language(folder, text, tmp_path):
    with pytest.raises(regard.ConfigError, match=r"monolingual, reverse and rounds are for regard\.train"):
        regard.distill(folder, source=text["target"], to=tmp_path / "s", monolingual=text["monolingual"])
