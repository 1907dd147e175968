"""Options that would be ignored or cannot be are refused in words, before anything is read, computed or printed."""

import io
import json
import os
import re

import pytest
from conftest import plan_of
from rich.console import Console
from test_cli import run

import regard
from regard.cli.report import Report
from regard.training.loop import Progress
from regard.training.plan import Plan

TALE = "Brian is a frog.\nBrian is yellow.\nGreg is a frog.\n"


@pytest.fixture
def tale(tmp_path):
    (tmp_path / "tale.txt").write_text(TALE)
    return tmp_path / "tale.txt"


def refused(*words, text=None):
    """The error of a command that must be refused, with nothing on stdout."""
    code, out, err = run(*words, text=text)
    assert out == "" and code in {1, 2}, (code, out, err)
    assert "Traceback" not in err and (code == 2 or len(err.strip().splitlines()) == 1), err
    return err


def test_options_of_a_translation_that_cannot_go_together(folder, pairs, tmp_path):
    (tmp_path / "terms.tsv").write_text("dog\tchien\n")
    words = ("translate", folder, pairs["source"])
    assert "--n-best 8 is more than --beam 4" in refused(*words, "--n-best", 8, "--beam", 4)
    assert "--text and a file" in refused(*words, "--text", "The dog.")
    assert "--prefix and --terms" in refused(*words, "--prefix", "Le", "--terms", tmp_path / "terms.tsv")
    assert "nothing to rank" in refused(*words, "--beam", 1, "--length-penalty", 0.5)
    assert "--fast is for" in refused(*words, "--fast", "--engine", "torch")
    assert "int8 is for" in refused(*words, "--precision", "int8", "--engine", "torch")
    assert "no.tsv" in refused(*words, "--terms", tmp_path / "no.tsv")


@pytest.mark.parametrize("option", [("--top-p", 2), ("--top-k", 0), ("--temperature", -1)])
def test_a_writer_prints_nothing_before_its_options_are_checked(option, writer_folder, filler_folder):
    refused("write", writer_folder, "ROMEO:", *option)
    refused("write", writer_folder, "ROMEO:", "--samples", 2, *option)
    assert "draws nothing" in refused("write", writer_folder, "ROMEO:", "--temperature", 0, "--top-k", 3)
    assert "use regard fill" in refused("write", filler_folder, "ROMEO:")


def test_options_of_a_look_that_would_change_nothing(folder, writer_folder, answerer_folder, tale, tmp_path):
    page = tmp_path / "look.html"
    assert "--layer, --head: " in refused("look", folder, "A dog.", "--to", page, "--layer", 1, "--head", 1)
    assert "--why is shown in a page" in refused("look", folder, "A dog.", "--why")
    assert "--beam searches" in refused("look", folder, "A dog.", "--target", "Un chien.", "--beam", 2)
    assert "--target is not for a model to write" in refused("look", writer_folder, "A dog.", "--target", "x")
    assert "--story is not for a model to write" in refused("look", writer_folder, "A dog.", "--story", tale)
    assert "--beam is not for a model to answer" in refused("look", answerer_folder, "x", "--story", tale, "--beam", 2)
    assert not page.exists()


def test_options_of_an_evaluation_of_another_family(folder, writer_folder, pairs):
    files = (pairs["source"], pairs["target"])
    assert "--columns 1,2 is for a file that ends in .tsv" in refused("evaluate", folder, *files, "--columns", "1,2")
    assert "--keys a,b is for a file that ends in .tsv" in refused("evaluate", folder, *files, "--keys", "a,b")
    assert "--stride is not for a model to translate" in refused("evaluate", folder, *files, "--stride", 3)
    assert "--against is not for a model to write" in refused(
        "evaluate", writer_folder, files[0], "--against", "no-such-folder"
    )
    assert "give the links" in refused("evaluate", folder, *files, "--reverse", folder)


def test_a_direction_is_for_translations():
    assert "--direction en-de is for translations" in refused("demo", "fill", "--direction", "en-de")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--columns", "2,1"], "--columns 2,1 is for a file that ends in .tsv"),
        (["--keys", "en,fr"], "--keys en,fr is for a file that ends in .tsv"),
        (["--valid", "missing.en"], "--valid-source missing.en is one file"),
        (["--valid-target", "missing.fr"], "--valid-target missing.fr was given without --valid-source"),
        (["--set", "train.held_out=5", "--valid", "v.tsv"], "leave one of them out"),
        (["--set", "train.mask_rate=0.3"], "train.mask_rate=0.3 changes nothing for a model to translate"),
        (["--workers", "lots"], "workers='lots' is not a whole number"),
        (["--set", "rate=0.1"], "did you mean train.learning_rate?"),
    ],
)
def test_options_of_a_training_are_checked_before_any_text_is_read(words, message, tmp_path):
    """The files are not even there."""
    err = refused("train", "translate", tmp_path / "a.en", tmp_path / "a.fr", "--to", tmp_path / "m", *words)
    assert message in err and list(tmp_path.iterdir()) == []


def test_arguments_of_the_library_that_are_none_are_told_with_what_was_meant(pairs, tmp_path):
    def told(task, **arguments):
        with pytest.raises(regard.ConfigError) as problem:
            regard.train(task, to=tmp_path / "m", **arguments)
        return str(problem.value)

    assert "no argument sorce; did you mean source?" in told("translate", sorce="a", target="b")
    assert 'settings={"stop": {"minutes": 1}}' in told("translate", **pairs, minutes=1)
    assert 'settings={"seed": 3}' in told("fill", text=pairs["source"], seed=3)
    assert "takes no argument zzz; known here: text, valid" in told("write", text="a", zzz=1)
    assert "needs stories" in told("answer")
    assert "there is no task transalte; did you mean translate?" in told("transalte", **pairs)


def test_a_folder_is_every_text_in_it_and_what_is_none_is_named(tmp_path, pairs):
    lines = pairs["source"].read_text().splitlines(keepends=True)
    (tmp_path / "t" / "deep").mkdir(parents=True)
    (tmp_path / "t" / ".git").mkdir()
    for number, name in enumerate(["b.txt", "a.txt", "deep/c.py"]):
        (tmp_path / "t" / name).write_text("".join(lines[100 * number :][:100]))
    (tmp_path / "t" / ".git" / "config").write_text("hidden\n")
    (tmp_path / "t" / "picture.png").write_bytes(b"\x89PNG\0\0\1\2" * 100)
    (tmp_path / "t" / "empty.txt").write_text("")
    os.mkfifo(tmp_path / "t" / "pipe")
    words = ("--to", tmp_path / "m", "--steps", 1, "--set", "model.width=16", "--set", "model.layers=1")
    code, _, err = run("train", "fill", tmp_path / "t", *words)
    assert code == 0, err
    for reason, name in (("hidden", "config"), ("binary", "picture.png"), ("empty", "empty.txt"), ("a link", "pipe")):
        assert re.search(f"Left out 1 file: {reason}.* \\(such as .*{name}", err.replace("\n", " ")), err
    files = json.loads((tmp_path / "m" / "regard.json").read_text())["data"]["files"]
    assert list(files.values()) == ["a.txt", "b.txt", "c.py"]
    code, _, err = run("train", "fill", *(tmp_path / "t" / name for name in ("a.txt", "b.txt", "deep/c.py")), *words)
    assert code == 0, err  # the same files by name are the same text
    (tmp_path / "t" / "new.txt").write_text("One more.\n")
    assert "text_4: none -> new.txt" in refused("train", "fill", tmp_path / "t", *words)
    (tmp_path / "none").mkdir()
    assert "is a folder without a file of text" in refused("train", "write", tmp_path / "none", "--to", tmp_path / "n")


def planned(pairs, tmp_path, **stop):
    settings = {"stop": stop, "model": {"width": 16, "layers": 1, "ffn_width": 16}, "threads": 1}
    return plan_of(regard.training("translate", to=tmp_path / "m", settings=settings, **pairs))


def test_a_plan_says_when_the_time_cannot_suffice_and_where_the_numbers_are(pairs, tmp_path):
    out = io.StringIO()
    plan = planned(pairs, tmp_path, steps=20)
    assert isinstance(plan, Plan) and plan.is_short and plan.updates == 20
    Report(Console(file=out, width=200)).show(plan)
    assert "That is 20 updates" in out.getvalue() and "expect little below about" in out.getvalue()
    assert str(tmp_path / "m" / "run" / "metrics.jsonl") in out.getvalue()


def test_where_there_is_no_terminal_progress_is_a_line_every_so_often(pairs, tmp_path):
    out = io.StringIO()
    report = Report(Console(file=out, width=200))
    report.show(planned(pairs, tmp_path, steps=5000))
    before = len(out.getvalue().splitlines())
    for step in range(1, 101):
        report.show(Progress(step=step, loss=3.0, learning_rate=0.1, tokens=1000, seconds=1.0, left=60.0))
    lines = out.getvalue().splitlines()[before:]
    assert len(lines) == 3
    assert all(word in lines[0] for word in ("step 30", "loss 3.000", "1000 tokens/s", "60 s left"))
