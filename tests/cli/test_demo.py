"""`regard demo`, the first thing a newcomer runs: the whole way of each family, only shorter."""

import shutil

import pytest
from conftest import SHORT, family_settings
from test_cli import run

from regard.cli import demo
from regard.config import merge
from regard.text.samples import standard_library

SHOWN = {
    "translate": ["held-out sentences", "exact match", "Hello, I love you.", "Attention on", "regard translate"],
    "write": ["bits per byte", "def read_", "regard write"],
    "fill": ["of the masked tokens", "The [MASK] reads the book.", "regard fill"],
    "answer": ["held-out questions", "What color is Greg?", "regard answer"],
}


@pytest.mark.parametrize("family", SHOWN)
def test_the_demo_trains_shows_and_leaves_a_page(family, tmp_path, monkeypatch):
    settings = {
        "translate": merge(SHORT, {"stop": {"steps": 20}}),
        "write": family_settings("write", 20),
        "fill": family_settings("fill", 20),
        "answer": family_settings("answer", 20),
    }
    monkeypatch.setattr(demo, family.upper(), settings[family])
    monkeypatch.setattr(demo, "standard_library", lambda: standard_library()[:40])
    monkeypatch.setattr(demo, "TRAIN", 500)
    monkeypatch.setattr(demo, "TEST", 20)
    code, out, err = run("demo", *([] if family == "translate" else [family]), "--to", tmp_path / "demo")
    assert code == 0, err
    assert "20 steps were asked for" in err
    places = [out.index(part) for part in SHOWN[family]]
    assert places == sorted(places)
    page = (tmp_path / "demo" / "look.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>") and str(tmp_path / "demo" / "look.html") in out


def test_a_model_of_the_users_own_is_not_replaced_by_a_demo(tmp_path, folder):
    shutil.copytree(folder, tmp_path / "answer")
    before = (tmp_path / "answer" / "model.safetensors").read_bytes()
    code, _, err = run("demo", "answer", "--to", tmp_path)
    assert code == 1 and "was trained on other text than this demo's; move it away, or choose another folder" in err
    assert (tmp_path / "answer" / "model.safetensors").read_bytes() == before


@pytest.mark.parametrize("leads_to", ["folder", "nowhere", "file"])
def test_a_demo_writes_nothing_through_a_link(leads_to, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / leads_to)
    code, _, err = run("demo", "classify", "--to", tmp_path / "link")
    assert code == 1 and "it is a link" in err
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "folder", "link"]
    assert (tmp_path / "file").read_text() == "mine"
