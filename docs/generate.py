"""Pages that are made from the code whenever the site is built: the reference, the course, and a model in a page.

mkdocs calls `on_files` (mkdocs.yml, hooks); nothing of this is written into the repository, so it cannot get stale.
"""

import ast
import os
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from pydantic import BaseModel

import regard
from regard import config as settings_module
from regard.config import RunConfig, merge, resolve
from regard.convert import make_page
from regard.course.lessons import read_lessons
from regard.course.models import find_models, missing_models
from regard.course.page import make_course
from regard.families import FAMILIES, find_recipe


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the generated pages."""
    pages = {"cli": commands, "settings": settings, "api": names, "model": parts, "http": routes}
    for name, page in pages.items():
        files.append(File.generated(config, f"reference/{name}.md", content="\n".join(page()) + "\n"))
    for name, content in live().items():
        files.append(File.generated(config, name, content=content))
    return files


def live() -> dict[str, str]:
    """The course, and a translator in a page; its models are trained when the site is built for the first time.

    REGARD_COURSE: a folder that has them already, as `models/course` of `regard learn --prepare`.
    """
    place = Path(os.environ.get("REGARD_COURSE", "build/course"))
    for family, folder, texts, settings in missing_models(place):
        short = merge(settings, {"stop": {"minutes": 1.5}, "workers": 1})
        regard.train(family, to=folder, settings=short, **texts)
    models = find_models(place)
    given = {"text": "The old dog drinks the water in the garden."}
    shown = make_page(regard.load(place / "translate", engine="torch"), "a small translator", given=given)
    return {"lessons.html": make_course(models, read_lessons()), "live.html": shown}


def commands() -> Iterator[str]:
    """Each command with its help, word for word."""
    from typer.main import get_command
    from typer.testing import CliRunner

    from regard.cli.commands import app

    os.environ["COLUMNS"] = "100"
    yield "# Commands\n\nData goes to stdout, everything else to stderr. Exit codes: 0 done, 1 an error in one line "
    yield "(`Error: …`), 2 wrong usage, 130 interrupted; `--debug` shows tracebacks.\n"

    def walk(words: list[str], command: Any) -> Iterator[str]:
        help_text = CliRunner().invoke(app, [*words, "--help"], prog_name="regard").output
        yield f"## {' '.join(['regard', *words])}\n\n```text\n{help_text.strip()}\n```\n"
        names = command.list_commands(None) if hasattr(command, "commands") else []
        for name, inner in ((name, command.get_command(None, name)) for name in names):
            yield from walk([*words, name], inner)

    yield from walk([], get_command(app))


def settings() -> Iterator[str]:
    """Every setting with the values that a run of each family takes."""
    families = [family.name for family in FAMILIES.values() if family.recipe]
    rows = {one: getattr(import_module(f"regard.families.{one}.settings"), "ROWS", []) for one in families}
    runs: dict[str, RunConfig] = {}
    for family in families:
        recipe = find_recipe(family)
        kind = next(iter(recipe.kinds))
        by_text = rows[family][0].settings if rows[family] else {}
        chosen = merge(merge(recipe.kinds[kind], recipe.sizes["tiny"]), by_text)
        by_length = {"decay_steps": 2**30} if chosen.get("train", {}).get("schedule") == "linear" else {}
        run = resolve(merge(chosen, {"task": family, "model": {"kind": kind}, "train": by_length}))
        runs[family] = run.model_copy(update={"train": run.train.model_copy(update=dict.fromkeys(by_length))})
    yield "# Settings\n\nEach can be given as `--set section.key=value`, in a TOML file (`--config run.toml`, sections "
    yield 'as tables), or to `regard.train(settings={"section": {"key": value}})`. The columns are what a run of each '
    yield "family takes at size tiny with little text; – is a setting it does not have and refuses, an empty cell "
    yield "follows from the text or the machine, and what a run took is in `regard.json` under `settings`. An unknown "
    yield "name is an error that names the nearest one. A family of your own can bring a section of its own "
    yield "([how](../guides/family.md#settings-of-its-own)).\n"
    yield from _settings_table("The run", RunConfig, runs, "")
    for section, field in RunConfig.model_fields.items():
        if isinstance(field.default, BaseModel):
            inner = {family: getattr(run, section) for family, run in runs.items()}
            yield from _settings_table(section, type(field.default), inner, f"{section}.")
    yield "\n## By size\n\n| family | size | settings |\n|---|---|---|"
    for family in families:
        for size, values in find_recipe(family).sizes.items():
            yield f"| {family} | {size} | {_listed(values)} |"
    yield "\n## By the text\n\n| family | running words below | size | settings |\n|---|---|---|---|"
    for family in families:
        for row in rows[family]:
            yield f"| {family} | {row.below:,.0f} | {row.size} | {_listed(row.settings)} |"


def _settings_table(title: str, kind: type[BaseModel], values: dict[str, Any], prefix: str) -> Iterator[str]:
    yield f"\n## {title}\n\n| setting | {' | '.join(values)} | |\n|---|{'---|' * (len(values) + 1)}"
    notes = _comments(kind.__name__)
    used = {family: frozenset[str]().union(*find_recipe(family).uses.values()) for family in values}
    every = frozenset[str]().union(*used.values())
    for name, field in kind.model_fields.items():
        if isinstance(field.default, BaseModel) or (not prefix and name == "task"):
            continue
        cells = " | ".join(
            "–" if f"{prefix}{name}" in every - used[family] else _shown(getattr(value, name))
            for family, value in values.items()
        )
        choices = next((get_args(one) for one in (field.annotation, *get_args(field.annotation))
                        if get_origin(one) is Literal), ())  # fmt: skip
        note = [f"one of {', '.join(f'`{choice}`' for choice in choices)}"] if choices else []
        yield f"| `{prefix}{name}` | {cells} | {'; '.join([*note, *filter(None, [notes.get(name)])])} |"


def _comments(kind: str) -> dict[str, str]:
    """What stands behind each setting in config.py."""
    source = Path(settings_module.__file__).read_text(encoding="utf-8")
    lines = source.splitlines()
    found = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef) and node.name == kind:
            for one in node.body:
                if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
                    behind = lines[(one.end_lineno or one.lineno) - 1][one.end_col_offset or 0 :]
                    found[one.target.id] = behind.strip().removeprefix("#").strip().replace("None: ", "if not given ")
    return found


def _shown(value: Any) -> str:
    return "" if value is None else ("no", "yes")[value] if isinstance(value, bool) else str(value)


def _listed(tree: dict[str, Any], prefix: str = "") -> str:
    cells = [_listed(value, f"{key}.") if isinstance(value, dict) else f"`{prefix}{key}={value}`"
             for key, value in tree.items()]  # fmt: skip
    return " ".join(cells)


def names() -> Iterator[str]:
    """The public names of the package."""
    yield "# Python\n\nWhat `import regard` offers. These names are stable; all others may change between versions.\n"
    for name in regard.__all__:
        is_module_too = find_spec(f"regard.{name}") is not None  # load, train and training are in files of these names
        home = getattr(regard, name).__module__ if is_module_too else "regard"
        yield f"::: {home}.{name}\n    options:\n      show_root_full_path: false\n"


def parts() -> Iterator[str]:
    """The parts of the network, usable on their own."""
    import regard.model as room

    yield "# Parts of the model\n\n::: regard.model\n    options:\n      show_root_heading: false\n"
    for module in sorted(one.name for one in pkgutil.iter_modules(room.__path__)):
        yield f"::: regard.model.{module}\n"


def routes() -> Iterator[str]:
    """What the server answers, from its own OpenAPI description."""
    from regard.serve.app import make_app
    from regard.serve.limits import Limits
    from regard.serve.registry import ModelRegistry

    described = make_app(ModelRegistry([], Limits()), set()).openapi()
    yield "# HTTP\n\nFrom the OpenAPI description, which a running server has at `/openapi.json`. How to run it: "
    yield "[serve](../guides/serve.md).\n"
    for path, methods in described["paths"].items():
        for method, route in methods.items():
            yield f"## {method.upper()} {path}\n\n{route.get('description') or route.get('summary') or ''}\n"
            yield from _fields(route, described)


def _fields(route: dict[str, Any], described: dict[str, Any]) -> Iterator[str]:
    content = route.get("requestBody", {}).get("content", {})
    for kind, body in list(content.items())[:1]:
        schema = body.get("schema", {})
        if "$ref" in schema:
            schema = described["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
        yield f"`{kind}`:\n\n| field | type | |\n|---|---|---|"
        for name, field in schema.get("properties", {}).items():
            needed = "required" if name in schema.get("required", []) else ""
            yield f"| `{name}` | {_kind(field)} | {field.get('description') or needed} |"
        yield ""


def _kind(field: dict[str, Any]) -> str:
    if "$ref" in field:
        return str(field["$ref"].rsplit("/", 1)[1])
    if inner := field.get("oneOf") or field.get("anyOf"):
        return " or ".join(_kind(one) for one in inner)
    kind = str(field.get("type", "any"))
    return f"list of {_kind(field['items'])}" if kind == "array" and "items" in field else kind
