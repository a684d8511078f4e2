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
"""A cost's peak is looked for at so many points at once."""


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
    pieces = [(whole, cost.everywhere - other.everywhere), *cost.regional, *less]
    lows, highs = _corners(pieces)
    ends = np.array(whole.high, np.int64)
    # Sums of units of both signs only change where a box begins or has ended.
    changes = [np.unique(np.append(lows[:, axis], highs[:, axis] + 1)) for axis in range(len(ends))]
    starts = [codes[codes <= end] for codes, end in zip(changes, ends, strict=True)]
    if sum(abs(units) for _, units in pieces) > MAX_UNITS or prod(map(len, starts)) > MOST_POINTS:
        return _most_of(pieces, [codes.tolist() for codes in starts], 0)
    return int(_added_up(pieces, lows, highs, starts).max())


def _most_of(pieces: list[tuple[Box, int]], starts: Sequence[Sequence[int]], axis: int) -> int:
    """The same along one axis after the other."""
    if axis == len(starts):
        return sum(units for _, units in pieces)
    return max(
        _most_of([piece for piece in pieces if piece[0].low[axis] <= code <= piece[0].high[axis]], starts, axis + 1)
        for code in starts[axis]
    )


def _corners(pieces: Sequence[tuple[Box, int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The lowest and the highest codes of boxes, a row each."""
    lows, highs = (np.array([getattr(box, end) for box, _ in pieces], np.int64) for end in ("low", "high"))
    return lows, highs


def _added_up(
    pieces: Sequence[tuple[Box, int]],
    lows: NDArray[np.int64],
    highs: NDArray[np.int64],
    starts: Sequence[NDArray[np.int64]],
) -> NDArray[np.int64]:
    """The sums of units at the points that have one of these codes on each axis, with which every box begins. Axes with
    one code are left out; requires that no sum is beyond 64 bits."""
    axes = [axis for axis, codes in enumerate(starts) if len(codes) > 1]
    if not axes:
        return np.array([sum(units for _, units in pieces)], np.int64)  # all of them have that point
    first = [np.searchsorted(starts[axis], lows[:, axis]) for axis in axes]
    behind = [np.searchsorted(starts[axis], highs[:, axis], side="right") for axis in axes]
    counted, units = np.zeros([len(starts[axis]) + 1 for axis in axes], np.int64), np.array([u for _, u in pieces])
    for ends in product((0, 1), repeat=len(axes)):
        corner = tuple(behind[place] if end else first[place] for place, end in enumerate(ends))
        np.add.at(counted, corner, (-1) ** sum(ends) * units)
    for axis in range(counted.ndim):
        np.cumsum(counted, axis=axis, out=counted)
    return counted[(slice(-1),) * len(axes)]


def _peak(pieces: Sequence[tuple[Box, int]]) -> int:
    """The largest sum of units over boxes with a common point. One is reached at a point on each of whose axes some box
    begins: where these are not too many, all of them are added up at once."""
    total = sum(units for _, units in pieces)
    if len(pieces) < 2:
        return total
    lows, highs = _corners(pieces)
    begins = [np.unique(lows[:, axis]) for axis in range(lows.shape[1])]
    if total > MAX_UNITS or prod(len(starts) for starts in begins) > MOST_POINTS:
        return _peak_by_sweeping(list(pieces), 0)
    return int(_added_up(pieces, lows, highs, begins).max())


def _peak_by_sweeping(pieces: list[tuple[Box, int]], axis: int) -> int:
    """The same along one axis after the other."""
    total = sum(units for _, units in pieces)
    if len(pieces) < 2 or axis == len(pieces[0][0].low):
        return total
    active = [
        [piece for piece in pieces if piece[0].low[axis] <= start <= piece[0].high[axis]]
        for start in {box.low[axis] for box, _ in pieces}
    ]
    best = 0
    for section in sorted(active, key=lambda s: -sum(units for _, units in s)):
        if sum(units for _, units in section) <= best:
            break
        best = max(best, _peak_by_sweeping(section, axis + 1))
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
