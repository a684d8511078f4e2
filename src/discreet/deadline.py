"""Until when a piece of work is wanted: by whoever does it, asked between its steps.

Work can be given up while it plans, which reads nothing and spends nothing. From the moment at which it writes to the
journal it is `kept`, and is done to its end: nothing is abandoned between a charge and its record, and whether it is
depends on public things only.
"""

import threading
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field

from discreet.errors import DeadlinePassed
from discreet.native import working_time


@dataclass
class Work:
    """A piece of work with a deadline, seconds after its beginning; None is none. One thread does it, others may end
    it."""

    seconds: float | None = None
    clock: Callable[[], float] = working_time
    on_rest: Callable[[], object] = lambda: None
    """Called once, by the thread that does the work, when what is left of it is to be read, or to be waited for."""
    is_kept: bool = False
    _rests: bool = False
    _gone: threading.Event = field(default_factory=threading.Event)
    _began: float = field(init=False)

    def __post_init__(self) -> None:
        self._began = self.clock()

    def leave(self) -> None:
        """Nobody waits for it any more."""
        self._gone.set()

    @property
    def left(self) -> float | None:
        """Seconds until the deadline; None without one."""
        return None if self.seconds is None else self._began + self.seconds - self.clock()

    def check(self) -> None:
        """Raise DeadlinePassed where nobody wants it any more, unless it is kept."""
        if self.is_kept:
            return
        if self._gone.is_set():
            raise DeadlinePassed("nobody waits for this any more; it was stopped, and nothing was spent")
        if self.left is not None and self.left <= 0:
            raise DeadlinePassed(
                f"this takes longer than the server's deadline of {self.seconds:g} s; it was stopped, and nothing was "
                "spent: ask for less at once, or the custodian serves with a longer --deadline"
            )

    def keep(self) -> None:
        """The last moment at which it may be given up. From here on it is not."""
        self.check()
        self.is_kept = True
        self.rest()

    def rest(self) -> None:
        """From here on there is little to work out."""
        if not self._rests:
            self._rests = True
            self.on_rest()


doing: "ContextVar[Work | None]" = ContextVar("doing", default=None)
"""What is being done in this context; a thread that is started for it gets a copy of the context."""


def still_wanted() -> None:
    """Called between the steps of whatever may take long and spends nothing. Raises DeadlinePassed."""
    if (work := doing.get()) is not None:
        work.check()


def keep_working() -> None:
    """Called before anything is written to the journal. Raises DeadlinePassed, or it never will again."""
    if (work := doing.get()) is not None:
        work.keep()


def wait_for_others() -> None:
    """Called before waiting for what somebody else is getting. Raises DeadlinePassed."""
    if (work := doing.get()) is not None:
        work.check()
        work.rest()


def seconds_left(most: float) -> float:
    """So many seconds, or fewer where the deadline is nearer."""
    work = doing.get()
    left = None if work is None or work.is_kept else work.left
    return most if left is None else max(min(most, left), 0.0)
