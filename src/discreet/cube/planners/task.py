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
    """A weight stands beside each published cuboid. `bound` is the variance up to which a cuboid counts as precise."""

    lattice: Lattice
    published: tuple[int, ...]
    weights: tuple[float, ...]
    noise: NoiseModel
    objective: Objective = "max"
    bound: float | None = None

    @cached_property
    def top(self) -> int:
        """The smallest cuboid from which every published one can be computed: the base cuboid where all are."""
        return reduce(or_, self.published)


Shares = Mapping[int, float | Fraction]
"""The sources' shares of the budget, above 0 and together at most 1, by mask."""

Planner = Callable[[Task], Shares]
