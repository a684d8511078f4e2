"""Spending as a field over the domain: what a charge is, and what keeps account of it.

Amounts are whole units, so that sums and comparisons are exact. One unit is 1/UNITS of what a mechanism may multiply
the odds of one row by, on the log scale: a Laplace count of scale λ spends 1/λ at the points of its region.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.domain.region import Box, Region

UNITS = 720_720_000_000
"""Units in 1. Divisible by 1 … 16 and by a million: thirds, sevenths, sixteenths and millionths are exact."""

MAX_UNITS = 2**62 - 1
"""No limit is above this, so that what fits a limit, twice, is within 64 bits."""


MOST_POINTS = 1 << 21
"""Sums of a cost are made at so many points at once."""


def units_up(amount: Fraction) -> int:
    """The least whole number of units that is at least the amount: for what is spent."""
    return -(-amount.numerator * UNITS // amount.denominator)


def units_down(amount: Fraction) -> int:
    """The greatest whole number of units that is at most the amount: for what may be spent."""
    return amount.numerator * UNITS // amount.denominator


@dataclass(frozen=True, slots=True)
class Cost:
    """Units spent at every point, and units spent in boxes; where boxes overlap, they add up."""

    everywhere: int = 0
    regional: tuple[tuple[Box, int], ...] = ()

    def __post_init__(self) -> None:
        if self.everywhere < 0 or any(units < 0 for _, units in self.regional):
            raise ValueError("a cost is never negative")

    def __add__(self, other: "Cost") -> "Cost":
        merged: dict[Box, int] = {}
        for box, units in (*self.regional, *other.regional):
            merged[box] = merged.get(box, 0) + units
        return Cost(self.everywhere + other.everywhere, tuple(merged.items()))

    def moved(self, place: Callable[[Box], Box]) -> "Cost":
        """The same with every box in another place."""
        return Cost(self.everywhere, tuple((place(box), units) for box, units in self.regional))

    def at(self, point: Sequence[int]) -> int:
        """The units spent at one point."""
        return self.everywhere + sum(units for box, units in self.regional if point in box)

    @property
    def peak(self) -> int:
        """The most units spent at any one point."""
        return self.everywhere + _peak(self.regional)

    def to_json(self) -> dict[str, Any]:
        return {
            "everywhere": self.everywhere,
            "regional": [[list(box.low), list(box.high), units] for box, units in self.regional],
        }

    @classmethod
    def from_json(cls, cost: Mapping[str, Any]) -> "Cost":
        """The inverse of to_json. Raises ValueError where units are no whole numbers."""
        pieces = tuple((Box(tuple(low), tuple(high)), units) for low, high, units in cost["regional"])
        if any(type(units) is not int for units in (cost["everywhere"], *(units for _, units in pieces))):
            raise ValueError("units are whole numbers")
        return cls(cost["everywhere"], pieces)


def most_beyond(cost: Cost, other: Cost, whole: Box) -> int:
    """The most units by which a cost is above another at any point of a domain, which is this box; exactly. Where it is
    below everywhere, that is below 0."""
    less = [(box, -units) for box, units in other.regional]
    return _most_at_a_point([(whole, cost.everywhere - other.everywhere), *cost.regional, *less])


def _peak(pieces: Sequence[tuple[Box, int]]) -> int:
    """The largest sum of units over boxes with a common point."""
    return sum(units for _, units in pieces) if len(pieces) < 2 else _most_at_a_point(pieces)


def _most_at_a_point(pieces: Sequence[tuple[Box, int]]) -> int:
    """The largest sum of units at a point; of both signs, where one box is around all others."""
    lows, highs = (np.array([getattr(box, end) for box, _ in pieces], np.int64) for end in ("low", "high"))
    total = sum(abs(units) for _, units in pieces)
    return _most(lows, highs, np.array([units for _, units in pieces], np.int64 if total <= MAX_UNITS else object))


def _most(lows: NDArray[np.int64], highs: NDArray[np.int64], units: NDArray[Any]) -> int:
    """The same of boxes as their lowest and highest codes, a row each.

    It is reached at a point on each of whose axes a box begins, or one of negative units has ended. Sums are only made
    over axes that some box cuts together with others: one axis after the other is left with the most of what is on it,
    as long as what it is cut with has at most MOST_POINTS such points. Else its codes are tried one by one.
    """
    if not lows.shape[1]:
        return int(units.sum())
    starts = [_starts(low, high, units) for low, high in zip(lows.T, highs.T, strict=True)]
    sizes = [len(codes) for codes in starts]
    first = np.stack([np.searchsorted(codes, low) for codes, low in zip(starts, lows.T, strict=True)], axis=1)
    behind = np.stack([np.searchsorted(codes, high, "right") for codes, high in zip(starts, highs.T, strict=True)], 1)
    cut = (first > 0) | (behind < sizes)
    groups = _cut_alike(cut)
    order, too_large = _order([axes for axes, _ in groups], sizes)
    if too_large:
        axis = max(too_large, key=lambda one: sizes[one])
        return _most_along(axis, starts[axis], lows, highs, units)
    fields = [(axes, _added_up(axes, sizes, first[of], behind[of], units[of])) for axes, of in groups]
    for axis in order:
        touched = [field for field in fields if axis in field[0]]
        around = _together([axes for axes, _ in touched])
        shapes = [[sizes[one] if one in axes else 1 for one in around] for axes, _ in touched]
        summed = np.zeros([sizes[one] for one in around], units.dtype)
        for (_, counted), shape in zip(touched, shapes, strict=True):
            summed += counted.reshape(shape)
        left = tuple(one for one in around if one != axis)
        fields = [field for field in fields if axis not in field[0]] + [(left, summed.max(axis=around.index(axis)))]
    return sum(int(counted) for _, counted in fields)


def _starts(low: NDArray[np.int64], high: NDArray[np.int64], units: NDArray[Any]) -> NDArray[np.int64]:
    """The codes of an axis at which a sum may be the largest."""
    ended = high[units < 0] + 1
    return np.unique(np.append(low, ended[ended <= high.max()]))


def _cut_alike(cut: NDArray[np.bool_]) -> list[tuple[tuple[int, ...], NDArray[np.intp]]]:
    """Axes, and the boxes that are cut on them; those that are cut on some of these alone are among them."""
    kinds, kind_of = np.unique(cut, axis=0, return_inverse=True)
    kept: list[frozenset[int]] = []
    place = np.zeros(len(kinds), np.intp)
    for kind in np.argsort(-kinds.sum(axis=1), kind="stable").tolist():
        axes = frozenset(np.flatnonzero(kinds[kind]).tolist())
        around = next((i for i, larger in enumerate(kept) if axes <= larger), None)
        place[kind] = len(kept) if around is None else around
        if around is None:
            kept.append(axes)
    group = place[kind_of.reshape(-1)]
    return [(tuple(sorted(axes)), np.flatnonzero(group == i)) for i, axes in enumerate(kept)]


def _together(several: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(sorted({axis for axes in several for axis in axes}))


def _order(fields: list[tuple[int, ...]], sizes: Sequence[int]) -> tuple[list[int], tuple[int, ...]]:
    """In which order axes are left with their most: next the one that is cut with the fewest points. And the axes that
    one is cut with, where these have too many."""
    order: list[int] = []
    while waiting := _together(fields):
        around = {axis: _together([axes for axes in fields if axis in axes]) for axis in waiting}
        points = {axis: prod(sizes[one] for one in around[axis]) for axis in waiting}
        axis = min(waiting, key=lambda one: points[one])
        if points[axis] > MOST_POINTS:
            return order, around[axis]
        order.append(axis)
        left = tuple(one for one in around[axis] if one != axis)
        fields = [axes for axes in fields if axis not in axes] + [left]
    return order, ()


def _added_up(
    axes: Sequence[int],
    sizes: Sequence[int],
    first: NDArray[np.intp],
    behind: NDArray[np.intp],
    units: NDArray[Any],
) -> NDArray[Any]:
    """The sums of units at all points of some axes, of boxes from their first to before what is behind them."""
    if not axes:
        return np.array(units.sum())
    counted = np.zeros([sizes[axis] + 1 for axis in axes], units.dtype)
    for ends in product((0, 1), repeat=len(axes)):
        corner = tuple((behind if end else first)[:, axis] for axis, end in zip(axes, ends, strict=True))
        np.add.at(counted, corner, (-1) ** sum(ends) * units)
    for place in range(counted.ndim):
        np.cumsum(counted, axis=place, out=counted)
    return counted[(slice(-1),) * len(axes)]


def _most_along(
    axis: int, codes: NDArray[np.int64], lows: NDArray[np.int64], highs: NDArray[np.int64], units: NDArray[Any]
) -> int:
    """The largest sum, with the codes of one axis tried one by one: first where most may come together."""
    sections = [(lows[:, axis] <= code) & (code <= highs[:, axis]) for code in codes.tolist()]
    bounds = [int(np.where(units > 0, units, 0)[section].sum()) for section in sections]
    others = [one for one in range(lows.shape[1]) if one != axis]
    best: int | None = None
    for place in sorted(range(len(sections)), key=lambda one: -bounds[one]):
        if best is not None and bounds[place] <= best:
            break
        section = sections[place]
        most = _most(lows[section][:, others], highs[section][:, others], units[section]) if section.any() else 0
        best = most if best is None else max(best, most)
    assert best is not None
    return best


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a cost does not fit: `where` is a box in which at most `left` units are left and `needed` are asked for."""

    left: int
    needed: int
    where: Box


class SpendMap(Protocol):
    """The spend of every point of a domain, never undercounted, and a limit that no point may pass.

    Equal sequences of `add` make equal maps, so that every process that replays a journal decides alike. One thread at
    a time: the ledger sees to it.
    """

    limit: int

    @property
    def spent_max(self) -> int:
        """The most units spent at any point."""
        ...

    @property
    def overdrawn(self) -> bool:
        """Whether some point has more units spent than the limit, which was lowered since."""
        ...

    def left(self, region: Region) -> int:
        """The least units left at any point of a region; an empty region has the whole limit."""
        ...

    def refusal(self, cost: Cost) -> Refusal | None:
        """None where a cost fits at every point, else the worst place. Changes nothing."""
        ...

    def add(self, cost: Cost) -> None:
        """Count a cost, whether it fits or not: it is already in the journal. What cannot be is an OverflowError."""
        ...

    def replay(self, costs: Iterable[Cost]) -> None:
        """The same as adding the costs in order, in bulk."""
        ...

    def left_by(self, axes: Sequence[int]) -> NDArray[np.int64]:
        """An array over the codes of some axes: the least units left over all codes of the other axes."""
        ...

    def stated(self) -> dict[str, Any]:
        """All that the map is but its limit, as data and arrays: the same for the same sequence of `add` and limits."""
        ...

    def restore(self, stated: Mapping[str, Any]) -> None:
        """Be the map that stated this. Raises ValueError where that is of another domain."""
        ...
