"""Rows of an answer whose numbers are in arrays: a row is made when it is looked at."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import NDArray

from discreet.answer.estimate import FROM_WORST, Estimate, Kind, Ratio, worst
from discreet.answer.fieller import bounds_of_many
from discreet.answer.grid import AnyGrid, Floats, GridNumbers, Numbers
from discreet.answer.lazy_rows import LazyRows
from discreet.answer.reply import ROUNDING, Row
from discreet.answer.view import Label, ShownColumns, ShownNumbers
from discreet.domain.region import Region
from discreet.query.marginals import Source

Line = tuple[tuple[int, ...], Sequence[Row]]


@dataclass(frozen=True, eq=False)
class GridColumn:
    """An aggregate of all groups: its values and the ends of its intervals, nan where there is none."""

    name: str
    values: Floats
    low: Floats
    high: Floats
    may_be_zero: NDArray[np.bool_]
    parts: tuple[Numbers, ...]
    """The number itself; or an average's sum and count."""
    asked: Callable[[Region], Region]
    """The region that a group's number is about."""
    shrunken: Floats | None = None
    chosen: bool = False

    @property
    def alike(self) -> tuple[GridNumbers, ...]:
        """The parts of which all groups have the same law."""
        return tuple(part for part in self.parts if isinstance(part, GridNumbers))

    @property
    def kind(self) -> Kind:
        """The one that says the most about any of its numbers."""
        return worst({one.kind for part in self.parts for one in part.laws})

    @property
    def kinds(self) -> NDArray[np.int64]:
        """Of each number, its place in `FROM_WORST`."""
        return np.asarray(np.minimum.reduce([part.kinds for part in self.parts]))

    @property
    def is_average(self) -> bool:
        return len(self.parts) == 2

    @property
    def sources(self) -> frozenset[Source]:
        return frozenset[Source]().union(*(one.sources for part in self.parts for one in part.laws))

    @cached_property
    def is_too_noisy(self) -> NDArray[np.bool_]:
        with np.errstate(invalid="ignore"):
            found = (self.low != self.high) & ((self.high - self.low) / 2 >= np.abs(self.values))
        return np.asarray(found & ~np.isnan(self.values))

    def is_wider_than(self, within: Fraction | None) -> NDArray[np.bool_]:
        if within is None:
            return np.zeros(len(self.values), np.bool_)
        return np.asarray((self.high - self.low) / 2 > float(within) * (1 + ROUNDING))

    def row(self, place: int, group: Region, labels: tuple[Label, ...]) -> Row:
        """The row of one group."""
        asked = self.asked(group)
        estimates = [part.at(place, asked) for part in self.parts]
        if self.is_average:
            return self._average(place, asked, labels, *estimates)
        return Row(
            labels,
            self.name,
            whole(float(self.values[place])),
            whole(float(self.low[place])),
            whole(float(self.high[place])),
            estimates[0].kind,
            asked,
            asked,
            source=estimates[0],
            may_be_zero=bool(self.may_be_zero[place]),
            shrunken=None if self.shrunken is None else float(self.shrunken[place]),
            chosen=self.chosen,
        )

    def shown(self, places: NDArray[np.int64]) -> ShownNumbers:
        """The numbers of some groups, as their rows have them."""
        values, low, high = (one[places] for one in (self.values, self.low, self.high))
        if self.is_average:
            return ShownNumbers(numbers_of(values), low.tolist(), high.tolist())
        shrunken = None if self.shrunken is None else self.shrunken[places].tolist()
        return ShownNumbers(wholes(values), wholes(low), wholes(high), shrunken)

    def _average(self, place: int, asked: Region, labels: tuple[Label, ...], total: Estimate, count: Estimate) -> Row:
        value = None if np.isnan(self.values[place]) else float(self.values[place])
        low, high = float(self.low[place]), float(self.high[place])
        kind = worst({total.kind, count.kind})
        source = Ratio(value, low, high, kind, count, total)
        return Row(labels, self.name, value, low, high, kind, asked, asked, source=source, chosen=self.chosen)


def number_column(
    name: str, numbers: Numbers, confidence: Fraction, is_count: bool, asked: Callable[[Region], Region]
) -> GridColumn:
    """Counts or sums as they were measured."""
    half = numbers.halfwidths(confidence)
    values = numbers.numbers
    low, high = values - half, values + half
    may_be_zero = (low <= 0) & ((high >= 0) | is_count) & numbers.of_each([one.variance > 0 for one in numbers.laws])
    return GridColumn(name, values, low, high, may_be_zero, (numbers,), asked)


def average_column(
    name: str,
    total: Numbers,
    count: Numbers,
    confidence: Fraction,
    ends: tuple[float, float],
    asked: Callable[[Region], Region],
) -> GridColumn:
    """Averages, with Fieller's intervals; of values between two ends."""
    least, greatest = np.zeros(len(total)), np.zeros(len(total))
    for one, two, at in _by_laws(total, count):
        least[at], greatest[at] = bounds_of_many(one, two, total.numbers[at], count.numbers[at], confidence, *ends)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.where(count.numbers > 0, np.clip(total.numbers / count.numbers, *ends), np.nan)
    return GridColumn(name, values, least, greatest, np.zeros(len(values), np.bool_), (total, count), asked)


def _by_laws(total: Numbers, count: Numbers) -> Iterator[tuple[Estimate, Estimate, NDArray[np.int64]]]:
    """The laws that sums and counts have together, and the places of the groups that have both."""
    several = len(count.laws)
    both = total.of_each(range(len(total.laws))) * several + count.of_each(range(several))
    order = np.argsort(both, kind="stable")
    found, starts = np.unique(both[order], return_index=True)
    for number, at in zip(found, np.split(order, starts[1:]), strict=True):
        yield total.laws[number // several], count.laws[number % several], at


@dataclass(frozen=True, eq=False)
class GridRows(LazyRows):
    """Rows of some groups of a grid, in their order; for each a row of each column."""

    grid: AnyGrid
    columns: tuple[GridColumn, ...]
    places: NDArray[np.int64]
    """Which groups, in the order in which they are shown."""
    labels: tuple[Sequence[Label], ...] = ()
    """What the codes of each axis are called; none for lines that are known by their codes."""

    def __len__(self) -> int:
        return len(self.places) * len(self.columns)

    def at(self, place: int) -> Row:
        line, column = divmod(place, len(self.columns))
        return self.line(line)[1][column]

    def every(self) -> Iterator[Row]:
        return (row for line in range(len(self.places)) for row in self.line(line)[1])

    def line(self, number: int) -> Line:
        """The codes of a line, and its rows."""
        place = int(self.places[number])
        codes = tuple(self.grid.codes[place].tolist())
        group = self.grid[codes]
        labels = tuple(own[code] for own, code in zip(self.labels, codes, strict=True)) if self.labels else ()
        return codes, [column.row(place, group, labels) for column in self.columns]

    def shown(self) -> ShownColumns | None:
        codes = self.grid.codes[self.places]
        if not len(codes) or len(self.labels) != codes.shape[1]:
            return None
        labels = [[own[code] for code in codes[:, axis].tolist()] for axis, own in enumerate(self.labels)]
        numbers = {column.name: column.shown(self.places) for column in self.columns}
        kinds = np.stack([column.kinds[self.places] for column in self.columns], axis=1)
        found, number = np.unique(kinds, axis=0, return_inverse=True)
        texts = ["/".join(dict.fromkeys(FROM_WORST[kind] for kind in line)) for line in found]
        return ShownColumns(labels, numbers, [texts[own] for own in number.reshape(-1)])

    @property
    def is_alike(self) -> bool:
        """Whether all groups of each column have the same law."""
        return all(len(column.alike) == len(column.parts) for column in self.columns)

    @property
    def samples(self) -> Sequence[Row]:
        """Rows that have all kinds and sources that there are."""
        parts = [part for column in self.columns for part in column.parts]
        laws = (part.of_each(range(len(part.laws)))[self.places] for part in parts)
        firsts = {int(line) for law in laws for line in np.unique(law, return_index=True)[1]}
        return [row for line in sorted(firsts) for row in self.line(line)[1]]

    def wider(self, within: Fraction | None) -> dict[str, int]:
        """How many numbers of each column have a wider interval."""
        return {column.name: int(column.is_wider_than(within)[self.places].sum()) for column in self.columns}


@dataclass(frozen=True, eq=False)
class GridLines(Sequence[Line]):
    """The same line by line."""

    rows: GridRows

    def __len__(self) -> int:
        return len(self.rows.places)

    @overload
    def __getitem__(self, number: int) -> Line: ...

    @overload
    def __getitem__(self, number: slice) -> Sequence[Line]: ...

    def __getitem__(self, number: int | slice) -> Line | Sequence[Line]:
        if isinstance(number, slice):
            return [self.rows.line(one) for one in range(*number.indices(len(self)))]
        return self.rows.line(range(len(self))[number])


def samples(rows: Sequence[Row]) -> Sequence[Row]:
    """Enough of some rows to tell where all of them come from."""
    return rows.samples if isinstance(rows, GridRows) else rows


def at_confidence(column: GridColumn, again: GridColumn) -> GridColumn:
    """A column of lines that were chosen by noise, with the intervals that hold for all of them."""
    return replace(again, shrunken=column.shrunken, chosen=True)


def whole(value: float) -> float:
    """A whole number as one."""
    return int(value) if value == int(value) else value


def wholes(values: Floats) -> list[float | None]:
    """The same of many."""
    if (values == np.rint(values)).all() and (np.abs(values) < 2**63).all():
        return [*values.astype(np.int64).tolist()]
    return [whole(value) for value in values.tolist()]


def numbers_of(values: Floats) -> list[float | None]:
    """Numbers, with None for what is none."""
    return [None if value != value else value for value in values.tolist()]
