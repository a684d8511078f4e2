"""Wide tables: all cuboids of at most three of 50 and of 100 attributes of ten values, 100,000 rows, pure ε = 1.

Each runs in a process of its own, through a vault: plan, charge, one pass over the codes, exact noise, sync to disk,
least squares. ResidualPlanner's figures, as published: 20 attributes 0.6 s to plan, 26.8 s and 2.7 GB to publish; 50
attributes 11.2 s to plan, not published after 550 s.
"""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from bench.figure import Figure
from discreet.cube.consistency import reconcile
from discreet.cube.noise_model import NoiseModel
from discreet.cube.planning import plan_cube
from discreet.cube.wide import reconcile_few
from discreet.ledger.budget import PureBudget
from discreet.query.lattice import Lattice
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
    yield agreement_figure()


def memory_figure(run: Run, bar: float) -> Figure:
    note = f"the plan stated {run.stated_bytes / 1e9:.2f} GB; the folder has {run.folder_bytes / 1e6:,.0f} MB"
    return Figure(f"{run.attributes} attributes, peak memory", run.peak_bytes / 1e9, bar, "lower", "GB", note)


def agreement_figure() -> Figure:
    """Both paths on a cube that both can hold: all triples of Adult's dimensions."""
    lattice = Lattice((9, 16, 7, 15, 6, 5, 2, 2))
    plan = plan_cube(lattice, NoiseModel(PureBudget(Fraction(1), "add-remove")), cuboids=3)
    rng = np.random.default_rng(3)
    sources = [(mask, rng.integers(-500, 30_000, lattice.shape(mask))) for mask in plan.source_masks]
    dense = reconcile(lattice, sources, plan.source_variances)
    wide = reconcile_few(lattice, sources, plan.source_variances, plan.published)
    gaps = [
        np.abs(cells - lattice.cuboid_of(dense, mask)).max() / max(1, np.abs(cells).max())
        for mask, cells in wide.items()
    ]
    return Figure("dense and wide path, apart by", float(max(gaps)), 1e-9, "lower", "", f"{len(wide)} cuboids of Adult")
