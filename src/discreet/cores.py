"""Compiled work on all cores: threads suffice, for it lets go of the interpreter's lock."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from itertools import pairwise

CORES = os.cpu_count() or 1
ENOUGH = 2**16
"""Numbers to work through for which a thread is worth starting."""


def on_all_cores(work: Callable[[int, int], None], items: int, numbers: int) -> None:
    """Do work(first, last) on parts of items 0 … items-1, of so many numbers each; here alone where that is little."""
    workers = min(CORES, items, items * numbers // ENOUGH)
    if workers <= 1:
        work(0, items)
        return
    edges = [items * k // workers for k in range(workers + 1)]
    with ThreadPoolExecutor(workers) as pool:
        # Each thread in a context like this one's, which knows until when the work is wanted.
        for done in [pool.submit(copy_context().run, work, first, last) for first, last in pairwise(edges)]:
            done.result()
