"""Regions: axis-parallel boxes of codes, and their disjoint unions."""

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Box:
    """The points p with low_i ≤ p_i ≤ high_i on every axis. Never empty."""

    low: tuple[int, ...]
    high: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.low) != len(self.high) or not all(map(operator.le, self.low, self.high)):
            raise ValueError(f"not a box: {self.low} to {self.high}")

    @property
    def volume(self) -> int:
        return math.prod(b - a + 1 for a, b in zip(self.low, self.high, strict=True))

    @property
    def slices(self) -> tuple[slice, ...]:
        """The box as an index into an array over the domain."""
        return tuple(slice(a, b + 1) for a, b in zip(self.low, self.high, strict=True))

    def __contains__(self, point: Sequence[int]) -> bool:
        return all(a <= x <= b for a, x, b in zip(self.low, point, self.high, strict=True))

    def covers(self, other: "Box") -> bool:
        return all(a <= c for a, c in zip(self.low, other.low, strict=True)) and all(
            d <= b for b, d in zip(self.high, other.high, strict=True)
        )

    def meets(self, other: "Box") -> bool:
        """Whether the two have a point in common."""
        return all(map(operator.le, self.low, other.high)) and all(map(operator.le, other.low, self.high))

    def intersect(self, other: "Box") -> "Box | None":
        low = tuple(map(max, self.low, other.low))
        high = tuple(map(min, self.high, other.high))
        return None if any(a > b for a, b in zip(low, high, strict=True)) else Box(low, high)

    def at(self, axis: int, code: int) -> "Box":
        """The same box on all other axes, at one code of this one."""
        return Box(
            (*self.low[:axis], code, *self.low[axis + 1 :]),
            (*self.high[:axis], code, *self.high[axis + 1 :]),
        )

    def subtract(self, other: "Box") -> list["Box"]:
        """At most 2d disjoint boxes that make up this one without the other."""
        common = self.intersect(other)
        if common is None:
            return [self]
        pieces, low, high = [], list(self.low), list(self.high)
        for axis in range(len(low)):
            if low[axis] < common.low[axis]:
                cut = [*high[:axis], common.low[axis] - 1, *high[axis + 1 :]]
                pieces.append(Box(tuple(low), tuple(cut)))
            if common.high[axis] < high[axis]:
                cut = [*low[:axis], common.high[axis] + 1, *low[axis + 1 :]]
                pieces.append(Box(tuple(cut), tuple(high)))
            low[axis], high[axis] = common.low[axis], common.high[axis]
        return pieces


@dataclass(frozen=True)
class Region:
    """A set of points as disjoint boxes in canonical form: equal sets have equal boxes, so `==` compares sets."""

    boxes: tuple[Box, ...]

    @classmethod
    def of(cls, boxes: Iterable[Box]) -> "Region":
        """The union of boxes that may overlap."""
        return _combine(boxes, (), operator.or_)

    @cached_property
    def _hash(self) -> int:
        return hash(self.boxes)

    def __hash__(self) -> int:
        return self._hash  # regions are looked up again and again

    @cached_property
    def volume(self) -> int:
        return sum(box.volume for box in self.boxes)

    @cached_property
    def bounds(self) -> Box:
        """The smallest box around it. Requires that it is not empty."""
        lows = zip(*(box.low for box in self.boxes), strict=True)
        highs = zip(*(box.high for box in self.boxes), strict=True)
        return Box(tuple(map(min, lows)), tuple(map(max, highs)))

    def __bool__(self) -> bool:
        return bool(self.boxes)

    def __contains__(self, point: Sequence[int]) -> bool:
        return any(point in box for box in self.boxes)

    def covers(self, other: "Region") -> bool:
        if len(other.boxes) == 1 and any(box.covers(other.boxes[0]) for box in self.boxes):
            return True
        return not other.subtract(self)

    def union(self, other: "Region") -> "Region":
        return Region.of([*self.boxes, *other.boxes])

    def intersect(self, other: "Region") -> "Region":
        if len(self.boxes) == len(other.boxes) == 1:
            common = self.boxes[0].intersect(other.boxes[0])
            return Region(() if common is None else (common,))
        return _combine(self.boxes, other.boxes, operator.and_)

    def sections(self, axis: int, size: int) -> "Iterator[Region]":
        """What there is at each code of an axis, one after the other: the same cross-section as long as no box begins
        or ends."""
        ends = {end for box in self.boxes for end in (box.low[axis], box.high[axis] + 1)}
        section = Region(())
        for code in range(size):
            if code in ends:
                section = Region.of(box.at(axis, code) for box in self.boxes if box.low[axis] <= code <= box.high[axis])
            yield Region(tuple(box.at(axis, code) for box in section.boxes))

    def subtract(self, other: "Region") -> "Region":
        return _combine(self.boxes, other.boxes, operator.gt)


Interval = tuple[int, int]
Cut = tuple[Interval, ...]
Cuts = frozenset[Cut]
Keep = Callable[[bool, bool], bool]
"""Which points to keep, by whether they are in the first set and in the second; never those in neither."""


def _combine(first: Iterable[Box], second: Iterable[Box], keep: Keep) -> Region:
    """The region of the points to keep of two unions of boxes."""
    ones, twos = (frozenset(tuple(zip(box.low, box.high, strict=True)) for box in boxes) for boxes in (first, second))
    if len({len(cut) for cut in ones | twos}) > 1:
        raise ValueError("the boxes of a region must have the same axes")
    slabs = _slabs(ones, twos, keep)
    return Region(tuple(Box(tuple(low for low, _ in cut), tuple(high for _, high in cut)) for cut in slabs))


def _slabs(ones: Cuts, twos: Cuts, keep: Keep) -> tuple[Cut, ...]:
    """Cut the combined set along the first axis wherever its cross-section changes, and each cross-section likewise.

    The cuts depend on the set alone: neighbouring slabs with the same cross-section are merged again.
    """
    if not ones or not twos:
        cuts = (ones or twos) if keep(bool(ones), bool(twos)) else frozenset()
        if len(cuts) < 2:
            return tuple(cuts)
        if len(next(iter(cuts))) == 1:
            return _merge(cuts)
        ones, twos, keep = cuts, frozenset(), operator.or_
    elif () in ones:
        return ((),) if keep(True, True) else ()
    slabs: list[tuple[int, int, tuple[Cut, ...]]] = []
    known: dict[tuple[Cuts, Cuts], tuple[Cut, ...]] = {}
    for low, high, sections in _sweep(ones, twos):
        if sections not in known:
            known[sections] = _slabs(*sections, keep)
        section = known[sections]
        if slabs and slabs[-1][1] == low - 1 and slabs[-1][2] == section:
            slabs[-1] = (slabs[-1][0], high, section)
        else:
            slabs.append((low, high, section))
    return tuple(((low, high), *rest) for low, high, section in slabs for rest in section)


def _sweep(ones: Cuts, twos: Cuts) -> Iterator[tuple[int, int, tuple[Cuts, Cuts]]]:
    """The intervals of the first axis in which the same cuts are met, and the cross-sections of those cuts."""
    opening_ones, opening_twos = _by_start(ones), _by_start(twos)
    bounds = {end for cut in (*ones, *twos) for end in (cut[0][0], cut[0][1] + 1)}
    met_ones: list[Cut] = []
    met_twos: list[Cut] = []
    for low, stop in pairwise(sorted(bounds)):
        met_ones = [cut for cut in met_ones if cut[0][1] >= low] + opening_ones.get(low, [])
        met_twos = [cut for cut in met_twos if cut[0][1] >= low] + opening_twos.get(low, [])
        yield low, stop - 1, (frozenset(cut[1:] for cut in met_ones), frozenset(cut[1:] for cut in met_twos))


def _by_start(cuts: Cuts) -> dict[int, list[Cut]]:
    starts: dict[int, list[Cut]] = {}
    for cut in cuts:
        starts.setdefault(cut[0][0], []).append(cut)
    return starts


def _merge(intervals: Cuts) -> tuple[Cut, ...]:
    """The union of intervals on one axis, with those that touch made one."""
    ascending = sorted(interval for (interval,) in intervals)
    merged = ascending[:1]
    for low, high in ascending[1:]:
        if low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple((interval,) for interval in merged)
