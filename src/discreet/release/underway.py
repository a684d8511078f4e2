"""Which plans are being answered on this machine: a lock for each, from before its charge until after its record.

Two who ask the same at the same time want one answer, and one charge. The lock of a plan is a file of the vault's,
held by the thread that measures it; when a process ends in any way the system takes its locks back, so that whoever
finds a charge without an answer can tell whether somebody is at it.
"""

import fcntl
import hashlib
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.errors import VaultError
from discreet.ledger.journal import canonical

FOLDER = "underway"
POLL_SECONDS = 0.01


@dataclass(frozen=True)
class Underway:
    """The locks in a folder. Where none can be made there, everybody goes on as if alone: a question may then be
    charged as often as it is asked at the same time, and nothing else changes."""

    folder: Path
    ending: threading.Event
    """Set when the process is to end: whoever waits is told so."""

    @contextmanager
    def alone(self, plan: Any) -> Iterator[None]:
        """Be the only one on this machine who measures a plan, given as the journal keeps it; wait for that."""
        path = self._path(plan)
        lock = self._locked(path)
        try:
            yield
        finally:
            if lock is not None:
                _unlock(path, lock)

    def wait(self, plan: Any) -> bool:
        """Wait until nobody measures a plan; False, at once, where nobody does."""
        path = self._path(plan)
        try:
            file = os.open(path, os.O_RDWR)
        except OSError:
            return False
        if _try(file):
            _unlock(path, file)  # left behind by a process that was killed
            return False
        try:
            self._poll(file)
        finally:
            os.close(file)
        return True

    def _path(self, plan: Any) -> Path:
        return self.folder / hashlib.sha256(canonical({"plan": plan}).encode()).hexdigest()

    def _locked(self, path: Path) -> int | None:
        while True:
            try:
                with suppress(FileExistsError):
                    self.folder.mkdir(mode=0o700)
                file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            except OSError:
                return None
            try:
                self._poll(file)
            except BaseException:
                os.close(file)
                raise
            if _is_at(path, file):
                return file
            os.close(file)  # whoever had the lock has removed the file: the next holder's is another

    def _poll(self, file: int) -> None:
        while not _try(file):
            if self.ending.wait(POLL_SECONDS):
                raise VaultError("the server is ending; ask again when it is back: nothing is charged twice")


def _try(file: int) -> bool:
    """Lock an open file, if nobody else has. A disk without locks has nobody."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _is_at(path: Path, file: int) -> bool:
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except OSError:
        return False


def _unlock(path: Path, lock: int) -> None:
    if _is_at(path, lock):
        with suppress(OSError):
            path.unlink()
    with suppress(OSError):
        fcntl.flock(lock, fcntl.LOCK_UN)  # a child that was forked meanwhile has the file open as well
    os.close(lock)
