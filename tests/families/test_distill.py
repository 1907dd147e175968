"""A student learns from a teacher's translations: in parts, resumable, with what it cost and where it came from."""

import gzip
import json
import shutil
import signal
import subprocess
import sys
import time

import pytest
from conftest import SHORT, write_lines
from typer.testing import CliRunner

import regard
from regard.cli.commands import app
from regard.families import bulk
from regard.families.translate.distill import STUDENT
from regard.files import hash_file
from regard.training.stop import Stopper

SETTINGS = {
    "model": {"width": 32, "heads": 4, "ffn_width": 64, "layers": 2},
    "train": SHORT["train"],
    "text": {"vocab_size": 400},
    "threads": 1,
    "workers": 1,
    "stop": {"steps": 30},
}
FLAGS = [word for name, value in [
    ("model.width", 32), ("model.ffn_width", 64), ("model.layers", 2), ("train.tokens_per_batch", 512),
    ("train.valid_every", 20), ("train.warmup_steps", 20), ("text.vocab_size", 400), ("threads", 1),
] for word in ("--set", f"{name}={value}")]  # fmt: skip


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    monkeypatch.setattr(bulk, "PART", 32)


@pytest.fixture(scope="module")
def source(tmp_path_factory, pairs):
    lines = pairs["source"].read_text().splitlines()[:200]
    return write_lines(tmp_path_factory.mktemp("source") / "mono.en", [*lines[:100], "", " ", *lines[100:]])


@pytest.fixture(scope="module")
def whole(folder, source, tmp_path_factory):
    """A student whose training was never interrupted."""
    to = tmp_path_factory.mktemp("whole") / "student"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bulk, "PART", 32)
        regard.distill(folder, source=source, to=to, settings=SETTINGS, beam=2)
    return to


def run(*words):
    """A command in this process: (exit code, stderr)."""
    result = CliRunner().invoke(app, ["distill", *map(str, words)])
    return result.exit_code, result.stderr


def weights(folder):
    return hash_file(folder / "model.safetensors")


def translations(folder):
    return {path.name: path.read_text() for path in (folder / "run" / "teacher").glob("[0-9]-*")}


def test_a_student_learns_what_its_teacher_translates_and_names_it(folder, translator, source, whole):
    lines = source.read_text().splitlines()
    assert translations(whole) == {"1-mono.txt": "".join(f"{line}\n" for line in translator(lines, beam=2))}
    student = regard.load(whole)
    assert (student.source_language, student.target_language) == ("en", "fr")
    shape = student.info.settings["model"]
    assert (shape["layers"], shape["decoder_layers"]) == (2, 1) and student.info.settings["size"] == STUDENT["size"]
    data = student.info.data
    assert data["pairs"] + data["held_out_pairs"] == 200  # the two empty lines are no pairs
    teacher = student.info.teacher
    assert teacher["name"] == str(folder) and teacher["weights_sha256"] == [weights(folder)] and teacher["beam"] == 2
    shown = CliRunner().invoke(app, ["info", str(whole)]).stdout
    assert f"teacher    {folder} (SHA-256" in shown and ", beam 2" in shown
    assert "against the teacher's output" in shown
    card = (whole / "README.md").read_text()
    assert f"Trained from scratch, on the output of {folder}" in card
    assert "## Scores on held-out text, against the teacher's output" in card


def test_a_student_really_learns(folder, translator, source, tmp_path):
    lines = source.read_text().splitlines()[:40]
    few, teacher = write_lines(tmp_path / "few.en", lines), write_lines(tmp_path / "few.fr", translator(lines, beam=1))
    settings = SETTINGS | {"stop": {"steps": 300}, "model": SETTINGS["model"] | {"dropout": 0.0}}
    ended = regard.distill(
        folder, source=few, to=tmp_path / "student", settings=settings, beam=1, valid_source=few, valid_target=teacher
    )
    assert ended.scores["bleu"] > 50  # what it read in training, as its teacher has it


def test_the_events_say_what_it_costs(folder, source, tmp_path):
    events = list(regard.distilling(folder, source=source, to=tmp_path / "s", settings=SETTINGS, beam=1))
    first, *later = [event for event in events if isinstance(event, regard.Generating)]
    assert (first.done, first.total, first.speed) == (0, 202, None) and str(folder) in first.teacher
    assert [event.done for event in later] == [32, 64, 96, 128, 160, 192, 202]
    assert all(event.speed > 0 for event in later) and later[-1].left == 0
    assert isinstance(events[-1], regard.Finished) and any(isinstance(event, regard.Plan) for event in events)


def test_stopped_in_translating_and_in_training_it_ends_with_the_same_bytes(folder, source, whole, tmp_path):
    to, options = tmp_path / "student", {"source": source, "settings": SETTINGS, "beam": 2}
    for kind, count in ((regard.Generating, 3), (regard.Generating, 2), (regard.Progress, 7), (regard.Progress, 16)):
        stopper, seen = Stopper(), 0
        with pytest.raises(KeyboardInterrupt):
            for event in regard.distilling(folder, to=to, stopper=stopper, **options):
                seen += isinstance(event, kind)
                stopper.ask() if seen == count else None
    first = next(regard.distilling(folder, to=to, **options))
    assert first.done == first.total
    regard.distill(folder, to=to, **options)
    assert weights(to) == weights(whole) and translations(to) == translations(whole)


def test_killed_in_translating_it_resumes_and_does_not_repeat_what_is_there(folder, source, tmp_path):
    to = tmp_path / "student"
    code = "import sys; from regard.families import bulk; bulk.PART = 4; from regard.cli.commands import main; main()"
    words = [folder, "--source", source, "--to", to, "--beam", 4, "--steps", 1, "--workers", 1, *FLAGS]
    killed = subprocess.Popen([sys.executable, "-c", code, "distill", *map(str, words)], stderr=subprocess.DEVNULL)
    parts = to / "run" / "teacher" / ".parts" / "1-mono.txt"
    while not list(parts.glob("00000?")) and killed.poll() is None:
        time.sleep(0.005)
    killed.send_signal(signal.SIGKILL)
    assert killed.wait() == -signal.SIGKILL
    (parts / "000000").write_text("kept\n" * 4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bulk, "PART", 4)
        code, err = run(*words)
    assert code == 0, err
    assert "of them are there already" in err and "lines/s" in err
    lines = (to / "run" / "teacher" / "1-mono.txt").read_text().splitlines()
    assert lines[:4] == ["kept"] * 4 and len(lines) == 202


def test_killed_in_translating_and_in_training_it_ends_with_the_same_bytes(folder, source, whole, tmp_path):
    to = tmp_path / "student"
    code = (
        "import json, sys, regard; from regard.families import bulk; bulk.PART = 32; "
        "regard.distill(sys.argv[1], source=sys.argv[2], to=sys.argv[3], settings=json.loads(sys.argv[4]), beam=2)"
    )
    words = [sys.executable, "-c", code, str(folder), str(source), str(to), json.dumps(SETTINGS)]
    for sign in ("teacher/.parts/1-mono.txt/000002", "run.json", "metrics.jsonl"):
        killed = subprocess.Popen(words, stderr=subprocess.DEVNULL)
        while not (to / "run" / sign).exists() and killed.poll() is None:
            time.sleep(0.002)
        killed.send_signal(signal.SIGKILL)
        assert killed.wait() == -signal.SIGKILL
    regard.distill(folder, source=source, to=to, settings=SETTINGS, beam=2)
    assert weights(to) == weights(whole) and translations(to) == translations(whole)


def test_another_teacher_beam_or_text_is_refused_with_the_difference(folder, source, whole, tmp_path):
    to, text = tmp_path / "student", shutil.copy2(source, tmp_path / "mono.en")
    other = tmp_path / "other"
    regard.train("translate", to=other, settings=SHORT | {"stop": {"steps": 1}}, source=source, target=source)
    options = {"source": text, "to": to, "settings": SETTINGS}
    regard.distill(folder, beam=2, **options)
    with pytest.raises(regard.RunError, match=r"was begun with other options \(beam: 2 -> 3\); .*--fresh"):
        regard.distill(folder, beam=3, **options)
    with pytest.raises(regard.RunError, match=r"was begun with other model \([0-9a-f]{64} -> [0-9a-f]{64}\)"):
        regard.distill(other, beam=2, **options)
    with pytest.raises(regard.RunError, match=r"was begun with other sources \(mono.en -> mono.en, mono.en\)"):
        regard.distill(folder, beam=2, **options | {"source": [text, text]})
    with pytest.raises(regard.RunError, match=r"begun with other settings \(model.layers: 2 -> 1"):
        changed = SETTINGS | {"model": SETTINGS["model"] | {"layers": 1}}
        regard.distill(folder, beam=2, **options | {"settings": changed})
    write_lines(text, ["A dog.", "A cat."])
    with pytest.raises(regard.RunError, match=r"was begun with other 1-mono\.txt"):
        regard.distill(folder, beam=2, **options)
    shutil.copy2(source, text)
    assert weights(to) == weights(whole)  # nothing of it was changed
    regard.distill(folder, beam=3, fresh=True, **options)
    assert translations(to) == {"1-mono.txt": "".join(
        f"{line}\n" for line in regard.load(folder)(source.read_text().splitlines(), beam=3)
    )}  # fmt: skip


def test_to_start_over_keeps_the_translations_of_the_same_teacher(folder, source, tmp_path):
    options = {"source": source, "to": tmp_path / "s", "beam": 1}
    regard.distill(folder, settings=SETTINGS, **options)
    changed = SETTINGS | {"model": SETTINGS["model"] | {"layers": 1}}
    events = list(regard.distilling(folder, settings=changed, fresh=True, **options))
    assert events[0].done == events[0].total and events[-1].step == 30
    assert regard.load(tmp_path / "s").info.settings["model"]["layers"] == 1


def test_several_packed_texts_real_pairs_and_real_references(folder, source, pairs, tmp_path):
    packed = tmp_path / "more.en.gz"
    packed.write_bytes(gzip.compress(b"The dog sleeps.\nA red house.\n"))
    code, err = run(
        folder, "--source", source, packed, "--to", tmp_path / "s", "--beam", 1, "--steps", 2, "--workers", 1, *FLAGS,
        "--also", f"{pairs['source']},{pairs['target']}:0.5",
        "--valid-source", pairs["source"], "--valid-target", pairs["target"],
    )  # fmt: skip
    assert code == 0, err
    info = json.loads((tmp_path / "s" / "regard.json").read_text())
    assert list(info["data"]["files"].values()) == [
        "mono.en", "1-mono.txt", "more.en.gz", "2-more.txt.gz", "train.en", "train.fr", "train.en", "train.fr"
    ]  # fmt: skip
    assert info["settings"]["corpus_weights"] == [1.0, 1.0, 0.5] and info["teacher"]["has_references"]
    assert "the teacher's output" not in CliRunner().invoke(app, ["info", str(tmp_path / "s")]).stdout
    assert "Validation is against" not in err and "translates" not in err


def test_a_marian_model_of_others_teaches(source, pairs, translator, tmp_path):
    transformers = pytest.importorskip("transformers")
    tokenizer = translator.tokenizer
    end, pad = tokenizer.end_id, tokenizer.pad_id
    theirs = tmp_path / "theirs"
    translator.save(theirs)
    for name in ("regard.json", "model.safetensors", "config.json", "generation_config.json"):
        (theirs / name).unlink()
    shutil.rmtree(theirs / "ctranslate2", ignore_errors=True)
    transformers.MarianMTModel(transformers.MarianConfig(
        vocab_size=tokenizer.vocab_size, d_model=16, encoder_layers=1, decoder_layers=1, encoder_ffn_dim=16,
        decoder_ffn_dim=16, encoder_attention_heads=2, decoder_attention_heads=2, pad_token_id=pad, eos_token_id=end,
        decoder_start_token_id=pad, max_position_embeddings=64, forced_eos_token_id=None, scale_embedding=True,
    )).save_pretrained(theirs)  # fmt: skip
    lines = write_lines(tmp_path / "few.en", source.read_text().splitlines()[:20])
    imported = tmp_path / "imported"
    from regard.convert import import_model

    import_model(str(theirs), imported)
    for number, teacher in enumerate((theirs, imported)):
        to = tmp_path / f"student{number}"
        settings = SETTINGS | {"stop": {"steps": 1}, "target_language": "fr"}
        regard.distill(teacher, source=lines, to=to, settings=settings, beam=1)
        written = translations(to)["1-few.txt"].splitlines()
        assert written == regard.load(teacher)(lines.read_text().splitlines(), beam=1)
        info = regard.load(to).info
        assert info.teacher["name"] == str(teacher) and info.languages == ["en", "fr"]
    assert info.teacher["imported_from"] == str(theirs)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nothing"], "nothing"),
        (["TEACHER"], "no source text was given"),
        (["TEACHER", "--source", "none.en"], "none.en cannot be read: there is no such file"),
        (["TEACHER", "--source", "pairs.tsv"], "pairs.tsv is a file of rows; a student learns from files of lines"),
        (["TEACHER", "--source", "folder"], "folder is a folder; a student learns from files of lines"),
        (["TEACHER", "--source", "blank.en"], "blank.en: no line has text on it"),
        (["TEACHER", "--source", "latin.en"], "latin.en line 2 is not UTF-8"),
        (["TEACHER", "--source", "a.en", "--set", "model.hops=2"], "model.hops"),
        (["TEACHER", "--source", "a.en", "--valid-source", "a.en"], "give its translation too"),
        (["WRITER", "--source", "a.en"], "is a model to write, which cannot teach a student; a model to translate can"),
    ],
)
def test_what_cannot_be_done_is_refused_before_any_work(
    folder, writer_folder, tmp_path, monkeypatch, words, message
):  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    write_lines(tmp_path / "a.en", ["The dog sleeps."])
    write_lines(tmp_path / "pairs.tsv", ["The dog sleeps.\tLe chien dort."])
    write_lines(tmp_path / "blank.en", ["", " "])
    (tmp_path / "latin.en").write_bytes(b"A dog.\nA caf\xe9.\n")
    places = {"TEACHER": folder, "WRITER": writer_folder}
    code, err = run(*(places.get(word, word) for word in words), "--to", "out", *FLAGS)
    assert code == 1 and message in err and not (tmp_path / "out").exists()


def test_the_folder_of_the_teacher_or_of_another_training_is_refused_before_any_work(folder, source, tmp_path):
    before = weights(folder)
    code, err = run(folder, "--source", source, "--to", folder, "--fresh")
    assert code == 1 and "is the teacher's own folder" in err and weights(folder) == before
    regard.train(
        "translate", to=tmp_path / "m", settings=SETTINGS | {"stop": {"steps": 1}}, source=source, target=source
    )
    code, err = run(folder, "--source", source, "--to", tmp_path / "m")
    assert code == 1 and "was trained without a teacher; add --fresh" in err
    assert not (tmp_path / "m" / "run" / "teacher").exists()


def test_a_folder_of_others_is_refused(folder, source, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    code, err = run(folder, "--source", source, "--to", tmp_path / "mine")
    assert code == 1 and "holds files that are not a model" in err
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["letter.txt"]
    stray = tmp_path / "student" / "run" / "teacher"
    stray.mkdir(parents=True)
    (stray.parent / ".regard").touch()
    (stray / "letter.txt").write_text("dear")
    code, err = run(folder, "--source", source, "--to", tmp_path / "student")
    assert code == 1 and "it holds files that were not made here" in err
    assert [path.name for path in stray.iterdir()] == ["letter.txt"]


def test_a_teacher_that_is_missing_is_all_that_is_said(tmp_path):
    text = write_lines(tmp_path / "a.en", ["One."])
    result = CliRunner().invoke(
        app, ["distill", str(tmp_path / "no"), "--source", str(text), "--to", str(tmp_path / "s")]
    )
    assert result.exit_code == 1 and "does not exist" in result.output and "Validation" not in result.output
