"""What to expect of a run: intervals that hold on recorded runs, and a plan that leaves nothing behind."""

import importlib.util
import io
import json
import math
import sys
from pathlib import Path

import pytest
from conftest import SHORT
from rich.console import Console
from typer.testing import CliRunner

import regard
from regard.cli.commands import app
from regard.cli.report import Report
from regard.config import merge
from regard.training.forecast import ON_RECORD, forecast, score_at
from regard.training.loop import Validated

BENCH = Path(__file__).parents[2] / "bench"
CURVE = [(128, 3.0), (192, 5.0), (256, 11.0), (384, 20.0), (512, 24.0), (768, 28.0), (1024, 31.0)]


@pytest.fixture(scope="module")
def bench():
    """The script that fits the constants, as a module."""
    sys.path.insert(0, str(BENCH))
    try:
        spec = importlib.util.spec_from_file_location("bench_forecast", BENCH / "forecast.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(BENCH))


def test_the_truth_lies_inside_for_recorded_runs_that_were_left_out(bench):
    runs = bench.recorded()
    rows = {name: bench.leave_out(name, runs) for name in runs}
    found = bench.add_up(rows, "end")
    assert found["runs"] >= 12 and found["inside"] >= 0.75 * found["runs"] and found["median_width"] <= 4
    assert bench.add_up(rows, "half")["inside"] >= 0.75 * len(runs)


def test_the_constants_are_those_of_the_recorded_runs(bench):
    fitted, kept = bench.fit(list(bench.recorded().values())), ON_RECORD["bleu"]
    assert fitted.weights == pytest.approx(kept.weights, abs=0.01) and fitted.error == pytest.approx(
        kept.error, abs=0.01
    )
    assert fitted.known == kept.known


def test_an_interval_is_wider_the_further_it_looks_and_nothing_is_said_too_early():
    found = forecast("bleu", CURVE, 4000)
    assert list(found) == ["half", "end", "double"] and all(0 <= low < high <= 100 for low, high in found.values())
    widths = [high - low for low, high in found.values()]
    assert widths == sorted(widths)
    assert forecast("bleu", CURVE, 4100) == {}  # less than a quarter of it
    assert forecast("bleu", CURVE[:2], 400) == {}  # too few updates
    assert forecast("bleu", CURVE[-1:], 2000) == {}  # no slope
    assert forecast("accuracy", CURVE, 2000) == forecast("bleu", CURVE, math.inf) == forecast("bleu", [], 2000) == {}
    assert list(forecast("bleu", CURVE, 1500)) == ["end", "double"]  # its half is over
    assert ON_RECORD["bleu"].before(100) is None and ON_RECORD["bleu"].before(10**6) is None
    assert score_at(CURVE, 64) == 3 and score_at(CURVE, 9999) == 31 and 24 < score_at(CURVE, 700) < 28


def files_below(path):
    return sorted(one.relative_to(path).as_posix() for one in path.rglob("*"))


def test_a_plan_is_that_of_the_training_and_leaves_nothing_behind(tmp_path, pairs, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tmp").mkdir()
    settings = merge(SHORT, {"stop": {"steps": 300}, "workers": 1})
    before = files_below(pairs["source"].parent)
    plan = regard.plan("translate", settings=settings, **pairs)
    assert [one.name for one in tmp_path.iterdir()] == ["tmp"] and files_below(pairs["source"].parent) == before
    assert not list((tmp_path / "tmp").glob("regard-plan-*"))
    events = regard.training("translate", to=tmp_path / "m", settings=settings, **pairs)
    trained = next(event for event in events if isinstance(event, regard.Plan))
    events.close()
    assert (plan.config, plan.weights, plan.examples) == (trained.config, trained.weights, trained.examples)
    assert plan.on_record is None  # 285 pairs do not reach what 29,000 do
    monkeypatch.setattr(sys.modules["regard.training.plan"], "FEWEST", 0)
    low, high = plan.on_record
    assert low < high and json.loads(json.dumps(plan.facts))["on_record"] == [low, high]
    shown = io.StringIO()
    report = Report(Console(file=shown))
    report.show(plan)
    for step, score in CURVE:
        report.show(Validated(step, {"bleu": score}))
    assert shown.getvalue().count("Expect a validation bleu of") == 1 and "double the time" in shown.getvalue()


def test_the_command_prints_the_plan_of_any_family(pairs, family_files):
    def run(*words):
        small = [f"--set={name}" for name in ("model.width=32", "model.heads=4", "threads=1", "workers=1")]
        return CliRunner().invoke(app, ["plan", *map(str, words), "--steps", "3", *small])

    found = run("translate", pairs["source"], pairs["target"], "--json")
    facts = json.loads(found.stdout)
    assert facts["examples"] == 285 and facts["held_out"] == 15 and not facts["can_learn"] and facts["vocabulary"] > 100
    assert facts["on_record"] is None and facts["updates"] == 3 and facts["config"]["model"]["width"] == 32
    found = run("write", family_files["write"]["text"])
    assert found.exit_code == 0 and "to learn from" in found.stdout and "expect little below" in found.stdout
    assert run("translate", pairs["source"]).exit_code == 1
    assert "No such option" in run("translate", pairs["source"], pairs["target"], "--to", "x").stderr
