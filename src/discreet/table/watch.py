"""How far an engine has come with a statement: asked every so often, while it is at work."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Told = Callable[[float], None]
"""Told which share of a statement is done."""

EVERY = 0.2
"""Seconds between two looks. What is done sooner is never looked at."""


@contextmanager
def watching(look: Callable[[], float | None], told: Told) -> Iterator[None]:
    """Tell what `look` sees, from a thread of its own, until the work is done. None where it cannot tell."""
    done = threading.Event()

    def watch() -> None:
        furthest = 0.0
        while not done.wait(EVERY):
            try:
                share = look()
            except Exception:  # an engine that is about to fail says so to those who wait for its answer
                return
            if share is not None and share > furthest:
                furthest = min(share, 1.0)
                told(furthest)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
