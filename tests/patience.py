"""Waiting for what others do: until it is done, however busy the machine is, and never for a fixed time."""

import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE = 300.0
"""Seconds after which it is taken for granted that something never comes: the one such number in the tests, but for
that in pyproject.toml which ends them. Compiling every kernel beside ten times as much other work is no failure."""

Found = TypeVar("Found")


def wait_until(holds: Callable[[], Found]) -> Found:
    """What `holds` returns as soon as that is true; asked over and over. Raises TimeoutError after `PATIENCE`."""
    deadline = time.monotonic() + PATIENCE
    while not (found := holds()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {PATIENCE:.0f} s, and still have {found!r}")
        time.sleep(0.01)
    return found
