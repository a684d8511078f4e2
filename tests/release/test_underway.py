"""One plan is measured by one at a time, whichever thread or process they are in; whoever waits can tell."""

import fcntl
import os
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from discreet.errors import VaultError
from discreet.release.underway import Underway
from tests.patience import PATIENCE

PLAN, OTHER = [{"query": 1}], [{"query": 2}]
HOLD = """
import sys, threading
from pathlib import Path
from discreet.release.underway import Underway
with Underway(Path(sys.argv[1]), threading.Event()).alone([{"query": 1}]):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def underway(tmp_path):
    return Underway(tmp_path / "lock", threading.Event())


@pytest.fixture
def held_elsewhere(underway):
    """Another process at the plan, until it is killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(underway.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_nobody_is_waited_for_where_nobody_is_at_it(underway):
    assert not underway.wait(PLAN)
    with underway.alone(OTHER):
        assert not underway.wait(PLAN)
    assert not underway.wait(OTHER)


def test_of_many_threads_one_is_at_a_plan_at_a_time(underway):
    at_it, most = [], []

    def work(_):
        with underway.alone(PLAN):
            at_it.append(1)
            most.append(len(at_it))
            at_it.pop()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(50)))
    assert most == [1] * 50


def test_whoever_waits_goes_on_when_it_is_over_and_was_told_that_it_had_to(underway):
    began = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        with underway.alone(PLAN):
            waiting = pool.submit(Underway(underway.path, _Told(began)).wait, PLAN)
            assert began.wait(PATIENCE)
        assert waiting.result(PATIENCE)


class _Told(threading.Event):
    """Says when somebody waits."""

    def __init__(self, began):
        super().__init__()
        self._began = began

    def wait(self, timeout=None):
        self._began.set()
        return super().wait(timeout)


def test_another_process_is_waited_for_and_one_that_was_killed_is_not(underway, held_elsewhere):
    began = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(Underway(underway.path, _Told(began)).wait, PLAN)
        assert began.wait(PATIENCE)
        held_elsewhere.kill()
        assert waiting.result(PATIENCE)
    assert not underway.wait(PLAN)


def test_a_process_that_is_to_end_does_not_wait(underway, held_elsewhere):
    underway.ending.set()
    for wait in (lambda: underway.wait(PLAN), lambda: underway.alone(PLAN).__enter__()):
        with pytest.raises(VaultError, match="ending"):
            wait()
    assert held_elsewhere.poll() is None


def test_where_no_lock_can_be_made_everybody_goes_on(tmp_path):
    nowhere = Underway(tmp_path / "no folder" / "lock", threading.Event())
    with nowhere.alone(PLAN), nowhere.alone(PLAN):
        assert not nowhere.wait(PLAN)


def test_where_a_system_has_no_such_locks_everybody_goes_on(underway, monkeypatch):
    monkeypatch.delattr(fcntl, "F_OFD_SETLK")
    with underway.alone(PLAN), underway.alone(PLAN):
        assert not underway.wait(PLAN)


def test_a_child_that_was_forked_meanwhile_keeps_no_lock(underway):
    with underway.alone(PLAN):
        [held] = [int(name) for name in os.listdir("/proc/self/fd") if _names(name, underway.path)]
        copy = os.dup(held)  # as a forked child has it
    assert not underway.wait(PLAN)
    os.close(copy)


def _names(file, path):
    try:
        return os.readlink(f"/proc/self/fd/{file}") == str(path)
    except OSError:
        return False


def test_the_file_is_its_owners_alone_whatever_the_umask(underway):
    before = os.umask(0)
    try:
        with underway.alone(PLAN):
            assert stat.S_IMODE(underway.path.stat().st_mode) == 0o600
    finally:
        os.umask(before)
    assert underway.path.read_bytes() == b""
