"""Publishing all cuboids of Adult through a vault: beside NumPy's floats, beside OpenDP, in time and in memory.

Every timing is of the whole way: plan, charge, one scan, exact noise, sync to disk, least squares. Each configuration
runs in a process of its own, so that its peak memory is its own.
"""

import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import opendp.prelude as dp
from numpy.typing import NDArray
from scipy import stats

from bench.figure import Figure, best_seconds
from discreet.cube.consistency import reconcile
from discreet.cube.cube import Cube
from discreet.cube.noise_model import LaplaceNoise
from discreet.cube.planning import plan_cube
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
    """A configuration's best time, what it took in memory beyond the imports, and what it published."""

    seconds: float
    cells: int
    array_bytes: int
    more_bytes: int
    numpy_seconds: float
    mean_error: float

    @property
    def nanoseconds_a_cell(self) -> float:
        return 1e9 * self.seconds / self.cells


def figures() -> Iterator[Figure]:
    optimal = in_own_process("optimal", (), REPEATS)
    note = (
        f"{optimal.seconds:.2f} s for {optimal.cells / 1e6:.1f} M cells; NumPy's floats {optimal.numpy_seconds:.2f} s"
    )
    yield Figure("Adult, 256 cuboids, to NumPy's draws", optimal.seconds / optimal.numpy_seconds, 8, "lower", "×", note)
    yield memory_figure("Adult, memory beyond the imports", optimal, 4)
    yield from opendp_figures(optimal)
    yield all_figure(REPEATS)
    large = in_own_process("optimal", (4, 4), 1)
    ratio = large.nanoseconds_a_cell / optimal.nanoseconds_a_cell
    note = f"{large.seconds:.1f} s for {large.cells / 1e6:.0f} M cells: {large.nanoseconds_a_cell:.0f} ns a cell"
    yield Figure("10 dimensions, time a cell, to 8", ratio, 1.5, "lower", "×", note)
    yield memory_figure("10 dimensions, memory beyond the imports", large, 3)
    yield variance_figure()


def memory_figure(name: str, measured: Measured, bar: float) -> Figure:
    note = f"{measured.more_bytes / 1e6:,.0f} MB; the cube's own array is {measured.array_bytes / 1e6:,.0f} MB"
    return Figure(name, measured.more_bytes / measured.array_bytes, bar, "lower", "×", note)


def all_figure(repeats: int) -> Figure:
    everything, bmaxg = in_own_process("all", (), repeats), in_own_process("bmaxg", (), repeats)
    note = f"{everything.seconds:.2f} s and {bmaxg.seconds:.2f} s; in the seed 10 to 30 times"
    return Figure("AllC, to BMaxGC", everything.seconds / bmaxg.seconds, 4, "lower", "×", note)


def in_own_process(planner: str, further_dimensions: Sequence[int], repeats: int) -> Measured:
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(publish_adult, planner, tuple(further_dimensions), repeats).result()


def publish_adult(planner: str, further_dimensions: tuple[int, ...], repeats: int) -> Measured:
    table = adult().with_random_columns(further_dimensions) if further_dimensions else adult()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = folder  # receipts of vaults that are gone in a minute
        rows, domain = table.write(Path(folder))
        vault = Vault.init(Path(folder) / "v", table=rows, domain=domain, epsilon=100, neighbours="add-remove")

        def publish(dimensions: Sequence[str] | None = None) -> Cube:
            plan = vault.plan_cube(epsilon=1, planner=planner, objective="mean", dimensions=dimensions)
            return vault.publish_cube(plan)

        publish(("sex", "income"))  # compiles, or loads what is compiled
        before = resident_bytes("VmRSS")
        start = time.perf_counter()
        cube = publish()
        seconds = time.perf_counter() - start
        peak = resident_bytes("VmHWM")
        error = mean_error(cube, table) if not further_dimensions else np.nan
        if repeats > 1:
            seconds = min(seconds, best_seconds(publish, repeats - 1))
        lattice = cube.plan.lattice
        floats = numpy_seconds(table, lattice.cube_bytes // 8, repeats) if not further_dimensions else np.nan
    return Measured(seconds, lattice.cube_bytes // 8, lattice.cube_bytes, peak - before, floats, error)


def resident_bytes(which: str) -> int:
    """Of this process: VmRSS, what is in memory, or VmHWM, the most that ever was."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith(which))


def numpy_seconds(table: Coded, cells: int, repeats: int) -> float:
    """Float noise for every cell of the cube, and the base cuboid summed along each axis once."""
    base, rng = table.base_cuboid(), np.random.default_rng(1)

    def work() -> None:
        rng.laplace(0, 256, cells)
        for axis in range(base.ndim):
            base.sum(axis=axis)

    return best_seconds(work, repeats)


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
    yield Figure("Adult, 256 cuboids, OpenDP's time to ours", whole / ours.seconds, 25, "higher", "×", note)
    theirs = float(np.mean(errors))
    note = f"mean absolute error of a cuboid at ε = 1: {ours.mean_error:.1f}, OpenDP {theirs:.1f}"
    yield Figure("Adult, error, to OpenDP", ours.mean_error / theirs, 0.2, "lower", "×", note)


def variance_figure() -> Figure:
    """The least p-value among the cuboids of a small cube, corrected for their number; both sides."""
    lattice = Lattice((2, 3, 5))
    plan = plan_cube(lattice, LaplaceNoise(Fraction(1), "add-remove"), planner="optimal")
    bits = Bits()
    squares = []
    for _ in range(RELEASES):
        sources = (
            (mask, sample_laplace(plan.noise.scale(share), lattice.cells(mask), bits).reshape(lattice.shape(mask)))
            for mask, share in zip(plan.source_masks, plan.shares, strict=True)
        )
        cube = reconcile(lattice, sources, plan.source_variances)
        squares.append([np.mean(lattice.cuboid_of(cube, mask) ** 2) for mask in plan.published])
    least = stats.ttest_1samp(np.array(squares), plan.variances()).pvalue.min() * len(plan.published)
    note = f"{RELEASES} releases of a 2 × 3 × 5 cube; 1 in 1,000 right cubes fails"
    return Figure("Empirical variance of each cuboid, p", min(float(least), 1.0), 0.001, "higher", "", note)
