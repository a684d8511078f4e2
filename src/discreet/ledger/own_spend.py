"""What one asker's charges spent: a field over the domain, as the ledger's map is, as large as what they asked about.

Points are kept apart only where an edge of one of the asker's own boxes parts them: who asks about ages and regions has
a grid of those, whatever else the domain has. Where that grid would pass MOST_CELLS, it is levelled to its maximum and
another begun on top: from then on more is counted than was spent there, never less. Equal sequences of charges make
equal spends, looked at after each or at the end, so that every process that reads a journal decides alike.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.ledger.spend import MAX_UNITS, Cost

MOST_CELLS = 2**16
"""Half a megabyte for each asker, and some 20 µs for each charge."""

MOST_WAITING = 256

Edges = Mapping[int, list[int]]
"""For each axis that is parted at all, the codes at which its intervals begin; the first is 0."""


class OwnSpend:
    """The units that one asker's charges spent at every point. They are counted when somebody looks, or many wait."""

    def __init__(self, domain: Domain) -> None:
        self._sizes = domain.shape
        self._waiting: list[Cost] = []
        self._everywhere = 0
        self._clear()

    def _clear(self) -> None:
        self._edges: Edges = {}
        self._units: NDArray[np.int64] = np.zeros((), np.int64)

    def add(self, cost: Cost) -> None:
        """Count a cost."""
        self._waiting.append(cost)
        if len(self._waiting) == MOST_WAITING:
            self._count()

    def level(self) -> None:
        """Everybody may be at another point from now on: all points have spent the most that any had."""
        self._everywhere = self.peak
        self._clear()

    @property
    def peak(self) -> int:
        """The most units spent at any point."""
        self._count()
        return self._everywhere + int(self._units.max())

    def most(self, region: Region) -> int:
        """The most units spent at any point of a region."""
        self._count()
        inside = (self._units[_cells(self._edges, box)].max() for box in region.boxes)
        return self._everywhere + int(max(inside, default=0))

    def peak_with(self, cost: Cost) -> int:
        """The most units at any point that a further cost touches, with it. Changes nothing."""
        self._count()
        edges = self._edges_with([cost])
        if _size(edges) > MOST_CELLS or _is_beyond_limits(cost):
            return self.peak + cost.peak
        if not cost.everywhere and len(cost.regional) == 1:
            [(box, units)] = cost.regional  # any cell that meets a box has a point in it
            return self._everywhere + int(self._units[_cells(self._edges, box)].max()) + units if units else 0
        added = _field(edges, cost)
        touched = np.ones_like(added, bool) if cost.everywhere else added > 0
        total = (self._refined(edges) + added)[touched]
        return self._everywhere + cost.everywhere + int(total.max()) if total.size else 0

    def stated(self) -> dict[str, Any]:
        """All that it is, as data and arrays: the same for the same sequence of charges and levels."""
        self._count()
        edges = [[axis, begins] for axis, begins in self._edges.items()]
        return {"everywhere": self._everywhere, "edges": edges, "units": self._units}

    def restore(self, stated: Mapping[str, Any]) -> None:
        """Be what stated this. Raises ValueError where that is of another domain."""
        edges = dict(stated["edges"])
        if stated["units"].shape != tuple(map(len, edges.values())) or max(edges, default=0) >= len(self._sizes):
            raise ValueError("the spending of an asker in another domain")
        self._waiting, self._everywhere, self._edges, self._units = [], stated["everywhere"], edges, stated["units"]

    def _count(self) -> None:
        """Count what waits: the longest run of costs that one grid holds, then a level, and so on."""
        while self._waiting:
            run = self._fitting()
            if not run and not self._edges:
                self._everywhere += self._waiting.pop(0).peak  # too many edges by itself
                continue
            if not run:
                self._everywhere += int(self._units.max())
                self._clear()
                continue
            costs, self._waiting = self._waiting[:run], self._waiting[run:]
            edges = self._edges_with(costs)
            self._units, self._edges = self._refined(edges), edges
            for cost in costs:
                self._everywhere += cost.everywhere
                for box, units in cost.regional:
                    self._units[_cells(edges, box)] += units

    def _fitting(self) -> int:
        """How many of the waiting costs the grid takes. Edges only become more: doubling, then halving finds it."""

        def size(run: int) -> int:
            return _size(self._edges_with(self._waiting[:run]))

        most = 1
        while most < len(self._waiting) and size(most) <= MOST_CELLS:
            most *= 2
        return bisect_right(range(1, min(most, len(self._waiting)) + 1), MOST_CELLS, key=size)

    def _edges_with(self, costs: Sequence[Cost]) -> Edges:
        """The edges of the grid and of costs."""
        cuts: dict[int, set[int]] = {}
        for cost in costs:
            for box, units in cost.regional:
                for axis, size in enumerate(self._sizes if units else ()):
                    inner = [cut for cut in (box.low[axis], box.high[axis] + 1) if 0 < cut < size]
                    if inner:
                        cuts.setdefault(axis, {0}).update(inner)
        for axis, begins in self._edges.items():
            cuts.setdefault(axis, set()).update(begins)
        return {axis: sorted(cuts[axis]) for axis in sorted(cuts)}

    def _refined(self, edges: Edges) -> NDArray[np.int64]:
        """The same units over a finer grid."""
        units = self._units
        for place, (axis, begins) in enumerate(edges.items()):
            before = self._edges.get(axis)
            if before is None:
                units = np.repeat(np.expand_dims(units, place), len(begins), place)
            elif len(before) < len(begins):
                units = np.take(units, np.searchsorted(before, begins, side="right") - 1, axis=place)
        return units


def _is_beyond_limits(cost: Cost) -> bool:
    """Whether a cost passes any limit by itself, and maybe 64 bits."""
    return sum((units for _, units in cost.regional), cost.everywhere) > MAX_UNITS and cost.peak > MAX_UNITS


def _size(edges: Edges) -> int:
    cells = 1
    for begins in edges.values():
        cells *= len(begins)
    return cells


def _cells(edges: Edges, box: Box) -> tuple[slice, ...]:
    """The cells of a grid that meet a box."""
    return tuple(
        slice(bisect_right(begins, box.low[axis]) - 1, bisect_left(begins, box.high[axis] + 1))
        for axis, begins in edges.items()
    )


def _field(edges: Edges, cost: Cost) -> NDArray[np.int64]:
    """A cost's regional units over a grid that has all its edges."""
    units = np.zeros([len(begins) for begins in edges.values()], np.int64)
    for box, spent in cost.regional:
        units[_cells(edges, box)] += spent
    return units
