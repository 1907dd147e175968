"""The notebooks run from the first cell to the last, on trainings of a few steps."""

import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))
MINUTE, FEW = '"stop": {"minutes": 1}', '"stop": {"steps": 20}'
FEWER = {"20_000": "300", "induction(1000)": "induction(60)"}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_notebook_runs(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert sum(MINUTE in cell for cell in cells) == 1 and len(cells) >= 4
    names: dict = {}
    for number, cell in enumerate(cells):
        short = cell.replace(MINUTE, FEW)
        for many, few in FEWER.items():
            short = short.replace(many, few)
        exec(compile(short, f"{path.name}, cell {number}", "exec"), names)


def test_there_are_three_and_none_holds_outputs():
    assert [path.stem for path in NOTEBOOKS] == ["language_model", "memory_network", "translator"]
    for path in NOTEBOOKS:
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            assert cell.get("outputs", []) == [] and cell.get("execution_count") is None
