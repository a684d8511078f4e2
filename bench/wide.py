"""Wide tables: all cuboids of at most three of 50 and of 100 attributes of ten values, 100,000 rows, pure ε = 1.

Each runs in a process of its own, through a vault: plan, charge, one pass over the codes, exact noise, sync to disk,
least squares. ResidualPlanner's figures, as published: 20 attributes 0.6 s to plan, 26.8 s and 2.7 GB to publish; 50
attributes 11.2 s to plan, not published after 550 s.

Then what each of the two ways to least squares pays where the other is taken: the one array (`cube/consistency.py`) and
an array for each subset (`cube/wide.py`).
"""

from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np

from bench.figure import Figure, race
from discreet.cube.consistency import reconcile
from discreet.cube.noise_model import NoiseModel
from discreet.cube.plan import CubePlan
from discreet.cube.planning import plan_cube
from discreet.cube.wide import Cells, reconcile_few
from discreet.ledger.budget import PureBudget
from discreet.query.lattice import Cuboids, Lattice
from experiments.wide.run import Run, run_in_own_process


def figures() -> Iterator[Figure]:
    fifty = run_in_own_process(50, "epsilon", "1")
    what = f"{fifty.cuboids:,} cuboids, {fifty.cells / 1e6:.1f} M cells"
    yield Figure("50 attributes, planning", fifty.planning, 10, "lower", "s", "ResidualPlanner 11.2 s, as published")
    note = f"{what}; ResidualPlanner not after 550 s, as published; saved in {fifty.saving:.1f} s more"
    yield Figure("50 attributes, published and consistent", fifty.publishing, 90, "lower", "s", note)
    yield memory_figure(fifty, 4)
    yield Figure("50 attributes, roll-ups off by, of a count", fifty.roll_up_gap, 1e-9, "lower", "")
    hundred = run_in_own_process(100, "epsilon", "1")
    what = f"{hundred.cuboids:,} cuboids, {hundred.cells / 1e6:.0f} M cells"
    seconds = hundred.planning + hundred.publishing
    note = f"{what}; planned in {hundred.planning:.1f} s, saved in {hundred.saving:.0f} s more"
    yield Figure("100 attributes, planned and published", seconds, 300, "lower", "s", note)
    yield memory_figure(hundred, 8)
    yield from two_ways()


def memory_figure(run: Run, bar: float) -> Figure:
    note = f"the plan stated {run.stated_bytes / 1e9:.2f} GB; the folder has {run.folder_bytes / 1e6:,.0f} MB"
    return Figure(f"{run.attributes} attributes, peak memory", run.peak_bytes / 1e9, bar, "lower", "GB", note)


def two_ways() -> Iterator[Figure]:
    """Both on cubes that both can hold: of all cuboids of Adult's dimensions, and of those of at most three."""
    triples = adult(cuboids=3)
    dense, wide = both_ways(triples)
    array = dense()
    gaps = [
        np.abs(cells - triples.lattice.cuboid_of(array, mask)).max() / max(1, np.abs(cells).max())
        for mask, cells in wide().items()
    ]
    yield Figure("dense and wide path, apart by", float(max(gaps)), 1e-9, "lower", "", f"{len(gaps)} cuboids of Adult")
    seconds = race(dense, wide, repeats=5)
    note = f"{seconds[1]:.3f} s one by one; of many more attributes there is no one array"
    yield Figure("triples of Adult in the one array, times as long", seconds[0] / seconds[1], 1, "higher", "×", note)
    dense, wide = both_ways(adult(cuboids="all"))
    seconds = race(dense, wide, repeats=5)
    note = f"{seconds[0]:.3f} s in the one array"
    yield Figure("all cuboids of Adult one by one, times as long", seconds[1] / seconds[0], 1, "higher", "×", note)


def adult(cuboids: Cuboids) -> CubePlan:
    noise = NoiseModel(PureBudget(Fraction(1), "add-remove"))
    return plan_cube(Lattice((9, 16, 7, 15, 6, 5, 2, 2)), noise, cuboids=cuboids)


def both_ways(plan: CubePlan) -> tuple[Callable[[], Cells], Callable[[], dict[int, Cells]]]:
    rng, lattice, variances = np.random.default_rng(3), plan.lattice, plan.source_variances
    sources = [(mask, rng.integers(-500, 30_000, lattice.shape(mask))) for mask in plan.source_masks]
    return (
        lambda: reconcile(lattice, sources, variances),
        lambda: reconcile_few(lattice, sources, variances, plan.published),
    )
