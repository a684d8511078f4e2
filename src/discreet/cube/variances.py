"""How exact every cuboid is that some sources compute: over a whole lattice, or over a few cuboids of a wide one."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.cube.closure import Closure, Numbers, closure_of
from discreet.cube.kronecker import Masks, best_source_variances, consistent_variances
from discreet.query.lattice import MAX_DIMENSIONS, Lattice


@dataclass(frozen=True, eq=False)
class Exactness(ABC):
    """`sources` has the σ² of the noise on each cell of each source, by its mask."""

    lattice: Lattice
    sources: Mapping[int, float]

    @abstractmethod
    def variances(self, masks: Sequence[int], consistent: bool) -> NDArray[np.float64]:
        """The variance of a cell of some cuboids, after least squares or from the best source; inf without a source."""

    @abstractmethod
    def best_source(self, mask: int) -> int | None:
        """The source from which a cuboid is rolled up with the least variance; None where none holds it."""


class OverLattice(Exactness):
    """Arrays with a number for each of the 2^d cuboids."""

    def variances(self, masks: Sequence[int], consistent: bool) -> NDArray[np.float64]:
        return (self._consistent if consistent else self._best)[list(masks)]

    def best_source(self, mask: int) -> int | None:
        holding = [source for source in self.sources if not mask & ~source]
        return min(holding, key=lambda source: self.lattice.cells(source & ~mask) * self.sources[source], default=None)

    def _over_masks(self) -> Masks:
        values = np.full(1 << self.lattice.dimensions, np.inf)
        values[list(self.sources)] = list(self.sources.values())
        return values

    @cached_property
    def _best(self) -> Masks:
        return best_source_variances(self._over_masks(), self.lattice.sizes)

    @cached_property
    def _consistent(self) -> Masks:
        return consistent_variances(1 / self._over_masks(), self.lattice.sizes)


class OverClosure(Exactness):
    """A number for each subset of a source."""

    @cached_property
    def _closure(self) -> Closure:
        return closure_of(self.lattice, self.sources)

    def variances(self, masks: Sequence[int], consistent: bool) -> NDArray[np.float64]:
        found = self._consistent if consistent else self._best[0]
        numbers = self._closure.numbers
        return np.array([found[numbers[mask]] if mask in numbers else np.inf for mask in masks])

    def best_source(self, mask: int) -> int | None:
        number = self._closure.numbers.get(mask)
        return None if number is None else self._closure.masks[self._best[1][number]]

    def _over_subsets(self) -> Numbers:
        values = np.full(len(self._closure.masks), np.inf)
        values[[self._closure.numbers[mask] for mask in self.sources]] = list(self.sources.values())
        return values

    @cached_property
    def _best(self) -> tuple[Numbers, NDArray[np.int64]]:
        return self._closure.best_sources(self._over_subsets())

    @cached_property
    def _consistent(self) -> Numbers:
        return self._closure.consistent_variances(1 / self._over_subsets())


class OverResiduals(OverClosure):
    """The same where sources are residuals: each tells of its own component, and a cuboid needs those of all subsets.

    There is one way to put them together, consistent or not, and no best source.
    """

    def variances(self, masks: Sequence[int], consistent: bool) -> NDArray[np.float64]:  # noqa: ARG002
        return super().variances(masks, consistent=True)

    def best_source(self, mask: int) -> int | None:  # noqa: ARG002
        return None

    @cached_property
    def _consistent(self) -> Numbers:
        components = self._over_subsets() / self._closure.cells**2
        variances: Numbers = self._closure.to_variances @ components
        return variances


def exactness_of(lattice: Lattice, sources: Mapping[int, float]) -> Exactness:
    """By the number of dimensions: where there are many, only a few cuboids can be kept account of."""
    return (OverLattice if lattice.dimensions <= MAX_DIMENSIONS else OverClosure)(lattice, sources)
