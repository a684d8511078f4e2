"""How fast: a bucket of requests for each user."""

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from discreet.errors import TooManyRequests

BURST_SECONDS = 2
"""Somebody who was quiet may ask for so many seconds' worth at once."""


@dataclass
class Bucket:
    """So many requests a second for each user, in the mean. Each process has its own: N workers let N times as many
    through."""

    rate: float
    clock: Callable[[], float] = time.monotonic
    _levels: dict[str, tuple[float, float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, user: str) -> None:
        """One request of a user. Raises TooManyRequests where the bucket is empty; a rate of 0 is no limit."""
        if not self.rate:
            return
        now, full = self.clock(), max(self.rate * BURST_SECONDS, 1.0)
        with self._lock:
            level, seen = self._levels.get(user, (full, now))
            level = min(level + (now - seen) * self.rate, full)
            if level < 1:
                wait = math.ceil((1 - level) / self.rate)
                words = f"{user} asks faster than {self.rate:g} times a second; wait {wait} s and go on"
                raise TooManyRequests(words, wait)
            self._levels[user] = (level - 1, now)
