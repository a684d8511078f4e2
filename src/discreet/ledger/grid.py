"""The dense spend map: one 64-bit count for every point of the domain, exact.

What is spent everywhere is one number beside the array, and the array is made with the first regional charge: a vault
that only publishes cubes never has one.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numba import njit

from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.ledger.boxes import Ints, corners, overlap, runs, units_of
from discreet.ledger.spend import MAX_UNITS, Cost, Refusal

MAX_POINTS = 2**25
"""The largest domain with a dense map: 256 MiB of counts."""

FEW = 100
"""Fewer boxes than these are replayed one by one."""


class Grid:
    """A SpendMap that knows the exact spend of every point. Requires a domain of at most MAX_POINTS points."""

    def __init__(self, domain: Domain, limit: int) -> None:
        if domain.points > MAX_POINTS:
            raise ValueError(f"a dense map takes at most {MAX_POINTS} points")
        self.limit = limit
        self._whole = domain.everything.boxes[0]
        self._shape = np.array(domain.shape, dtype=np.int64)
        self._everywhere = 0
        self._regional_max = 0
        self._regional: Ints | None = None

    @property
    def spent_max(self) -> int:
        return self._everywhere + self._regional_max

    def left(self, region: Region) -> int:
        if not region:
            return self.limit
        spent = self._everywhere + max(self._most(box) for box in region.boxes)
        return max(self.limit - spent, 0)

    def refusal(self, cost: Cost) -> Refusal | None:
        pieces = [piece for piece in cost.regional if piece[1]]
        lows, highs = corners(self._shape, pieces)
        room = self.limit - self._everywhere - cost.everywhere
        if cost.everywhere and self._regional_max > room:
            return self._refused(cost, self._worst(self._whole))
        if not pieces or self._regional_max + sum(units for _, units in pieces) <= room:
            return None
        largest, units = max(pieces, key=lambda piece: piece[1])
        if units > room:
            return self._refused(cost, largest.low)
        worst = _first_crowded(self._made(), self._shape, lows, highs, units_of(pieces), room)
        return None if worst < 0 else self._refused(cost, self._point(worst))

    def _refused(self, cost: Cost, point: tuple[int, ...]) -> Refusal:
        needed = cost.at(point)
        around = self._whole
        for box, _ in cost.regional:
            if point in box:
                around = around.intersect(box) or around
        if self._regional is None:
            return Refusal(max(self.limit - self._everywhere, 0), needed, around)
        crowded = max(self.limit - self._everywhere - needed, -1)
        lows, highs = corners(self._shape, [(around, 0)])
        low, high = _grown(self._regional, self._shape, lows[0], highs[0], np.array(point, dtype=np.int64), crowded)
        where = Box(tuple(low.tolist()), tuple(high.tolist()))
        return Refusal(max(self.limit - self._everywhere - self._most(where), 0), needed, where)

    def add(self, cost: Cost) -> None:
        if cost.regional:
            lows, highs = corners(self._shape, cost.regional)
            if self._regional_max + max(units for _, units in cost.regional) > 2 * MAX_UNITS:
                raise OverflowError("more was spent than any limit allows")
            most = _count_all(self._made(), self._shape, lows, highs, units_of(cost.regional))
            self._regional_max = max(self._regional_max, most)
        self._everywhere += cost.everywhere

    def replay(self, costs: Iterable[Cost]) -> None:
        """Every box adds its units at its 2^d corners with alternating signs; running sums along each axis fill it."""
        listed = list(costs)
        pieces = [piece for cost in listed for piece in cost.regional]
        # Few boxes are not worth a pass over the domain; and sums over all boxes must not pass 64 bits on the way.
        if len(pieces) < FEW or sum(units for _, units in pieces) + self._regional_max > MAX_UNITS:
            for cost in listed:
                self.add(cost)
            return
        lows, highs = corners(self._shape, pieces)
        regional, differences = self._made(), np.zeros(self._shape, dtype=np.int64)
        _count_or_difference(regional, differences.reshape(-1), self._shape, lows, highs, units_of(pieces))
        for axis in range(differences.ndim):
            np.cumsum(differences, axis=axis, out=differences)
        regional += differences.reshape(-1)
        self._regional_max = int(regional.max())
        self._everywhere += sum(cost.everywhere for cost in listed)

    def left_by(self, axes: Sequence[int]) -> Ints:
        shape = self._shape[list(axes)]
        if self._regional is None:
            spent: Ints = np.full(shape, self._everywhere, dtype=np.int64)
        else:
            others = tuple(axis for axis in range(len(self._shape)) if axis not in axes)
            most = self._regional.reshape(self._shape).max(axis=others)
            spent = self._everywhere + most.transpose(np.argsort(np.argsort(axes)))
        return np.maximum(self.limit - spent, 0)

    def _made(self) -> Ints:
        if self._regional is None:
            self._regional = np.zeros(int(self._shape.prod()), dtype=np.int64)
        return self._regional

    def _most(self, box: Box) -> int:
        lows, highs = corners(self._shape, [(box, 0)])
        return 0 if self._regional is None else int(_most(self._regional, self._shape, lows[0], highs[0]))

    def _worst(self, box: Box) -> tuple[int, ...]:
        if self._regional is None:
            return box.low
        lows, highs = corners(self._shape, [(box, 0)])
        return self._point(_index_of(self._regional, self._shape, lows[0], highs[0], self._most(box)))

    def _point(self, index: int) -> tuple[int, ...]:
        return tuple(int(code) for code in np.unravel_index(index, tuple(self._shape)))


# The kernels take each run as a slice: indices that are known not to be negative let LLVM vectorise the inner loop.


@njit(cache=True)
def _most(counts: Ints, shape: Ints, low: Ints, high: Ints) -> int:
    starts, run = runs(shape, low, high)
    most: int = counts[starts[0]]
    for start in starts:
        row = counts[start : start + run]
        for i in range(run):
            most = max(most, row[i])
    return most


@njit(cache=True)
def _least(counts: Ints, shape: Ints, low: Ints, high: Ints) -> int:
    starts, run = runs(shape, low, high)
    least: int = counts[starts[0]]
    for start in starts:
        row = counts[start : start + run]
        for i in range(run):
            least = min(least, row[i])
    return least


@njit(cache=True)
def _count(counts: Ints, shape: Ints, low: Ints, high: Ints, units: int) -> int:
    """Add units at every point of the box; the new maximum in it."""
    starts, run = runs(shape, low, high)
    most: int = counts[starts[0]] + units
    for start in starts:
        row = counts[start : start + run]
        for i in range(run):
            spent = row[i] + units
            row[i] = spent
            most = max(most, spent)
    return most


@njit(cache=True)
def _index_of(counts: Ints, shape: Ints, low: Ints, high: Ints, wanted: int) -> int:
    """Where a count that is known to be in the box is first met."""
    starts, run = runs(shape, low, high)
    for start in starts:
        for i in range(start, start + run):
            if counts[i] == wanted:
                return i
    return int(starts[0])


@njit(cache=True)
def _count_all(counts: Ints, shape: Ints, lows: Ints, highs: Ints, units: Ints) -> int:
    most = 0
    for piece in range(len(units)):
        most = max(most, _count(counts, shape, lows[piece], highs[piece], units[piece]))
    return most


@njit(cache=True)
def _first_crowded(counts: Ints, shape: Ints, lows: Ints, highs: Ints, units: Ints, room: int) -> int:
    """A point where pieces, which may overlap, add up to more than the room; −1 where there is none."""
    overlapping = overlap(lows, highs)
    crowded, counted = -1, 0
    while counted < len(units):
        low, high = lows[counted], highs[counted]
        most = _most(counts, shape, low, high)
        if most + units[counted] > room:
            crowded = _index_of(counts, shape, low, high, most)
            break
        if overlapping:
            _count(counts, shape, low, high, units[counted])
        counted += 1
    if overlapping:
        for piece in range(counted):
            _count(counts, shape, lows[piece], highs[piece], -units[piece])
    return crowded


@njit(cache=True)
def _grown(counts: Ints, shape: Ints, low: Ints, high: Ints, point: Ints, above: int) -> tuple[Ints, Ints]:
    """A box around a point, within bounds, that no layer can be added to with all its counts above a threshold."""
    from_, to = point.copy(), point.copy()
    for axis in range(len(shape)):
        layer_low, layer_high = from_.copy(), to.copy()
        while from_[axis] > low[axis]:
            layer_low[axis] = layer_high[axis] = from_[axis] - 1
            if _least(counts, shape, layer_low, layer_high) <= above:
                break
            from_[axis] -= 1
        while to[axis] < high[axis]:
            layer_low[axis] = layer_high[axis] = to[axis] + 1
            if _least(counts, shape, layer_low, layer_high) <= above:
                break
            to[axis] += 1
    return from_, to


@njit(cache=True)
def _count_or_difference(counts: Ints, differences: Ints, shape: Ints, lows: Ints, highs: Ints, units: Ints) -> None:
    """Count each box at its points, or as differences at its corners, whichever are fewer."""
    strides = np.ones_like(shape)
    for axis in range(len(shape) - 1, 0, -1):
        strides[axis - 1] = strides[axis] * shape[axis]
    steps = np.empty_like(shape)
    for piece in range(len(units)):
        first, ending, points = 0, 0, 1
        for axis in range(len(shape)):
            extent = highs[piece, axis] - lows[piece, axis] + 1
            first += lows[piece, axis] * strides[axis]
            points *= extent
            # A box that reaches the last code has no corner beyond it: there is nothing to take back.
            if highs[piece, axis] + 1 < shape[axis]:
                steps[ending] = extent * strides[axis]
                ending += 1
        if points < 1 << ending:
            _count(counts, shape, lows[piece], highs[piece], units[piece])
            continue
        for corner in range(1 << ending):
            index, amount = first, units[piece]
            for i in range(ending):
                if corner >> i & 1:
                    index, amount = index + steps[i], -amount
            differences[index] += amount
