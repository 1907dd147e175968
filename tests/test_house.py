"""The house stands as it was drawn: who imports whom, what is public, what the README says is there."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import regard

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "regard"

# A room may import from rooms on earlier lines, and from its own line only where it is the same room.
STOREYS = [
    {"errors"},
    {"cache", "config", "device", "files", "machine", "text", "generate"},
    {"data", "model"},
    {"trainer", "look", "engine", "interop", "install"},
    {"folder"},
    {"use"},
    {"tasks"},
    {"run"},
    {"serve"},
    {"cli"},
]
LEVEL = {room: level for level, rooms in enumerate(STOREYS) for room in rooms}
FORBIDDEN = {("model", "trainer"), ("generate", "model")}
TORCHLESS = {
    "text",
    "errors",
    "cache",
    "config",
    "files",
    "machine",
    "folder",
    "install",
    "use",
    "tasks",
    "run",
    "serve",
    "cli",
}


def files():
    return sorted(PACKAGE.rglob("*.py"))


def room(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imports(path: Path, *, top_only: bool = False):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    body = tree.body if top_only else list(ast.walk(tree))
    for node in body:
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_every_room_has_its_storey():
    rooms = {room(path) for path in files()} - {"__init__", "__main__"}
    assert rooms == set(LEVEL)


@pytest.mark.parametrize("path", files(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_rooms_import_downwards_only(path):
    here = room(path)
    if here in {"__init__", "__main__"}:
        return
    for module in imports(path):
        parts = module.split(".")
        if parts[0] != "regard" or len(parts) == 1:
            continue
        there = parts[1]
        assert there == here or LEVEL[there] <= LEVEL[here], f"{here} must not import {there}"
        assert (here, there) not in FORBIDDEN


@pytest.mark.parametrize("path", files(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_rooms_on_the_way_to_a_fast_engine_do_not_import_torch_at_the_top(path):
    if room(path) in TORCHLESS and path.name not in {"report.py", "crew.py", "plan.py", "session.py"}:
        assert not any(module.split(".")[0] in {"torch", "safetensors"} for module in imports(path, top_only=True))


def test_there_is_no_place_for_odds_and_ends():
    names = {part for path in files() for part in path.relative_to(PACKAGE).with_suffix("").parts}
    assert not names & {"utils", "util", "helpers", "helper", "common", "base", "constants", "misc"}


@pytest.mark.parametrize("path", files(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_files_and_functions_stay_readable(path):
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 340, "two duties?"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            assert node.end_lineno - node.lineno <= 60, node.name


def test_public_names_are_sorted_there_and_documented():
    assert regard.__all__ == sorted(regard.__all__)
    for name in regard.__all__:
        assert getattr(regard, name).__doc__, name
    with pytest.raises(AttributeError):
        _ = regard.nonsense


def test_importing_the_package_imports_nothing_heavy():
    heavy = {"torch", "tokenizers", "pydantic", "rich", "typer", "sacrebleu"}
    code = f"import regard, sys; assert not {heavy} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_file_map_in_the_readme_is_the_house():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(r"## File map\n+```\n(.*?)```", readme, re.S).group(1)
    mapped, folder = set(), ""
    for line in block.splitlines():
        name = line.strip().split()[0] if line.strip() else ""
        if line.startswith("  ") and not line.startswith("    ") and name.endswith("/"):
            folder = name
        elif name.endswith(".py"):
            mapped.add((folder if line.startswith("    ") else "") + name)
    there = {str(p.relative_to(PACKAGE)) for p in files() if p.name != "__init__.py"} | {"__init__.py"}
    assert mapped == there


def test_no_project_file_tells_of_a_machine():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    for name in tracked:
        path = ROOT / name
        if (
            path.suffix in {".py", ".md", ".toml", ".txt", ".json", ""}
            and path.is_file()
            and name != "tests/test_house.py"
        ):
            assert not re.search(r"(^|[\s\"'=])/(root|home|work)/", path.read_text(encoding="utf-8")), name
