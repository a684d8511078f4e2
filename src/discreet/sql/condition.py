"""Conditions over a domain, and the regions in which they hold.

A condition has no NOT: SQL's three-valued logic needs none once the codes of each comparison are chosen by whether it
must be true or must be false (NOT is pushed down by De Morgan's rules, which hold for unknown too). What remains is
AND and OR of sets of codes.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from math import prod

import numpy as np
import numpy.typing as npt

from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.errors import UnsupportedQuery
from discreet.query.cells import Ints, boxes_of
from discreet.sql.codes import Codes, Interval

MOST_CELLS = 2**19
MOST_BOXES = 2000

Grid = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Atom:
    """The points whose code on one axis is among `codes`; `notes` say where that differs from what was asked."""

    axis: int
    codes: Codes
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class CellSet:
    """The points where `held` is true at their classes: of every code of some axes, ascending, classes say its place
    in `held`. What an expression over several attributes becomes."""

    axes: tuple[int, ...]
    classes: tuple[Ints, ...]
    held: Grid
    notes: tuple[str, ...] = ()

    def starts(self, place: int) -> list[int]:
        """The codes of one of the axes at which a run of one class begins."""
        of_code = self.classes[place]
        return [0, *(np.flatnonzero(of_code[1:] != of_code[:-1]) + 1).tolist()]


@dataclass(frozen=True)
class AllOf:
    """AND; without parts, TRUE."""

    parts: tuple["Condition", ...]


@dataclass(frozen=True)
class AnyOf:
    """OR; without parts, FALSE."""

    parts: tuple["Condition", ...]


Condition = Atom | CellSet | AllOf | AnyOf


def atoms(condition: Condition) -> Iterator[Atom | CellSet]:
    """The comparisons of a condition, from left to right."""
    if isinstance(condition, Atom | CellSet):
        yield condition
    else:
        for part in condition.parts:
            yield from atoms(part)


def region_of(condition: Condition, domain: Domain, most_cells: int = MOST_CELLS) -> Region:
    """The points where the condition holds, as disjoint boxes in canonical form.

    Every axis is cut only where some comparison changes, and the condition is evaluated once for each cell between the
    cuts. The work is therefore at most (comparisons × cells), and a condition with more than `most_cells` cells or
    MOST_BOXES boxes is refused.
    """
    parts = condition.parts if isinstance(condition, AllOf) else (condition,)
    ranges = [part for part in parts if isinstance(part, Atom) and len(part.codes) == 1]
    if len(ranges) == len(parts):
        return _one_box(ranges, domain)
    cuts: dict[int, set[int]] = {}
    for atom in atoms(condition):
        if isinstance(atom, CellSet):
            for place, axis in enumerate(atom.axes):
                cuts.setdefault(axis, {0}).update(atom.starts(place))
            continue
        starts = cuts.setdefault(atom.axis, {0})
        for low, high in atom.codes:
            starts.update((low, high + 1))
    axes = [_Axis.cut(axis, starts, domain.shape[axis]) for axis, starts in sorted(cuts.items())]
    cells = prod(axis.cells for axis in axes)
    if cells > most_cells:
        raise UnsupportedQuery(
            f"the conditions cut the domain into {cells} cells, and at most {most_cells} are taken; "
            "ask with fewer distinct bounds, or on fewer columns at a time"
        )
    shapes = {axis.number: [axis.cells if other is axis else 1 for other in axes] for axis in axes}
    held = _holds(condition, {axis.number: axis for axis in axes}, shapes)
    grid = np.broadcast_to(held, [axis.cells for axis in axes])
    found = list(islice(boxes_of(grid, [axis.stops for axis in axes]), MOST_BOXES + 1))
    if len(found) > MOST_BOXES:
        raise UnsupportedQuery(
            f"the conditions describe more than {MOST_BOXES} separate boxes of the domain; ask for a simpler region"
        )
    # Runs of equal sections, axis by axis, are the canonical form already.
    return Region(tuple(_embed(domain.everything.boxes[0], axes, intervals) for intervals in found))


def _one_box(ranges: Iterable[Atom], domain: Domain) -> Region:
    """The common points of ranges, one on each atom's axis: what most questions ask, in a tenth of the time."""
    low, high = map(list, (domain.everything.boxes[0].low, domain.everything.boxes[0].high))
    for atom in ranges:
        [(first, last)] = atom.codes
        low[atom.axis] = max(low[atom.axis], first)
        high[atom.axis] = min(high[atom.axis], last)
        if low[atom.axis] > high[atom.axis]:
            return Region(())
    return Region((Box(tuple(low), tuple(high)),))


@dataclass(frozen=True)
class _Axis:
    """An axis cut into cells: cell i holds the codes from stops[i] up to, not including, stops[i + 1]."""

    number: int
    stops: tuple[int, ...]
    cell: dict[int, int]

    @classmethod
    def cut(cls, number: int, starts: set[int], size: int) -> "_Axis":
        stops = tuple(sorted(starts | {size}))
        return cls(number, stops, {stop: cell for cell, stop in enumerate(stops)})

    @property
    def cells(self) -> int:
        return len(self.stops) - 1


def _holds(condition: Condition, axes: dict[int, _Axis], shapes: dict[int, list[int]]) -> Grid:
    """Whether the condition holds in each cell, in a shape that broadcasts over all cells."""
    if isinstance(condition, Atom):
        axis = axes[condition.axis]
        line = np.zeros(axis.cells, np.bool_)
        for low, high in condition.codes:
            line[axis.cell[low] : axis.cell[high + 1]] = True
        return line.reshape(shapes[condition.axis])
    if isinstance(condition, CellSet):
        own = [axes[axis] for axis in condition.axes]
        classes = [of_code[list(axis.stops[:-1])] for axis, of_code in zip(own, condition.classes, strict=True)]
        sizes = [axis.cells if number in condition.axes else 1 for number, axis in axes.items()]
        return condition.held[np.ix_(*classes)].reshape(sizes)
    every = isinstance(condition, AllOf)
    held = np.full((1,) * len(axes), every)
    for part in condition.parts:
        held = held & _holds(part, axes, shapes) if every else held | _holds(part, axes, shapes)
    return held


def _embed(whole: Box, axes: list[_Axis], intervals: tuple[Interval, ...]) -> Box:
    low, high = list(whole.low), list(whole.high)
    for axis, (first, last) in zip(axes, intervals, strict=True):
        low[axis.number], high[axis.number] = first, last
    return Box(tuple(low), tuple(high))
