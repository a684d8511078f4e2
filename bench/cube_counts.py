"""Adult's cube in whole numbers that are not below 0, beside the cube of least squares: time and error, at ε = 1."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bench.cube_publish import rolled_up
from bench.figure import Figure, race
from discreet.cube.cube import Cube
from discreet.vault import Vault
from experiments.tables.tables import Coded, adult

REPEATS = 5


def figures() -> Iterator[Figure]:
    table = adult()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = folder  # receipts of a vault that is gone in a minute
        rows, domain = table.write(Path(folder))
        vault = Vault.init(Path(folder) / "v", table=rows, domain=domain, epsilon=1000, neighbours="add-remove")
        plan = vault.cubes.plan(epsilon=1)
        cube = vault.cubes.publish(plan)
        whole = cube.reshaped(counts="whole")
        real, counted = race(
            lambda: vault.cubes.publish(plan, again=True),
            lambda: vault.cubes.publish(plan, counts="whole", again=True),
            repeats=REPEATS,
        )
        note = f"{counted:.2f} s against {real:.2f} s, charge, scan, noise and sync included"
        yield Figure("Adult, whole counts, time to least squares", counted / real, 5, "lower", "×", note)
        errors = {name: errors_by_level(made, table) for name, made in (("l2", cube), ("whole", whole))}
        yield from error_figures(errors["l2"], errors["whole"])


def errors_by_level(cube: Cube, table: Coded) -> dict[int, list[float]]:
    """The mean absolute error of every cuboid, by its number of dimensions; -1 is that of all cells."""
    base, lattice = table.base_cuboid(), cube.plan.lattice
    by_level: dict[int, list[float]] = {}
    total, cells = 0.0, 0
    for mask, values in cube.cuboids.items():
        errors = np.abs(values - rolled_up(base, lattice, mask))
        by_level.setdefault(mask.bit_count(), []).append(float(errors.mean()))
        total, cells = total + float(errors.sum()), cells + errors.size
    return {**by_level, -1: [total / cells]}


def error_figures(real: dict[int, list[float]], whole: dict[int, list[float]]) -> Iterator[Figure]:
    cells = real[-1][0], whole[-1][0]
    note = f"{cells[1]:.2f} against {cells[0]:.2f}, over all cells of all cuboids"
    yield Figure("Adult, whole counts, error of a cell", cells[1] / cells[0], 1, "lower", "×", note)
    cuboids = [float(np.mean([one for level in range(9) for one in errors[level]])) for errors in (real, whole)]
    levels = ", ".join(f"{np.mean(whole[level]):.3g}/{np.mean(real[level]):.3g}" for level in range(9))
    note = f"{cuboids[1]:.1f} against {cuboids[0]:.1f}; by number of dimensions from 0: {levels}"
    yield Figure("Adult, whole counts, error of a cuboid", cuboids[1] / cuboids[0], 1, "lower", "×", note)
