"""Whole counts that are not below 0, beside least squares: the bias and the error of cells by how large they are."""

from fractions import Fraction

import numpy as np

from discreet.cube.consistency import reconcile
from discreet.cube.counts import countable
from discreet.noise.bits import SeededBits
from experiments.cubes.plot import write_rows
from experiments.cubes.techniques import OPTIMAL, Cells, exact_cube, noisy_sources
from experiments.tables.tables import adult

RUNS = 3
BANDS = (0, 1, 10, 100, 1000)
"""Where a band of true counts starts."""


def draw() -> None:
    table = adult()
    exact, plan = exact_cube(table.base_cuboid()), OPTIMAL.plan(table.sizes, Fraction(1))
    deviations = dict(zip(plan.published, np.sqrt(plan.variances(True)).tolist(), strict=True))
    band = np.searchsorted(BANDS, exact.ravel(), side="right") - 1
    cells = np.bincount(band, minlength=len(BANDS))
    found = {name: np.zeros((2, len(BANDS))) for name in ("least squares", "whole")}
    for run in range(RUNS):
        cube = reconcile(plan.lattice, noisy_sources(plan, exact, SeededBits(run)), plan.source_variances)
        counted = countable(plan.lattice.cuboid_of(cube, plan.lattice.base), deviations, whole=True)
        whole = exact_cube(counted.astype(np.int64))
        for name, made in (("least squares", cube), ("whole", whole)):
            found[name] += by_band(made - exact, band) / (RUNS * cells)
    header = ("true count from", "cells", *(f"{what}, {name}" for name in found for what in ("bias", "error")))
    rows = [
        (start, cells[place], *(f"{number:.3f}" for sums in found.values() for number in sums[:, place]))
        for place, start in enumerate(BANDS)
    ]
    write_rows("counts", header, rows)


def by_band(errors: Cells, band: np.ndarray) -> Cells:
    """The sum of errors, and of their sizes, in each band."""
    off = errors.ravel()
    return np.array([np.bincount(band, some, len(BANDS)) for some in (off, np.abs(off))])
