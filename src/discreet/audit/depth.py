"""How much charges add up to where most of them lie over each other, by boxes that know only where they stop short.

A box is kept by its sides: the axes on which it does not reach from end to end, so that hundreds of columns take no
more than what was asked about them. Where the edges of all boxes make a grid that is small enough, every cell of it is
counted (`Field`); else `search.py` looks for the most spent point, and says how far it came.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import groupby, product

import numpy as np

from discreet.audit.load import Depth, Ints, Load, Sides, edges_of
from discreet.audit.search import search

MOST_CELLS = 1 << 25
"""As many as the largest domain has points whose spend map is exact."""
CORNER = 8
"""A corner of a box takes as long as so many of its cells; where boxes are large, corners are enough."""


def load_of(pieces: Sequence[tuple[Sequence[int], Sequence[int], int]], shape: Sequence[int]) -> Load:
    """The load of pieces: lowest codes, highest codes, units."""
    added: dict[Sides, int] = {}
    for low, high, units in pieces:
        if units:
            sides = tuple(
                (axis, a, b) for axis, (a, b, size) in enumerate(zip(low, high, shape, strict=True)) if b - a < size - 1
            )
            added[sides] = added.get(sides, 0) + units
    boxes, amounts = tuple(added), tuple(added.values())
    if len(boxes) <= 1:
        return Load(boxes, amounts, sum(amounts))
    alone = [Load((sides,), (units,), units) for sides, units in added.items()]
    return Load(boxes, amounts, deepest(alone, shape).most)


class TooFine(Exception):
    """The boxes' edges make a grid of more than MOST_CELLS cells."""


class Field:
    """Units over a domain, as the sum of loads that are added one after another. Within a cell of the grid that all
    their edges make, every point has the same. Requires sums below 2^63."""

    def __init__(self, shape: Sequence[int], loads: Sequence[Load]) -> None:
        self.shape = tuple(shape)
        self._edges = edges_of(loads, shape)
        self._places = {axis: place for place, axis in enumerate(self._edges)}
        cells = tuple(len(edges) - 1 for edges in self._edges.values())
        if math.prod(cells) > MOST_CELLS:
            raise TooFine
        self._units = np.zeros(cells, np.int64)

    @property
    def cells(self) -> int:
        return self._units.size

    @property
    def work(self) -> int:
        """What it takes to add many large boxes, in steps."""
        return self.cells * (self._units.ndim + 1)

    @property
    def most(self) -> int:
        return int(self._units.max(initial=0))

    def add(self, loads: Iterable[Load]) -> None:
        boxes = [(sides, units) for load in loads for sides, units in zip(load.boxes, load.units, strict=True)]
        boxes.sort(key=lambda box: [side[0] for side in box[0]])
        changes: Ints | None = None
        for axes, alike in groupby(boxes, key=lambda box: tuple(side[0] for side in box[0])):
            some = list(alike)
            starts, stops = self._ranks(axes, [sides for sides, _ in some])
            units = np.array([amount for _, amount in some], np.int64)
            unbounded = self.cells // math.prod(len(self._edges[axis]) - 1 for axis in axes)
            large = int((stops - starts).prod(axis=1).sum()) * unbounded > len(some) * 2 ** len(axes) * CORNER
            if large:
                changes = np.zeros_like(self._units) if changes is None else changes
                self._change(changes, axes, starts, stops, units)
            else:
                self._fill(axes, starts, stops, units)
        if changes is not None:
            for place in range(changes.ndim):
                np.cumsum(changes, axis=place, out=changes)
            self._units += changes

    def _ranks(self, axes: Sequence[int], boxes: Sequence[Sides]) -> tuple[Ints, Ints]:
        """The cells at which boxes with sides on the same axes begin and end, a row for each box."""
        codes = np.array(boxes, np.int64).reshape(len(boxes), len(axes), 3)
        starts, stops = np.empty((2, len(boxes), len(axes)), np.int64)
        for place, axis in enumerate(axes):
            starts[:, place] = np.searchsorted(self._edges[axis], codes[:, place, 1])
            stops[:, place] = np.searchsorted(self._edges[axis], codes[:, place, 2] + 1)
        return starts, stops

    def _fill(self, axes: Sequence[int], starts: Ints, stops: Ints, units: Ints) -> None:
        where = [slice(None)] * self._units.ndim
        for start, stop, amount in zip(starts, stops, units, strict=True):
            for axis, a, b in zip(axes, start, stop, strict=True):
                where[self._places[axis]] = slice(a, b)
            self._units[tuple(where)] += amount

    def _change(self, changes: Ints, axes: Sequence[int], starts: Ints, stops: Ints, units: Ints) -> None:
        """A box is its units at its corners, with alternating signs, summed up along every axis. (Sums may wrap around
        on the way; what comes out at the end does not.)"""
        for corner in product((False, True), repeat=len(axes)):
            place = np.zeros((len(units), changes.ndim), np.int64)
            inside = np.ones(len(units), bool)
            for number, (axis, at_stop) in enumerate(zip(axes, corner, strict=True)):
                at = (stops if at_stop else starts)[:, number]
                place[:, self._places[axis]] = at
                inside &= at < changes.shape[self._places[axis]]  # beyond the last cell there is nothing to take back
            signed = units if sum(corner) % 2 == 0 else -units
            np.add.at(changes, tuple(place[inside].T), signed[inside])

    def by_axis(self, axis: int) -> Ints:
        """The most units at any point with each code of one attribute."""
        if axis not in self._places:
            return np.full(self.shape[axis], self.most, np.int64)
        others = tuple(place for place in range(self._units.ndim) if place != self._places[axis])
        most: Ints = self._units.max(axis=others)
        return np.repeat(most, np.diff(self._edges[axis]))

    def dense(self) -> Ints:
        """The units of every point of the domain, which is one that an array can be made of."""
        units = self._units
        for place, edges in enumerate(self._edges.values()):
            units = np.repeat(units, np.diff(edges), axis=place)
        lengths = [size if axis in self._places else 1 for axis, size in enumerate(self.shape)]
        return np.broadcast_to(units.reshape(lengths), self.shape)


def deepest(loads: Sequence[Load], shape: Sequence[int], enough: int | None = None, share: int = 1) -> Depth:
    """The most units at any point of loads together. `enough` and `share` as in `search`."""
    some = [load for load in loads if load.boxes]
    if len(some) <= 1 and all(len(load.boxes) == 1 for load in some):
        units = sum(load.peak for load in some)
        return Depth(units, units)
    try:
        field = Field(shape, some)
    except TooFine:
        return search(some, shape, enough, share)
    field.add(some)
    return Depth(field.most, field.most)


def units_at(points: Ints, loads: Iterable[Load]) -> Ints:
    """The units of some points, a row each."""
    codes, total = np.ascontiguousarray(points.T), np.zeros(len(points), np.int64)
    for load in loads:
        for sides, units in zip(load.boxes, load.units, strict=True):
            inside = np.ones(len(points), bool)
            for axis, low, high in sides:
                inside &= (codes[axis] >= low) & (codes[axis] <= high)
            total += inside * units
    return total
