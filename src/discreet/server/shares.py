"""Fair shares: how much of a process one user holds.

Of a user's requests so many are worked on at once; the others wait in line, and hold no thread while they do. What was
charged, or waits for what another has charged, is worked on no more: it is read and waits for its time slot beside the
user's next one, so that when the next one begins says nothing about how long the reading took. Asking, explaining,
planning and browsing count alike.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field

from discreet.errors import DeadlinePassed, TooManyRequests

AT_ONCE = 2
MOST_UNDER_WAY = 64


@dataclass
class _Line:
    working: int = 0
    under_way: int = 0
    waiting: "deque[Future[None]]" = field(default_factory=deque)


@dataclass
class Turn:
    """A request that is being worked on. Both are called from any thread, and count once."""

    _done_working: Callable[[], object]
    _over: Callable[[], object]
    _works: bool = True
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def give_back(self) -> None:
        """The next of this user's may be worked on."""
        with self._lock:
            worked, self._works = self._works, False
        if worked:
            self._done_working()

    def end(self) -> None:
        """The request is over."""
        self.give_back()
        self._over()


@dataclass
class Shares:
    """The shares of all users in one process, whichever event loops and threads they come by."""

    at_once: int = AT_ONCE
    most: int = MOST_UNDER_WAY
    _lines: dict[str, _Line] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    async def turn(self, user: str, seconds: float | None) -> Turn:
        """Wait for a user's turn, for so many seconds. Raises TooManyRequests where too many of theirs are under way,
        DeadlinePassed where the turn does not come."""
        ready = self._line_up(user)
        try:
            if not ready.done():
                await asyncio.wait_for(asyncio.wrap_future(ready), seconds)
        except BaseException as error:
            if ready.cancel() or ready.cancelled():
                self._over(user)
            else:  # it came at the last moment
                self._done_working(user)
                self._over(user)
            if isinstance(error, TimeoutError):
                words = f"{user}'s earlier requests take all of the {seconds:g} s that this one had; wait for them"
                raise DeadlinePassed(f"{words}: nothing was spent") from None
            raise
        return Turn(lambda: self._done_working(user), lambda: self._over(user))

    def waiting(self) -> int:
        """How many requests wait for their turn, of all users."""
        with self._lock:
            return sum(len(line.waiting) for line in self._lines.values())

    def _line_up(self, user: str) -> "Future[None]":
        ready: Future[None] = Future()
        with self._lock:
            line = self._lines.setdefault(user, _Line())
            if line.under_way >= self.most:
                words = f"{user} has {self.most} requests under way, as many as anybody may; wait for some"
                raise TooManyRequests(words)
            line.under_way += 1
            if line.working < self.at_once:
                line.working += 1
                ready.set_result(None)
            else:
                line.waiting.append(ready)
        return ready

    def _done_working(self, user: str) -> None:
        """Hand the turn to the next who still waits for it."""
        with self._lock:
            line = self._lines[user]
            while line.waiting:
                following = line.waiting.popleft()
                if following.set_running_or_notify_cancel():
                    following.set_result(None)
                    return
            line.working -= 1

    def _over(self, user: str) -> None:
        with self._lock:
            line = self._lines[user]
            line.under_way -= 1
            if not line.under_way:
                del self._lines[user]
