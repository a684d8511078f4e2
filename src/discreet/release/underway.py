"""Which plans are being answered on this machine: a lock for each, from before its charge until after its record.

Two who ask the same at the same time want one answer, and one charge. The lock of a plan is one byte of a file of the
vault's, far beyond its end, held by whoever measures the plan, for as long as they have the file open: a thread each.
When a process ends in any way the system takes its locks back, so that whoever finds a charge without an answer can
tell whether somebody is at it.
"""

import fcntl
import hashlib
import os
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.deadline import wait_for_others
from discreet.errors import VaultError
from discreet.ledger.journal import canonical

FILE = "underway.lock"
POLL_SECONDS = 0.01


@dataclass(frozen=True)
class Underway:
    """The locks of a vault. Where a system or a disk has none, everybody goes on as if alone: a question may then be
    charged as often as it is asked at the same time, and nothing else changes."""

    path: Path
    ending: threading.Event
    """Set when the process is to end: whoever waits is told so."""

    @contextmanager
    def alone(self, plan: Any) -> Iterator[None]:
        """Be the only one on this machine who measures a plan, given as the journal keeps it; wait for that."""
        with self._opened() as file:
            self._lock(file, plan)
            yield

    def wait(self, plan: Any) -> bool:
        """Wait until nobody measures a plan; False, at once, where nobody does."""
        with self._opened() as file:
            return self._lock(file, plan)

    @contextmanager
    def _opened(self) -> Iterator[int | None]:
        try:
            file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            file = None
        try:
            yield file
        finally:
            if file is not None:
                _set(file, fcntl.F_UNLCK, 0, 0)  # a child that was forked meanwhile has it open as well
                os.close(file)

    def _lock(self, file: int | None, plan: Any) -> bool:
        """Lock a plan until the file is closed, and say whether that had to wait for somebody."""
        place = int.from_bytes(hashlib.sha256(canonical({"plan": plan}).encode()).digest()[:8]) >> 1
        if file is None or _set(file, fcntl.F_WRLCK, place, 1):
            return False
        self._poll(file, place)
        return True

    def _poll(self, file: int, place: int) -> None:
        while not _set(file, fcntl.F_WRLCK, place, 1):
            wait_for_others()
            if self.ending.wait(POLL_SECONDS):
                raise VaultError("the server is ending; ask again when it is back: nothing is charged twice")


def _set(file: int, kind: int, start: int, length: int) -> bool:
    """Lock or unlock a range of this opening of the file; False where somebody else has a lock there. Where there are
    no such locks, nobody has."""
    try:
        # Locks of an opening, not of a process (lockf): threads are kept apart, and no other closing takes them back.
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", kind, os.SEEK_SET, start, length, 0))
    except BlockingIOError:
        return False
    except (AttributeError, OSError):
        return True
    return True
