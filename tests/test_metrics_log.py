"""What a run writes down can be read while it is written, and from any step on."""

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.training.log import (
    METRICS,
    MOST_MOMENTS,
    SNAPSHOTS,
    MetricsLog,
    read_after,
    read_both_ends,
    read_entries,
    read_history,
)


@given(st.lists(st.integers(0, 9), max_size=12).map(sorted), st.integers(-1, 9), st.integers(0, 30))
def test_later_steps_are_read_whole_whatever_is_cut_short(steps, after, cut):
    entries = [{"step": step, "loss": number / 8} for number, step in enumerate(steps)]
    lines = [json.dumps(entry) for entry in entries]
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / METRICS
        path.write_text("".join(f"{line}\n" for line in lines) + '{"step": 9, "loss": 0.5, "learning_rate": 1}'[:cut])
        assert read_after(path, after, 99) == [entry for entry in entries if entry["step"] > after]
        MetricsLog(Path(place)).resume_from(after)
        assert [entry for _, entry in read_entries(path)] == [entry for entry in entries if entry["step"] <= after]
        assert path.read_text().count("\n") == sum(step <= after for step in steps)


@given(st.lists(st.integers(0, 300_000), min_size=1, max_size=12), st.integers(1, 12), st.integers(0, 600_000))
@settings(max_examples=30)
def test_the_newest_entries_are_read_from_the_end_up_to_a_limit(lengths, most, most_bytes):
    entries = [{"step": step, "text": "x" * length} for step, length in enumerate(lengths)]
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / SNAPSHOTS
        path.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries))
        found = read_after(path, -1, most, most_bytes)
        assert found == entries[len(entries) - len(found) :] and len(found) <= most
        assert len(found) == min(most, len(entries)) or len(json.dumps(entries[-1 - len(found)])) + sum(
            len(json.dumps(entry)) + 1 for entry in found
        ) >= most_bytes - 1  # fmt: skip
        assert read_after(path, -1, most) == entries[-most:]


def test_no_more_than_the_end_of_a_long_file_is_read(tmp_path):
    path = tmp_path / METRICS
    path.write_bytes(b'{"step": 1}\n' + b"x" * 2**20 + b'\n{"step": 2}\n{"step": 3}\n')
    assert [entry["step"] for entry in read_after(path, 0, 9)] == [1, 2, 3]
    assert [entry["step"] for entry in read_after(path, 0, 9, most_bytes=2**16)] == [2, 3]


def test_of_a_long_file_both_ends_are_read_and_nothing_twice(tmp_path):
    path = tmp_path / SNAPSHOTS
    path.write_text("".join(f'{{"step": {step}, "text": "{"x" * 100}"}}\n' for step in range(100)))
    ends = [entry["step"] for entry in read_both_ends(path, 99, most_bytes=4096)]
    assert ends[:3] == [0, 1, 2] and ends[-1] == 99 and ends == sorted(set(ends)) and len(ends) < 60
    assert len(read_both_ends(path, 999)) == 100
    path.write_text("")
    assert read_both_ends(path, 9) == []


def test_a_number_that_json_cannot_hold_is_read_as_none(tmp_path):
    (tmp_path / METRICS).write_text('{"step": 1, "loss": NaN, "learning_rate": 1e999}\n')
    assert read_after(tmp_path / METRICS, 0, 9) == [{"step": 1, "loss": None, "learning_rate": None}]


def test_of_a_long_run_a_page_holds_a_few_moments_early_ones_closer_together(tmp_path):
    assert read_history(tmp_path) is None
    log = MetricsLog(tmp_path)
    for step in range(0, 2000, 2):
        log.note({"step": step, "loss": 1.0, "learning_rate": 0.1})
        log.note_snapshot(step, [("a", "b", "c")], [])
    log.note({"step": 1998, "bleu": 3.0})
    found = read_history(tmp_path)
    steps = [one["step"] for one in found["snapshots"]]
    assert len(steps) <= MOST_MOMENTS and steps[:3] == [0, 2, 4] and steps[-1] == 1998
    assert steps == sorted(set(steps)) and steps[-1] - steps[-2] > 100
    assert found["events"][-1] == {"step": 1998, "bleu": 3.0} and len(found["events"]) < 400
    (tmp_path / SNAPSHOTS).write_text("no json\n")
    assert read_history(tmp_path) is None


STRANGE = [
    '{"step": -5}', '{"step": true}', '{"step": 9007199254740993}', '{"step": 1' + "0" * 400 + "}", '{"step": 1.5}',
    '{"step": 4, "text": "\\ud800"}', '{"step": 1, "loss": NaN}', '{"step": 1, "loss": 1e999}', '{"step": "x"}', "[1]",
]  # fmt: skip


@pytest.mark.parametrize("line", STRANGE)
def test_a_strangers_log_makes_a_history_that_can_be_written_or_none(line, tmp_path):
    for name in (METRICS, SNAPSHOTS):
        (tmp_path / name).write_text(f'{{"step": 0, "loss": 1}}\n{line}\n' * 400 + '{"step": 0}\n')
    found = json.dumps(read_history(tmp_path), ensure_ascii=False, allow_nan=False).encode()
    assert json.loads(found)["events"]
