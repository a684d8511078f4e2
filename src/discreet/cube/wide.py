"""The same least squares where the one array cannot be: an array for each subset of dimensions that a source has.

With many dimensions, and cuboids of a few of them each, the one array would be mostly cuboids that nobody asked for.
The mathematics of `consistency.py` runs on the closure of the sources alone: each source is split into the components
of its subsets, these are averaged over the sources, and each published cuboid is put together from its subsets.

A cuboid is split and joined in a tile: the one array of its own dimensions. All components lie end to end, and become
values in place, the largest masks first: whatever still needs a component holds it, and has a larger mask.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from discreet.cube.closure import MAX_PAIRS, Closure, closure_of
from discreet.cube.consistency import Source
from discreet.cube.plan import CubePlan
from discreet.native import kernel
from discreet.query.lattice import MAX_DIMENSIONS, Lattice

Cells = NDArray[np.float64]
Ints = NDArray[np.int64]

SPARSER = 4
"""The one array is given up where it would have this many times the cells of all subsets. bench/wide.py measures what
either way pays where the other is taken: more than ten times."""


def closure_cells(plan: CubePlan) -> int:
    """How many cells all subsets of the sources have together: at most, and exactly where there are many dimensions."""
    sizes = plan.lattice.sizes
    if plan.lattice.dimensions > MAX_DIMENSIONS or plan.basis == "residuals":
        return int(closure_of(plan.lattice, plan.source_masks).cells.sum())
    return sum(prod(sizes[axis] + 1 for axis in plan.lattice.axes(mask)) for mask in plan.source_masks)


def is_wide(plan: CubePlan) -> bool:
    """Whether a plan's cuboids are better kept one by one than in the one array."""
    if plan.lattice.dimensions > MAX_DIMENSIONS or plan.basis == "residuals":
        return True
    listable = sum(3 ** mask.bit_count() for mask in plan.source_masks) <= MAX_PAIRS
    return listable and SPARSER * closure_cells(plan) < prod(plan.lattice.cube_shape)


def reconcile_few(
    lattice: Lattice, sources: Iterable[Source], variances: Mapping[int, float], published: Sequence[int]
) -> dict[int, Cells]:
    """Some cuboids of the consistent cube, views of one array. Requires that the sources can compute them."""
    components = Components.empty(closure_of(lattice, variances))
    precisions = np.zeros(len(components.closure.masks))
    for mask, table in sources:
        precisions[components.closure.numbers[mask]] = 1 / variances[mask]
        components.add(mask, table, 1 / variances[mask])
    return components.joined(published, 1 / (components.closure.to_residuals @ precisions))


def join_residuals(plan: CubePlan, sources: Iterable[Source]) -> dict[int, Cells]:
    """The published cuboids from the residuals of all their subsets, views of one array."""
    components = Components.empty(closure_of(plan.lattice, plan.source_masks))
    for mask, residual in sources:
        components.put(mask, residual)
    return components.joined(plan.published, np.ones(len(components.closure.masks)))


def roll_up_few(plan: CubePlan, sources: Iterable[Source]) -> dict[int, Cells]:
    """The published cuboids, each from its best source."""
    tables, lattice = dict(sources), plan.lattice
    cuboids = {}
    for mask in plan.published:
        source = plan.best_source(mask)
        gone = tuple(place for place, axis in enumerate(lattice.axes(source)) if not mask >> axis & 1)
        cuboids[mask] = np.asarray(tables[source].sum(axis=gone, dtype=np.float64))
    return cuboids


@dataclass(frozen=True)
class Components:
    """The components of a closure's subsets, end to end; `starts` says where each begins."""

    closure: Closure
    starts: Ints
    cells: Cells

    @classmethod
    def empty(cls, closure: Closure) -> "Components":
        starts = np.concatenate([[0], np.cumsum(closure.cells.astype(np.int64))])
        return cls(closure, starts, np.zeros(int(starts[-1])))

    def _row(self, number: int) -> tuple[Ints, NDArray[np.int32]]:
        """A cuboid's numbers of values, and the numbers of its subsets: from all its dimensions down to none."""
        closure = self.closure
        sizes = np.array(closure.lattice.shape(closure.masks[number]), np.int64)
        return sizes, closure.subsets[closure.starts[number] : closure.starts[number + 1]]

    def add(self, mask: int, table: NDArray[np.int64] | Cells, weight: float) -> None:
        """Add to every subset its component of a table, by the mean of the cells that make one of it, × weight."""
        sizes, subsets = self._row(self.closure.numbers[mask])
        flat = np.ascontiguousarray(table, np.float64).reshape(-1)
        _split_into(flat, sizes, self.starts[subsets], weight, self.cells)

    def put(self, mask: int, residual: NDArray[np.int64] | Cells) -> None:
        """Set a subset's component to that of its residual. Noise does not add up to 0: what it adds up to is taken
        off, for it tells nothing."""
        component = residual / residual.size
        for axis in range(component.ndim):
            component -= component.mean(axis=axis, keepdims=True)
        number = self.closure.numbers[mask]
        self.cells[self.starts[number] : self.starts[number + 1]] = component.reshape(-1)

    def joined(self, published: Sequence[int], factors: Cells) -> dict[int, Cells]:
        """Cuboids from the components of their subsets, each × its factor. What is left here are not components."""
        for mask in sorted(published, reverse=True):
            sizes, subsets = self._row(self.closure.numbers[mask])
            _join_from(self.cells, sizes, self.starts[subsets], factors[subsets])
        return {mask: self._cuboid(mask) for mask in published}

    def _cuboid(self, mask: int) -> Cells:
        number = self.closure.numbers[mask]
        return self.cells[self.starts[number] : self.starts[number + 1]].reshape(self.closure.lattice.shape(mask))


@kernel
def _split_into(table: Cells, sizes: Ints, starts: Ints, weight: float, components: Cells) -> None:
    """Split a table, and add its components × weight where those of its subsets start."""
    tile = np.zeros((sizes + 1).prod())
    _copy(tile, table, sizes, starts.size - 1, True, 1.0)
    inner = 1
    for axis in range(sizes.size - 1, -1, -1):
        span = (sizes[axis] + 1) * inner
        for block in range(0, tile.size, span):
            totals = tile[block : block + inner]
            for value in range(block + inner, block + span, inner):
                totals += tile[value : value + inner]
            totals /= sizes[axis]
            for value in range(block + inner, block + span, inner):
                tile[value : value + inner] -= totals
        inner = span
    for place in range(starts.size):
        _copy(tile, components[starts[place] :], sizes, starts.size - 1 - place, False, weight)


@kernel
def _join_from(components: Cells, sizes: Ints, starts: Ints, factors: Cells) -> None:
    """Put a cuboid together from its subsets' components × factors, and write it over its own."""
    tile = np.zeros((sizes + 1).prod())
    for place in range(starts.size):
        _copy(tile, components[starts[place] :], sizes, starts.size - 1 - place, True, factors[place])
    inner = 1
    for axis in range(sizes.size - 1, -1, -1):
        span = (sizes[axis] + 1) * inner
        for block in range(0, tile.size, span):
            totals = tile[block : block + inner]
            for value in range(block + inner, block + span, inner):
                tile[value : value + inner] += totals / sizes[axis]
        inner = span
    own = components[starts[0] : starts[0] + sizes.prod()]
    own[:] = 0.0
    _copy(tile, own, sizes, starts.size - 1, False, 1.0)


@kernel
def _copy(tile: Cells, cells: Cells, sizes: Ints, subset: int, into_tile: bool, factor: float) -> None:
    """Set a subset's slots of a tile to its cells × factor, or add those slots × factor to its cells.

    Bit i of `subset` is axis i: there slots 1 … n, slot 0 elsewhere.
    """
    counts, strides, start, stride, axes = np.empty_like(sizes), np.empty_like(sizes), 0, 1, 0
    for axis in range(sizes.size - 1, -1, -1):
        if subset >> axis & 1:
            counts[axes], strides[axes] = sizes[axis], stride
            start += stride
            axes += 1
        stride *= sizes[axis] + 1
    index = np.zeros_like(sizes)
    run, step = (counts[0], strides[0]) if axes else (1, 1)
    first = 0
    while True:
        if into_tile:
            for k in range(run):
                tile[start + k * step] = factor * cells[first + k]
        else:
            for k in range(run):
                cells[first + k] += factor * tile[start + k * step]
        first += run
        axis = 1
        while axis < axes:
            index[axis] += 1
            start += strides[axis]
            if index[axis] < counts[axis]:
                break
            start -= counts[axis] * strides[axis]
            index[axis] = 0
            axis += 1
        if axis >= axes:
            return
