"""How much boxes add up to where most of them lie over each other, by brute force over a grid of their edges."""

import heapq
import math
from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

MOST_CELLS = 1 << 25
CORNER = 8
"""A corner of a box takes as long as so many of its cells; where boxes are large, corners are enough."""
MOST_LOOKS = 30_000_000
"""Boxes whose edges make a finer grid are searched, until so many have been looked at."""


class Boxes(NamedTuple):
    """Boxes by their lowest and highest codes, one a row, each with its units."""

    low: Ints
    high: Ints
    units: Ints

    @classmethod
    def of(cls, pieces: Sequence[tuple[Sequence[int], Sequence[int], int]], axes: int) -> "Boxes":
        low = np.array([piece[0] for piece in pieces], np.int64).reshape(-1, axes)
        high = np.array([piece[1] for piece in pieces], np.int64).reshape(-1, axes)
        return cls(low, high, np.array([piece[2] for piece in pieces], np.int64))

    def __getitem__(self, rows: slice) -> "Boxes":  # type: ignore[override]
        return Boxes(self.low[rows], self.high[rows], self.units[rows])


class TooFine(Exception):
    """The boxes' edges make a grid of more than MOST_CELLS cells."""


class Field:
    """Units over a domain, as the sum of boxes that are added one after another. Within a cell of the grid that all
    their edges make, every point has the same. Requires sums below 2^63."""

    def __init__(self, shape: Sequence[int], boxes: Boxes) -> None:
        self.shape = tuple(shape)
        self._edges = [
            np.unique(np.concatenate(([0], boxes.low[:, axis], boxes.high[:, axis] + 1, [size])))
            for axis, size in enumerate(shape)
        ]
        self._cells = tuple(len(edges) - 1 for edges in self._edges)
        if math.prod(self._cells) > MOST_CELLS:
            raise TooFine
        self._units = np.zeros(self._cells, np.int64)

    @property
    def cells(self) -> int:
        return self._units.size

    @property
    def most(self) -> int:
        return int(self._units.max(initial=0))

    def add(self, boxes: Boxes) -> None:
        starts = np.stack([np.searchsorted(e, boxes.low[:, a]) for a, e in enumerate(self._edges)], axis=1)
        stops = np.stack([np.searchsorted(e, boxes.high[:, a] + 1) for a, e in enumerate(self._edges)], axis=1)
        cut = [axis for axis, cells in enumerate(self._cells) if cells > 1]
        if len(boxes.units) * 2 ** len(cut) * CORNER > int(np.prod(stops - starts, axis=1).sum()):
            for start, stop, units in zip(starts, stops, boxes.units, strict=True):
                self._units[tuple(map(slice, start, stop))] += units
        else:
            self._add_by_corners(starts, stops, boxes.units, cut)

    def _add_by_corners(self, starts: Ints, stops: Ints, units: Ints, cut: Sequence[int]) -> None:
        """A box is its units at its corners, with alternating signs, summed up along every axis. (Sums may wrap around
        on the way; what comes out at the end does not.)"""
        changes = np.zeros([cells + 1 for cells in self._cells], np.int64)
        for corner in product((False, True), repeat=len(cut)):
            place = starts.copy()
            for axis, at_stop in zip(cut, corner, strict=True):
                if at_stop:
                    place[:, axis] = stops[:, axis]
            np.add.at(changes, tuple(place.T), units if sum(corner) % 2 == 0 else -units)
        for axis in cut:
            np.cumsum(changes, axis=axis, out=changes)
        self._units += changes[tuple(slice(0, cells) for cells in self._cells)]

    def by_axis(self, axis: int) -> Ints:
        """The most units at any point with each code of one attribute."""
        others = tuple(other for other in range(len(self.shape)) if other != axis)
        most: Ints = self._units.max(axis=others)
        return np.repeat(most, np.diff(self._edges[axis]))

    def dense(self) -> Ints:
        """The units of every point of the domain."""
        units = self._units
        for axis, edges in enumerate(self._edges):
            units = np.repeat(units, np.diff(edges), axis=axis)
        return units


def deepest(boxes: Boxes, shape: Sequence[int]) -> tuple[int, bool]:
    """The most units at any point, and whether that is exact: it may be more than there is, and is never less."""
    if len(boxes.units) <= 1:
        return int(boxes.units.sum()), True
    try:
        field = Field(shape, boxes)
    except TooFine:
        return _searched(boxes, shape)
    field.add(boxes)
    return field.most, True


def _searched(boxes: Boxes, shape: Sequence[int]) -> tuple[int, bool]:
    """Cut the domain in two, again and again, where most may be spent. A part counts what covers it, and whatever else
    meets it; once nothing else does, that is exact, and no other part can have more."""
    whole = (0,) * len(shape), tuple(size - 1 for size in shape)
    waiting = [(-int(boxes.units.sum()), 0, whole, np.arange(len(boxes.units)))]
    looks, step = 0, 0
    while looks < MOST_LOOKS:
        step += 1
        bound, _, (low, high), met = heapq.heappop(waiting)
        looks += 3 * len(met) + 1000
        partial = met[~((boxes.low[met] <= low) & (boxes.high[met] >= high)).all(axis=1)]
        if not len(partial):
            return -bound, True
        for number, part in enumerate(_halves(boxes, partial, low, high)):
            inside = met[((boxes.low[met] <= part[1]) & (boxes.high[met] >= part[0])).all(axis=1)]
            heapq.heappush(waiting, (-int(boxes.units[inside].sum()), 2 * step + number, part, inside))
    return -waiting[0][0], False


def _halves(
    boxes: Boxes, partial: Ints, low: Sequence[int], high: Sequence[int]
) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """A part, cut at the middle one of the edges within it along the axis that has most of them."""
    cuts: list[Ints] = []
    for axis in range(len(low)):
        ends = np.concatenate((boxes.low[partial, axis], boxes.high[partial, axis] + 1))
        cuts.append(np.sort(ends[(ends > low[axis]) & (ends <= high[axis])]))
    axis = max(range(len(low)), key=lambda each: len(cuts[each]))
    at = int(cuts[axis][len(cuts[axis]) // 2])
    lower = (tuple(low), (*high[:axis], at - 1, *high[axis + 1 :]))
    upper = ((*low[:axis], at, *low[axis + 1 :]), tuple(high))
    return [lower, upper]
