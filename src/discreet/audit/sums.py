"""What sums need, point by point, beside what is paid there.

The pieces of a cost may be cut in any way, and which of them pays for which of several sums is of no importance, as
long as every point pays for all of them. A box is cut wherever what rows add changes, and wherever a piece or another
box begins or ends. Slow and obvious on purpose.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Corner = tuple[int, ...]
Box = tuple[Corner, Corner]
Piece = tuple[Corner, Corner, int]
"""Lowest codes, highest codes, units."""
Run = tuple[int, int]
"""The first and the last of some codes."""
Verdict = Literal["", "short", "over"]
MOST_RUNS = 1 << 22
"""Boxes that are cut into more parts than this are halved."""
MOST_EXACT = 1 << 62


class Addend(Protocol):
    """What rows add to a sum, by their codes on some axes, which are ascending."""

    @property
    def axes(self) -> tuple[int, ...]: ...

    def cuts(self, axis: int) -> set[int]:
        """The codes at which runs have to begin."""
        ...

    def most(self, runs: Sequence[Sequence[Run]]) -> tuple[list[Fraction], NDArray[np.intp]]:
        """The most that rows add, whose codes are in these runs of each axis: different amounts, and which one it is
        for each combination of runs."""
        ...


@dataclass(frozen=True)
class PricedSum:
    """A sum over some boxes, and the units that it needs where a row adds so much."""

    addend: Addend
    boxes: tuple[Box, ...]
    needed: Callable[[Fraction], int]

    def units(self, runs: Sequence[Sequence[Run]]) -> NDArray[Any]:
        amounts, which = self.addend.most(runs)
        return np.array([self.needed(amount) if amount else 0 for amount in amounts], object)[which]


def compared(sums: Sequence[PricedSum], pieces: Sequence[Piece], everywhere: int) -> Verdict:
    """Whether somewhere less is paid than sums need there; or more than if all their rows added as much as the most."""
    boxes = list(dict.fromkeys(box for one in sums for box in one.boxes))
    found = {verdict for box in boxes for verdict in _verdicts(box, sums, pieces, everywhere)}
    if "short" in found:
        return "short"
    outside = any(not any(_clipped(piece[:2], box) for box in boxes) for piece in pieces)
    return "over" if "over" in found or outside else ""


def _verdicts(box: Box, sums: Sequence[PricedSum], pieces: Sequence[Piece], everywhere: int) -> Iterator[Verdict]:
    starts = [_starts(axis, box, sums, pieces) for axis in range(len(box[0]))]
    if prod(map(len, starts)) > MOST_RUNS:
        longest = max(range(len(starts)), key=lambda axis: len(starts[axis]))
        for half in _halves(box, longest, starts[longest][len(starts[longest]) // 2]):
            yield from _verdicts(half, sums, pieces, everywhere)
        return
    part = _Part(box, starts)
    kind = np.int64 if everywhere + sum(units for _, _, units in pieces) < MOST_EXACT else object
    paid, needed, allowed = (np.full(part.shape, amount, kind) for amount in (everywhere, 0, 0))
    for low, high, units in pieces:
        if (own := _clipped((low, high), box)) is not None:
            paid[part.within(own)] += units
    for one in sums:
        for whole in one.boxes:
            if (own := _clipped(whole, box)) is not None:
                runs = [part.runs(axis, own) for axis in one.addend.axes]
                needed[part.within(own)] += part.spread(one.addend.axes, one.units(runs)).astype(kind)
                allowed[part.within(own)] += _most(one, whole)
    if (paid < needed).any():
        yield "short"
    if (paid > allowed).any():
        yield "over"


@dataclass(frozen=True)
class _Part:
    """A box cut into runs. Only axes with several of them are kept: arrays have few dimensions."""

    box: Box
    starts: list[list[int]]

    @property
    def axes(self) -> list[int]:
        return [axis for axis, own in enumerate(self.starts) if len(own) > 1]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(self.starts[axis]) for axis in self.axes)

    def within(self, box: Box) -> tuple[slice, ...]:
        return tuple(self._slice(axis, box) for axis in self.axes)

    def runs(self, axis: int, box: Box) -> list[Run]:
        """Those of an axis inside a box, which begins and ends with one."""
        own = self.starts[axis][self._slice(axis, box)]
        return list(zip(own, [*(start - 1 for start in own[1:]), box[1][axis]], strict=True))

    def spread(self, axes: tuple[int, ...], units: NDArray[Any]) -> NDArray[Any]:
        """An array by some axes as one by all that are kept."""
        sizes = dict(zip(axes, units.shape, strict=True))
        return units.reshape([sizes.get(axis, 1) for axis in self.axes])

    def _slice(self, axis: int, box: Box) -> slice:
        own = self.starts[axis]
        return slice(bisect_left(own, box[0][axis]), bisect_right(own, box[1][axis]))


def _most(one: PricedSum, box: Box) -> int:
    """The units that a sum needs where a row of a box adds the most."""
    runs = []
    for axis in one.addend.axes:
        low, high = box[0][axis], box[1][axis]
        starts = sorted({low, *(code for code in one.addend.cuts(axis) if low < code <= high)})
        runs.append(list(zip(starts, [*(start - 1 for start in starts[1:]), high], strict=True)))
    return int(one.units(runs).max())


def _starts(axis: int, box: Box, sums: Sequence[PricedSum], pieces: Sequence[Piece]) -> list[int]:
    low, high = box[0][axis], box[1][axis]
    cuts = {low}
    for first, last in (*(piece[:2] for piece in pieces), *(other for one in sums for other in one.boxes)):
        cuts |= {first[axis], last[axis] + 1}
    for one in sums:
        if axis in one.addend.axes:
            cuts |= one.addend.cuts(axis)
    return sorted(code for code in cuts if low <= code <= high)


def _halves(box: Box, axis: int, start: int) -> tuple[Box, Box]:
    low, high = list(box[0]), list(box[1])
    low[axis], high[axis] = start, start - 1
    return (box[0], tuple(high)), (tuple(low), box[1])


def _clipped(box: Box, to: Box) -> Box | None:
    """What two boxes have in common."""
    low, high = tuple(map(max, box[0], to[0])), tuple(map(min, box[1], to[1]))
    return (low, high) if all(a <= b for a, b in zip(low, high, strict=True)) else None
