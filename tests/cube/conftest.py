"""A small made-up population, measured with repeatable noise: what the gate does, without a vault."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.cube.cube import Cube
from discreet.cube.noise_model import NoiseModel
from discreet.cube.plan import CubePlan
from discreet.cube.planning import plan_cube
from discreet.cube.publish import publish_cube
from discreet.domain.attribute import Category, Integer
from discreet.domain.domain import Domain
from discreet.ledger.budget import PureBudget
from discreet.ledger.receipt import Receipt
from discreet.ledger.standing import Standing
from discreet.noise.bits import SeededBits
from discreet.query.lattice import Lattice
from discreet.query.plan import Plan
from discreet.release.release import Noisy, Release

DOMAIN = Domain(
    "people",
    (
        Category(name="sex", source="form, item 1", values=("F", "M")),
        Integer(name="age", source="form, item 2", low=18, high=20),
        Category(name="region", source="atlas", values=("north", "east", "south"), null=True),
    ),
)

BUDGET = PureBudget(Fraction(10), "add-remove")


@dataclass
class Town:
    """Exact counts of everybody, and how often they were measured."""

    domain: Domain
    base: NDArray[np.int64]
    bits: SeededBits
    measured: list[Plan] = field(default_factory=list)
    budget: PureBudget = BUDGET

    def exact(self, *names: str) -> NDArray[np.int64]:
        """A cuboid of the truth, its axes in the domain's order."""
        told, further = self.domain.names[: self.base.ndim], self.domain.names[self.base.ndim :]
        exact = self.base.sum(axis=tuple(axis for axis, name in enumerate(told) if name not in names))
        for name in further:
            if name in names:
                exact = np.pad(exact[..., None], [(0, 0)] * exact.ndim + [(0, self.domain[name].size - 1)])
        return exact

    def widened(self, further: int, size: int) -> "Town":
        """The same town with further dimensions, in which everybody has the first value."""
        more = tuple(Integer(name=f"extra{place}", source="none", low=1, high=size) for place in range(further))
        return replace(self, domain=replace(self.domain, attributes=(*self.domain.attributes, *more)))

    def measure(self, plan: Plan) -> Release:
        self.measured.append(plan)
        answers = []
        for measurement in plan.measurements:
            exact = self.exact(*measurement.query.by)
            noise = measurement.law.sample(exact.size, self.bits).reshape(exact.shape)
            answers.append(Noisy(measurement, Fraction(1), exact + noise))
        promise = Standing.of(BUDGET).promise(plan.cost(self.domain, BUDGET).everywhere)
        return Release(plan, tuple(answers), promise, 7, Receipt(8, bytes(range(32))))

    def plan(self, epsilon: str = "1", **choice: object) -> CubePlan:
        lattice = Lattice(self.domain.shape, self.domain.names)
        return plan_cube(lattice, NoiseModel(PureBudget(Fraction(epsilon), "add-remove")), **choice)

    def publish(self, plan: CubePlan, consistent: bool = True) -> Cube:
        return publish_cube(plan, self.domain, self.measure, consistent=consistent)


@pytest.fixture
def town() -> Town:
    counts = np.random.default_rng(5).integers(0, 400, DOMAIN.shape)
    return Town(DOMAIN, counts, SeededBits(11))


@pytest.fixture
def publish(town: Town) -> Callable[..., Cube]:
    """A published cube, by planner and choice."""
    return lambda consistent=True, **choice: town.publish(town.plan(**choice), consistent)
