"""The techniques of Section 6.1, and what they do to a table: each cuboid's mean absolute error.

Noise is the exact one, from a seeded stream: these are public tables, and the same pictures every time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.cube.consistency import reconcile, roll_up
from discreet.cube.noise_model import NoiseModel
from discreet.cube.plan import CubePlan, Objective
from discreet.cube.planning import plan_cube
from discreet.ledger.budget import PureBudget
from discreet.noise.bits import SeededBits
from discreet.query.lattice import Cuboids, Lattice
from experiments.cubes.few_cells import FEW, errors_of_few

Cells = NDArray[np.float64]

RUNS = 5
"""Releases for cuboids of many cells, each of which tells many errors."""


@dataclass(frozen=True)
class Technique:
    """A planner, named as in the seed; with a C, its cube is made consistent."""

    name: str
    planner: str
    objective: Objective = "max"

    def plan(
        self, sizes: Sequence[int], epsilon: Fraction, cuboids: Cuboids = "all", bound: float | None = None
    ) -> CubePlan:
        noise = NoiseModel(PureBudget(epsilon, "add-remove"))
        choice = {"planner": self.planner, "objective": self.objective, "bound": bound}
        return plan_cube(Lattice(tuple(sizes)), noise, cuboids=cuboids, **choice)


ALL = Technique("All", "all")
BASE = Technique("Base", "base")
BMAX = Technique("BMax", "bmax")
PMOST = Technique("PMost", "pmost")
BMAXG = Technique("BMaxG", "bmaxg")
PMOSTG = Technique("PMostG", "pmostg")
OPTIMAL = Technique("optimal (max)", "optimal")
OPTIMAL_MEAN = Technique("optimal (mean)", "optimal", "mean")
TECHNIQUES = (ALL, BASE, BMAX, PMOST, BMAXG, PMOSTG, OPTIMAL, OPTIMAL_MEAN)
"""All, BMax, PMost and BMaxG, with and without C, and Base are the seed's nine."""


@dataclass(frozen=True)
class Errors:
    """The mean absolute error of each published cuboid, without and with consistency, over all runs."""

    plan: CubePlan
    rough: NDArray[np.float64]
    consistent: NDArray[np.float64]

    @property
    def largest_deviation(self) -> float:
        """The largest standard deviation that the plan states for a consistent cuboid: what the max error follows."""
        return float(self.plan.max_variance_consistent**0.5)

    def of_dimensions(self, count: int) -> "Errors":
        """The cuboids of so many dimensions alone."""
        chosen = [place for place, mask in enumerate(self.plan.published) if mask.bit_count() == count]
        return Errors(self.plan, self.rough[chosen], self.consistent[chosen])


def exact_cube(base: NDArray[np.int64]) -> Cells:
    """All cuboids of a table, in one array."""
    cube = np.zeros([size + 1 for size in base.shape])
    cube[(slice(1, None),) * base.ndim] = base
    for axis in range(base.ndim):
        along = np.moveaxis(cube, axis, 0)
        along[0] = along[1:].sum(axis=0)
    return cube


def noisy_sources(plan: CubePlan, exact: Cells, bits: SeededBits) -> Iterator[tuple[int, Cells]]:
    """The plan's sources as they would be released."""
    for mask, share in zip(plan.source_masks, plan.shares, strict=True):
        cuboid = plan.lattice.cuboid_of(exact, mask)
        noise = plan.noise.law(share).sample(cuboid.size, bits)
        yield mask, cuboid + noise.reshape(cuboid.shape)


def errors_of(plan: CubePlan, exact: Cells, runs: int = RUNS, seed: int = 1) -> Errors:
    """Publish a plan several times, with and without consistency, and compare with the truth; cuboids of few cells many
    times, by themselves."""
    rough, consistent = np.zeros(len(plan.published)), np.zeros(len(plan.published))
    for run in range(runs):
        bits = SeededBits(1000 * seed + run)
        sources = list(noisy_sources(plan, exact, bits))
        for total, compute in ((rough, roll_up), (consistent, reconcile)):
            total += _cuboid_errors(compute(plan.lattice, sources, plan.source_variances), exact, plan)
    rough, consistent = rough / runs, consistent / runs
    for place, mask in enumerate(plan.published):
        if plan.lattice.cells(mask) <= FEW:
            rough[place], consistent[place] = errors_of_few(plan, mask, seed)
    return Errors(plan, rough, consistent)


def _cuboid_errors(cube: Cells, exact: Cells, plan: CubePlan) -> NDArray[np.float64]:
    """The seed's cuboid error: the mean absolute error of a cuboid's cells."""
    off = np.abs(np.subtract(cube, exact, out=cube), out=cube)
    return np.array([plan.lattice.cuboid_of(off, mask).mean() for mask in plan.published])
