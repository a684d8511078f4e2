"""The same least squares where the one array cannot be: an array for each subset of dimensions that a source has.

With many dimensions, and cuboids of a few of them each, the one array would be mostly cuboids that nobody asked for.
The mathematics of `consistency.py` runs on the subsets of the sources alone: each source is split into the components
of its subsets, these are averaged over the sources, and each published cuboid is put together from its subsets.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from discreet.cube.consistency import Source
from discreet.cube.plan import CubePlan
from discreet.query.lattice import Lattice

Cells = NDArray[np.float64]

SPARSER = 4
"""The one array is given up where it would have this many times the cells of all subsets."""


def closure_cells(plan: CubePlan) -> int:
    """At most so many cells have all subsets of the sources together."""
    sizes = plan.lattice.sizes
    return sum(prod(sizes[axis] + 1 for axis in plan.lattice.axes(mask)) for mask in plan.source_masks)


def is_wide(plan: CubePlan) -> bool:
    """Whether a plan's cuboids are better kept one by one than in the one array."""
    return SPARSER * closure_cells(plan) < prod(plan.lattice.cube_shape)


def reconcile_few(
    lattice: Lattice, sources: Iterable[Source], variances: Mapping[int, float], published: Sequence[int]
) -> dict[int, Cells]:
    """Some cuboids of the consistent cube. Requires that the sources can compute them."""
    weighted: dict[int, Cells] = {}
    precisions: dict[int, float] = {}
    for mask, table in sources:
        for subset, component in _split(lattice, mask, table).items():
            precision = 1 / (variances[mask] * lattice.magnification(subset, mask))
            weighted[subset] = weighted.get(subset, 0) + component / variances[mask]
            precisions[subset] = precisions.get(subset, 0) + precision
    for subset, precision in precisions.items():
        weighted[subset] /= precision
    return {mask: _join(lattice, mask, weighted) for mask in published}


def roll_up_few(plan: CubePlan, sources: Iterable[Source]) -> dict[int, Cells]:
    """The published cuboids, each from its best source."""
    tables, lattice = dict(sources), plan.lattice
    cuboids = {}
    for mask in plan.published:
        source = plan.best_source(mask)
        gone = tuple(place for place, axis in enumerate(lattice.axes(source)) if not mask >> axis & 1)
        cuboids[mask] = np.asarray(tables[source].sum(axis=gone, dtype=np.float64))
    return cuboids


def _split(lattice: Lattice, mask: int, table: NDArray[np.int64] | Cells) -> dict[int, Cells]:
    """The component of each subset of a cuboid's dimensions, divided by the number of cells that make one of its."""
    parts = {mask: np.asarray(table, np.float64)}
    for axis in lattice.axes(mask):
        for subset, cells in list(parts.items()):
            place = lattice.axes(subset).index(axis)
            means = cells.mean(axis=place, keepdims=True)
            parts[subset] = cells - means
            parts[subset & ~(1 << axis)] = means.squeeze(place)
    return parts


def _join(lattice: Lattice, mask: int, components: Mapping[int, Cells]) -> Cells:
    """A cuboid from the components of its subsets."""
    parts = {subset: components[subset] for subset in lattice.ancestors(mask)}
    for axis in lattice.axes(mask):
        for subset in [subset for subset in parts if subset >> axis & 1]:
            place = lattice.axes(subset).index(axis)
            coarser = parts.pop(subset & ~(1 << axis))
            parts[subset] = parts[subset] + np.expand_dims(coarser, place) / lattice.sizes[axis]
    return np.asarray(parts[mask])
