"""When an answer is recorded: a whole number of time slots after its charge, and not before.

Whatever is public about an answer begins with its record: other answers made of it, the journal with its numbers and
hashes, the end of a job, the reply itself. So the record is what waits. How long a reading took is then seen nowhere
but in that number, and a record's place in the journal is decided by public things alone.
"""

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Slots:
    """Time slots of so many seconds, each charge with its own from the moment when it was durable; 0 is none.

    A server has slots. Whoever holds the vault itself has none: they hold the table. No two processes need to agree
    about the time: each waits by its own clock, from the charge that it made.
    """

    seconds: float = 0.0
    clock: Callable[[], float] = time.monotonic
    ending: threading.Event = field(default_factory=threading.Event, compare=False)
    """Set when the process is to end: nobody waits any longer, and what would have been seen is not."""
    sleep: Callable[[float], bool] | None = None
    """Another way to let time pass, for tests; true where it was cut short."""

    def wait(self, since: float) -> bool:
        """Wait for the end of a slot of what began at a time of the clock; False where the process is to end."""
        seconds = until_slot(self.clock() - since, self.seconds)
        return seconds <= 0 or not (self.sleep or self.ending.wait)(seconds)


def until_slot(elapsed: float, slot: float) -> float:
    """Seconds to wait, so that what took `elapsed` is seen after a whole number of slots, one at least.

    What is seen from outside is that number: how long a reading took only as far as it passed the end of a slot.
    """
    if not slot:
        return 0.0
    return max(math.ceil(elapsed / slot), 1) * slot - elapsed
