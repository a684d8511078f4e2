"""What the fuzzers take for a hang."""

import signal
from threading import Event

import pytest

from tests.trust import fuzzing
from tests.trust.fuzzing import Hang, Loose, Waiting, fuzz


def test_what_waits_is_ended(monkeypatch):
    monkeypatch.setattr(fuzzing, "WAITING_SECONDS", 0.05)
    with pytest.raises(Loose, match="it waits for something"):
        fuzz(["an input"], lambda _: Event().wait(), busy_seconds=1000)


def test_what_keeps_the_processor_busy_is_ended():
    def turn(_):
        while True:
            pass

    with pytest.raises(Loose, match="it keeps the processor busy"):
        fuzz(["an input"], turn, busy_seconds=0.1)


def test_a_busy_machine_is_no_hang(monkeypatch):
    """It gives little of its time, and never none."""
    monkeypatch.setattr(signal, "setitimer", lambda *_: None)
    used = iter([0.0, 0.5, 1.0, 1.01, 9.0])
    waiting = Waiting(lambda: next(used))
    waiting.look()
    waiting.look()
    for _ in range(2):  # also where the first was swallowed
        with pytest.raises(Hang, match="waits"):
            waiting.look()
