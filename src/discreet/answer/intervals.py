"""Intervals for the numbers that a public half makes: `halves.py` says how, and why they hold."""

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.answer.drawn_intervals import DrawnIntervals
from discreet.answer.estimate import Estimate, Kind, combined, worst
from discreet.answer.grid_rows import GridColumn
from discreet.answer.halves import Evaluated, PublicHalf, Result, label_text
from discreet.answer.reply import AS_WIDE, Row
from discreet.answer.view import ShownColumns, ShownNumbers
from discreet.errors import UnsupportedQuery
from discreet.sql import ranges
from discreet.sql.ranges import Range

Floats = NDArray[np.float64]
OPEN = "with noise as large as it may be, they are NULL"


def result_of(half: PublicHalf) -> Result:
    """Run a public half. Deterministic: the same statement over the same released numbers makes the same result."""
    found = half.evaluated()
    intervals = Intervals(half, found)
    for name in found.numbers:
        intervals.ends(name)
        half.notes += _without_ends(name, found.floats(name), intervals.ends(name))
        half.notes += _too_noisy(name, found.floats(name), intervals.ends(name))
    if found.numbers and half.lineage.is_chosen:
        names = " and ".join(found.numbers)
        half.notes.append(
            f"lines are chosen by noise: the intervals of {names} hold for all {half.candidates:,} at once"
        )
    return Result(found, intervals.row, tuple(half.notes), intervals.shown)


def _without_ends(name: str, values: Floats, ends: "Ends") -> list[str]:
    """What to say of numbers without an interval."""
    count = int((np.isfinite(values) & (np.isinf(ends.low) | np.isinf(ends.high))).sum())
    if not count:
        return []
    return [f"{name}: {count:,} of {len(values):,} numbers have no interval, or half of one: {OPEN}"]


def _too_noisy(name: str, values: Floats, ends: "Ends") -> list[str]:
    """What to say of numbers whose intervals are as wide as they are."""
    with np.errstate(invalid="ignore"):
        count = int(((ends.low < ends.high) & ((ends.high - ends.low) / 2 >= np.abs(values)) & ends.is_drawn).sum())
    return [f"{name}: {count:,} of {len(values):,} numbers are too noisy to read: {AS_WIDE}"] if count else []


@dataclass(frozen=True, eq=False)
class Ends:
    """The intervals of a column, nan where there is no end."""

    low: Floats
    high: Floats
    may_be_zero: NDArray[np.bool_]
    source: Callable[[int], Estimate | None]
    """What the number of a line was made of, where that is one estimate."""
    is_drawn: bool = False

    def within(self, own: Range, values: Floats) -> "Ends":
        """The same, cut to what the numbers lie between; of whole numbers, to whole ones. The truth stays in them."""
        if own.is_open:
            return self
        low, high = np.clip(self.low, own.low, own.high), np.clip(self.high, own.low, own.high)
        if own.is_whole:
            low, high = np.ceil(low - ranges.ROUNDING), np.floor(high + ranges.ROUNDING)
        # What was calculated with floats may end a little inside.
        return replace(self, low=np.minimum(low, values), high=np.maximum(high, values))


class Intervals:
    """Rows for the numbers of a result."""

    def __init__(self, half: PublicHalf, found: Evaluated) -> None:
        self.half, self.found = half, found
        self._known: dict[str, Ends] = {}

    def ends(self, name: str) -> Ends:
        if name not in self._known:
            terms = self.half.terms(name, list(self.found.columns))
            is_linear = terms is not None and not self.half.lineage.deep
            found = self._linear(name, terms or {}) if is_linear else self._drawn(name)
            self._known[name] = found.within(self.half.range_of(name), self.found.floats(name))
        return self._known[name]

    def _linear(self, name: str, terms: Mapping[str, float]) -> Ends:
        """Exact intervals, for sums of a line's own numbers."""
        constant = terms.get("", 0.0)
        used = {column: weight for column, weight in terms.items() if column and weight}
        values = self.found.floats(name)
        if not used:
            return Ends(values, values, np.zeros(len(values), np.bool_), lambda _: None)
        columns = self._in_arrays(used)
        if columns is not None:
            return self._all_exact(values, columns, constant)
        single = [self._exact(name, place, used, constant) for place in range(self.found.count)]
        low, high = (np.array([one[side] for one in single], np.float64) for side in (0, 1))
        return Ends(low, high, np.array([one[2] for one in single], np.bool_), lambda place: single[place][3])

    def _in_arrays(self, used: Mapping[str, float]) -> list[tuple[float, GridColumn]] | None:
        """The columns that a number is a sum of, where all lines of each have the same noise."""
        if len(self.half.answers) != 1 or self.half.answers[0].columns is None:
            return None
        own = [(used[column.name], column) for column in self.half.answers[0].columns if column.name in used]
        return None if len(own) < len(used) or any(column.is_average for _, column in own) else own

    def _all_exact(self, values: Floats, columns: Sequence[tuple[float, GridColumn]], constant: float) -> Ends:
        def source(place: int) -> Estimate:
            rows = {row.column: row.source for row in self._rows_of(place)}
            return combined([(weight, _estimate(rows[column.name])) for weight, column in columns])

        if not len(values):
            return Ends(values, values, np.zeros(0, np.bool_), lambda _: None)
        first = source(0)
        width = first.halfwidth(self.half.confidence_of_each)
        low, high = values - width, values + width
        may_be_zero = (low <= 0) & (high >= 0) & (first.variance > 0)
        return Ends(low, high, may_be_zero, (lambda _: None) if constant else source)

    def _exact(
        self, name: str, place: int, used: Mapping[str, float], constant: float
    ) -> tuple[float, float, bool, Estimate | None]:
        value = float(self.found.floats(name)[place])
        of_column = {row.column: row for row in self._rows_of(place)}
        rows = [(weight, of_column[column]) for column, weight in used.items()]
        if math.isnan(value):
            return math.nan, math.nan, False, None
        parts = [(weight, row.source) for weight, row in rows if isinstance(row.source, Estimate)]
        if len(parts) == len(rows):
            estimate = combined(parts)
            width = estimate.halfwidth(self.half.confidence_of_each)
            doubtful = estimate.variance > 0 and value - width <= 0 <= value + width
            least, most = _bounds(rows, constant)
            # Around what came out, not around what each number was cut to.
            middle = estimate.value + constant
            ends = min(max(middle - width, least), value), max(min(middle + width, most), value)
            return *ends, doubtful, None if constant else estimate
        if len(rows) > 1 or self.half.lineage.own:
            low, high = self._drawing[name]
            return float(low[place]), float(high[place]), False, None
        [(weight, row)] = rows
        both = [math.nan if end is None else weight * end + constant for end in (row.low, row.high)]
        return (*(both if weight > 0 else both[::-1]), False, None)  # type: ignore[return-value]

    def _drawn(self, name: str) -> Ends:
        low, high = self._drawing[name]
        unknown = np.isnan(self.found.floats(name))
        none = np.zeros(len(low), np.bool_)
        return Ends(np.where(unknown, np.nan, low), np.where(unknown, np.nan, high), none, lambda _: None, True)

    def _rows_of(self, place: int) -> Sequence[Row]:
        """The numbers of the line of a block that a line of the result is."""
        number = int(self.found.lines[place])
        answer = self.half.answers[bisect_right([one.start for one in self.half.answers], number) - 1]
        return answer.lines[number - answer.start][1]

    def row(self, name: str, place: int) -> Row:
        """The row of a number, with its interval."""
        half, ends = self.half, self.ends(name)
        rows = self._rows_of(place) if half.is_direct else ()  # of a block that only lists values there are none
        if rows and not half.desks:
            mine = [row for row in rows if row.column in self._used[name]] or rows
            kind: Kind = mine[0].kind if len(mine) == 1 else worst({row.kind for row in mine})
            asked, answered = mine[0].asked, next((row.answered for row in mine if row.is_near), mine[0].asked)
        else:
            kind = self._kind
            asked = answered = half.answers[0].block.question.where
        value = self.found.listed(name)[place]
        assert value is None or isinstance(value, int | float)
        return Row(
            tuple(shown[place] for shown in self._labels),
            name,
            value,
            _end(ends.low[place]),
            _end(ends.high[place]),
            kind,
            asked,
            answered,
            source=ends.source(place),
            may_be_zero=bool(ends.may_be_zero[place]),
            chosen=half.lineage.is_chosen,
            line=place,
            is_drawn=ends.is_drawn,
        )

    def shown(self) -> ShownColumns | None:
        """All rows by columns; None where the kinds of lines may differ."""
        alike = len(self.half.answers) == 1 and self.half.answers[0].columns is not None
        if not self.found.numbers or not self.found.count or (self.half.is_direct and not alike):
            return None
        kinds = "/".join(dict.fromkeys(self.row(name, 0).kind for name in self.found.numbers))
        return ShownColumns(
            self._labels, {name: self._numbers(name) for name in self.found.numbers}, [kinds] * self.found.count
        )

    def _numbers(self, name: str) -> ShownNumbers:
        ends, values = self.ends(name), self.found.listed(name)
        low, high = ([*map(_end, column.tolist())] for column in (ends.low, ends.high))
        return ShownNumbers(values, low, high)  # type: ignore[arg-type]  # they are numbers, or NULL

    @cached_property
    def _labels(self) -> list[list[str | None]]:
        """The labels of each column that is none of noisy numbers, as they are shown."""
        return [[*map(label_text, self.found.listed(name))] for name in self.found.labels]

    @cached_property
    def _used(self) -> dict[str, set[str]]:
        """The columns of blocks that each output column is made of."""
        outputs = zip(self.found.columns, self.half.statement.public.selects, strict=False)
        return {name: {column.name for column in output.find_all(exp.Column)} for name, output in outputs}

    @cached_property
    def _kind(self) -> Kind:
        kinds = {row.kind for answer in self.half.answers for row in answer.samples}
        return worst(kinds) if kinds else "derived"

    @cached_property
    def _drawing(self) -> dict[str, tuple[Floats, Floats]]:
        """Low and high of every number, by draws. Those that cannot be drawn are missing: the numbers are paid for."""
        try:
            return DrawnIntervals(self.half, self.found).ends()
        except UnsupportedQuery as error:
            names = " and ".join(self.found.numbers)
            self.half.notes.append(f"{names}: no interval, for it would have to be drawn, and {error}")
            none = np.full(self.found.count, np.nan)
            return dict.fromkeys(self.found.numbers, (none, none))


def _estimate(source: object) -> Estimate:
    assert isinstance(source, Estimate)
    return source


def _end(value: float) -> float | None:
    return _whole(float(value)) if math.isfinite(value) else None


def _whole(value: float) -> float:
    return int(value) if value == int(value) and abs(value) < 2**53 else value


def _bounds(rows: Sequence[tuple[float, Row]], constant: float) -> tuple[float, float]:
    """Between what a sum of numbers lies, each times a weight, that are between bounds of their own."""
    least = most = constant
    for weight, row in rows:
        ends = [weight * end for end in row.bounds or (-math.inf, math.inf)]
        least, most = least + min(ends), most + max(ends)
    return least, most
