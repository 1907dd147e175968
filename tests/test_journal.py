"""What a run writes down can be read while it is written, and from any step on."""

import json
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from regard.run.journal import METRICS, Journal, read_after, read_entries


@given(st.lists(st.integers(0, 9), max_size=12).map(sorted), st.integers(-1, 9), st.integers(0, 30))
def test_later_steps_are_read_whole_whatever_is_cut_short(steps, after, cut):
    entries = [{"step": step, "loss": number / 8} for number, step in enumerate(steps)]
    lines = [json.dumps(entry) for entry in entries]
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / METRICS
        path.write_text("".join(f"{line}\n" for line in lines) + '{"step": 9, "loss": 0.5, "rate": 1}'[:cut])
        assert read_after(path, after) == [entry for entry in entries if entry["step"] > after]
        Journal(Path(place)).go_on_from(after)
        assert [entry for _, entry in read_entries(path)] == [entry for entry in entries if entry["step"] <= after]
        assert path.read_text().count("\n") == sum(step <= after for step in steps)
