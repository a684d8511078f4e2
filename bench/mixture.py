"""Models of joints that are too large to be gone through: Adult with all its columns, and 50 columns of 10 values."""

import os
import resource
import tempfile
import time
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.figure import Figure
from discreet.cube.cube import Cube
from discreet.cube.plan import CubePlan
from discreet.domain.attribute import Category
from discreet.domain.domain import Domain
from discreet.ledger.conversion import rho_for
from discreet.model.rows import draw_rows
from discreet.noise.bits import SeededBits
from discreet.vault.vault import Vault
from experiments.tables.tables import Coded, whole_adult

SEEDS = 5
MOST_CELLS = 10_000
"""Of a triple that is compared, as the peers' figures have it."""


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = folder  # receipts of a vault that is gone in a minute
        yield from adult_figures(Path(folder))
        yield from fifty_figures(Path(folder))


def adult_figures(folder: Path) -> Iterator[Figure]:
    table = whole_adult()
    vault, plan = _vault(table, folder)
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
    note = f"91 pairs measured, {SEEDS} releases; least squares, clipped at 0, {least:.3f}; MST .0698"
    yield Figure("Adult, 14 columns, (1, 10⁻⁹), modelled: total variation, 2-way", pairs, 0.05, "lower", "", note)
    note = f"the {len(triples)} of at most {MOST_CELLS:,} cells; MST .120"
    yield Figure("Adult, 14 columns, (1, 10⁻⁹), modelled: total variation, 3-way", three, 0.09, "lower", "", note)
    note = "publish and fit, the mean; MST 159"
    yield Figure("Adult, 14 columns, modelled: time", float(np.mean(seconds)), 120, "lower", "CPU s", note)


def fifty_figures(folder: Path) -> Iterator[Figure]:
    table = fifty()
    cube, _, cpu = fifty_published(table, folder)
    pairs = list(combinations(range(50), 2))
    modelled, least = variation(cube, table, pairs), clipped(cube, table)
    note = f"1,225 pairs at (1, 10⁻⁹): total variation {modelled:.3f}, least squares, clipped at 0, {least:.3f}"
    yield Figure("50 × 10, modelled, to least squares, 2-way", modelled / least, 1, "lower", "×", note)
    note = f"{len(table.rows):,} rows; of all cores together, so that a quiet clock shows no more"
    yield Figure("50 × 10, publish, fit and rows: processor time", cpu, 300, "lower", "CPU s", note)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    yield Figure("50 × 10, memory of the whole process", most, 4, "lower", "GB", "")


def fifty_published(table: Coded, folder: Path) -> tuple[Cube, float, float]:
    """A published cube with its model, after its rows were drawn: with the seconds of all that, by the clock and of
    processors."""
    vault, plan = _vault(table, folder)
    start, own = time.perf_counter(), time.process_time()
    cube = vault.cubes.publish(plan, estimate="modelled")
    assert cube.model is not None
    draw_rows(cube.model, len(table.rows), SeededBits(0))
    return cube, time.perf_counter() - start, time.process_time() - own


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


def _vault(table: Coded, folder: Path) -> tuple[Vault, CubePlan]:
    rows, domain = table.write(folder)
    vault = Vault.init(folder / table.domain.name, table=rows, domain=domain, rho=10, neighbours="add-remove")
    return vault, vault.cubes.plan(rho=rho_for(Fraction(1), Fraction(1, 10**9)), planner="model")
