"""Folders that are replaced, removed or cut short under a server: the model that was opened, or a clear error."""

import shutil

import pytest
from server import Server

WRITE = {"model": "tales", "prompt": "The old", "max_tokens": 20, "temperature": 1.0, "seed": 7}
TRANSLATE = {"model": "en-fr", "text": "The old dog sleeps in the garden."}


def put_another(folder, other):
    """As a training does: another model is in its place at once."""
    shutil.move(folder, folder.with_suffix(".old"))
    shutil.copytree(other, folder)


def remove(folder, other):
    shutil.rmtree(folder)


def cut_short(folder, other):
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("r+b") as file:
                file.truncate(path.stat().st_size // 2)


@pytest.mark.parametrize("change", [put_another, remove, cut_short])
def test_what_is_served_is_the_model_that_was_opened_or_an_error_in_words(folders, tmp_path, change):
    mine = [tmp_path / "en-fr", tmp_path / "tales"]
    other = tmp_path / "other"
    for folder, copy in zip(folders, mine, strict=False):
        shutil.copytree(folder, copy)
    shutil.copytree(folders[1], other)
    (other / "tokenizer.json").write_text("{}")  # nothing of it may be read
    server = Server(mine)
    try:
        translated, written = server.ask("/api/translate", TRANSLATE)[1], server.ask("/v1/completions", WRITE)[1]
        change(mine[0], other)
        change(mine[1], other)
        assert server.ask("/api/translate", TRANSLATE)[1] == translated
        status, told, _ = server.ask("/v1/completions", WRITE)
        if change is cut_short:
            assert status == 503 and "was changed since it was opened" in told["error"]["message"]
        else:
            assert told["choices"] == written["choices"]
        for fields in (TRANSLATE, {"model": "tales", "text": "The old"}):
            status, told, _ = server.ask("/api/look", fields)
            is_same = status == 200 and told["answer"] in {"", translated["translations"][0]["text"]}
            assert is_same or (status == 503 and str(tmp_path) in told["error"])
        assert server.ask("/health")[0] == 200
    finally:
        assert server.stop() == 0
    assert "Traceback" not in "".join(server.log)
