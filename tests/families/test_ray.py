"""Bulk translation on a real Ray: the same lines as here, and none lost with a worker."""

import os
import signal
import subprocess
import sys
import threading
import time
from importlib.util import find_spec
from pathlib import Path

import missing
import pytest
from conftest import write_lines
from test_bulk_files import LINES, read_folder, run, write_folder

import regard
from regard.families import bulk, on_ray
from regard.families.translate.lines import translate_plainly

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture(scope="module")
def ray():
    """One for all tests here, as a cluster that is there already."""
    if find_spec("ray") is None:
        missing.skip("Ray is not installed: pip install 'regard[ray]'")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("RAY_ADDRESS", raising=False)
        ray = on_ray._import_ray()
        with on_ray._connected(ray):
            yield ray


def test_a_folder_is_translated_on_ray_as_it_is_here(ray, folder, translator, tmp_path, monkeypatch):
    monkeypatch.setattr(bulk, "PART", 16)
    lines = write_folder(tmp_path / "in")
    code, err = run(folder, tmp_path / "in", "--to", tmp_path / "out", "--on", "ray")
    assert code == 0, err
    assert read_folder(tmp_path / "out") == {name: translator(texts) for name, texts in lines.items()}


def test_a_parquet_data_set_is_translated_on_ray(ray, folder, translator, tmp_path):
    parquet, arrow = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    (tmp_path / "in").mkdir()
    for number in range(3):
        parquet.write_table(arrow.table({"id": range(len(LINES)), "text": LINES}), tmp_path / f"in/{number}.parquet")
    code, err = run(folder, tmp_path / "in", "--to", tmp_path / "out", "--on", "ray", "--columns", "text")
    assert code == 0, err
    for number in range(3):
        found = parquet.read_table(tmp_path / f"out/{number}.parquet")
        assert found["id"].to_pylist() == [*range(len(LINES))]
        assert found["translation"].to_pylist() == translator(LINES)


@linux
def test_a_worker_that_is_killed_loses_nothing(ray, folder, translator, tmp_path, monkeypatch):
    monkeypatch.setattr(bulk, "PART", 64)
    text, to = write_lines(tmp_path / "a.txt", LINES * 40), tmp_path / "out"
    killed = []

    def kill_one_at_work():
        while not list((to / ".parts").rglob("0000??")):
            time.sleep(0.01)
        while not killed:
            killed.extend(pids_of("ray::_compute")[:1])
        os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill_one_at_work, daemon=True)
    killer.start()
    code, err = run(folder, text, "--to", to, "--on", "ray")
    killer.join(10)
    assert code == 0 and killed, err
    assert read_folder(to) == {"a.txt": translator(LINES * 40)}


def pids_of(title: str) -> list[int]:
    """Processes of this test's Ray that show this title."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if (path / "cmdline").read_bytes().startswith(title.encode()) and is_below(int(path.name), os.getpid()):
                found.append(int(path.name))
        except OSError:
            continue
    return found


def is_below(pid: int, parent: int) -> bool:
    while pid > 1:
        if pid == parent:
            return True
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return False


def test_an_error_in_a_worker_is_the_same_as_here(ray, translator):
    work = bulk.Work(translator, translate_plainly, {"beam": 0})
    with pytest.raises(regard.ConfigError, match=r"^beam=0: it must be at least 1$"):
        list(on_ray.run_on_ray(work, iter([bulk.Part(None, 0, LINES, [])])))


def test_the_command_alone_uses_the_cluster_that_is_named_or_starts_one(ray, folder, translator, tmp_path):
    text = write_lines(tmp_path / "a.txt", LINES)
    command = [sys.executable, "-m", "regard", "translate", folder, text, "--on", "ray", "--to"]
    for name, address in {"named": ray.get_runtime_context().gcs_address, "own": ""}.items():
        done = subprocess.run([*command, tmp_path / name], capture_output=True, text=True, check=False, timeout=240,
                              env=os.environ | {"RAY_ADDRESS": address})  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert "48 lines in" in done.stderr and done.stderr.count("\n") <= 2 and done.stdout == ""
        assert (tmp_path / name / "a.txt").read_text().splitlines() == translator(LINES)
    done = subprocess.run([*command, tmp_path / "none"], capture_output=True, text=True, check=False, timeout=240,
                          env=os.environ | {"RAY_ADDRESS": "127.0.0.1:1"})  # fmt: skip
    assert done.returncode == 1 and "there is no Ray at RAY_ADDRESS=127.0.0.1:1 (" in done.stderr


@linux
def test_ray_reports_nothing_and_opens_no_port_to_others(ray):
    from ray._common.usage import usage_lib

    assert not usage_lib.usage_stats_enabled()
    listening = {}
    for table in ("tcp", "tcp6"):
        for line in Path("/proc/net", table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A":
                listening[f"socket:[{fields[9]}]"] = fields[1].partition(":")[0]
    found = {listening[name] for pid in pids_of("") for name in sockets_of(pid) if name in listening}
    loopback = {"0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F"}
    assert found and found <= loopback, found


def sockets_of(pid: int) -> list[str]:
    try:
        return [str(path.readlink()) for path in Path(f"/proc/{pid}/fd").iterdir()]
    except OSError:
        return []
