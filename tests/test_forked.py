"""Forked workers: they work on request, hold no descriptors of others, and never outlive their parent."""

import fcntl
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from regard.training import forked
from regard.training.forked import forked_workers

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is forked")


@pytest.fixture
def may_fork(monkeypatch):
    """Whatever threads other tests have left here: what is forked below needs nothing of theirs."""
    monkeypatch.setattr(forked, "can_fork", lambda: True)


def work(words: list[str]) -> None:
    sys.stdout.write(f"got: {' '.join(words)}\n")
    if words == ["fail"]:
        raise ValueError("nothing to be done")
    if words == ["wait"]:
        time.sleep(600)


def test_one_that_is_told_to_works_and_what_it_says_is_in_its_log(tmp_path, may_fork):
    with forked_workers(2, work) as kept:
        one, other = kept.pop(), kept.pop()
        one.start(["a", "b"], tmp_path / "one.log")
        other.start(["fail"], tmp_path / "other.log")
        assert (one.wait(30), other.wait(30)) == (0, 1)
    assert (tmp_path / "one.log").read_text() == "got: a b\n"
    assert (tmp_path / "other.log").read_text().endswith("ValueError: nothing to be done\n")


def test_one_that_is_killed_says_by_which_signal_and_one_that_works_on_is_not_waited_for(tmp_path, may_fork):
    with forked_workers(1, work) as kept:
        one = kept.pop()
        one.start(["wait"], tmp_path / "log")
        with pytest.raises(subprocess.TimeoutExpired):
            one.wait(0.05)
        assert one.poll() is None
        one.kill()
        assert one.wait(30) == -9
        one.kill()  # again is no error


def test_those_that_nobody_wants_are_gone_afterwards(may_fork):
    with forked_workers(3, work) as kept:
        pids = [one.pid for one in kept]
        assert len(pids) == 3
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_those_that_wait_end_when_the_first_process_is_killed():
    program = (
        "import os, time\nfrom regard.training.forked import forked_workers\n"
        "with forked_workers(2, print) as kept:\n"
        "    print(*[one.pid for one in kept], flush=True)\n    time.sleep(600)\n"
    )
    first = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    pids = first.stdout.readline().split()
    assert len(pids) == 2
    first.kill()
    assert first.communicate(timeout=30)[0] == ""  # no other process holds the other end of its pipe
    began = time.monotonic()
    while any(_is_there(pid) for pid in pids):
        assert time.monotonic() - began < 30
        time.sleep(0.05)


def test_a_lock_of_the_first_process_ends_with_it_while_they_live_on(tmp_path, may_fork):
    file = (tmp_path / "lock").open("w")
    fcntl.flock(file, fcntl.LOCK_EX)
    with forked_workers(1, work) as kept:
        one = kept.pop()
        one.start(["wait"], tmp_path / "log")
        while not (tmp_path / "log").exists():
            time.sleep(0.01)
        file.close()
        with (tmp_path / "lock").open("w") as again:
            fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)  # else an error
        assert one.poll() is None
        one.kill()
        one.wait(30)


def test_a_process_without_other_threads_can_be_forked():
    program = "from regard.training import forked, workers\nworkers.load_all()\nprint(forked.can_fork())"
    assert (
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "True\n"
    )


def test_with_another_thread_nobody_is_forked():
    is_over = threading.Event()
    other = threading.Thread(target=is_over.wait)
    other.start()
    try:
        assert not forked.can_fork()
        with forked_workers(2, work) as kept:
            assert kept == []
    finally:
        is_over.set()
        other.join()


def _is_there(pid: str) -> bool:
    """Whether it is neither gone nor dead."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
