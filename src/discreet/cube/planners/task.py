"""What a planner is asked: the cuboids to publish, how much each matters, and what noise costs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from operator import or_

from discreet.cube.noise_model import NoiseModel
from discreet.cube.plan import Objective
from discreet.query.lattice import Lattice


@dataclass(frozen=True)
class Task:
    """A weight stands beside each published cuboid, and what variance is expected of it: what is made small is a
    cuboid's ratio, variance / expected. `bound` is the ratio up to which a cuboid counts as precise."""

    lattice: Lattice
    published: tuple[int, ...]
    weights: tuple[float, ...]
    noise: NoiseModel
    objective: Objective = "max"
    bound: float | None = None
    expected: tuple[float, ...] = ()
    """1 for every cuboid where nothing is said, so that a ratio is a variance."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "expected", self.expected or (1.0,) * len(self.published))

    @cached_property
    def burdens(self) -> tuple[float, ...]:
        """weight / expected: what the variance of each published cuboid counts, where the largest does."""
        return tuple(weight / expected for weight, expected in zip(self.weights, self.expected, strict=True))

    @cached_property
    def top(self) -> int:
        """The smallest cuboid from which every published one can be computed: the base cuboid where all are."""
        return reduce(or_, self.published)


Shares = Mapping[int, float | Fraction]
"""The sources' shares of the budget, above 0 and together at most 1, by mask."""

Planner = Callable[[Task], Shares]
