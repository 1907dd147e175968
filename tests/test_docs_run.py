"""What the documentation shows really runs: Python of every page, the tutorial from top to bottom, the site."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

import regard

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TEXTS = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in PAGES}
TUTORIAL = TEXTS["docs/tutorial.md"]
READ_ONLY = {"docs/guides/huggingface.md", "docs/tutorial.md"}  # needs models of others; has a test of its own


def python_blocks(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", text, re.S | re.M)


@pytest.mark.parametrize("page", [name for name, text in TEXTS.items() if python_blocks(text)])
def test_python_of_every_page_runs(
    page, folder, writer_folder, filler_folder, answerer_folder, classifier_folder, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    places = {"de-en": folder, "demo/en-fr": folder, "python": writer_folder, "captions": filler_folder,
              "tales": answerer_folder, "reviews": classifier_folder}  # fmt: skip
    names = {"regard": regard, "translator": regard.load(folder)}
    text = TEXTS[page]
    for name, place in places.items():
        text = text.replace(f'"models/{name}"', f'"{place}"')
    for block in python_blocks(text):
        code = compile(block, page, "exec")
        if page not in READ_ONLY:
            exec(code, names)
    assert page in READ_ONLY or page.endswith("look.md") or capsys.readouterr().out.strip()


def test_the_tutorial_works_from_top_to_bottom(tmp_path, monkeypatch):
    """Each block in its order, with less text and a smaller model."""
    monkeypatch.chdir(tmp_path)
    text = TUTORIAL.replace("20000", "300").replace("--steps 1500", "--steps 60 --set model.width=32 --set threads=1")
    names = {}
    for language, block in re.findall(r"^```(python)?\n(.*?)^```", text, re.S | re.M):
        if language:
            exec(compile(block, "tutorial.md", "exec"), names)
        elif "regard serve" in block:
            server = subprocess.Popen(
                [sys.executable, "-m", *shlex.split(block), "--port", "0"], stderr=subprocess.PIPE, text=True
            )
        elif "curl" in block:
            try:
                address = next(found[0] for line in server.stderr if (found := re.search(r"http://\S+", line)))
                body = re.search(r"-d '(.*)'", block)[1].encode()
                asked = Request(f"{address}/translate", body, {"Content-Type": "application/json"})
                assert json.load(urlopen(asked, timeout=60))["translatedText"]
            finally:
                server.terminate()
                assert server.wait(60) == 0
                server.stderr.close()
        else:
            run = re.sub(r"^(.*\| )?regard ", rf"\1{shlex.quote(sys.executable)} -m regard ", block, flags=re.M)
            subprocess.run(["bash", "-euo", "pipefail", "-c", run], check=True, stdout=subprocess.DEVNULL)
    assert (tmp_path / "look.html").stat().st_size > 10_000


def test_the_site_is_built_strictly_and_loads_nothing_from_elsewhere(
    tmp_path, folder, writer_folder, filler_folder, answerer_folder
):
    for name in ("mkdocs", "material", "mkdocstrings"):
        pytest.importorskip(name, reason=f"{name} is not installed; pip install regard[docs]")
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    named = {"translate": folder, "write": writer_folder, "fill": filler_folder, "answer": answerer_folder}
    for name, model in named.items():
        shutil.copytree(model, tmp_path / "models" / name)
    known = os.environ | {"REGARD_COURSE": str(tmp_path / "models")}  # the site trains its own where there are none
    done = subprocess.run(words, cwd=ROOT, env=known, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    pages = {path: path.read_text(encoding="utf-8") for path in (tmp_path / "site").rglob("*.html")}
    wanted = "api cli settings http tutorial lessons live"
    assert {path.stem for path in pages} >= set(wanted.split())
    for path, text in pages.items():
        assert not re.search(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=\"?https?:", text), path
