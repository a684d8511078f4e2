"""The dense spend map: one 64-bit count for every point of the domain, exact.

What is spent everywhere is one number beside the array, and the array is made with the first regional charge: a vault
that only publishes cubes never has one.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.ledger.boxes import Ints, corners, overlap, runs, units_of, volumes
from discreet.ledger.spend import MAX_UNITS, Cost, Refusal
from discreet.native import kernel

MAX_POINTS = 2**25
"""The largest domain with a dense map: 256 MiB of counts."""

STEP_POINTS = 64
"""NumPy passes over so many points while Python takes one step."""
STEPS_EACH = 32
"""What Python does around each box that it hands to NumPy, in steps."""


class GridSpend:
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

    @property
    def overdrawn(self) -> bool:
        return self.spent_max > self.limit

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
        look = _first_crowded.sized(_steps(lows, highs) + len(pieces) ** 2 * len(self._shape))
        worst = look(self._made(), self._shape, lows, highs, units_of(pieces), room)
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
        grow = _grown.sized(_steps(lows, highs) + STEPS_EACH * int((highs - lows).sum()))
        low, high = grow(self._regional, self._shape, lows[0], highs[0], np.array(point, dtype=np.int64), crowded)
        where = Box(tuple(low.tolist()), tuple(high.tolist()))
        return Refusal(max(self.limit - self._everywhere - self._most(where), 0), needed, where)

    def add(self, cost: Cost) -> None:
        if cost.regional:
            lows, highs = corners(self._shape, cost.regional)
            if self._regional_max + max(units for _, units in cost.regional) > 2 * MAX_UNITS:
                raise OverflowError("more was spent than any limit allows")
            self._count(lows, highs, units_of(cost.regional))
        self._everywhere += cost.everywhere

    def _count(self, lows: Ints, highs: Ints, units: Ints) -> None:
        count = _count_all.sized(_steps(lows, highs))
        self._regional_max = max(self._regional_max, int(count(self._made(), self._shape, lows, highs, units)))

    def replay(self, costs: Iterable[Cost]) -> None:
        listed = list(costs)
        pieces = [piece for cost in listed for piece in cost.regional]
        if sum(units for _, units in pieces) + self._regional_max > MAX_UNITS:  # together they may pass 64 bits
            for cost in listed:
                self.add(cost)
            return
        self._everywhere += sum(cost.everywhere for cost in listed)
        if not pieces:
            return
        lows, highs = corners(self._shape, pieces)
        if volumes(lows, highs).sum() <= len(self._shape) * self._shape.prod():
            self._count(lows, highs, units_of(pieces))
        else:
            self._count_by_corners(lows, highs, units_of(pieces))

    def _count_by_corners(self, lows: Ints, highs: Ints, units: Ints) -> None:
        """Every box adds its units at its 2^d corners with alternating signs, and running sums along each axis fill it;
        boxes of fewer points than that are counted at those."""
        corners_each = 1 << (highs + 1 < self._shape).sum(axis=1)
        small = volumes(lows, highs) < corners_each
        large, differences = ~small, np.zeros(self._shape, dtype=np.int64)
        mark = _mark_corners.sized(STEPS_EACH * int(corners_each[large].sum()))
        mark(differences.reshape(-1), self._shape, lows[large], highs[large], units[large])
        for axis in range(differences.ndim):
            np.cumsum(differences, axis=axis, out=differences)
        if self._regional is None:  # a map of a large domain is not held twice
            self._regional = differences.reshape(-1)
        else:
            self._regional += differences.reshape(-1)
        self._regional_max = int(self._regional.max())
        self._count(lows[small], highs[small], units[small])

    def left_by(self, axes: Sequence[int]) -> Ints:
        shape = self._shape[list(axes)]
        if self._regional is None:
            spent: Ints = np.full(shape, self._everywhere, dtype=np.int64)
        else:
            others = tuple(axis for axis in range(len(self._shape)) if axis not in axes)
            most = self._regional.reshape(self._shape).max(axis=others)
            spent = self._everywhere + most.transpose(np.argsort(np.argsort(axes)))
        return np.maximum(self.limit - spent, 0)

    def stated(self) -> dict[str, Any]:
        # By the steps from each point to the next: nearly all are 0, and take no room when they are packed.
        steps = None
        if self._regional_max and self._regional is not None:
            steps = self._regional.copy()
            np.subtract(self._regional[1:], self._regional[:-1], out=steps[1:])
        return {"everywhere": self._everywhere, "steps": steps}

    def restore(self, stated: Mapping[str, Any]) -> None:
        steps = stated["steps"]
        regional = None if steps is None else np.cumsum(steps, dtype=np.int64)
        if regional is not None and (regional.shape != (self._shape.prod(),) or regional.min() < 0):
            raise ValueError("a map of another domain")
        self._everywhere, self._regional = int(stated["everywhere"]), regional
        self._regional_max = 0 if regional is None else int(regional.max())

    def _made(self) -> Ints:
        if self._regional is None:
            self._regional = np.zeros(int(self._shape.prod()), dtype=np.int64)
        return self._regional

    def _most(self, box: Box) -> int:
        lows, highs = corners(self._shape, [(box, 0)])
        if self._regional is None:
            return 0
        return int(_most.sized(_steps(lows, highs))(self._regional, self._shape, lows[0], highs[0]))

    def _worst(self, box: Box) -> tuple[int, ...]:
        if self._regional is None:
            return box.low
        lows, highs = corners(self._shape, [(box, 0)])
        find = _index_of.sized(_steps(lows, highs))
        return self._point(find(self._regional, self._shape, lows[0], highs[0], self._most(box)))

    def _point(self, index: int) -> tuple[int, ...]:
        return tuple(int(code) for code in np.unravel_index(index, tuple(self._shape)))


def _steps(lows: Ints, highs: Ints) -> int:
    """The work of passing once over the points of boxes."""
    return STEPS_EACH * len(lows) + int(volumes(lows, highs).sum()) // STEP_POINTS


def _points(counts: Ints, shape: Ints, low: Ints, high: Ints) -> Ints:
    """The counts in a box, not copied."""
    view: Ints = counts.reshape(shape)[tuple(map(slice, low, high + 1))]
    return view


def _plainly_counted(counts: Ints, shape: Ints, low: Ints, high: Ints, units: int) -> int:
    there = _points(counts, shape, low, high)
    there += units
    return int(there.max())


def _plainly_found(counts: Ints, shape: Ints, low: Ints, high: Ints, wanted: int) -> int:
    there = _points(counts, shape, low, high)
    first = np.unravel_index(np.argmax(there == wanted), there.shape)
    return int(np.ravel_multi_index(tuple(low + first), tuple(shape)))


# The kernels take each run as a slice: indices that are known not to be negative let LLVM vectorise the inner loop.


@kernel(plain=lambda *box: _points(*box).max())
def _most(counts: Ints, shape: Ints, low: Ints, high: Ints) -> int:
    starts, run = runs(shape, low, high)
    most: int = counts[starts[0]]
    for start in starts:
        row = counts[start : start + run]
        for i in range(run):
            most = max(most, row[i])
    return most


@kernel(plain=lambda *box: _points(*box).min())
def _least(counts: Ints, shape: Ints, low: Ints, high: Ints) -> int:
    starts, run = runs(shape, low, high)
    least: int = counts[starts[0]]
    for start in starts:
        row = counts[start : start + run]
        for i in range(run):
            least = min(least, row[i])
    return least


@kernel(plain=_plainly_counted)
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


@kernel(plain=_plainly_found)
def _index_of(counts: Ints, shape: Ints, low: Ints, high: Ints, wanted: int) -> int:
    """Where a count that is known to be in the box is first met."""
    starts, run = runs(shape, low, high)
    for start in starts:
        for i in range(start, start + run):
            if counts[i] == wanted:
                return i
    return int(starts[0])


@kernel
def _count_all(counts: Ints, shape: Ints, lows: Ints, highs: Ints, units: Ints) -> int:
    most = 0
    for piece in range(len(units)):
        most = max(most, _count(counts, shape, lows[piece], highs[piece], units[piece]))
    return most


@kernel
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


@kernel
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


@kernel
def _mark_corners(differences: Ints, shape: Ints, lows: Ints, highs: Ints, units: Ints) -> None:
    """Note each box as differences at its corners."""
    strides = np.ones_like(shape)
    for axis in range(len(shape) - 1, 0, -1):
        strides[axis - 1] = strides[axis] * shape[axis]
    steps = np.empty_like(shape)
    for piece in range(len(units)):
        first, ending = 0, 0
        for axis in range(len(shape)):
            extent = highs[piece, axis] - lows[piece, axis] + 1
            first += lows[piece, axis] * strides[axis]
            # A box that reaches the last code has no corner beyond it: there is nothing to take back.
            if highs[piece, axis] + 1 < shape[axis]:
                steps[ending] = extent * strides[axis]
                ending += 1
        for corner in range(1 << ending):
            index, amount = first, units[piece]
            for i in range(ending):
                if corner >> i & 1:
                    index, amount = index + steps[i], -amount
            differences[index] += amount
