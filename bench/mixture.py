"""A model of a joint that is too large to be gone through: Adult with all its columns."""

import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.figure import Figure
from bench.model_peers.kept import seconds_beside, variation_beside
from discreet.cube.cube import Cube
from discreet.cube.plan import CubePlan
from discreet.ledger.conversion import rho_for
from discreet.vault.vault import Vault
from experiments.tables.tables import Coded, whole_adult

SEEDS = 5
PEERS_TABLE = "Adult, 14 columns"
"""What peers' results call it."""
MOST_CELLS = 10_000
"""Of a triple that is compared, as the peers' figures have it."""


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = folder  # receipts of a vault that is gone in a minute
        yield from adult_figures(Path(folder))


def adult_figures(folder: Path) -> Iterator[Figure]:
    table = whole_adult()
    vault, plan = planned(table, folder)
    triples = [axes for axes in combinations(range(14), 3) if cells_of(table, axes) <= MOST_CELLS]
    distances, seconds = [], []
    for _ in range(SEEDS):
        start = time.process_time()
        cube = vault.cubes.publish(plan, estimate="modelled", again=True)
        seconds.append(time.process_time() - start)
        distances.append(
            [
                variation(cube, table, combinations(range(14), 2)),
                variation(cube, table, triples),
                clipped(cube, table),
            ]
        )
    pairs, three, least = np.mean(distances, axis=0)
    note = f"91 pairs measured, {SEEDS} releases; least squares, clipped at 0, {least:.3f}"
    note += f"; {variation_beside(PEERS_TABLE, '1', 2)}"
    yield Figure("Adult, 14 columns, (1, 10⁻⁹), modelled: total variation, 2-way", pairs, 0.05, "lower", "", note)
    note = f"the {len(triples)} of at most {MOST_CELLS:,} cells; {variation_beside(PEERS_TABLE, '1', 3)}"
    yield Figure("Adult, 14 columns, (1, 10⁻⁹), modelled: total variation, 3-way", three, 0.09, "lower", "", note)
    note = f"publish and fit, the mean; {seconds_beside(PEERS_TABLE, '1')}"
    yield Figure("Adult, 14 columns, modelled: time", float(np.mean(seconds)), 120, "lower", "CPU s", note)


def variation(cube: Cube, table: Coded, chosen: Iterable[tuple[int, ...]]) -> float:
    """The mean total variation distance between model and table over some cuboids."""
    model = cube.modelled.model
    made = [(axes, model.cuboid(sum(1 << axis for axis in axes)) / model.total) for axes in chosen]
    return float(np.mean([np.abs(cells - _truth(table, axes)).sum() / 2 for axes, cells in made]))


def clipped(cube: Cube, table: Coded) -> float:
    """The same of least squares without what is below 0, over pairs."""
    off = []
    for axes in combinations(range(len(table.sizes)), 2):
        cells = np.maximum(cube.cells_of(sum(1 << axis for axis in axes)), 0)
        off.append(np.abs(cells / max(cells.sum(), 1) - _truth(table, axes)).sum() / 2)
    return float(np.mean(off))


def _truth(table: Coded, axes: tuple[int, ...]) -> NDArray[np.float64]:
    sizes = [table.sizes[axis] for axis in axes]
    places = np.ravel_multi_index(tuple(table.rows[:, axis] for axis in axes), sizes)
    return np.bincount(places, minlength=int(np.prod(sizes))).reshape(sizes) / len(table.rows)


def cells_of(table: Coded, axes: tuple[int, ...]) -> int:
    return int(np.prod([table.sizes[axis] for axis in axes]))


def planned(table: Coded, folder: Path) -> tuple[Vault, CubePlan]:
    """A vault over a table, and what a model is to be fitted to at (1, 10⁻⁹)."""
    rows, domain = table.write(folder)
    vault = Vault.init(folder / table.domain.name, table=rows, domain=domain, rho=10, neighbours="add-remove")
    return vault, vault.cubes.plan(rho=rho_for(Fraction(1), Fraction(1, 10**9)), planner="model")
