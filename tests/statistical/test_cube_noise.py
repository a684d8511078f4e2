"""200 releases of a small cube: every cuboid's noise has the variance that the plan states, and intervals hold.

Seeds are fixed, so a test that passes keeps passing; a right cube fails one of these with probability 1e-4.
"""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.cube.consistency import reconcile, roll_up
from discreet.cube.interval import halfwidth
from discreet.cube.noise_model import NoiseModel
from discreet.cube.planning import plan_cube
from discreet.ledger.budget import PureBudget
from discreet.noise.bits import SeededBits
from discreet.noise.laplace import sample_laplace
from discreet.query.lattice import Lattice

RELEASES = 200
LATTICE = Lattice((2, 3, 5))
ACCEPTED, REJECTED = 1e-4, 1e-9
CASES = [
    (planner, epsilon, consistent)
    for planner, epsilon in [("base", "1"), ("all", "4"), ("bmaxg", "1"), ("optimal", "1/2")]
    for consistent in (True, False)
]


def plan_of(planner: str, epsilon: str):
    return plan_cube(LATTICE, NoiseModel(PureBudget(Fraction(epsilon), "add-remove")), planner=planner)


def noise_of_cubes(plan, consistent: bool, seed: int) -> np.ndarray:
    """The noise of many releases of an empty table: everything in them is noise."""
    bits, cubes = SeededBits(seed), []
    for _ in range(RELEASES):
        sources = []
        for mask, share in zip(plan.source_masks, plan.shares, strict=True):
            draws = sample_laplace(plan.noise.law(share).scale, LATTICE.cells(mask), bits)
            sources.append((mask, draws.reshape(LATTICE.shape(mask))))
        cubes.append((reconcile if consistent else roll_up)(LATTICE, sources, plan.source_variances))
    return np.array(cubes)


def mean_squares(cubes: np.ndarray, mask: int) -> np.ndarray:
    """For each release the mean squared noise of a cuboid's cells: independent numbers with the stated mean."""
    return np.array([np.mean(LATTICE.cuboid_of(cube, mask) ** 2) for cube in cubes])


@pytest.mark.parametrize(("planner", "epsilon", "consistent"), CASES)
def test_every_cuboid_has_the_stated_variance_and_no_other(planner, epsilon, consistent):
    plan = plan_of(planner, epsilon)
    cubes = noise_of_cubes(plan, consistent, seed=1)
    stated = {mask: plan.variance(*LATTICE.names_of(mask), consistent=consistent) for mask in plan.published}
    for mask, variance in stated.items():
        assert stats.ttest_1samp(mean_squares(cubes, mask), variance).pvalue > ACCEPTED
    together = sum(mean_squares(cubes, mask) / variance for mask, variance in stated.items()) / len(stated)
    for wrong in (1.3**2, 1 / 1.3**2):
        assert stats.ttest_1samp(together, wrong).pvalue < REJECTED


@pytest.mark.parametrize(("planner", "epsilon", "consistent"), CASES)
def test_intervals_hold_as_often_as_they_say(planner, epsilon, consistent):
    plan = plan_of(planner, epsilon)
    cubes = noise_of_cubes(plan, consistent, seed=2)
    for mask in plan.published:
        width = halfwidth(plan, mask, consistent, 0.9)
        outside = np.array([np.mean(np.abs(LATTICE.cuboid_of(cube, mask)) > width) for cube in cubes])
        # Cells of one release are correlated; releases are not.
        excess = (outside.mean() - 0.1) / max(outside.std() / RELEASES**0.5, 1e-9)
        assert excess < stats.norm.isf(ACCEPTED)
