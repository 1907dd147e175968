"""The family of docs/guides/family.md, installed as a package of its own, goes through all; regard does not know it."""

import json
import os
import re
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from browser import opened_browser
from server import Server as RunningServer
from typer.testing import CliRunner

from regard import families
from regard.cli.commands import app
from regard.load import load

ROOT = Path(__file__).parent.parent.parent
GUIDE = (ROOT / "docs" / "guides" / "family.md").read_text(encoding="utf-8")
SETTINGS = {"model.layers": 2, "model.width": 64, "model.ffn_width": 128, "model.dropout": 0, "threads": 1,
            "train.tokens_per_batch": 512, "train.valid_every": 40, "mirror.shortest": 2}  # fmt: skip
SMALL = [word for name, value in SETTINGS.items() for word in ("--set", f"{name}={value}")]
STEPS = 160


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """The package as the guide has it, installed as pip would: its files, and its entry point beside them."""
    place = tmp_path_factory.mktemp("own")
    for name, code in re.findall(r'```python title="([\w/.]+)"\n(.*?)```', GUIDE, re.S):
        (place / "site" / name).parent.mkdir(parents=True, exist_ok=True)
        (place / "site" / name).write_text(code, encoding="utf-8")
    about = place / "site" / "regard_mirror-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: regard-mirror\nVersion: 1\n")
    points = re.search(r"```toml\n\[project\.entry-points\.\"([\w.]+)\"\]\n(\w+) = \"([\w.:]+)\"", GUIDE)
    (about / "entry_points.txt").write_text(f"[{points[1]}]\n{points[2]} = {points[3]}\n")
    words = ["".join(some) for some in product("abcdef", repeat=3)]
    (place / "words.txt").write_text("\n".join(words) + " x\n")
    return place


@pytest.fixture(scope="module")
def regard(place):
    """The command line where the package is installed, in this process."""

    def run(*words, text=None, code=0):
        done = CliRunner().invoke(app, [str(word) for word in words], input=text)
        assert done.exit_code == code, done.stderr
        return done

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.syspath_prepend(place / "site")
        patch.setenv("PYTHONPATH", os.pathsep.join([str(place / "site"), str(ROOT)]))  # of other processes
        families._installed.cache_clear()
        yield run
    families._installed.cache_clear()
    for name in [name for name in sys.modules if name.startswith("regard_mirror")]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def model(regard, place):
    """Trained in two parts, the first in a process of its own."""
    words = ["train", "mirror", "words.txt", "--to", "mirror", *SMALL, "--steps"]
    subprocess.run([sys.executable, "-m", "regard", *map(str, words), str(STEPS // 2)], check=True)
    assert f"step {STEPS // 2}" in regard(*words, STEPS).stderr
    return place / "mirror"


def test_it_is_trained_and_resumed_bit_for_bit(regard, place, model):
    regard("train", "mirror", "words.txt", "--to", "whole", "--steps", STEPS, *SMALL)
    assert (place / "whole" / "model.safetensors").read_bytes() == (model / "model.safetensors").read_bytes()


def test_a_setting_of_its_own_is_recorded_checked_and_kept(regard, model):
    about, run = (json.loads((model / name).read_text()) for name in ("regard.json", "run/run.json"))
    assert about["settings"]["mirror"] == run["config"]["mirror"] == {"shortest": 2}
    assert about["data"]["words"] + about["data"]["held_out_words"] == 216  # of three letters; "x" is left out
    again = ("train", "mirror", "words.txt", "--to", "mirror", *SMALL, "--set")
    for given, words in (
        ("mirror.shortest=3", "mirror.shortest: 2 -> 3"),
        ("mirror.shortes=3", "there is no setting mirror.shortes; did you mean mirror.shortest?"),
        ("mirror.zzz=3", "known here: mirror.shortest"),
        ("mirror.shortest=0", "mirror.shortest=0 is not a whole number of at least 1"),
        ("model.hops=2", "model.hops=2 changes nothing for a model to mirror"),
        ("train.mask_rate=0.2", "train.mask_rate=0.2 changes nothing"),
    ):
        assert words in " ".join(regard(*again, given, code=1).stderr.split())
    assert "no setting mirror" in regard("train", "fill", "words.txt", "--to", "f", *SMALL, code=1).stderr


def test_the_command_line_knows_it(regard, model):
    assert "mirror" in regard("--help").stdout and "mirror" in regard("train", "--help").stdout
    said = json.loads(regard("mirror", model, "abc fed", "--json").stdout)
    assert said["text"] == "abc fed" and len(said["answer"].replace(" ", "")) == 6
    assert regard("mirror", model, text="abc\nfed\n").stdout.split() == said["answer"].split()
    lines = b"\xef\xbb\xbfabc\r\nf\red\xe2\x80\xa8\nab\xff\n\n"
    odd = regard("mirror", model, text=lines)
    assert odd.stdout_bytes.count(b"\n") == 4 and "line 3: byte 3 is not UTF-8" in odd.stderr
    scores = json.loads(regard("evaluate", model, "words.txt", "--json").stdout)
    assert scores["words"] == 217 and scores["accuracy"] > 0.5  # by chance it would be 1 in 216
    assert "mirror" in regard("info", model).stdout
    assert "a" in regard("look", model, "abc").stdout
    regard("look", model, "abc", "--to", "look.html")
    assert "regard-seen" in (model.parent / "look.html").read_text()  # it has no engine for a page, and is recorded
    told = regard("export", model, "--as", "page", "--to", "live.html", code=1).stderr
    assert "does not run in a page" in told and not (model.parent / "live.html").exists()


def test_importing_its_pipeline_imports_no_torch(regard):
    code = "import sys, regard_mirror.pipeline; print('torch' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"


def test_it_is_loaded_by_the_library(regard, model):
    opened = load(model)
    assert type(opened).__name__ == "Mirror" and len(opened("abc")) == 3


@pytest.fixture(scope="module")
def running(regard, model):
    server = RunningServer([model])
    yield server
    server.stop()


def test_it_is_served_and_described(running):
    (told,) = running.ask("/api/models")[1]
    assert told["task"] == "mirror" and "text" in told["fields"] and told["is_looked_into"]
    status, answer, _ = running.ask("/api/mirror", {"text": ["abc", "fed"]})
    assert status == 200 and [len(text) for text in answer["texts"]] == [3, 3]
    assert running.ask("/api/mirror", {"text": 5})[0] == 422
    fields = running.ask("/openapi.json")[1]["paths"]["/api/mirror"]["post"]["requestBody"]["content"]
    assert fields["application/json"]["schema"]["required"] == ["text"]
    status, seen, _ = running.ask("/api/look", {"text": "abc", "why": True})
    assert status == 200 and seen["task"] == "mirror" and seen["kinds"]["text"]
    assert running.ask("/api/translate", {"text": "abc", "model": told["id"]})[0] == 422


def test_its_page_works(running):
    with opened_browser() as browser:
        page = browser.new_page()
        page.goto(running.url)
        page.fill("textarea", "abc")
        page.wait_for_selector(".answer:not(:empty)")
        assert len(page.inner_text(".answer")) == 3
        page.click("[data-act='look']")
        page.wait_for_selector(".look .stage .token", timeout=90_000)  # torch is loaded first


def test_nothing_of_regard_mentions_it():
    for path in (ROOT / "regard").rglob("*"):
        if path.suffix in {".py", ".js", ".html"}:
            assert "mirror" not in path.read_text(encoding="utf-8").lower(), path
