"""A folder beside a place, to fill before what is in it gets its name: what is there is whole, whenever power fails.

A process that is killed leaves its folder behind, and nobody would ever look at it. So each is locked while it is
filled, and whoever writes to the same place next clears away those that are locked no more.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def folder_beside(path: Path) -> Iterator[Path]:
    """A new folder that only its owner can read, beside a path and so on the same disk; gone at the end of the block,
    unless it was renamed."""
    parent, prefix, suffix = path.absolute().parent, f".{path.name}.", ".part"
    with _opened(parent) as busy:
        _lock(busy)  # or another process could take a folder that is not locked yet for one left behind
        for left in parent.iterdir():
            if left.name.startswith(prefix) and left.name.endswith(suffix):
                _clear(left)
        aside = Path(tempfile.mkdtemp(prefix=prefix, suffix=suffix, dir=parent))
        mine = os.open(aside, os.O_RDONLY)
        _lock(mine)
    try:
        yield aside
    finally:
        shutil.rmtree(aside, ignore_errors=True)
        os.close(mine)


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    opened = os.open(folder, os.O_RDONLY)
    try:
        yield opened
    finally:
        os.close(opened)


def _lock(folder: int) -> None:
    """Held until it is closed, or its process ends. Where a disk has no such locks, nothing is cleared away either."""
    with suppress(OSError):
        fcntl.flock(folder, fcntl.LOCK_EX)


def _clear(left: Path) -> None:
    """Remove a folder whose process is gone."""
    with suppress(OSError), _opened(left) as folder:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(left, ignore_errors=True)
