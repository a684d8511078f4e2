"""All that was released of the whole table by some of its attributes, as one estimate: least squares, in closed form.

GROUP BYs without a WHERE, cubes, residuals, totals and facts that are cuboids tell of the table by residual spaces, one
for each subset S of attributes (see `cube/consistency.py`); noise is alike within each of them, so that least squares
weighs the releases space by space. In the space of S a table by attributes C ⊇ S with noise σ² has the precision
1/(σ²·mag(S,C)), mag being how many of its cells are added up to one of S; a residual of S with n cells and noise σ²
has n²/σ²; a fact has no noise.

A box cuts some axes K, m of n codes of each. Its count is the sum over all S ⊆ K of m/n for each axis of K∖S times the
component of S within the box: with an error of Π (m/n)² · Π m(1 − m/n) / precision, independent from space to space.
"""

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from math import inf, prod

import numpy as np
from numpy.typing import NDArray

from discreet.domain.region import Box

Axes = tuple[int, ...]
Floats = NDArray[np.float64]
Source = tuple[int, int]
"""A measurement: the id of its charge, and its place in the charge's plan. Different ones have independent noises."""
Weights = tuple[tuple[float, Source, int], ...]
"""Draws of noise: a weight, the measurement, and how many of its numbers have this weight."""

Lengths = tuple[int, ...]
"""How many codes a box has on each axis, less one: boxes with the same lengths have the same errors."""

MOST_WEIGHTS = 16
"""The law of an estimate is written out where at most so many weights are in it."""
MOST_TABLES = 32
"""Of more tables than this, it is not asked how evenly an estimate is made of their draws."""


@dataclass(frozen=True, eq=False)
class Marginal:
    """A table by some axes, ascending, over all their codes, so many of each. The noise of each number has this
    variance: 0 for a fact, whose `source` has its number. Without `values` it tells how exact an estimate would be."""

    axes: Axes
    sizes: tuple[int, ...]
    variance: float
    source: Source
    values: NDArray[np.int64] | None = None
    is_residual: bool = False
    _rolled_up: dict[Axes, NDArray[np.int64]] = field(default_factory=dict, repr=False)

    @property
    def size(self) -> int:
        return prod(self.sizes)

    @property
    def table(self) -> NDArray[np.int64]:
        assert self.values is not None, "only a table that was released has numbers"
        return self.values

    def tells(self, space: Axes) -> bool:
        return space == self.axes if self.is_residual else set(space) <= set(self.axes)

    def precision(self, space: Axes) -> float:
        """What it tells of a space; inf where it is exact."""
        if not self.variance:
            return inf
        if self.is_residual:
            return self.size**2 / self.variance
        added_up = prod(size for axis, size in zip(self.axes, self.sizes, strict=True) if axis not in space)
        return 1 / (added_up * self.variance)

    def rolled_up(self, to: Axes) -> Floats:
        """Its numbers added up to some of its axes; a residual's are those of its space, as counts."""
        if self.is_residual:
            return self.table / self.size
        found = self._rolled_up.get(to)
        if found is None:
            holding = [axes for axes in self._rolled_up if set(to) <= set(axes)]
            nearest = min(holding, key=lambda axes: self._rolled_up[axes].size, default=self.axes)
            table = self._rolled_up.get(nearest, self.table)
            gone = tuple(place for place, axis in enumerate(nearest) if axis not in to)
            found = self._rolled_up[to] = np.asarray(table.sum(axis=gone))
        return found.astype(np.float64)

    def total(self, box: Box) -> int:
        """The sum of its numbers in a box that cuts none but its axes."""
        return int(self.table[tuple(slice(box.low[axis], box.high[axis] + 1) for axis in self.axes)].sum())

    def cells(self, box: Box) -> int:
        """How many of its numbers that sum has."""
        return prod(box.high[axis] - box.low[axis] + 1 for axis in self.axes)


@dataclass(frozen=True, eq=False)
class Marginals:
    """Released marginals over a domain of these sizes. It never changes: `joined` makes another one."""

    sizes: tuple[int, ...]
    tables: tuple[Marginal, ...] = ()
    _components: dict[Axes, Floats] = field(default_factory=dict, repr=False)
    _cuboids: dict[Axes, Floats] = field(default_factory=dict, repr=False)
    _cuts: dict[Lengths, Axes] = field(default_factory=dict, repr=False)
    _variances: dict[Lengths, float] = field(default_factory=dict, repr=False)
    _largest: dict[Lengths, Floats] = field(default_factory=dict, repr=False)
    _weights: dict[Lengths, Weights] = field(default_factory=dict, repr=False)
    _determined: dict[Axes, bool] = field(default_factory=dict, repr=False)
    _soles: dict[Axes, Marginal | None] = field(default_factory=dict, repr=False)

    def joined(self, *more: Marginal) -> "Marginals":
        """With more of them. What they tell nothing about is kept as it is."""
        kept = {space: table for space, table in self._components.items() if not any(one.tells(space) for one in more)}
        return Marginals(self.sizes, (*self.tables, *more), kept)

    @cached_property
    def precisions(self) -> Mapping[Axes, float]:
        """Of every space that something is told of; inf where it is known exactly."""
        found: dict[Axes, float] = {}
        for table in self.tables:
            for space in [table.axes] if table.is_residual else subsets(table.axes):
                found[space] = found.get(space, 0.0) + table.precision(space)
        return found

    @cached_property
    def exact(self) -> tuple[Marginal, ...]:
        """Those that are facts."""
        return tuple(table for table in self.tables if not table.variance)

    def cut(self, box: Box) -> Axes:
        """The axes of which a box has some codes only."""
        lengths = _lengths(box)
        found = self._cuts.get(lengths)
        if found is None:
            found = tuple(axis for axis, size in enumerate(self.sizes) if lengths[axis] + 1 < size)
            self._cuts[lengths] = found
        return found

    def determine(self, cut: Axes) -> bool:
        """Whether boxes that cut these axes have an estimate: every space is told of that they need."""
        if cut not in self._determined:
            known = self.precisions
            self._determined[cut] = cut in known and all(space in known for space in subsets(cut))
        return self._determined[cut]

    def sole(self, cut: Axes) -> Marginal | None:
        """The one table that tells anything about boxes that cut these axes, where there is one alone."""
        if cut not in self._soles:
            telling = [table for table in self.tables if any(table.tells(space) for space in subsets(cut))]
            is_one = len(telling) == 1 and not telling[0].is_residual
            self._soles[cut] = telling[0] if is_one and set(cut) <= set(telling[0].axes) else None
        return self._soles[cut]

    def value(self, box: Box) -> float:
        """The sum of what is told of a box, in the spaces that something is told of."""
        cut = self.cut(box)
        if (sole := self.sole(cut)) is not None:
            return sole.total(box)
        if self.determine(cut):
            return float(self._cuboid(cut)[self._inside(box, cut)].sum())
        return sum(
            prod(self._part(box, axis) for axis in cut if axis not in space)
            * float(self._component(space)[self._inside(box, space)].sum())
            for space in subsets(cut)
            if space in self.precisions
        )

    def values(self, box: Box, by: Axes, ranges: Sequence[range]) -> Floats:
        """The same for each group by some axes of which it is one: these codes of each, the last axis running fastest.
        Requires that it is determined."""
        cut = self.cut(box)
        sole = self.sole(cut)
        axes, table = (cut, self._cuboid(cut)) if sole is None else (sole.axes, sole.table)
        spans = dict(zip(by, ranges, strict=True))
        inside = {axis: spans.get(axis, range(box.low[axis], box.high[axis] + 1)) for axis in axes}
        found = table[tuple(slice(inside[axis].start, inside[axis].stop) for axis in axes)]
        found = found.sum(axis=tuple(place for place, axis in enumerate(axes) if axis not in spans))
        left = [axis for axis in axes if axis in spans]
        order = [left.index(axis) for axis in by if axis in left]  # an axis of one code is none of a cut
        return np.asarray(np.transpose(found, order).reshape(-1), np.float64)

    def variance(self, box: Box) -> float:
        """Of the estimate of a box that they determine."""
        lengths = _lengths(box)
        if lengths not in self._variances:
            self._variances[lengths] = self._variance(box)
        return self._variances[lengths]

    def _variance(self, box: Box) -> float:
        cut = self.cut(box)
        if (sole := self.sole(cut)) is not None:
            return sole.cells(box) * sole.variance
        parts = {axis: self._part(box, axis) for axis in cut}
        found = 0.0
        for space in subsets(cut):
            inside = prod(self.sizes[axis] * parts[axis] * (1 - parts[axis]) for axis in space)
            found += prod(parts[axis] ** 2 for axis in cut if axis not in space) * inside / self.precisions[space]
        return found

    def largest_draw(self, box: Box) -> float:
        """The most variance that a single draw has in the estimate of a box."""
        return float((self.largest_weights(box) ** 2 * self.variances).max(initial=0.0))

    def largest_weights(self, box: Box) -> Floats:
        """The largest weight that a number of each table has in what they say of a box."""
        lengths = _lengths(box)
        if lengths not in self._largest:
            parts = {axis: self._part(box, axis) for axis in self.cut(box)}
            self._largest[lengths] = np.array([self._largest_weight(table, parts) for table in self.tables])
        return self._largest[lengths]

    @cached_property
    def variances(self) -> Floats:
        """Of the noise in each table."""
        return np.array([table.variance for table in self.tables])

    def weights(self, box: Box) -> Weights | None:
        """The draws of noise in the estimate of a box that they determine; None where more than a few differ."""
        cut = self.cut(box)
        if (sole := self.sole(cut)) is not None:
            return ((1.0, sole.source, sole.cells(box)),)
        parts = {axis: self._part(box, axis) for axis in cut}
        if sum(1 << len(set(cut) & set(table.axes)) for table in self.tables if table.variance) > MOST_WEIGHTS:
            return None
        lengths = _lengths(box)
        if lengths not in self._weights:
            self._weights[lengths] = tuple(draw for table in self.tables for draw in self._draws_of(table, parts))
        return self._weights[lengths]

    def _draws_of(self, table: Marginal, parts: Mapping[int, float]) -> Iterator[tuple[float, Source, int]]:
        weights = self._weights_of(table, parts)
        counts = np.array(prod(size for axis, size in zip(table.axes, table.sizes, strict=True) if axis not in parts))
        for axis in table.axes:
            if axis in parts:
                inside = round(parts[axis] * self.sizes[axis])
                counts = np.multiply.outer(counts, np.array([inside, self.sizes[axis] - inside]))
        for weight, count in zip(weights.reshape(-1).tolist(), counts.reshape(-1).tolist(), strict=False):
            if weight and count:
                yield weight, table.source, int(count)

    def _largest_weight(self, table: Marginal, parts: Mapping[int, float]) -> float:
        return float(np.abs(self._weights_of(table, parts)).max(initial=0.0))

    def _weights_of(self, table: Marginal, parts: Mapping[int, float]) -> Floats:
        """Of one table's cells, which have one weight for each way to lie inside or outside of a box's intervals; none
        where it tells nothing of the box."""
        shared = tuple(axis for axis in table.axes if axis in parts)
        if not table.variance or (table.is_residual and shared != table.axes):
            return np.zeros(0)
        weights = np.zeros((2,) * len(shared))
        for space in [table.axes] if table.is_residual else subsets(shared):
            weights[tuple(int(axis in space) for axis in shared)] = table.precision(space) / self.precisions[space]
        for place, axis in enumerate(shared):
            part = parts[axis]
            along = np.array([[part, 1 - part], [part, -part]])
            weights = np.moveaxis(np.tensordot(along, weights, axes=(1, place)), 0, place)
        others = prod(part for axis, part in parts.items() if axis not in shared)
        return np.asarray(others * weights / (table.size if table.is_residual else 1))

    def _part(self, box: Box, axis: int) -> float:
        return (box.high[axis] - box.low[axis] + 1) / self.sizes[axis]

    def _inside(self, box: Box, axes: Axes) -> tuple[slice, ...]:
        return tuple(slice(box.low[axis], box.high[axis] + 1) for axis in axes)

    def _cuboid(self, axes: Axes) -> Floats:
        """The counts by some axes, after least squares."""
        if axes not in self._cuboids:
            cells = np.zeros([self.sizes[axis] for axis in axes])
            for space in subsets(axes):
                spread = tuple(slice(None) if axis in space else None for axis in axes)
                cells += self._component(space)[spread] / prod(self.sizes[axis] for axis in axes if axis not in space)
            self._cuboids[axes] = cells
        return self._cuboids[axes]

    def _component(self, space: Axes) -> Floats:
        """What is known of a space: by its attributes, adding up to 0 along each."""
        if space not in self._components:
            telling = [table for table in self.tables if table.tells(space)]
            exact = [table for table in telling if not table.variance]
            whole = self.precisions[space]
            shares = [(1.0, exact[0])] if exact else [(table.precision(space) / whole, table) for table in telling]
            found = np.zeros([self.sizes[axis] for axis in space])
            for share, table in shares:
                found += share * table.rolled_up(space)
            for place in range(len(space)):
                found -= found.mean(axis=place, keepdims=True)
            self._components[space] = found
        return self._components[space]


def _lengths(box: Box) -> Lengths:
    return tuple(map(operator.sub, box.high, box.low))


def subsets(axes: Axes) -> Iterator[Axes]:
    return (some for count in range(len(axes) + 1) for some in combinations(axes, count))
