"""Released residuals, by release: what a wide cube with Gaussian noise is made of.

A box cuts some axes, of n values into m and the others. Its count is a sum over all subsets S of the axes that it cuts:
of the component of S, weighed by 1 − m/n inside the box and −m/n outside on the axes of S, times m/n for each other
axis. So it needs the residuals of all those subsets, and they have independent noise; see `query/residual.py`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import reduce
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from discreet.answer.past import PastAnswer
from discreet.domain.region import Box, Region
from discreet.query.marginals import Source

Axes = tuple[int, ...]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ReleasedResidual:
    """A residual of everything, its axes ascending, with noise of this variance on each number."""

    units: NDArray[np.int64]
    variance: float
    source: Source


@dataclass(frozen=True, eq=False)
class ResidualRelease:
    """The residuals of one release by their axes, over a domain of these sizes."""

    sizes: tuple[int, ...]
    tables: dict[Axes, ReleasedResidual] = field(default_factory=dict)

    @property
    def source(self) -> Source:
        """Stands for all of them: estimates from one release are not independent of each other."""
        return next(iter(self.tables.values())).source

    def total(self, region: Region) -> PastAnswer | None:
        """The count of a region; None where a residual is missing for it."""
        if not all(self._cut(box) in self.tables for box in region.boxes):
            return None
        weights = self._weights_of(region)
        if not weights.keys() <= self.tables.keys():
            return None
        value = variance = 0.0
        for axes, part in weights.items():
            table = self.tables[axes]
            value += float(np.vdot(part, table.units)) / part.size
            variance += float(np.vdot(part, part)) * table.variance / part.size**2
        return PastAnswer(region, value, variance, self.source)

    def shares(self, region: Region) -> list[tuple[float, Source, int]]:
        """The draws of noise in that count: a weight, the measurement, and how many of its numbers have this weight."""
        found = []
        for axes, part in self._weights_of(region).items():
            for weight, count in zip(*np.unique(part / part.size, return_counts=True), strict=True):
                found.append((float(weight), self.tables[axes].source, int(count)))
        return found

    def _weights_of(self, region: Region) -> dict[Axes, Floats]:
        weights: dict[Axes, Floats] = {}
        for box in region.boxes:
            for axes, part in self._weights(box):
                weights[axes] = weights[axes] + part if axes in weights else part
        return weights

    def _weights(self, box: Box) -> Iterator[tuple[Axes, Floats]]:
        """What each component counts for in a box."""
        cut = self._cut(box)
        shares = {axis: (box.high[axis] - box.low[axis] + 1) / self.sizes[axis] for axis in cut}
        for count in range(len(cut) + 1):
            for axes in combinations(cut, count):
                lines = [_line(self.sizes[axis], box.low[axis], box.high[axis]) - shares[axis] for axis in axes]
                others = prod(shares[axis] for axis in cut if axis not in axes)
                yield axes, reduce(np.multiply.outer, lines, np.array(others))

    def nearest(self, asked: Box, step: tuple[float, ...]) -> PastAnswer | None:
        """The count of a box with the asked one's intervals on some axes, and all codes of the others: the nearest."""
        cut = self._cut(asked)
        if 1 << len(cut) <= len(self.tables):
            known = [axes for count in range(len(cut) + 1) for axes in combinations(cut, count) if axes in self.tables]
        else:
            known = [axes for axes in self.tables if set(axes) <= set(cut)]

        # What it would be off by on each axis, if that had all codes.
        errors = {axis: step[axis] * (self.sizes[axis] - 1 - asked.high[axis] + asked.low[axis]) for axis in cut}
        best = max(known, key=lambda axes: sum(errors[axis] for axis in axes), default=None)
        if best is None:
            return None
        low = (asked.low[axis] if axis in best else 0 for axis in range(len(self.sizes)))
        high = (asked.high[axis] if axis in best else size - 1 for axis, size in enumerate(self.sizes))
        return self.total(Region((Box(tuple(low), tuple(high)),)))

    def within(self, axes: set[int]) -> list[tuple[Axes, ReleasedResidual]]:
        """Those over some of these axes."""
        return [(own, table) for own, table in self.tables.items() if axes.issuperset(own)]

    def _cut(self, box: Box) -> Axes:
        return tuple(axis for axis, size in enumerate(self.sizes) if box.high[axis] - box.low[axis] + 1 < size)


def _line(size: int, low: int, high: int) -> Floats:
    """1 from one code to another, 0 elsewhere."""
    line = np.zeros(size)
    line[low : high + 1] = 1
    return line
