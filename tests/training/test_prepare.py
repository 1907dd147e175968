"""Preparing text: stopped anywhere it resumes and ends with the same bytes; a resumed run does not read it again."""

import gzip
import os
import sys

import pytest
from conftest import family_settings

import regard
from regard.text import stream

OPENED: list[str] = []


def note_opened(event, given):
    if event == "open" and isinstance(given[0], str | os.PathLike):
        OPENED.append(os.fspath(given[0]))


sys.addaudithook(note_opened)


def stored(run):
    return {path.name: path.read_bytes() for path in sorted(run.glob("tokens.*"))}


def train(to, files, steps=2):
    return list(regard.training("translate", to=to, settings=family_settings("translate", steps), **files))


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(stream, "CHUNK", 100)


@pytest.mark.parametrize("chunks", [1, 2])
def test_encoding_that_was_stopped_continues_and_ends_with_the_same_bytes(tmp_path, family_files, small_chunks, chunks):
    files = family_files["translate"]
    train(tmp_path / "whole", files)
    events = regard.training("translate", to=tmp_path / "cut", settings=family_settings("translate", 2), **files)
    for event in events:
        if isinstance(event, regard.Preparing) and event.stage == "encoding the text":
            chunks -= 1
            if not chunks:
                events.close()
                break
    begun = stored(tmp_path / "cut" / "run")
    assert begun["tokens.pairs.flat.bin"] != stored(tmp_path / "whole" / "run")["tokens.pairs.flat.bin"]
    resumed = train(tmp_path / "cut", files)
    assert stored(tmp_path / "cut" / "run") == stored(tmp_path / "whole" / "run")
    stages = {event.stage for event in resumed if isinstance(event, regard.Preparing)}
    assert stages == {"encoding the text"}
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "cut")]
    assert weights[0] == weights[1]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts what a process reads")
def test_every_stage_that_takes_long_says_how_long_it_will_take(tmp_path, family_files, small_chunks):
    events = [
        event for event in train(tmp_path / "m", family_files["translate"]) if isinstance(event, regard.Preparing)
    ]
    for stage in ("reading the text", "encoding the text"):
        left = [event.left for event in events if event.stage == stage]
        assert len(left) > 2 and all(one is not None and one >= 0 for one in left), stage


def test_a_run_is_resumed_without_reading_its_text(tmp_path, family_files):
    files = family_files["translate"]
    train(tmp_path / "m", files)
    OPENED.clear()
    train(tmp_path / "m", files, steps=4)
    assert OPENED and not {str(path) for path in files.values()} & set(OPENED)


def test_a_file_that_was_touched_is_hashed_and_a_changed_one_refused(tmp_path, family_files):
    source, target = (family_files["translate"][side].read_bytes() for side in ("source", "target"))
    files = {"source": tmp_path / "a.en", "target": tmp_path / "a.fr"}
    files["source"].write_bytes(source)
    files["target"].write_bytes(target)
    train(tmp_path / "m", files)
    os.utime(files["source"], (1, 1))
    OPENED.clear()
    train(tmp_path / "m", files, steps=4)
    assert str(files["source"]) in OPENED
    files["source"].write_bytes(source.replace(b"a", b"o", 1))
    with pytest.raises(regard.RunError, match=r"source: a\.en was changed"):
        train(tmp_path / "m", files, steps=6)
    packed = tmp_path / "a.en.gz"
    packed.write_bytes(gzip.compress(source))
    train(tmp_path / "m", files | {"source": packed}, steps=6)


def test_a_survey_that_is_gone_is_made_again(tmp_path, family_files):
    files = family_files["translate"]
    train(tmp_path / "m", files)
    (tmp_path / "m" / "run" / "survey.json").unlink()
    events = train(tmp_path / "m", files, steps=4)
    assert isinstance(events[0], regard.Preparing) and isinstance(events[-1], regard.Finished)
