"""Some cuboids with all their subsets, where a lattice is too large to keep a number for each of its cuboids.

It is the mathematics of `kronecker.py` on the downward closure of a few cuboids alone. Subsets are numbered, and both
sums of the residual basis are sparse matrices with an entry for each pair of a cuboid C and a subset S of it.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UnsupportedQuery
from discreet.query.lattice import MAX_CUBOIDS, Lattice

Numbers = NDArray[np.float64]
"""One number for each subset, in their order."""

MAX_PAIRS = 2**24
"""Pairs of a cuboid and a subset of it: 200 MB at this limit."""


@dataclass(frozen=True, eq=False)
class Closure:
    """Masks in ascending order, so that a subset comes before what holds it.

    Row n lists the subsets of masks[n], by their numbers: subsets[starts[n]:starts[n+1]].
    """

    lattice: Lattice
    masks: tuple[int, ...]
    starts: NDArray[np.int64]
    subsets: NDArray[np.int32]

    @cached_property
    def numbers(self) -> Mapping[int, int]:
        """The number of each subset, by its mask."""
        return {mask: number for number, mask in enumerate(self.masks)}

    @cached_property
    def cells(self) -> Numbers:
        return np.array([self.lattice.cells(mask) for mask in self.masks], np.float64)

    @cached_property
    def magnifications(self) -> Numbers:
        """mag(S, C) beside every pair."""
        return np.repeat(self.cells, np.diff(self.starts)) / self.cells[self.subsets]

    @cached_property
    def to_residuals(self) -> Any:
        """From 1/σ² of the sources (0 elsewhere) to the precision 1/v(S) of every subset S: Σ_{C ⊇ S} 1/mag(S, C)."""
        return self.from_residuals.T.tocsr()

    @cached_property
    def from_residuals(self) -> Any:
        """The transpose of `to_residuals`, for gradients."""
        return self._sparse(1 / self.magnifications)

    @cached_property
    def from_variances(self) -> Any:
        """The transpose of `to_variances`, for gradients."""
        return self.to_variances.T.tocsr()

    @cached_property
    def to_variances(self) -> Any:
        """From v(S) to the variance of a cell of every cuboid C: Σ_{S ⊆ C} ∏_{i∈S}(1 − 1/n_i) / mag(S, C)²."""
        kept = [1 - 1 / size for size in self.lattice.sizes]
        loads = np.array([math.prod(kept[axis] for axis in self.lattice.axes(mask)) for mask in self.masks])
        return self._sparse(loads[self.subsets] / self.magnifications**2)

    def _sparse(self, entries: Numbers) -> Any:
        from scipy.sparse import csr_array  # planning a few dimensions does without

        return csr_array((entries, self.subsets, self.starts), shape=(len(self.masks),) * 2)

    def consistent_variances(self, precisions: Numbers) -> Numbers:
        """The variance of every cuboid's cells after least squares; inf where no source holds all its dimensions."""
        residuals = self.to_residuals @ precisions
        uncovered = residuals == 0
        variances: Numbers = self.to_variances @ (1 / np.where(uncovered, 1, residuals))
        variances[uncovered] = np.inf
        return variances

    def best_sources(self, source_variances: Numbers) -> tuple[Numbers, NDArray[np.int64]]:
        """The least mag(C, C')·σ² over the sources C' of every cuboid C, from σ² (inf where it is no source); and the
        number of that source."""
        holders = np.repeat(np.arange(len(self.masks)), np.diff(self.starts))
        reached = self.magnifications * source_variances[holders]
        order = np.lexsort((reached, self.subsets))
        first = order[np.searchsorted(self.subsets[order], np.arange(len(self.masks)))]
        return reached[first], holders[first]


def closure_of(lattice: Lattice, cuboids: Iterable[int]) -> Closure:
    """Requires nothing of their order. Raises UnsupportedQuery where they have too many subsets to list."""
    return _closure(lattice, tuple(sorted(cuboids)))


@lru_cache(maxsize=4)
def _closure(lattice: Lattice, cuboids: tuple[int, ...]) -> Closure:
    masks = tuple(sorted(_subsets(lattice, cuboids)))
    numbers = {mask: number for number, mask in enumerate(masks)}
    starts = np.cumsum([0, *(1 << mask.bit_count() for mask in masks)])
    if starts[-1] > MAX_PAIRS:
        raise too_many(lattice, cuboids)
    subsets = np.fromiter((numbers[part] for mask in masks for part in lattice.ancestors(mask)), np.int32, starts[-1])
    return Closure(lattice, masks, starts, subsets)


def _subsets(lattice: Lattice, cuboids: tuple[int, ...]) -> set[int]:
    found = set(cuboids)
    # The finest first: what they hold is then already there.
    for mask in sorted(cuboids, key=int.bit_count, reverse=True):
        if all(mask & ~(1 << axis) in found for axis in lattice.axes(mask)):
            continue
        if 1 << mask.bit_count() > MAX_CUBOIDS or len(found) > MAX_CUBOIDS:
            raise too_many(lattice, cuboids)
        found.update(lattice.ancestors(mask))
    return found


def too_many(lattice: Lattice, cuboids: Iterable[int]) -> UnsupportedQuery:
    """What to say of cuboids that have too many subsets."""
    finest = max(mask.bit_count() for mask in cuboids)
    return UnsupportedQuery(
        f"cuboids of {finest} of {lattice.dimensions} dimensions have too many subsets to plan with; "
        "choose cuboids of fewer dimensions, such as 3, or fewer of them"
    )
