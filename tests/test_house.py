"""The architecture is as drawn: which room imports which, what is public, what the README says is there."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import regard

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "regard"
FUNCTIONS, IMPORTS = (ast.FunctionDef, ast.AsyncFunctionDef), (ast.Import, ast.ImportFrom)

# A room imports from earlier lines only, never from another room on its own line; imports for types alone count too.
STOREYS = [
    {"errors"},
    {"machine", "files"},
    {"cache", "install"},
    {"config", "device"},
    {"text", "decoding"},
    {"data", "model"},
    {"formats"},
    {"folder"},
    {"alignment"},
    {"engines"},
    {"look"},
    {"training"},
    {"families"},
    {"load"},
    {"compare"},
    {"train", "convert"},
    {"distill", "course"},
    {"serve"},
    {"cli"},
]
LEVEL = {room: level for level, rooms in enumerate(STOREYS) for room in rooms}
TORCHLESS = {
    "errors",
    "machine",
    "files",
    "cache",
    "install",
    "config",
    "text",
    "folder",
    "load",
    "train",
    "distill",
    "course",
    "serve",
    "cli",
}
TORCHLESS_FILES = {"pipeline.py", "surface.py", "settings.py"}
MOST_INSIDE = 57  # imports inside functions: each for torch, for an optional package or for start-up time


def files():
    return sorted(PACKAGE.rglob("*.py"))


def room(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path: Path, *, top_only: bool = False):
    for node in parsed(path).body if top_only else ast.walk(parsed(path)):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_every_room_has_its_storey():
    rooms = {room(path) for path in files()} - {"__init__", "__main__"}
    assert rooms == set(LEVEL)


def test_rooms_import_downwards_only():
    for path in files():
        here = room(path)
        for parts in (module.split(".") for module in imports(path) if here in LEVEL):
            if parts[0] == "regard" and len(parts) > 1 and (there := parts[1]) != here:
                assert LEVEL[there] < LEVEL[here], f"{path}: {here} must not import {there}"


def test_rooms_on_the_way_to_a_fast_engine_do_not_import_torch_at_the_top():
    for path in files():
        if (room(path) in TORCHLESS and path.name != "report.py") or path.name in TORCHLESS_FILES:
            packages = {module.split(".")[0] for module in imports(path, top_only=True)}
            assert not packages & {"torch", "safetensors"}, path


def test_opening_a_model_imports_nothing_of_training(folder):
    code = (
        "import sys, regard; regard.load(sys.argv[1])('A dog.');"
        "print([name for name in sys.modules if name.startswith('regard.training.') or name.endswith('.recipe')])"
    )
    found = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_imports_inside_functions_do_not_grow():
    found = 0
    for path in files():
        functions = [node for node in ast.walk(parsed(path)) if isinstance(node, FUNCTIONS)]
        found += len({id(node) for one in functions for node in ast.walk(one) if isinstance(node, IMPORTS)})
    assert found <= MOST_INSIDE


def test_there_is_no_place_for_odds_and_ends():
    names = {part for path in files() for part in path.relative_to(PACKAGE).with_suffix("").parts}
    assert not names & {"utils", "util", "helpers", "helper", "common", "base", "constants", "misc"}


def test_files_and_functions_stay_readable():
    for path in files():
        assert path.read_text(encoding="utf-8").count("\n") <= 340, f"{path}: two duties?"
        for node in ast.walk(parsed(path)):
            if isinstance(node, FUNCTIONS):
                assert node.end_lineno - node.lineno <= 60, f"{path}: {node.name}"


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


def test_the_rooms_in_the_readme_are_the_rooms():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(r"## Architecture\n.*?```\n(.*?)```", readme, re.S).group(1)
    named = {
        word.strip("/").removesuffix(".py")
        for word in re.findall(r"^  ((?:\S+ ?)+)", block, re.M)
        for word in word.split()
    }
    assert named == set(LEVEL)


def test_every_file_says_what_it_is_for():
    silent = [path for path in files() if len(ast.get_docstring(parsed(path)) or "") <= 10]
    assert not [path for path in silent if path.name != "__main__.py"]


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


FAMILY_NAMES = {"translate", "write", "fill", "answer", "classify", "encode", "decode"}


def names_of(node: ast.AST) -> set[str]:
    """The families whose names stand in an expression as literals."""
    return {one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)} & (
        FAMILY_NAMES
    )


def test_nothing_outside_the_families_decides_by_a_familys_name():
    others = [path for path in files() if room(path) != "families"]
    for path, node in ((one, node) for one in others for node in ast.walk(parsed(one))):
        match node:
            case ast.Compare() | ast.MatchValue() | ast.Call(func=ast.Attribute(attr="get" | "pop" | "find" | "of")):
                assert not names_of(node), f"{path}: {ast.unparse(node)}"
            case ast.Subscript():
                assert not names_of(node.slice), f"{path}: {ast.unparse(node)}"
            case ast.Dict():
                keys = {name for key in node.keys if key is not None for name in names_of(key)}
                assert len(keys) < 2, f"{path}: {ast.unparse(node)}"  # a table by family


def test_no_script_of_the_pages_decides_by_a_familys_name():
    name = f"(?:{'|'.join(FAMILY_NAMES)})"
    decides = re.compile(
        rf"""[=!]==?\s*["']{name}["'] | ["']{name}["']\s*[=!]==? | case\s+["']{name}["'] | \[["']{name}["']\]
             | includes\(["']{name}["']\) | panels\.{name}\b | \{{[^{{}}]*\b{name}:[^{{}}]*\b{name}:""",
        re.X,
    )
    for path in (*(PACKAGE / "look").rglob("*.js"), *(PACKAGE / "serve").rglob("*.js")):
        assert not decides.findall(path.read_text(encoding="utf-8")), path
