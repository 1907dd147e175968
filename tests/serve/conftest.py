import shutil

import pytest
from server import Running


@pytest.fixture(scope="session")
def folders(folder, writer_folder, filler_folder, answerer_folder, tmp_path_factory):
    """A small model of each family, each with a name of its own."""
    place = tmp_path_factory.mktemp("served")
    named = {"en-fr": folder, "tales": writer_folder, "gaps": filler_folder, "stories": answerer_folder}
    for name, path in named.items():
        shutil.copytree(path, place / name)
    return [place / name for name in named]


@pytest.fixture(scope="session")
def server(folders):
    running = Running(folders)
    yield running
    running.stop()
