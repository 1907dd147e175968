"""What the documentation shows really runs."""

import re
import subprocess
from pathlib import Path

import pytest
from pydantic import BaseModel

import regard
from regard.config import RunConfig

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", README, re.S))
def test_python_in_the_readme_runs(block, folder, writer_folder, filler_folder, answerer_folder, capsys):
    places = {"de-en": folder, "python": writer_folder, "captions": filler_folder, "tales": answerer_folder}
    for name, place in places.items():
        block = block.replace(f"models/{name}", str(place))
    exec(compile(block, "README.md", "exec"), {"regard": regard})
    assert capsys.readouterr().out.strip()


def test_commands_in_the_readme_exist():
    from typer.testing import CliRunner

    from regard.cli.commands import app

    names = set(re.findall(r"^(?:regard|\$ regard) (\w+)", README, re.M))
    assert {"train", "translate", "write", "fill", "answer", "evaluate", "look", "info"} <= names
    for name in names:
        assert CliRunner().invoke(app, [name, "--help"]).exit_code == 0, name


def test_files_the_readme_shows_are_there():
    for name in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / name).exists(), name


def test_make_targets_in_the_readme_are_real():
    for target in set(re.findall(r"^make (\w+)", README, re.M)):
        done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_all_settings_are_told_with_their_defaults():
    told = (ROOT / "docs" / "settings.md").read_text()
    rows = {name: value.strip() for name, value in re.findall(r"^\| `([\w.]+)` \| ([^|]*)\|", told, re.M)}
    expected = {}
    for name, field in RunConfig.model_fields.items():
        if isinstance(field.default, BaseModel):
            expected |= {f"{name}.{key}": shown(one.default) for key, one in type(field.default).model_fields.items()}
        elif name != "task":
            expected[name] = shown(field.default)
    assert rows == expected


def shown(value):
    return "" if value is None else ("no", "yes")[value] if isinstance(value, bool) else str(value)
