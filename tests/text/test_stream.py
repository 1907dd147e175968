"""A corpus is surveyed once and then comes in chunks: nothing held out is learned from, nothing is lost."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import CorpusError
from regard.text import running, stream
from regard.text.running import RunningExamples, TextFiles
from regard.text.stream import StreamedExamples, Thinned


def lines_of(texts, held_out=10, **options):
    return StreamedExamples(
        lambda: iter(texts), lambda t: t, lambda t: len(t.split()), lambda n: held_out, 1, **options
    )


def learned(examples):
    return [one for chunk in examples.chunks() for one in chunk]


@given(st.lists(st.text("abc", min_size=1, max_size=3), min_size=2, max_size=80).filter(lambda t: len(set(t)) > 1))
def test_each_text_is_learned_from_or_held_out_and_equal_ones_stay_together(texts):
    examples = lines_of(texts)
    list(examples.survey())
    train = learned(examples)
    assert set(train) | set(examples.valid) == set(texts) and not set(train) & set(examples.valid)
    assert train and examples.valid and examples.count == len(train)
    assert train == [text for text in texts if text not in set(examples.valid)]


def test_what_a_survey_found_is_restored_without_reading():
    texts = [f"text {number}" for number in range(500)]
    before = lines_of(texts)
    list(before.survey())
    after = lines_of(texts)
    after.restore(json.loads(json.dumps(before.state())))
    assert (after.count, after.words, after.valid) == (before.count, before.words, before.valid)
    assert learned(after) == learned(before)


def test_what_was_held_out_stays_so_once_the_sample_is_released():
    texts = [f"text {number}" for number in range(500)]
    examples = lines_of(texts)
    list(examples.survey())
    before, held, train = examples.state(), examples.valid, learned(examples)
    examples.release()
    assert examples.state() == before and examples.valid == held and learned(examples) == train
    assert not examples.sample
    assert not any(one is other for one, other in zip(examples.valid, held, strict=True))  # no part of the sample


def test_chunks_begin_where_they_are_asked_to(monkeypatch):
    monkeypatch.setattr(stream, "CHUNK", 7)
    examples = lines_of([f"text {number}" for number in range(50)])
    list(examples.survey())
    assert list(examples.chunks(3)) == list(examples.chunks())[3:]


def test_one_text_again_and_again_leaves_nothing_to_validate_on():
    with pytest.raises(CorpusError, match="only 1 distinct"):
        list(lines_of(["the same"] * 20).survey())


@given(st.integers(0, 300), st.integers(2, 12), st.lists(st.integers(1, 40), min_size=1))
def test_a_thinned_sample_is_evenly_spaced_and_depends_on_the_stream_alone(count, most, sizes):
    whole, parts = Thinned(most), Thinned(most)
    whole.add(list(range(count)))
    start = place = 0
    while start < count:
        parts.add(list(range(count))[start : start + sizes[place % len(sizes)]])
        start, place = start + sizes[place % len(sizes)], place + 1
    assert whole.kept == parts.kept and len(whole.kept) < 2 * most
    assert len({b - a for a, b in zip(whole.kept, whole.kept[1:], strict=False)}) <= 1


documents = st.text("ab \n", min_size=40, max_size=400).filter(lambda text: text.strip())


@given(st.lists(documents, min_size=1, max_size=3))
@settings(deadline=None)
def test_the_end_of_each_document_is_held_out_and_the_rest_learned_from(tmp_path_factory, texts):
    folder = tmp_path_factory.mktemp("texts")
    paths = []
    for number, text in enumerate(texts):
        paths.append(folder / f"{number}.txt")
        paths[-1].write_text(text)
    examples = RunningExamples(TextFiles.of(paths), seed=1)
    list(examples.survey())
    parts = "".join("\0" if line is None else line for chunk in examples.chunks() for line in chunk).split("\0")
    assert parts[0] == parts[-1] == ""
    assert [a + b for a, b in zip(parts[1:-1], examples.valid, strict=True)] == texts
    assert all(a and b and len(b) <= max(1, len(a + b) // 2) for a, b in zip(parts[1:-1], examples.valid, strict=True))


def test_of_many_documents_some_are_held_out_as_a_whole(tmp_path):
    for number in range(60):
        (tmp_path / f"{number}.txt").write_text(f"document {number}\n" * 3)
    examples = RunningExamples(TextFiles.of(tmp_path), seed=1)
    list(examples.survey())
    text = "".join(line or "" for chunk in examples.chunks() for line in chunk)
    assert len(examples.valid) == 3 and examples.count == 57
    assert all(valid not in text and valid.count("\n") == 3 for valid in examples.valid)


def test_a_sample_of_running_text_can_know_every_letter_of_it(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "SAMPLE", 10)
    (tmp_path / "a.txt").write_text("".join(f"line {number}\n" for number in range(500)) + "ß\n" + "more\n" * 50)
    with_letters, without = (RunningExamples(TextFiles.of(tmp_path), 1, [], with_letters=w) for w in (True, False))
    for examples in (with_letters, without):
        list(examples.survey())
    assert "ß" in "".join(with_letters.sample) and "ß" not in "".join(without.sample)


def test_an_error_names_its_file_once():
    with pytest.raises(CorpusError, match=r"^a\.txt: nothing here$"), running.named([Path("a.txt")]):
        raise CorpusError("nothing here")
    with pytest.raises(CorpusError, match=r"^b\.txt does not exist$"), running.named([Path("a.txt"), Path("b.txt")]):
        raise CorpusError("b.txt does not exist")
