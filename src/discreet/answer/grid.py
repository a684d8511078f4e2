"""Many groups of one box as arrays: their codes, their regions and their numbers are made when one is looked at.

`Cells` is what a question's numbers are kept in: a mapping of single cells for whoever looks at one, and for each
quantity a mapping of its groups, which is an array where all of them are had in the same way. What follows from such an
array for all groups is worked out once; `tests/answer/test_grid.py` compares it with group by group.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.answer.estimate import FROM_WORST, Estimate, gathered_sum
from discreet.answer.labelled import LabelledGrid, labelled_grid
from discreet.answer.past import groups_to_plan
from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.query.query import Group, Query

Codes = tuple[int, ...]
Cell = tuple[Query, Codes]
"""One number: an elementary quantity, of one group."""
Value = TypeVar("Value")
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Grid(Mapping[Codes, Region]):
    """The groups of one box by some axes, each with its region, in the order of codes: those of `groups_of`."""

    axes: tuple[int, ...]
    box: Box

    @cached_property
    def ranges(self) -> tuple[range, ...]:
        return tuple(range(self.box.low[axis], self.box.high[axis] + 1) for axis in self.axes)

    def __len__(self) -> int:
        return prod(map(len, self.ranges))

    def __iter__(self) -> Iterator[Codes]:
        return product(*self.ranges)

    def __contains__(self, codes: object) -> bool:
        return (
            isinstance(codes, tuple)
            and len(codes) == len(self.axes)
            and all(code in own for code, own in zip(codes, self.ranges, strict=True))
        )

    def __getitem__(self, codes: Codes) -> Region:
        if codes not in self:
            raise KeyError(codes)
        low, high = list(self.box.low), list(self.box.high)
        for axis, code in zip(self.axes, codes, strict=True):
            low[axis] = high[axis] = code
        return Region((Box(tuple(low), tuple(high)),))

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """All codes: a line for each group, a column for each axis."""
        axes = np.meshgrid(*(np.arange(own.start, own.stop) for own in self.ranges), indexing="ij")
        return np.stack([axis.reshape(-1) for axis in axes], axis=1)

    def place(self, codes: Codes) -> int:
        """The place of a group among all."""
        found = 0
        for code, own in zip(codes, self.ranges, strict=True):
            found = found * len(own) + code - own.start
        return found

    def of_each(self, units: NDArray[np.int64]) -> NDArray[np.int64]:
        """From an array over all codes of the axes, the numbers of the groups, in order."""
        return units[np.ix_(*self.ranges)].reshape(-1)

    def is_like(self, other: object) -> bool:
        """Whether another has the same groups, by the same."""
        return isinstance(other, Grid) and (self.axes, self.ranges) == (other.axes, other.ranges)


AnyGrid = Grid | LabelledGrid


def grid_of(by: Sequence[Group], where: Region, domain: Domain) -> AnyGrid | None:
    """The groups as a grid; None where they are not those of one box."""
    if not by or len(where.boxes) != 1:
        return None
    axes = tuple(domain.axis(group) for group in by if isinstance(group, str))
    return Grid(axes, where.boxes[0]) if len(axes) == len(by) else labelled_grid(by, where, domain)


def count_of_groups(by: tuple[Group, ...], where: Region, domain: Domain) -> int:
    """How many groups `groups_of` makes."""
    grid = grid_of(by, where, domain)
    return len(grid) if grid is not None else sum(1 for _ in groups_to_plan(by, where, domain))


def codes_of_groups(by: tuple[Group, ...], where: Region, domain: Domain) -> NDArray[np.int64]:
    """The codes of the groups that `groups_of` makes, a line for each."""
    grid = grid_of(by, where, domain)
    if grid is not None:
        return grid.codes
    found = [codes for codes, _ in groups_to_plan(by, where, domain)]
    return np.array(found, np.int64).reshape(len(found), len(by))


class Numbers(Mapping[Codes, Estimate], ABC):
    """An estimate of each group: one of a few, each with its law and releases, times a number."""

    grid: AnyGrid
    units: NDArray[np.int64] | Floats
    """In the order of the groups."""

    @property
    @abstractmethod
    def laws(self) -> tuple[Estimate, ...]:
        """The estimates that are there; of the same value, which is the unit."""

    @abstractmethod
    def of_each(self, values: Sequence[float]) -> NDArray[Any]:
        """From a value for each law, one for each group."""

    @abstractmethod
    def at(self, place: int, region: Region) -> Estimate:
        """The estimate of the group at a place, which has this region."""

    def __len__(self) -> int:
        return len(self.grid)

    def __iter__(self) -> Iterator[Codes]:
        return iter(self.grid)

    def __contains__(self, codes: object) -> bool:
        return codes in self.grid

    def __getitem__(self, codes: Codes) -> Estimate:
        return self.at(self.grid.place(codes), self.grid[codes])

    def halfwidths(self, confidence: Fraction) -> Floats:
        """How far off each may be."""
        return np.asarray(self.of_each([one.halfwidth(confidence) for one in self.laws]), np.float64)

    @property
    def kinds(self) -> NDArray[np.int64]:
        """Of each, its place in `FROM_WORST`."""
        return self.of_each([FROM_WORST.index(one.kind) for one in self.laws])

    @cached_property
    def numbers(self) -> Floats:
        return np.asarray(self.units * float(self.laws[0].value), np.float64)


@dataclass(frozen=True, eq=False)
class GridNumbers(Numbers):
    """An estimate of each group: `one`, times a number, a whole one where it was measured. They have the same law, and
    are made of the same releases."""

    grid: AnyGrid
    units: NDArray[np.int64] | Floats
    one: Estimate
    parts: tuple["GridNumbers", ...] = ()
    """What it is the sum of, group by group, where it was not measured itself."""

    @classmethod
    def sum_of(cls, grid: AnyGrid, parts: Sequence["GridNumbers"]) -> "GridNumbers":
        """The sums of numbers of parts of the same groups: of one grain, and each of a measurement of its own."""
        one = replace(gathered_sum([part.one for part in parts], Region(())), value=parts[0].one.value)
        return cls(grid, np.sum([part.units for part in parts], axis=0), one, tuple(parts))

    @property
    def laws(self) -> tuple[Estimate, ...]:
        return (self.one,)

    def of_each(self, values: Sequence[float]) -> NDArray[Any]:
        return np.full(len(self.grid), values[0])

    def at(self, place: int, region: Region) -> Estimate:
        if self.parts:
            codes = tuple(self.grid.codes[place].tolist())
            return gathered_sum([part.at(place, part.grid[codes]) for part in self.parts], region)
        return _times(self.one, self.units[place].item(), region)


@dataclass(frozen=True, eq=False)
class NumbersByLaw(Numbers):
    """An estimate of each group, where they have several laws: an answer that was asked for beside their tables tells
    other things of groups inside of its region than of those outside."""

    grid: AnyGrid
    units: NDArray[np.int64] | Floats
    several: tuple[Estimate, ...]
    law: NDArray[np.intp]
    """Which of them each group has."""

    @property
    def laws(self) -> tuple[Estimate, ...]:
        return self.several

    def of_each(self, values: Sequence[float]) -> NDArray[Any]:
        return np.asarray(values)[self.law]

    def at(self, place: int, region: Region) -> Estimate:
        return _times(self.several[self.law[place]], self.units[place].item(), region)


def _times(one: Estimate, times: float, region: Region) -> Estimate:
    return Estimate(times * one.value, one.variance, one.kind, region, one.draws, one.grain, sources=one.sources)


class Cells(Mapping[Cell, Value], Generic[Value]):
    """Values by quantity and group."""

    def __init__(self, by_query: Mapping[Query, Mapping[Codes, Value]] | None = None) -> None:
        self.by_query: dict[Query, Mapping[Codes, Value]] = {
            query: dict(found) if isinstance(found, dict) else found for query, found in (by_query or {}).items()
        }

    @classmethod
    def of(cls, cells: Mapping[Cell, Value]) -> "Cells[Value]":
        if isinstance(cells, Cells):
            return cls(cells.by_query)
        found = cls()
        for cell, value in cells.items():
            found[cell] = value
        return found

    def __getitem__(self, cell: Cell) -> Value:
        return self.by_query[cell[0]][cell[1]]

    def __contains__(self, cell: object) -> bool:
        return isinstance(cell, tuple) and cell[0] in self.by_query and cell[1] in self.by_query[cell[0]]

    def __setitem__(self, cell: Cell, value: Value) -> None:
        query, codes = cell
        known = self.by_query.get(query)
        if not isinstance(known, dict):
            known = self.by_query[query] = dict(known or {})
        known[codes] = value

    def __iter__(self) -> Iterator[Cell]:
        return ((query, codes) for query, found in self.by_query.items() for codes in found)

    def __len__(self) -> int:
        return sum(map(len, self.by_query.values()))

    def __bool__(self) -> bool:
        return any(map(len, self.by_query.values()))

    def only(self, query: Query) -> "Cells[Value]":
        """Those of one quantity."""
        return Cells({query: self.by_query[query]} if query in self.by_query else {})

    def plus(self, other: "Cells[Value]") -> "Cells[Value]":
        """Both, of which no cell is in common."""
        found = Cells(self.by_query)
        for query, values in other.by_query.items():
            if query in found.by_query:
                values = {**found.by_query[query], **values}
            found.by_query[query] = values
        return found
