"""The command line as people use it: real processes, real files."""

import contextlib
import json
import re
import shutil
import subprocess
import sys

import pytest
from conftest import write_pairs
from typer.testing import CliRunner

import regard
from regard.cli.commands import app
from regard.cli.family import COMMANDS
from regard.folder import ABOUT


def run(*words, text=None):
    """A command in this process: (exit code, stdout, stderr)."""
    result = CliRunner().invoke(app, [str(word) for word in words], input=text)
    return result.exit_code, result.stdout, result.stderr


def test_as_many_lines_come_out_as_go_in(folder):
    text = "The dog sleeps.\n\n  \nA red house.\u2028Still the same line.\r\nlast without end"
    code, out, _ = run("translate", folder, "--beam", 1, text=text)
    lines = out.split("\n")
    assert code == 0 and len(lines) == 6 and lines[-1] == ""
    assert lines[1] == lines[2] == "" and lines[0] and lines[3] and lines[4]


def test_no_command_writes_over_what_is_not_ours(folder, tmp_path):
    """Neither pages, nor the text and the page of the demo, nor what is imported or exported."""
    page, text = tmp_path / "look.html", tmp_path / "text" / "tale.txt"
    text.parent.mkdir()
    for path in (page, text):
        path.write_text("mine")
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    for words in (
        ["look", folder, "The dog.", "--to", page],
        ["demo", "answer", "--to", tmp_path],
        ["export", folder, "--as", "huggingface", "--to", tmp_path],
        ["export", folder, "--as", "huggingface", "--to", tmp_path / "gone"],
        ["import", folder, "--to", tmp_path / "gone"],
    ):
        code, _, err = run(*words)
        assert code == 1 and re.search(r"not made by regard|exists already", err), (words, err)
    page.unlink()
    code, _, err = run("demo", "answer", "--to", tmp_path)
    assert code == 1 and "holds files that were not made here: move it away, or choose another folder" in err
    assert text.read_text() == "mine" and {path.name for path in tmp_path.iterdir()} == {"text", "gone"}


def test_no_line_in_is_no_line_out(folder):
    assert run("translate", folder, text="")[:2] == (0, "")


def test_a_file_is_read_and_the_library_says_the_same(folder, translator, tmp_path):
    path = tmp_path / "a.en"
    path.write_text("The dog sleeps.\nA red house.\n")
    _, out, _ = run("translate", folder, path)
    assert out.splitlines() == translator(["The dog sleeps.", "A red house."])
    code, _, err = run("translate", folder, tmp_path / "nothing")
    assert code == 1 and "cannot be read" in err and "--text" in err


def test_a_text_can_be_given_as_it_is(folder, translator):
    assert run("translate", folder, "--text", "The dog sleeps.\nA red house.")[1].splitlines() == translator(
        ["The dog sleeps.", "A red house."]
    )
    code, out, err = run("translate", folder, "The dog sleeps.")
    assert (code, out) == (1, "") and "pipe a text in, or give it with --text" in err


def test_a_line_has_one_number_in_what_is_printed_and_what_is_said(folder):
    text = "The dog sleeps.\nThe old dog sleeps in the house.\n"
    for words in (["--json"], ["--n-best", 2]):
        _, out, err = run("translate", folder, "--max-length", 2, *words, text=text)
        lines = out.splitlines()
        printed = [json.loads(line)["line"] if words == ["--json"] else int(line.split()[0]) for line in lines]
        assert sorted(set(printed)) == [1, 2]
        assert set(map(int, re.findall(r"^line (\d+):", err, re.M))) == {1, 2}


def test_whoever_types_is_told_what_is_waited_for(folder):
    """Under a pseudo-terminal, without a file."""
    import os
    import pty

    main, side = pty.openpty()
    os.write(main, b"The dog sleeps.\n\x04")
    words = [sys.executable, "-m", "regard", "translate", str(folder)]
    done = subprocess.run(words, stdin=side, capture_output=True, text=True, timeout=60, check=False)
    os.close(main)
    os.close(side)
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 1 and "Ctrl-D ends" in done.stderr


def test_long_lines_are_translated_in_parts_and_named(folder):
    clause = "the old dog sleeps in the house today, "
    code, out, err = run("translate", folder, "--beam", 1, text="The dog sleeps.\n" + clause * 40 + "\n")
    assert code == 0 and len(out.splitlines()) == 2
    assert "line 2: the line is longer than any the model has seen; it was translated in" in err
    assert "line 1: the line is longer" not in err


def test_a_line_without_end_is_an_error_after_the_lines_before_it(folder):
    code, out, err = run(
        "translate", folder, "--beam", 1, text="The dog sleeps.\nA red house.\n" + "a" * (2**20 + 2**17)
    )
    assert code == 1 and len(out.splitlines()) == 2 and "line 3 has more than 1 MB" in err


def test_n_best_and_json_are_for_machines(folder):
    code, out, _ = run("translate", folder, "--beam", 4, "--n-best", 3, text="The dog sleeps.\nA red house.\n")
    rows = [line.split(" ||| ") for line in out.splitlines()]
    assert code == 0 and [row[0] for row in rows] == ["1", "1", "1", "2", "2", "2"]
    assert all(float(score) < 0 for _, _, score in rows)
    _, out, _ = run("translate", folder, "--json", text="The dog sleeps.\n")
    entry = json.loads(out)
    assert entry["line"] == 1 and entry["score"] < 0 and "".join(entry["source_tokens"]).strip() == "The dog sleeps."


def test_a_cut_translation_is_told(folder):
    code, _, err = run("translate", folder, "--beam", 1, "--max-length", 2, text="The old dog sleeps in the house.\n")
    assert code == 0 and "line 1: the translation found no end and was cut at 2 tokens" in err


def test_bytes_that_are_not_text_are_told_and_the_line_is_kept(folder):
    code, out, err = run("translate", folder, "--beam", 1, text=b"The dog.\nsch\xf6n\n")
    assert code == 0 and len(out.splitlines()) == 2 and "line 2: byte 4 is not UTF-8" in err


def test_evaluate_prints_scores_with_signature(folder, tmp_path):
    files = [*write_pairs(tmp_path, 60).values()]
    code, out, _ = run("evaluate", folder, *files, "--beam", 1, "--json", "--tokenize", "none")
    report = json.loads(out)
    assert code == 0 and 0 <= report["bleu"] <= 100 and 0 <= report["chrf"] <= 100
    assert "tok:none" in report["signature"] and report["count"] == 60
    code, out, _ = run("evaluate", folder, *files, "--beam", 1, "--against", folder)
    assert code == 0 and re.search(r"p_value +1\.0000", out)
    code, _, err = run("evaluate", folder, *files, "--tokenize", "moses")
    assert code == 1 and "Error: tokenize=moses" in err
    code, out, err = run("evaluate", folder, *reversed(files))
    assert code == 1 and not out and "is read as fr to en, and the model is for en to fr; name the files in" in err
    other = shutil.copytree(folder, tmp_path / "other")
    about = json.loads((other / ABOUT).read_text())
    about["settings"] |= {"source_language": "fr", "target_language": "en"}
    (other / ABOUT).write_text(json.dumps(about))
    code, out, err = run("evaluate", folder, *files, "--against", other)
    assert code == 1 and not out and "other translates fr to en, and " in err


def test_info_tells_what_it_is(folder):
    code, out, _ = run("info", folder)
    assert code == 0 and "translate, en to fr" in out and "train.en, train.fr" in out
    assert json.loads(run("info", folder, "--json")[1])["task"] == "translate"


def test_look_prints_a_map_and_writes_a_picture(folder, tmp_path):
    code, out, _ = run("look", folder, "The dog sleeps.")
    assert code == 0 and "█" in out and "</s>" in out
    code, out, _ = run("look", folder, "The dog sleeps.", "--to", tmp_path / "a.svg", "--layer", 1, "--head", 2)
    assert code == 0 and out == "" and (tmp_path / "a.svg").read_text().startswith("<svg")
    assert run("look", folder, "x", "--to", tmp_path / "a.bmp")[0] == 1


def test_errors_are_one_line_and_exit_1(tmp_path, pairs):
    for words in (
        ("translate", tmp_path / "nothing"),
        ("train", "translate", tmp_path / "a.de", tmp_path / "a.en", "--to", tmp_path / "m"),
        ("train", "translate", pairs["source"], pairs["target"], "--to", tmp_path / "m", "--set", "train.rat=1"),
        ("train", "translate", pairs["source"], pairs["target"], "--to", tmp_path / "m", "--set", "model.width=30"),
        ("train", "translate", pairs["source"], pairs["target"], "--to", tmp_path / "m", "--config", tmp_path / "no"),
        ("demo", "--direction", "en-xx", "--to", tmp_path / "m"),
    ):
        code, out, err = run(*words)
        assert (code, out) == (1, ""), words
        assert err.startswith("Error: ") and len(err.strip().splitlines()) == 1, err
    assert list(tmp_path.iterdir()) == []


def test_wrong_words_exit_2(folder):
    for words in (("translate",), ("no-such",), ("translate", folder, "--beam", 0), ("train", "translate", "a", "b")):
        assert run(*words)[0] == 2, words


def test_training_from_toml_set_and_flags_in_that_order(tmp_path, pairs):
    (tmp_path / "run.toml").write_text(
        "seed = 7\n[model]\nlayers = 1\nwidth = 16\nheads = 2\nffn_width = 16\n"
        "[train]\nlearning_rate = 0.1\ntokens_per_batch = 512\n"
    )
    code, out, err = run(
        "train", "translate", pairs["source"], pairs["target"], "--to", tmp_path / "m",
        "--config", tmp_path / "run.toml",
        "--set", "train.learning_rate=0.002", "--set", "seed=8", "--seed", 9, "--steps", 2,
        "--target-language", "fr-ca",
    )  # fmt: skip
    assert (code, out) == (0, ""), err
    settings = json.loads((tmp_path / "m" / "regard.json").read_text())["settings"]
    assert settings["seed"] == 9 and settings["train"]["learning_rate"] == 0.002 and settings["model"]["layers"] == 1
    assert settings["target_language"] == "fr-ca" and settings["source_language"] == "en"
    assert "The model is in" in err


def test_what_is_left_out_is_told(tmp_path):
    (tmp_path / "a.tsv").write_text("the dog\tle chien\n\tvide\n" + "word " * 400 + "\tmot\n")
    (tmp_path / "b.tsv").write_text("a b\tc d\n")
    code, _, err = run(
        "train", "translate", tmp_path / "a.tsv", "--valid", tmp_path / "b.tsv", "--to", tmp_path / "m", "--steps", 2,
        "--set", "text.max_length=64",
        "--set", "model.width=16",
    )  # fmt: skip
    assert code == 0, err
    assert "Left out 1 pair: empty on one side (such as" in err and "a.tsv line 2)" in err
    assert "Left out 1 pair: longer than 64 tokens (such as line 3)" in err


def spawn(*words, **options):
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=60, check=False, **options)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_line_of_a_command_in_the_list_is_how_its_own_help_begins(name):
    said = CliRunner().invoke(app, [name, "--help"], prog_name="regard").output
    assert COMMANDS[name][1] in " ".join(said.split())


@pytest.mark.parametrize(
    "words",
    [["--help"], ["--version"], ["look", "--help"], ["info", "--help"], ["train", "--help"], ["translate", "--help"]],
)
def test_help_answers_without_torch(words):
    code = """
import sys
import regard.cli.commands as commands
sys.argv[0] = "regard"
try:
    commands.main()
finally:
    assert not {"torch", "tokenizers", "rich"} & set(sys.modules)
"""
    done = spawn("-c", code, *words)
    assert done.returncode == 0 and "regard" in done.stdout, done.stderr


def test_a_line_is_translated_without_what_only_training_needs(folder):
    regard.load(folder)  # its copy for the fast engine is there
    code = """
import sys
import regard.cli.commands as commands
import regard.families as families
families.entry_points = None  # other packages are not asked for a command of ours
try:
    commands.main()
finally:
    assert not {"torch", "numpy", "regard.config", "sacrebleu"} & set(sys.modules)
"""
    done = spawn("-c", code, "translate", str(folder), "--text", "The dog sleeps.")
    assert (done.returncode, done.stdout.strip()) == (0, regard.load(folder)("The dog sleeps.")), done.stderr


def test_a_reader_that_leaves_early_is_no_error(folder):
    command = f"yes 'The dog sleeps.' | head -2000 | {sys.executable} -m regard translate {folder} --beam 1 | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=120, check=False)
    assert len(done.stdout.splitlines()) == 1 and "Traceback" not in done.stderr


def test_debug_shows_where_and_no_debug_does_not(tmp_path):
    plain = spawn("-m", "regard", "info", str(tmp_path))
    debug = spawn("-m", "regard", "--debug", "info", str(tmp_path))
    assert plain.returncode == debug.returncode == 1
    assert "Traceback" not in plain.stderr and "Traceback" in debug.stderr


def test_the_live_display_works_on_a_terminal(tmp_path, pairs):
    """Under a pseudo-terminal: a moving line with speed and time left, and samples above it."""
    import os
    import pty

    main, side = pty.openpty()
    files = [str(pairs["source"]), str(pairs["target"]), "--to", str(tmp_path / "m")]
    small = ("model.layers=1", "model.width=16", "train.valid_every=5", "train.tokens_per_batch=512")
    sets = [word for one in small for word in ("--set", one)]
    words = ["train", "translate", *files, "--steps", "12", *sets]
    process = subprocess.Popen(
        [sys.executable, "-m", "regard", *words],
        stderr=side,
        stdout=side,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "120"},
    )
    os.close(side)
    shown = b""
    with contextlib.suppress(OSError):  # the writer is gone
        while piece := os.read(main, 4096):
            shown += piece
    assert process.wait(timeout=30) == 0
    text = shown.decode(errors="replace")
    assert "tokens/s" in text and "left" in text and "bleu" in text and "->" in text


@pytest.mark.parametrize(
    "words", [("import", "theirs"), ("export", "ours", "--as", "ctranslate2"), ("look", "ours", "A")]
)
def test_a_place_that_cannot_be_written_is_one_line(folder, encoder_folder, tmp_path, words):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    models = {"ours": folder, "theirs": encoder_folder}
    ending = ".html" if words[0] == "look" else ""
    for place in (tmp_path / "file" / "x", tmp_path / "gone" / "x", tmp_path / ("x" * 300)):
        code, _, err = run(*(models.get(word, word) for word in words), "--to", f"{place}{ending}")
        assert code == 1 and err.startswith("Error: ") and err.count("\n") == 1, err
    assert (tmp_path / "file").read_text() == "mine" and len(list(tmp_path.iterdir())) == 2


def test_names_and_words_of_others_cannot_steer_a_terminal(folder, tmp_path):
    name = tmp_path / "a\nError: all is lost\x1b[31m\u202e.html"
    code, _, err = run("look", folder, "The dog.", "--to", name)
    assert code == 0 and r"a\nError: all is lost\x1b[31m\u202e.html" in err and err.count("\n") == 1
    code, _, err = run("translate", tmp_path / "no\x1b]0;x\x07such")
    assert code == 1 and r"no\x1b]0;x\x07such" in err
    trial = shutil.copytree(folder, tmp_path / "m", ignore=shutil.ignore_patterns("run"))
    about = json.loads((trial / "regard.json").read_text())
    (trial / "regard.json").write_text(json.dumps(about | {"license": "free\x1b[2J\nscores     BLEU 100"}))
    code, out, _ = run("info", trial)
    assert code == 0 and r"free\x1b[2J" in out and "\x1b" not in out


@pytest.mark.parametrize("odd", [{"training": {"steps": 1}}, {"training": 5}, {"data": []}, {"scores": {"a": "b"}},
                                 {"scores": []}, {"settings": {"model": 3}}, {"parameters": -1}])  # fmt: skip
def test_info_of_a_crafted_description_is_told_or_refused(folder, tmp_path, odd):
    trial = shutil.copytree(folder, tmp_path / "m", ignore=shutil.ignore_patterns("run"))
    about = json.loads((trial / "regard.json").read_text())
    (trial / "regard.json").write_text(json.dumps(about | odd))
    code, out, err = run("info", trial)
    assert (code == 0 and out) or (code == 1 and "regard.json" in err), (out, err)
