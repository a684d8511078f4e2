"""Boxes as arrays of their corners, for the native loops of the spend maps."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.domain.region import Box
from discreet.native import kernel

Ints = NDArray[np.int64]


def corners(shape: Ints, pieces: Sequence[tuple[Box, int]]) -> tuple[Ints, Ints]:
    """Low and high corners, a row for each piece. Raises ValueError where a box is not one of a domain's.

    The native loops write where they are told to: this is their door.
    """
    rows = (len(pieces), len(shape))
    lows = np.array([box.low for box, _ in pieces], dtype=np.int64).reshape(rows)
    highs = np.array([box.high for box, _ in pieces], dtype=np.int64).reshape(rows)
    if not ((lows >= 0) & (lows <= highs) & (highs < shape)).all():
        raise ValueError("a box reaches out of the domain")
    return lows, highs


def require_inside(shape: Sequence[int], boxes: Iterable[Box]) -> None:
    """The same door for boxes that are not counted yet. Raises ValueError."""
    for box in boxes:
        for low, high, size in zip(box.low, box.high, shape, strict=True):
            if not 0 <= low <= high < size:
                raise ValueError("a box reaches out of the domain")


def volumes(lows: Ints, highs: Ints) -> Ints:
    """How many points each box has, in a domain whose points are counted."""
    points: Ints = (highs - lows + 1).prod(axis=1, dtype=np.int64)
    return points


def units_of(pieces: Sequence[tuple[Box, int]]) -> Ints:
    return np.array([units for _, units in pieces], dtype=np.int64)


@kernel
def meet(low: Ints, high: Ints, other_low: Ints, other_high: Ints) -> bool:
    """Whether two boxes have a point in common."""
    common = True
    for axis in range(len(low)):
        common &= low[axis] <= other_high[axis] and other_low[axis] <= high[axis]
    return common


@kernel
def overlap(lows: Ints, highs: Ints) -> bool:
    """Whether any two of many boxes have a point in common."""
    for one in range(len(lows)):
        for two in range(one):
            if meet(lows[one], highs[one], lows[two], highs[two]):
                return True
    return False


@kernel
def layers(lows: Ints, highs: Ints) -> Ints:
    """A number for each box, such that boxes with the same number are disjoint: the least that is free, in order."""
    layer = np.zeros(len(lows), dtype=np.int64)
    for one in range(len(lows)):
        taken = np.zeros(one + 1, dtype=np.bool_)
        for two in range(one):
            if not taken[layer[two]] and meet(lows[one], highs[one], lows[two], highs[two]):
                taken[layer[two]] = True
        while taken[layer[one]]:
            layer[one] += 1
    return layer


@kernel
def meeting_units(lows: Ints, highs: Ints, units: Ints, layer: Ints, most: int) -> Ints:
    """For each box the units of the boxes that it meets, itself among them, of each layer the most: no point of it is
    charged more, for it lies in one box of a layer.

    Sums stop at `most`, which is beyond any limit.
    """
    total = np.zeros_like(units)
    top = np.zeros(len(lows) + 1, dtype=np.int64)
    for one in range(len(lows)):
        top[:] = 0
        for two in range(len(lows)):
            if units[two] > top[layer[two]] and meet(lows[one], highs[one], lows[two], highs[two]):
                top[layer[two]] = units[two]
        for each in top:
            total[one] = min(total[one] + each, most)
    return total


@kernel
def runs(shape: Ints, low: Ints, high: Ints) -> tuple[Ints, int]:
    """A box as contiguous runs of the flat array: where each begins, and their common length."""
    axes = len(shape)
    last, run, stride = axes - 1, high[axes - 1] - low[axes - 1] + 1, 1
    # Axes that the box covers whole lie in one run with the axis before them.
    while last > 0 and run == stride * shape[last]:
        stride *= shape[last]
        last -= 1
        run = (high[last] - low[last] + 1) * stride
    starts = np.empty(1, dtype=np.int64)
    starts[0] = 0
    for axis in range(last):
        extent = high[axis] - low[axis] + 1
        longer = np.empty(len(starts) * extent, dtype=np.int64)
        for i in range(len(starts)):
            for j in range(extent):
                longer[i * extent + j] = starts[i] * shape[axis] + low[axis] + j
        starts = longer
    for i in range(len(starts)):
        starts[i] = (starts[i] * shape[last] + low[last]) * stride
    return starts, run
