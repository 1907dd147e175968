"""What a test needs and a machine may lack: skipped with a reason, or a failure where all must run (.ci/run)."""

import os

import pytest


def skip(reason: str) -> None:
    (pytest.fail if os.environ.get("REGARD_TEST_ALL") else pytest.skip)(reason)
