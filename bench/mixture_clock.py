"""Fifty columns of ten values through a model, by the clock: for a quiet machine. Errors, memory and processor time are
in `bench/mixture.py`."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.figure import Figure
from bench.mixture import fifty, fifty_published


def figures() -> Iterator[Figure]:
    table = fifty()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = folder  # receipts of a vault that is gone in a minute
        _, seconds, cpu = fifty_published(table, Path(folder))
    note = f"{len(table.rows):,} rows; {cpu:.0f} CPU s on {os.cpu_count()} cores, at a load of {os.getloadavg()[0]:.1f}"
    yield Figure("50 × 10, publish, fit and rows, by the clock", seconds, 300, "lower", "s", note)
