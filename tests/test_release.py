"""What is released: a wheel and an sdist that are whole, and a wheel that works where the sources are not."""

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import regard

ROOT = Path(__file__).parent.parent


def alone(**more: str) -> dict[str, str]:
    """The environment of a process that finds no sources by a variable."""
    return {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONHOME"}} | more


def run(*command, cwd: Path, **options) -> str:
    command = [str(part) for part in command]
    done = subprocess.run(command, cwd=cwd, env=alone(), capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory) -> dict[str, Path]:
    """The sdist, and the wheel that is built from it, without network."""
    to = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", to, ROOT, cwd=to)
    return {"wheel": next(to.glob("*.whl")), "sdist": next(to.glob("*.tar.gz"))}


@pytest.fixture(scope="module")
def installed(dist, tmp_path_factory) -> Path:
    """The programs of an environment that has the wheel and the dependencies of this one, but not the sources."""
    place = tmp_path_factory.mktemp("installed") / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", place, cwd=place.parent)
    programs = place / ("Scripts" if os.name == "nt" else "bin")
    pip = [sys.executable, "-m", "pip", "--python", programs / "python", "install"]
    run(*pip, "--quiet", "--no-deps", "--no-index", dist["wheel"], cwd=place)
    packages = run(programs / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=place)
    # A folder named in a .pth file comes last, and .pth files in it (of an editable install) are not read.
    here = [path for path in sys.path if path.endswith("-packages")]
    (Path(packages.strip()) / "dependencies.pth").write_text("\n".join(here), encoding="utf-8")
    return programs


def test_both_pass_twine_and_have_the_version_of_the_package(dist):
    run(sys.executable, "-m", "twine", "check", "--strict", *dist.values(), cwd=ROOT)
    assert dist["wheel"].name == f"regard-{regard.__version__}-py3-none-any.whl"
    assert dist["sdist"].name == f"regard-{regard.__version__}.tar.gz"


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(dist):
    sources = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "regard").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    shipped = set(zipfile.ZipFile(dist["wheel"]).namelist())
    assert {name for name in shipped if ".dist-info/" not in name} == sources


def test_the_sdist_holds_the_tests_and_no_packages_of_others(dist):
    with tarfile.open(dist["sdist"]) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    assert {"tests/conftest.py", "tests/page/package-lock.json", "LICENSE", "constraints.txt", "CHANGELOG.md"} <= names
    assert not any("node_modules" in name or ".venv" in name for name in names)


def test_the_installed_wheel_trains_translates_and_looks(installed, tmp_path, pairs):
    where = run(installed / "python", "-c", "import regard; print(regard.__file__, regard.__version__)", cwd=tmp_path)
    assert Path(where.split()[0]).is_relative_to(installed.parent)
    assert where.split()[1] == regard.__version__
    tiny = {"model.layers": 1, "model.width": 32, "model.heads": 4, "model.ffn_width": 64, "text.vocab_size": 400}
    options = [part for name, value in tiny.items() for part in ("--set", f"{name}={value}")]
    command, files = installed / "regard", list(pairs.values())
    run(command, "train", "translate", *files, "--to", "model", "--steps", 20, "--workers", 1, *options, cwd=tmp_path)
    assert run(command, "translate", "model", cwd=tmp_path, input="The dog sleeps.\nA cat.\n").count("\n") == 2
    run(command, "look", "model", "The dog sleeps.", "--to", "look.html", cwd=tmp_path)
    assert "regard.views" in (tmp_path / "look.html").read_text(encoding="utf-8")


def test_without_its_extra_serving_names_the_remedy(installed, tmp_path):
    (tmp_path / "fastapi.py").write_text("raise ModuleNotFoundError('No module named fastapi', name='fastapi')")
    command, there = [installed / "regard", "serve", "model"], alone(PYTHONPATH=str(tmp_path))
    done = subprocess.run(command, cwd=tmp_path, env=there, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "needs fastapi, which is not installed: pip install 'regard[serve]'" in " ".join(done.stderr.split())


def test_what_train_translate_and_look_need_is_no_extra(dist):
    metadata = zipfile.ZipFile(dist["wheel"]).read(f"regard-{regard.__version__}.dist-info/METADATA").decode()
    needed = set(re.findall(r"^Requires-Dist: ([\w-]+)[^;\n]*$", metadata, re.M))
    assert {"torch", "tokenizers", "safetensors", "ctranslate2", "sacrebleu", "typer"} <= needed
    assert not needed & {"fastapi", "uvicorn", "transformers", "sentencepiece"}


def test_the_changelog_and_the_citation_name_this_version():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (\S+)", changelog, re.M)[:2] == ["Unreleased", regard.__version__]
    assert f"version: {regard.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_workflows_have_no_finding_of_zizmor():
    run(Path(sys.executable).parent / "zizmor", "--offline", "--no-progress", ".github", cwd=ROOT)
