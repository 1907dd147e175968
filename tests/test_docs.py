"""Commands in the documentation are understood, figures are the measured ones, links lead somewhere."""

import importlib.util
import inspect
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from test_words import PATTERN
from typer.main import get_command
from typer.testing import CliRunner

from regard.cli.commands import app

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TEXTS = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in PAGES}
README = TEXTS["README.md"]
MADE = {f"docs/reference/{name}.md" for name in ("api", "cli", "http", "model", "settings")}  # when the site is built
MADE |= {"docs/lessons.html", "docs/live.html"}
RESULTS = ROOT / "bench" / "results"


def commands(text: str) -> list[list[str]]:
    """The words after `regard` of every command line in a page."""
    lines = [
        line
        for block in re.findall(r"^```(?:bash)?\n(.*?)^```", text, re.S | re.M)
        for line in block.replace("\\\n", " ").splitlines()
    ]
    calls = re.findall(r"^(?:\$ )?(?:.*(?:\||-m) )?regard ((?:[a-z]).*)", "\n".join(lines), re.M)
    return [shlex.split(call.rstrip("'") if call.count("'") % 2 else call, comments=True) for call in calls]


def check_call(words: list[str]) -> None:
    """Raises if the words after `regard` are no call of a command: wrong options, missing arguments."""
    upto = next((place for place, word in enumerate(words) if word in {"|", "<", ">", "&&"}), len(words))
    command, given = get_command(app), words[:upto]
    while hasattr(command, "commands"):
        name, *given = given
        if name.startswith("-"):
            break
        assert name in command.list_commands(None), f"regard {' '.join(words)}"
        command = command.get_command(None, name)
    if "--help" not in given and not hasattr(command, "commands"):
        command.make_context(name, given).close()


@pytest.mark.parametrize("page", [name for name, text in TEXTS.items() if commands(text)])
def test_commands_of_every_page_are_understood(page):
    for words in commands(TEXTS[page]):
        check_call(words)


def all_commands(command, words=()):
    yield words, command
    for name in command.list_commands(None) if hasattr(command, "commands") else ():
        yield from all_commands(command.get_command(None, name), (*words, name))


@pytest.mark.parametrize("words", [words for words, _ in all_commands(get_command(app))], ids=" ".join)
def test_every_help_ends_with_examples_that_are_understood_and_is_in_the_words_of_the_field(words):
    help_text = CliRunner().invoke(app, [*words, "--help"], prog_name="regard").output
    examples = help_text.partition("\n  Example:\n")[2]
    calls = commands(f"```\n{inspect.cleandoc(examples)}\n```")
    assert calls and any(tuple(call[: len(words)]) == words for call in calls)
    for call in calls:
        check_call(call)
    assert PATTERN.findall(help_text) == []


@pytest.mark.parametrize("page", TEXTS)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", TEXTS[page]):
        target = (ROOT / page).parent / link
        assert target.exists() or str(target.resolve().relative_to(ROOT)) in MADE, link


def test_every_promise_names_a_test_that_exists():
    promised = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", TEXTS["docs/reference/promises.md"])
    assert len(promised) > 40
    for file, name in promised:
        assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8"), f"{file}::{name}"


def test_make_targets_in_the_readme_are_real():
    for target in set(re.findall(r"^make (\w+)|`make (\w+)`", README, re.M)):
        done = subprocess.run(["make", "-n", "".join(target)], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_the_readme_is_short():
    assert README.count("\n") <= 125
    assert len(README.encode()) <= 6500
    table = re.search(r"<!-- figures: readme -->\n(.*?)<!-- end -->", README, re.S)[1]
    assert max(len(cell) for cell in table.split("|")) <= 100


def test_figures_are_the_measured_ones():
    done = subprocess.run(
        [sys.executable, "bench/figures.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_every_measurement_names_its_machine_day_and_commit(path):
    results = json.loads(path.read_text(encoding="utf-8"))
    measured = [results] if "machine" in results else list(results.values())
    measured += [value for value in results.values() if isinstance(value, dict) and "machine" in value]
    for measurement in measured:
        assert measurement["machine"]["cpu"]
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", measurement["date"])
        assert re.fullmatch(r"[0-9a-f]{7,}", measurement["commit"])


def test_a_partial_run_of_a_bench_overwrites_only_what_it_measured(tmp_path, capsys):
    found = importlib.util.spec_from_file_location("measure", ROOT / "bench" / "measure.py")
    measure = importlib.util.module_from_spec(found)
    found.loader.exec_module(measure)
    to = tmp_path / "results.json"
    measure.record("one", {"speed": 1}, to)
    measure.record("two", {"speed": 2}, to)
    before = measure.read(to)
    measure.record("two", {"speed": 3}, to)
    assert measure.read(to)["one"] == before["one"]
    assert measure.read(to)["two"]["speed"] == 3
    measure.report({"speed": 4}, to)
    assert measure.read(to)["speed"] == 4
    assert measure.read(to)["one"] == before["one"]
