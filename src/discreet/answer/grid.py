"""The domain, cut wherever something that is looked at begins or ends: within a cell of it nothing is told apart."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from discreet.domain.region import Box, Region

Ints = NDArray[np.int64]
Terms = tuple[tuple[int, Region], ...]
"""Whole numbers, each times the count of a region."""


@dataclass(frozen=True, eq=False)
class Grid:
    """`starts[axis]` are the codes at which its intervals start, ascending, from 0; `sizes` are the domain's own."""

    starts: tuple[Ints, ...]
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, boxes: Iterable[Box], sizes: tuple[int, ...]) -> "Grid":
        cuts: list[set[int]] = [{0} for _ in sizes]
        for box in boxes:
            for cut, low, high in zip(cuts, box.low, box.high, strict=True):
                cut.update((low, high + 1))
        starts = (np.array(sorted(cut - {size}), np.int64) for cut, size in zip(cuts, sizes, strict=True))
        return cls(tuple(starts), sizes)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(map(len, self.starts))

    @property
    def cells(self) -> int:
        return prod(self.shape)

    def times(self, terms: Terms) -> Ints:
        """How often each cell counts in a sum of regions. Requires regions that the grid was cut for."""
        counted = np.zeros(self.shape, np.int64)
        for times, region in terms:
            for box in region.boxes:
                counted[self._slices(box)] += times
        return counted.reshape(-1)

    def groups(self, where: Box, by: Sequence[int], values: Ints) -> tuple[Ints, Ints, Ints]:
        """A table of groups within a box that the grid was cut for, added up to the grid's intervals.

        Which sum each cell belongs to, from 1 on, and 0 outside the box; the sums; and how many groups are in each.
        """
        inside = self._slices(where)
        sums, counts = values, np.ones_like(values)
        for place, axis in enumerate(by):
            at = self.starts[axis][inside[axis]] - where.low[axis]
            sums, counts = np.add.reduceat(sums, at, axis=place), np.add.reduceat(counts, at, axis=place)
        lengths = dict(zip(by, sums.shape, strict=True))
        names = np.arange(1, sums.size + 1).reshape([lengths.get(axis, 1) for axis in range(len(self.starts))])
        labels = np.zeros(self.shape, np.int64)
        labels[inside] = names
        return labels.reshape(-1), sums.reshape(-1), counts.reshape(-1)

    def _slices(self, box: Box) -> tuple[slice, ...]:
        return tuple(
            slice(int(np.searchsorted(start, low)), int(np.searchsorted(start, high, "right")))
            for start, low, high in zip(self.starts, box.low, box.high, strict=True)
        )
