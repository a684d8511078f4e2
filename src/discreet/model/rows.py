"""Whole rows from a model: a table of codes whose marginals are within a row or two of the model's.

Drawing rows one by one from a model costs as much accuracy as asking so many people: the error of a sample. Here rows
are rounded instead. First every cell of the joint gets the whole number of rows to which a running sum of its expected
count, from a random start, has gone up (systematic sampling): cells that lie together share their roundings. Then rows
are changed, one attribute of one row at a time, wherever that brings the table's marginals nearer to the model's: all
measured cuboids, and all cuboids of up to three attributes that memory has room for. What is made small is the sum of
squared differences, Σ_c w_c·‖counts − expected‖²; a row moves only to cells in which the model expects somebody.

Of a mixture, whose joint cannot be written down, every group gets its rows, and every attribute in it its values, by
systematic sampling too; then rows are changed in the same way, each within its group.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from discreet.model.mixture import ProductMixture
from discreet.model.model import Model
from discreet.native import kernel
from discreet.noise.bits import Bits
from discreet.query.lattice import Lattice

Cells = NDArray[np.float64]
Codes = NDArray[np.int32]
Ints = NDArray[np.int64]

ORDERS = (1, 2, 3)
MOST_AIMED = 20_000_000
"""Cells of all marginals together that rows are brought near to; cuboids of more attributes are left out first."""

MOST_TRIED = 10_000_000_000
"""Cells that a sweep may look at, all rows and their values together: some ten seconds."""

SWEEPS = 40
"""Times that every row is looked at, at most; the search ends before, where a sweep changes few rows."""
FEW = 0.002
"""The share of rows that are few."""

LEAST_EXPECTED = 1e-3
"""A row moves only to cells whose expected count is at least this share of that of the cell it is in."""


@dataclass(frozen=True)
class _Drawn:
    """Rows of codes, and how likely each is with another value of an attribute.

    That is `likely` at homes[row] + firsts[axis] + Σ codes·steps[axis].
    """

    codes: Codes
    likely: Cells
    homes: Ints
    firsts: Ints
    steps: Ints


def draw_rows(model: Model, rows: int, bits: Bits) -> Codes:
    """So many rows of codes, a column for each dimension, in random order. Deterministic by the bits."""
    drawn = (
        _from_groups(model, rows, bits) if isinstance(model, ProductMixture) else _from_joint(model.joint, rows, bits)
    )
    _improve(drawn, np.array(model.lattice.sizes), _aims(model, rows))
    return drawn.codes


def _from_joint(joint: Cells, rows: int, bits: Bits) -> _Drawn:
    codes = _systematic(joint, rows, float(uniform(1, bits)[0]))
    order = np.argsort(uniform(rows, bits), kind="stable")
    steps = [prod(joint.shape[axis + 1 :]) for axis in range(joint.ndim)]
    likely = np.ascontiguousarray(joint).reshape(-1)
    return _Drawn(
        np.ascontiguousarray(codes[order]),
        likely,
        np.zeros(rows, np.int64),
        np.zeros(joint.ndim, np.int64),
        np.array([steps] * joint.ndim, np.int64),
    )


def _from_groups(mixture: ProductMixture, rows: int, bits: Bits) -> _Drawn:
    groups = _systematic(mixture.shares, rows, float(uniform(1, bits)[0]))[:, 0]
    sizes, dimensions = np.bincount(groups, minlength=len(mixture.shares)), mixture.lattice.dimensions
    codes = np.empty((rows, dimensions), np.int32)
    for axis, (start, size) in enumerate(zip(mixture.starts, mixture.lattice.sizes, strict=True)):
        # Each group's values add up to its rows, so that they come group after group, as the rows do.
        values = _systematic(
            mixture.tables[:, start : start + size] * sizes[:, np.newaxis], rows, float(uniform(1, bits)[0])
        )
        codes[np.lexsort((uniform(rows, bits), groups)), axis] = values[:, 1]
    order = np.argsort(uniform(rows, bits), kind="stable")
    return _Drawn(
        np.ascontiguousarray(codes[order]),
        np.ascontiguousarray(mixture.tables).reshape(-1),
        groups[order].astype(np.int64) * mixture.tables.shape[1],
        np.array(mixture.starts, np.int64),
        np.eye(dimensions, dtype=np.int64),
    )


def uniform(size: int, bits: Bits) -> Cells:
    """Numbers in [0, 1) on a grid of 2^-53."""
    words = np.empty(size, np.uint64)
    filled = 0
    while filled < size:
        filled += bits.fill(words[filled:])
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _systematic(joint: Cells, rows: int, start: float) -> Codes:
    """Rows at cells: as many at each as the running sum of expected counts, scaled to so many rows, passes numbers
    start, start + 1, start + 2, …"""
    total = float(joint.sum())
    if not total > 0 or not rows:
        cells = (np.arange(rows) * 2 + 1) * joint.size // (2 * max(rows, 1))
    else:
        sums = np.cumsum(joint.reshape(-1))
        sums *= rows / sums[-1]
        sums[-1] = rows
        cells = np.searchsorted(sums, np.arange(rows) + start, side="right")
    return np.stack(np.unravel_index(cells, joint.shape), axis=1).astype(np.int32)


@dataclass(frozen=True)
class _Aims:
    """The marginals that rows are brought near to, end to end: expected counts, and each cuboid's place and strides."""

    expected: Cells
    starts: Ints
    strides: Ints
    """A row for each cuboid: the stride of each dimension in it, 0 where it has none."""
    weights: Cells
    of_axis: Ints
    first_of_axis: Ints
    """The cuboids that hold each dimension."""


def _aims(model: Model, rows: int) -> _Aims:
    lattice = model.lattice
    masks = _aimed_masks(lattice, [] if isinstance(model, ProductMixture) else sorted(model.potentials), rows)
    cuboids = model.cuboids(masks)
    sizes = [lattice.cells(mask) for mask in masks]
    strides = np.zeros((len(masks), lattice.dimensions), np.int64)
    for place, mask in enumerate(masks):
        stride = 1
        for axis in reversed(lattice.axes(mask)):
            strides[place, axis] = stride
            stride *= lattice.sizes[axis]
    holding = [[place for place, mask in enumerate(masks) if mask >> axis & 1] for axis in range(lattice.dimensions)]
    scale = rows / model.total if model.total > 0 else 0.0
    return _Aims(
        np.concatenate([cuboids[mask].reshape(-1) for mask in masks]) * scale,
        np.cumsum([0, *sizes[:-1]]).astype(np.int64),
        strides,
        # Few cells, many roll-ups: a coarse cuboid counts for more.
        np.array([4.0 ** (max(ORDERS) - min(mask.bit_count(), max(ORDERS))) for mask in masks]),
        np.concatenate([np.array(own, np.int64) for own in holding]),
        np.cumsum([0, *map(len, holding)]).astype(np.int64),
    )


def _aimed_masks(lattice: Lattice, measured: Sequence[int], rows: int) -> list[int]:
    """Cuboids of few attributes first, then what was measured, as long as there is room and time."""
    by_order = [
        [sum(1 << axis for axis in chosen) for chosen in combinations(range(lattice.dimensions), order)]
        for order in ORDERS
    ]
    masks: list[int] = []
    left, time = MOST_AIMED, MOST_TRIED
    for group in (*by_order, [mask for mask in measured if mask.bit_count() > max(ORDERS)]):
        cells = sum(map(lattice.cells, group))
        trials = rows * sum(lattice.sizes[axis] for mask in group for axis in lattice.axes(mask))
        if cells > left or trials > time:
            break
        masks += group
        left, time = left - cells, time - trials
    return masks or by_order[0]


def _improve(drawn: _Drawn, sizes: Ints, aims: _Aims) -> None:
    """Change attributes of rows, in place, while that brings marginals nearer to what is expected."""
    counts = np.zeros(aims.expected.size)
    _count(drawn.codes, aims.starts, aims.strides, counts)
    off = counts - aims.expected
    for _ in range(SWEEPS):
        changed = _sweep(
            drawn.codes,
            drawn.likely,
            drawn.homes,
            drawn.firsts,
            drawn.steps,
            sizes,
            off,
            aims.starts,
            aims.strides,
            aims.weights,
            aims.of_axis,
            aims.first_of_axis,
        )
        if changed <= FEW * len(drawn.codes):
            return


@kernel
def _count(codes: Codes, starts: Ints, strides: Ints, counts: Cells) -> None:
    for row in range(codes.shape[0]):
        for cuboid in range(starts.size):
            place = starts[cuboid]
            for axis in range(codes.shape[1]):
                place += codes[row, axis] * strides[cuboid, axis]
            counts[place] += 1.0


@kernel
def _sweep(
    codes: Codes,
    likely: Cells,
    homes: Ints,
    firsts: Ints,
    steps: Ints,
    sizes: Ints,
    off: Cells,
    starts: Ints,
    strides: Ints,
    weights: Cells,
    of_axis: Ints,
    first_of_axis: Ints,
) -> int:
    """Go through all rows and attributes, and change an attribute to the value that leaves the least; how many were."""
    changed = 0
    places = np.empty(starts.size, np.int64)
    for row in range(codes.shape[0]):
        for cuboid in range(starts.size):
            places[cuboid] = starts[cuboid]
            for axis in range(sizes.size):
                places[cuboid] += codes[row, axis] * strides[cuboid, axis]
        for axis in range(sizes.size):
            now = codes[row, axis]
            here = homes[row] + firsts[axis]
            for other in range(sizes.size):
                here += codes[row, other] * steps[axis, other]
            best, least = now, -1e-9
            # Taking a row away from a cell that has d too many changes d² by 1 − 2d; putting it there, by 1 + 2d.
            leaving = 0.0
            for k in range(first_of_axis[axis], first_of_axis[axis + 1]):
                cuboid = of_axis[k]
                leaving += weights[cuboid] * (1.0 - 2.0 * off[places[cuboid]])
            floor = LEAST_EXPECTED * likely[here]
            for value in range(sizes[axis]):
                if value == now or likely[here + (value - now) * steps[axis, axis]] < floor:
                    continue
                change = leaving
                for k in range(first_of_axis[axis], first_of_axis[axis + 1]):
                    cuboid = of_axis[k]
                    change += weights[cuboid] * (
                        1.0 + 2.0 * off[places[cuboid] + (value - now) * strides[cuboid, axis]]
                    )
                if change < least:
                    best, least = value, change
            if best != now:
                for k in range(first_of_axis[axis], first_of_axis[axis + 1]):
                    cuboid = of_axis[k]
                    off[places[cuboid]] -= 1.0
                    places[cuboid] += (best - now) * strides[cuboid, axis]
                    off[places[cuboid]] += 1.0
                codes[row, axis] = best
                changed += 1
    return changed
