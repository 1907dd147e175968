"""Writers, fillers and answerers on the command line."""

import json

import pytest
from test_cli import run

TALE = "Brian is a frog. Lily is gray.\nBrian is yellow.\nGreg is a frog.\n"


def test_a_writer_goes_on_and_the_same_seed_writes_the_same(writer_folder):
    words = ("write", writer_folder, "The old", "--tokens", 20, "--seed", 3)
    code, out, _ = run(*words)
    assert code == 0 and out.startswith("The old") and run(*words)[1] == out
    _, several, _ = run(*words, "--samples", 3, "--json")
    entries = [json.loads(line) for line in several.splitlines()]
    assert len(entries) == 3 and "The old" + entries[0]["text"] + "\n" == out
    assert len({entry["text"] for entry in entries}) > 1
    _, read, _ = run("write", writer_folder, "-", "--tokens", 20, "--seed", 3, text="The old")
    assert read == out


def test_top_k_of_one_is_temperature_zero_and_stop_stops(writer_folder):
    _, greedy, _ = run("write", writer_folder, "The", "--temperature", 0, "--tokens", 12)
    assert run("write", writer_folder, "The", "--top-k", 1, "--tokens", 12, "--seed", 9)[1] == greedy
    assert run("write", writer_folder, "The", "--top-p", 0.0001, "--tokens", 12, "--seed", 9)[1] == greedy
    mark = greedy[10:13]
    cut = run("write", writer_folder, "The", "--temperature", 0, "--tokens", 12, "--stop", mark)[1]
    assert cut == "The" + greedy[3:].partition(mark)[0] + "\n"
    code, _, err = run("write", writer_folder, "The", "--top-p", 2)
    assert code == 1 and "top_p=2.0 is not a share" in err


def test_a_filler_prints_candidates_with_probabilities(filler_folder):
    code, out, _ = run("fill", filler_folder, "The [MASK] sleeps in [MASK] house.", "--top", 3)
    lines = out.splitlines()
    assert code == 0 and "[MASK]" not in lines[0] and len(lines) == 7
    assert [line.split()[1] for line in lines[1:]] == ["1", "1", "1", "2", "2", "2"] and "%" in lines[1]
    code, _, err = run("fill", filler_folder, "The dog sleeps.")
    assert code == 1 and err.startswith("Error: ") and "has no [MASK]" in err
    entry = json.loads(run("fill", filler_folder, "The [MASK] sleeps.", "--json")[1])
    assert len(entry["gaps"][0]) == 5


def test_an_answerer_prints_the_answer_and_what_each_hop_looked_at(answerer_folder, tmp_path):
    (tmp_path / "tale.txt").write_text(TALE)
    code, out, err = run("answer", answerer_folder, tmp_path / "tale.txt", "What color is Greg?")
    lines = out.splitlines()
    assert code == 0 and err == "" and "%" in lines[0]
    assert [line for line in lines if line.startswith("hop")] == ["hop 1", "hop 2", "hop 3"]
    _, read, _ = run("answer", answerer_folder, "-", "What color is Greg?", text=TALE)
    assert read == out
    entry = json.loads(run("answer", answerer_folder, tmp_path / "tale.txt", "What color is Greg?", "--json")[1])
    assert len(entry["hops"]) == 3 and len(entry["hops"][0]) == len(entry["sentences"]) == 4


def test_a_question_without_a_story_is_a_mistake_of_usage_with_the_remedy(tmp_path):
    code, out, err = run("answer", tmp_path / "model", "Where is Mary?")
    assert code == 2 and not out and "--help" in err
    assert "'Where is Mary?' alone was given" in err and "- where the story is piped in" in " ".join(err.split())


def test_words_never_seen_in_training_are_told(answerer_folder, tmp_path):
    (tmp_path / "tale.txt").write_text("Zebediah is a frog.\n")
    code, _, err = run("answer", answerer_folder, tmp_path / "tale.txt", "What colour is Zebediah?")
    assert code == 0 and "Note: never seen in training, and left out: colour, zebediah" in err


@pytest.mark.parametrize(("task", "score"), [("write", "bits_per_byte"), ("fill", "accuracy"), ("answer", "accuracy")])
def test_every_family_is_evaluated_and_described(task, score, request, family_files, tmp_path):
    folder = request.getfixturevalue({"write": "writer", "fill": "filler", "answer": "answerer"}[task] + "_folder")
    text = next(iter(family_files[task].values()))
    code, out, _ = run("evaluate", folder, text, "--json")
    report = json.loads(out)
    assert code == 0 and report[score] >= 0
    assert score in run("evaluate", folder, text)[1]
    code, out, _ = run("info", folder)
    assert code == 0 and task in out and "vocab size" in out
    code, _, err = run("evaluate", folder, text, "--beam", 2)
    assert code == 1 and f"--beam is not for a model to {task}" in err
    code, _, err = run("translate", folder, text)
    assert code == 1 and f"is a model to {task}; use regard {task}" in err


def test_a_look_without_a_text_is_the_model_in_a_page(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("look", folder)[0] == 0
    live = (tmp_path / f"{folder.name}.html").read_text(encoding="utf-8")
    assert 'id="regard-weights"' in live
    assert run("look", folder, "The old dog.", "--to", "live.html")[0] == 0
    assert '"given": {"text": "The old dog."}' in (tmp_path / "live.html").read_text(encoding="utf-8")
    for option in ("--recorded", "--no-why"):
        assert run("look", folder, "The old dog.", option, "--to", "small.html")[0] == 0
        assert 'id="regard-weights"' not in (tmp_path / "small.html").read_text(encoding="utf-8")
    assert "--recorded is for a page" in run("look", folder, "--recorded")[2]
    assert "there is no text to look at" in run("look", folder, "--to", "a.svg")[2]
    assert run("export", folder, "--as", "page", "--to", "page.html", "--precision", "int8")[0] == 0
    assert (tmp_path / "page.html").stat().st_size < (tmp_path / "live.html").stat().st_size
    assert (
        "--precision is of a page"
        in run("export", folder, "--as", "ctranslate2", "--to", "c", "--precision", "int8")[2]
    )


def test_every_family_can_be_looked_into(writer_folder, filler_folder, answerer_folder, tmp_path):
    (tmp_path / "tale.txt").write_text(TALE)
    assert "██" in run("look", writer_folder, "The old dog.")[1]
    assert "██" in run("look", filler_folder, "The [MASK] dog.")[1]
    code, out, _ = run("look", answerer_folder, "What color is Greg?", "--story", tmp_path / "tale.txt")
    assert code == 0 and "hop 3" in out
    code, _, err = run("look", answerer_folder, "What color is Greg?")
    assert code == 1 and "no story to look at" in err


@pytest.mark.parametrize("task", ["write", "fill", "answer"])
def test_every_family_is_trained_from_the_command_line(task, family_files, tmp_path):
    from conftest import family_settings

    words = []
    for section, values in family_settings(task, 3).items():
        pairs = values.items() if isinstance(values, dict) else [(None, values)]
        words += [f"--set={section}{'.' + key if key else ''}={value}" for key, value in pairs if section != "stop"]
    text = next(iter(family_files[task].values()))
    code, _, err = run("train", task, text, "--valid", text, "--to", tmp_path / "m", "--steps", 3, *words)
    assert code == 0 and "3 steps were asked for" in err
    code, _, err = run("train", task, tmp_path / "nothing", "--to", tmp_path / "n")
    assert code == 1 and "does not exist" in err
    code, _, err = run("train", task, text, "--to", tmp_path / "n", "--set", "train.rat=1")
    assert code == 1 and "did you mean train.learning_rate" in err


def test_standard_input_is_read_as_a_file_is(writer_folder, answerer_folder, tmp_path):
    """Marks at the beginning are dropped and line ends of Windows are line ends; no other character is one."""
    words = ("--tokens", 5, "--seed", 3, "--json")
    for raw, prompt in (
        (b"\xef\xbb\xbfThe old\r\ndog", "The old\ndog"),
        (b"The\rold\xe2\x80\xa8dog", "The\rold\u2028dog"),
        (b"", ""),
    ):
        code, out, err = run("write", writer_folder, "-", *words, text=raw)
        assert code == 0 and json.loads(out)["prompt"] == prompt, err
    code, _, err = run("write", writer_folder, "-", *words, text=b"The \xff")
    assert code == 1 and "standard input is not UTF-8 (byte 5 is 0xff); convert it" in err
    code, _, err = run("write", writer_folder, "-", *words, text=b"The \0")
    assert code == 1 and "standard input has a NUL byte" in err
    code, _, err = run("answer", answerer_folder, "-", "What color is Greg?", text=b"\n \n")
    assert code == 1 and "standard input has no sentence in it" in err
    told = []
    for raw in (
        b"\xef\xbb\xbf1 Brian is a frog.\r\n2 Greg is\x0ba frog.\r\n",
        b"1 Brian is a frog.\n2 Greg is\x0ba frog.\n",
    ):
        (tmp_path / "tale.txt").write_bytes(raw)
        for given in (tmp_path / "tale.txt", "-"):
            told.append(run("answer", answerer_folder, given, "What color is Greg?", "--json", text=raw)[1])
    assert told[1:] == told[:-1] and len(json.loads(told[0])["sentences"]) == 2
