"""Fifty columns of ten values, a joint of 10^50 cells, through a model: error, memory and time. Seconds by the clock
are for a quiet machine; processor time is that of all cores together, so that a quiet clock shows no more."""

import os
import resource
import tempfile
import time
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np

from bench.figure import Figure
from bench.mixture import clipped, planned, variation
from discreet.domain.attribute import Category
from discreet.domain.domain import Domain
from discreet.model.rows import draw_rows
from discreet.noise.bits import SeededBits
from experiments.tables.tables import Coded

MOST_SECONDS = 300


def figures() -> Iterator[Figure]:
    table = fifty()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = folder  # receipts of a vault that is gone in a minute
        vault, plan = planned(table, Path(folder))
        start, own = time.perf_counter(), time.process_time()
        cube = vault.cubes.publish(plan, estimate="modelled")
        assert cube.model is not None
        draw_rows(cube.model, len(table.rows), SeededBits(0))
        seconds, cpu = time.perf_counter() - start, time.process_time() - own
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    pairs = list(combinations(range(50), 2))
    modelled, least = variation(cube, table, pairs), clipped(cube, table)
    note = f"1,225 pairs at (1, 10⁻⁹): total variation {modelled:.3f}, least squares, clipped at 0, {least:.3f}"
    yield Figure("50 × 10, modelled, to least squares, 2-way", modelled / least, 1, "lower", "×", note)
    note = f"{len(table.rows):,} rows"
    yield Figure("50 × 10, publish, fit and rows: processor time", cpu, MOST_SECONDS, "lower", "CPU s", note)
    note = f"{os.cpu_count()} cores, at a load of {os.getloadavg()[0]:.1f}"
    yield Figure("50 × 10, publish, fit and rows: by the clock", seconds, MOST_SECONDS, "lower", "s", note)
    yield Figure("50 × 10, memory of the whole process", most, 4, "lower", "GB", "")


def fifty() -> Coded:
    """100,000 rows of 50 columns of 10 values: a chain, each like the one before it in three of five rows."""
    rng = np.random.default_rng(50)
    rows = rng.integers(0, 10, (100_000, 50))
    for axis in range(1, 50):
        same = rng.random(len(rows)) < 0.6
        rows[same, axis] = rows[same, axis - 1]
    values = tuple(f"v{value}" for value in range(10))
    attributes = tuple(Category(name=f"c{place}", source="generated", values=values) for place in range(50))
    return Coded(Domain("fifty", attributes), rows)
