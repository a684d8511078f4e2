"""Time that stands still until a test moves it: for whatever waits for a time slot."""

import threading
from contextlib import contextmanager

from discreet.release.gate import Gate
from discreet.release.slots import Slots
from tests.patience import PATIENCE


class HandTime:
    """A clock, and a way to sleep by it. Threads that sleep are woken when the test has moved the time far enough."""

    def __init__(self):
        self.now = 1000.0
        self._moved = threading.Condition()
        self._until = []

    def slots(self, seconds):
        return Slots(seconds, clock=lambda: self.now, sleep=self._sleep)

    @property
    def sleeping(self):
        """How many threads wait for a time that has not come."""
        return sum(until > self.now for until in self._until)

    def _sleep(self, seconds):
        with self._moved:
            until = self.now + seconds
            self._until.append(until)
            self._moved.notify_all()
            self._moved.wait_for(lambda: self.now >= until)
        return False

    def move(self, seconds):
        with self._moved:
            self.now += seconds
            self._moved.notify_all()

    def until_sleeping(self, threads):
        """Wait until so many threads wait."""
        with self._moved:
            assert self._moved.wait_for(lambda: self.sleeping == threads, PATIENCE)


class Reading:
    """A reading of the table that goes on for as long as a test wants."""

    def __init__(self):
        self.begun, self.over = threading.Event(), threading.Event()


@contextmanager
def held_reading(monkeypatch):
    """The next reading waits, with everything drawn, until it is told that it is over; later ones do not."""
    reading, draw = Reading(), Gate._draw

    def held(*arguments):
        monkeypatch.setattr(Gate, "_draw", draw)
        drawn = draw(*arguments)
        reading.begun.set()
        assert reading.over.wait(PATIENCE)
        return drawn

    monkeypatch.setattr(Gate, "_draw", held)
    try:
        yield reading
    finally:
        reading.over.set()
        monkeypatch.setattr(Gate, "_draw", draw)
