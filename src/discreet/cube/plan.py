"""A cube plan: which cuboids are measured, with what share of the budget, and how exact every cuboid will be."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.cube.kronecker import Masks, best_source_variances, consistent_variances
from discreet.cube.noise_model import NoiseModel
from discreet.errors import UnsupportedQuery
from discreet.query.lattice import Label, Lattice

Objective = Literal["max", "mean", "weighted", "mean-std"]
"""max: the largest weight × variance of a published cuboid. mean and mean-std: the weighted mean of their variances,
and of their standard deviations. weighted: the mean, where weights have to be given."""


@dataclass(frozen=True)
class CubePlan:
    """The sources and their shares of one budget; public, and made before anything is spent.

    Variances are per cell and exact: those of the noise that will be drawn, not an estimate.
    Raises UnsupportedQuery where the shares overspend, or a published cuboid cannot be computed from any source.
    """

    planner: str
    lattice: Lattice
    published: tuple[int, ...]
    weights: tuple[float, ...]
    noise: NoiseModel
    source_masks: tuple[int, ...]
    shares: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        if len(set(self.source_masks)) != len(self.source_masks):
            raise UnsupportedQuery("a cuboid is measured once: it is given twice among the sources")
        if min(self.shares, default=Fraction()) <= 0 or sum(self.shares) > 1:
            raise UnsupportedQuery("shares of the budget are above 0, and together at most 1")
        missing = [mask for mask in self.published if np.isinf(self._best[mask])]
        if missing:
            names = self.lattice.names_of(missing[0])
            raise UnsupportedQuery(f"cuboid {names} cannot be computed from the sources of this plan")

    @property
    def sources(self) -> tuple[tuple[Label, ...], ...]:
        return tuple(self.lattice.names_of(mask) for mask in self.source_masks)

    @cached_property
    def source_variances(self) -> dict[int, float]:
        """σ² on each cell of each source, by its mask."""
        pairs = zip(self.source_masks, self.shares, strict=True)
        return {mask: self.noise.variance(share) for mask, share in pairs}

    def _over_masks(self, elsewhere: float) -> Masks:
        values = np.full(1 << self.lattice.dimensions, elsewhere)
        values[list(self.source_variances)] = list(self.source_variances.values())
        return values

    @cached_property
    def _best(self) -> Masks:
        return best_source_variances(self._over_masks(np.inf), self.lattice.sizes)

    @cached_property
    def _consistent(self) -> Masks:
        return consistent_variances(1 / self._over_masks(np.inf), self.lattice.sizes)

    def variances(self, consistent: bool = True) -> NDArray[np.float64]:
        """The variance of a cell of each published cuboid, in their order."""
        return (self._consistent if consistent else self._best)[list(self.published)]

    def variance(self, *names: Label, consistent: bool = True) -> float:
        """The variance of a cell of one cuboid, published or computable: as `publish_cube` gives it, or, where not
        `consistent`, of the cuboid rolled up from its best source."""
        mask = self.lattice.mask(*names)
        variance = float((self._consistent if consistent else self._best)[mask])
        if variance == np.inf:
            raise UnsupportedQuery(f"cuboid {names} cannot be computed from the sources of this plan")
        return variance

    def best_source(self, mask: int) -> int:
        """The source from which a cuboid is rolled up with the least variance. [cubes, 3.3]"""
        lattice, variances = self.lattice, self.source_variances
        holding = [source for source in self.source_masks if not mask & ~source]
        if not holding:
            raise UnsupportedQuery(f"cuboid {lattice.names_of(mask)} cannot be computed from the sources of this plan")
        return min(holding, key=lambda source: lattice.magnification(mask, source) * variances[source])

    @property
    def max_variance(self) -> float:
        return float(self.variances(consistent=False).max())

    @property
    def mean_variance(self) -> float:
        return float(self.variances(consistent=False).mean())

    @property
    def max_variance_consistent(self) -> float:
        return float(self.variances().max())

    @property
    def mean_variance_consistent(self) -> float:
        return float(self.variances().mean())

    def score(self, objective: Objective, consistent: bool = True) -> float:
        """What a planner with that objective makes small, weights included."""
        return score(self.variances(consistent), self.weights, objective)

    def to_json(self) -> dict[str, Any]:
        """The plan as `cube plan --json` prints it."""
        return {
            "planner": self.planner,
            "sources": [list(names) for names in self.sources],
            "shares": [float(share) for share in self.shares],
            "max_variance": self.max_variance,
            "mean_variance": self.mean_variance,
            "max_variance_consistent": self.max_variance_consistent,
            "mean_variance_consistent": self.mean_variance_consistent,
        }


def score(variances: NDArray[np.float64], weights: Sequence[float], objective: Objective) -> float:
    """An objective's value for the variances of the published cuboids."""
    match objective:
        case "max":
            return float((variances * np.asarray(weights)).max())
        case "mean" | "weighted":
            return float(np.average(variances, weights=weights))
        case "mean-std":
            return float(np.average(np.sqrt(variances), weights=weights))
    raise UnsupportedQuery(f"an objective is max, mean, weighted or mean-std, not {objective!r}")
