"""Publishing all cuboids of Adult through a vault: beside NumPy's floats, beside OpenDP, in time and in memory.

Every timing is of the whole way: plan, charge, one scan, exact noise, sync to disk, least squares. Each configuration
runs in a process of its own, so that its peak memory is its own.
"""

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import opendp.prelude as dp
from numpy.typing import NDArray
from scipy import stats

from bench.figure import Figure, race
from discreet.cube.consistency import reconcile
from discreet.cube.cube import Cube
from discreet.cube.noise_model import NoiseModel
from discreet.cube.planning import PLANNERS, plan_cube
from discreet.ledger.budget import PureBudget
from discreet.noise.bits import Bits
from discreet.noise.laplace import sample_laplace
from discreet.query.lattice import Lattice
from discreet.vault import Vault
from experiments.tables.tables import Coded, adult

REPEATS = 5
OPENDP_CUBOIDS = range(11, 256, 16)
"""OpenDP takes minutes for all 256: every sixteenth, a tenth of all cells, is measured and scaled up by its cells."""
RELEASES = 200


@dataclass(frozen=True)
class Measured:
    """The best times of a configuration and its rivals, and what it took in memory beyond the imports."""

    cells: int
    more_bytes: int
    seconds: dict[str, float]
    mean_error: float

    @property
    def nanoseconds_a_cell(self) -> float:
        return 1e9 * self.seconds["optimal"] / self.cells


def figures() -> Iterator[Figure]:
    eight = in_own_process((), ("optimal", "all", "bmaxg", "numpy"), REPEATS)
    seconds = eight.seconds
    note = f"{seconds['optimal']:.2f} s for {eight.cells / 1e6:.1f} M cells; NumPy's floats {seconds['numpy']:.2f} s"
    yield Figure("Adult, 256 cuboids, to NumPy", seconds["optimal"] / seconds["numpy"], 8, "lower", "×", note)
    yield memory_figure("Adult, memory beyond the imports", eight, 4)
    yield from opendp_figures(eight)
    note = f"{seconds['all']:.2f} s and {seconds['bmaxg']:.2f} s; in the seed 10 to 30 times"
    yield Figure("AllC, to BMaxGC", seconds["all"] / seconds["bmaxg"], 4, "lower", "×", note)
    ten = in_own_process((4, 4), ("optimal",), 1)
    note = f"{ten.seconds['optimal']:.1f} s for {ten.cells / 1e6:.0f} M cells: {ten.nanoseconds_a_cell:.0f} ns a cell"
    ratio = ten.nanoseconds_a_cell / eight.nanoseconds_a_cell
    yield Figure("10 dimensions, time a cell, to 8", ratio, 1.5, "lower", "×", note)
    yield memory_figure("10 dimensions, memory beyond the imports", ten, 3)
    yield variance_figure()


def memory_figure(name: str, measured: Measured, bar: float) -> Figure:
    array_bytes = 8 * measured.cells
    note = f"{measured.more_bytes / 1e6:,.0f} MB; the cube's own array is {array_bytes / 1e6:,.0f} MB"
    return Figure(name, measured.more_bytes / array_bytes, bar, "lower", "×", note)


def in_own_process(further_dimensions: Sequence[int], works: Sequence[str], repeats: int) -> Measured:
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(publish_adult, tuple(further_dimensions), tuple(works), repeats).result()


def publish_adult(further_dimensions: tuple[int, ...], works: tuple[str, ...], repeats: int) -> Measured:
    """Publish Adult, with further random columns, by each planner of `works`; "numpy" is the peer."""
    table = adult().with_random_columns(further_dimensions) if further_dimensions else adult()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = folder  # receipts of a vault that is gone in a minute
        rows, domain = table.write(Path(folder))
        vault = Vault.init(Path(folder) / "v", table=rows, domain=domain, epsilon=1000, neighbours="add-remove")

        def publish(planner: str, dimensions: Sequence[str] | None = None) -> Cube:
            plan = vault.cubes.plan(epsilon=1, planner=planner, objective="mean", dimensions=dimensions)
            return vault.cubes.publish(plan, again=True)

        for planner in works:
            if planner in PLANNERS:
                publish(planner, ("sex", "income"))  # compiles, or loads what is compiled
        before = resident_bytes("VmRSS")
        start = time.perf_counter()
        cube = publish("optimal")
        seconds = {"optimal": time.perf_counter() - start}
        more_bytes = resident_bytes("VmHWM") - before
        cells = cube.plan.lattice.cube_bytes // 8
        error = np.nan if further_dimensions else mean_error(cube, table)
        del cube
        if repeats > 1:
            runs = [numpy_work(table, cells) if work == "numpy" else partial(publish, work) for work in works]
            seconds = dict(zip(works, race(*runs, repeats=repeats), strict=True))
    return Measured(cells, more_bytes, seconds, error)


def resident_bytes(which: str) -> int:
    """Of this process: VmRSS, what is in memory, or VmHWM, the most that ever was."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith(which))


def numpy_work(table: Coded, cells: int) -> Callable[[], None]:
    """Float noise for every cell of the cube, and the base cuboid summed along each axis once."""
    base, rng = table.base_cuboid(), np.random.default_rng(1)

    def work() -> None:
        rng.laplace(0, 256, cells)
        for axis in range(base.ndim):
            base.sum(axis=axis)

    return work


def mean_error(cube: Cube, table: Coded) -> float:
    """The mean over all cuboids of the mean absolute error of their cells. [cubes, Section 6.1]"""
    base = table.base_cuboid()
    lattice = cube.plan.lattice
    return float(
        np.mean([np.abs(cells - rolled_up(base, lattice, mask)).mean() for mask, cells in cube.cuboids.items()])
    )


def rolled_up(base: NDArray[np.int64], lattice: Lattice, mask: int) -> NDArray[np.int64]:
    return base.sum(axis=lattice.axes(lattice.base & ~mask))


def opendp_figures(ours: Measured) -> Iterator[Figure]:
    """Each cuboid by itself: counted by categories, and a vector of Laplace noise with its share of ε = 1."""
    dp.enable_features("contrib")
    table = adult()
    lattice = Lattice(table.sizes)
    seconds, errors, cells = 0.0, [], 0
    for mask in OPENDP_CUBOIDS:
        axes = lattice.axes(mask)
        codes = np.ravel_multi_index(tuple(table.rows[:, axis] for axis in axes), lattice.shape(mask)).tolist()
        start = time.perf_counter()
        counted = dp.t.then_count_by_categories(categories=list(range(lattice.cells(mask))), null_category=False)
        space = dp.vector_domain(dp.atom_domain(T="i64")), dp.symmetric_distance()
        noisy = (space >> counted >> dp.m.then_laplace(scale=256.0))(codes)
        seconds += time.perf_counter() - start
        cells += lattice.cells(mask)
        exact = np.bincount(codes, minlength=lattice.cells(mask))
        errors.append(np.abs(np.array(noisy) - exact).mean())
    whole = seconds * ours.cells / cells
    note = f"OpenDP {whole:.0f} s, scaled up from {len(OPENDP_CUBOIDS)} cuboids, {cells / 1e6:.2f} M cells"
    yield Figure("Adult, 256 cuboids, OpenDP's time to ours", whole / ours.seconds["optimal"], 25, "higher", "×", note)
    theirs = float(np.mean(errors))
    note = f"mean absolute error of a cuboid at ε = 1: {ours.mean_error:.1f}, OpenDP {theirs:.1f}"
    yield Figure("Adult, error, to OpenDP", ours.mean_error / theirs, 0.2, "lower", "×", note)


def variance_figure() -> Figure:
    """The least p-value among the cuboids of a small cube, corrected for their number; both sides."""
    lattice = Lattice((2, 3, 5))
    plan = plan_cube(lattice, NoiseModel(PureBudget(Fraction(1), "add-remove")), planner="optimal")
    bits = Bits()
    squares = []
    for _ in range(RELEASES):
        sources = (
            (mask, sample_laplace(plan.noise.law(share).scale, lattice.cells(mask), bits).reshape(lattice.shape(mask)))
            for mask, share in zip(plan.source_masks, plan.shares, strict=True)
        )
        cube = reconcile(lattice, sources, plan.source_variances)
        squares.append([np.mean(lattice.cuboid_of(cube, mask) ** 2) for mask in plan.published])
    least = stats.ttest_1samp(np.array(squares), plan.variances()).pvalue.min() * len(plan.published)
    note = f"{RELEASES} releases of a 2 × 3 × 5 cube; 1 in 1,000 right cubes fails"
    return Figure("Empirical variance of each cuboid, p", min(float(least), 1.0), 0.001, "higher", "", note)
