"""The fast engine is chosen for the user, says the same as torch, and costs nothing where it is not wanted."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import regard
from regard.engines.cache import NAME, CTranslate2Cache
from regard.engines.layout import Layout, candidates, fastest, group


@pytest.fixture(scope="module")
def slow(folder):
    return regard.load(folder, engine="torch")


@pytest.fixture
def lines(pairs):
    return pairs["source"].read_text().splitlines()[:60]


@pytest.mark.parametrize("options", [{"beam": 1}, {}, {"n_best": 3}, {"prefix": "Le"}, {"max_length": 3}])
def test_both_engines_translate_alike(translator, slow, lines, options):
    assert (translator.engine, slow.engine) == ("ctranslate2", "torch")
    mine, theirs = (list(one.translate_all(lines, alignments=True, **options)) for one in (translator, slow))
    for fast, plain in zip(mine, theirs, strict=True):
        for one, other in zip((fast, *fast.alternatives), (plain, *plain.alternatives), strict=True):
            assert (one.text, one.tokens, one.alignment, one.notes) == (
                other.text, other.tokens, other.alignment, other.notes
            )  # fmt: skip
            assert one.score == pytest.approx(other.score, rel=1e-3, abs=1e-3)


def test_a_line_says_the_same_alone_and_in_any_company(translator, lines):
    together = translator(lines)
    assert [translator(line) for line in lines] == together
    assert list(reversed(translator(list(reversed(lines))))) == together
    assert [one.text for one in translator.translate_all(lines, window=7)] == together


def test_an_empty_window_brings_all_that_was_begun(translator, lines):
    answers = []

    def windows():
        for start in range(0, 30, 10):
            yield lines[start : start + 10]
            assert len(answers) < start + 10  # the next window is begun before this one is waited for
        yield []
        assert len(answers) == 30
        yield lines[30:]

    for answer in translator.translate_windows(windows()):
        answers.append(answer.text)
    assert answers == translator(lines)


def test_the_copy_is_made_again_when_what_it_was_made_of_differs(folder, tmp_path):
    to = tmp_path / "m"
    shutil.copytree(folder, to, ignore=shutil.ignore_patterns("run"))
    assert CTranslate2Cache(regard.load(to)._folder).is_known()
    about = json.loads((to / "regard.json").read_text())
    weights = (to / NAME / "model.bin").read_bytes()

    (to / NAME / "model.bin").write_bytes(weights[:-3] + b"abc")  # damaged
    expected = regard.load(folder)("The dog sees the cat.")
    assert regard.load(to)("The dog sees the cat.") == expected
    assert (to / NAME / "model.bin").read_bytes() == weights

    (to / "regard.json").write_text(json.dumps(about | {"weights_sha256": "of other weights"}))
    with pytest.raises(regard.FolderError, match="SHA-256 differs"):  # it wants to be made again, and is refused
        regard.load(to)
    shutil.rmtree(to / NAME)
    (to / "regard.json").write_text(json.dumps(about))
    assert regard.load(to)("The dog sees the cat.") == expected and (to / NAME / "model.bin").exists()
    assert [path.name for path in to.iterdir() if path.name.startswith(".")] == []


def test_where_no_copy_can_be_written_torch_runs_and_says_so(folder, tmp_path):
    to = tmp_path / "m"
    shutil.copytree(folder, to, ignore=shutil.ignore_patterns("run", NAME))
    (to / NAME).mkdir()
    (to / NAME / "model.bin").write_text("of the user's own")
    with pytest.warns(RuntimeWarning, match=r"not made by regard: move it away.* torch runs instead"):
        opened = regard.load(to)
    assert opened.engine == "torch"
    with pytest.raises(regard.FolderError, match="none can be made"):
        regard.load(to, engine="ctranslate2")
    assert (to / NAME / "model.bin").read_text() == "of the user's own"


def test_engines_and_precisions_that_are_not_there_are_told(folder, answerer_folder):
    for options in ({"engine": "turbo"}, {"precision": "int3"}, {"engine": "torch", "precision": "int8"}):
        with pytest.raises(regard.ConfigError, match=r"is not one of|is for engine=ctranslate2"):
            regard.load(folder, **options)
    with pytest.raises(regard.ConfigError, match="run by torch"):
        regard.load(answerer_folder, precision="int8")


def test_int8_says_nearly_the_same(folder, translator, lines):
    small = regard.load(folder, precision="int8")
    whole, rounded = (
        [one.score / (len(one.tokens) + 1) for one in opened.translate_all(lines, beam=1)]
        for opened in (translator, small)
    )
    assert whole != rounded
    assert sum(rounded) / len(lines) == pytest.approx(
        sum(whole) / len(lines), rel=0.5
    )  # of a network this small, each weight counts


def test_what_was_cached_of_a_copy_is_not_trusted_beyond_its_size(folder, translator, tmp_path, monkeypatch):
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    regard.load(folder)
    (kept,) = [path for path in (tmp_path / "cache").iterdir() if "rows" in path.read_text()]
    kept.write_text(json.dumps({"rows": [10**9], "places": [10**9]}))
    assert regard.load(folder)("The dog sleeps.") == translator("The dog sleeps.")
    assert json.loads(kept.read_text())["rows"][0] < 10**5


@pytest.mark.parametrize("what", ["copies that are known", "unknown copies", "no copies"])
def test_the_fast_way_does_not_import_torch(folder, writer_folder, what, tmp_path):
    folders = [shutil.copytree(one, tmp_path / one.name, ignore=shutil.ignore_patterns("run"))
               for one in (folder, writer_folder)]  # fmt: skip
    if what == "no copies":
        for one in folders:
            shutil.rmtree(one / NAME, ignore_errors=True)
    code = """if True:
        import sys, regard
        print(regard.load(sys.argv[1])("The dog sees the cat.") != "", bool(regard.load(sys.argv[2])("The", seed=1)))
        assert "torch" not in sys.modules, "torch"
    """
    place = os.environ["REGARD_CACHE"] if what == "copies that are known" else str(tmp_path / "cache")
    words = [sys.executable, "-c", code, *map(str, folders)]
    run = subprocess.run(words, capture_output=True, text=True, check=False, env=os.environ | {"REGARD_CACHE": place})
    assert run.stdout == "True True\n", run.stderr


def test_the_fast_writer_goes_on_as_torch_does_also_beyond_its_sight(writer_folder):
    fast, slow = regard.load(writer_folder), regard.load(writer_folder, engine="torch")
    assert (fast.engine, slow.engine) == ("ctranslate2", "torch")
    for prompt in ("The", "The old dog sleeps. " * 12, ""):
        assert fast(prompt, tokens=100, temperature=0) == slow(prompt, tokens=100, temperature=0)


def test_somebody_who_feeds_lines_gets_each_answer_before_the_next(folder):
    run = subprocess.Popen([sys.executable, "-m", "regard", "translate", str(folder)], stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE, text=True, bufsize=1)  # fmt: skip
    translator = regard.load(folder)
    for line in ("The dog sees the cat.", "", "The old man sleeps."):
        run.stdin.write(line + "\n")
        assert run.stdout.readline() == translator(line) + "\n"
    run.stdin.write("A last line without its end")
    run.stdin.close()
    assert run.stdout.read().count("\n") == 1 and run.wait() == 0


def test_the_layout_that_is_fastest_is_taken():
    layouts = [Layout(2, 1), Layout(1, 2)]
    assert fastest(layouts, lambda layout: time.sleep(0.02 * layout.threads)) == Layout(2, 1)
    assert all(layout.workers * layout.threads == candidates()[0].workers for layout in candidates())


def test_an_engine_measures_layouts_that_use_the_cores(translator, writer_folder, monkeypatch):
    monkeypatch.setattr("regard.engines.ctranslate2.fastest", fastest)
    for engine in (translator._fast, regard.load(writer_folder)._fast):
        found = engine.measure()
        assert found["single"] in [Layout(1, layout.threads) for layout in candidates()]
        assert found.get("bulk", candidates()[0]) in candidates()


@given(st.lists(st.integers(1, 30), max_size=40), st.integers(12, 300))
def test_groups_hold_everything_once_within_the_budget(lengths, tokens):
    groups = group(lengths, tokens)
    assert sorted(index for rows in groups for index in rows) == list(range(len(lengths)))
    assert all(len(rows) * lengths[rows[0]] <= tokens or len(rows) == 1 for rows in groups)


def test_an_interrupt_leaves_whole_lines(folder, translator, tmp_path):
    line = "The dog sees the cat."
    with (tmp_path / "in").open("w") as file:
        file.write(f"{line}\n" * 200_000)
    out = tmp_path / "out"
    with (tmp_path / "in").open() as source, out.open("w") as target:
        words = [sys.executable, "-m", "regard", "translate", str(folder), "--beam", "1"]
        run = subprocess.Popen(words, stdin=source, stdout=target, stderr=subprocess.PIPE, text=True)
        while out.stat().st_size == 0 and run.poll() is None:
            time.sleep(0.05)
        run.send_signal(signal.SIGINT)
        assert run.wait() == 130 and run.stderr.read() == "Interrupted.\n"
    said = out.read_text()
    assert said.endswith("\n") and set(said.splitlines()) == {translator(line, beam=1)}
