"""Intervals for the numbers that a public half makes: `halves.py` says how, and why they hold."""

import hashlib
import math
import time
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.answer.chosen import at_once
from discreet.answer.estimate import Estimate, Kind, Ratio, combined, worst
from discreet.answer.grid_rows import GridColumn
from discreet.answer.halves import DRAW, DRAWS, BlockAnswer, Evaluated, PublicHalf, Result, columns_read, label_text
from discreet.answer.joint_noise import JointNoise
from discreet.answer.matching import has_lines_apart, same_lines
from discreet.answer.reply import AS_WIDE, Row
from discreet.answer.view import ShownColumns, ShownNumbers
from discreet.errors import UnsupportedQuery
from discreet.sql import ranges
from discreet.sql.ranges import Range
from discreet.sql.sandbox import SECONDS, Prepared, prepare, run_prepared
from discreet.sql.split import LINE

if TYPE_CHECKING:
    import pyarrow as pa

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
RESULT = "discreet_result"
MOST_DRAWS = 999
MOST_IN_TURN = 99
"""Draws where each is a query of its own, which takes some milliseconds."""
DRAWN_NUMBERS = 100_000
"""So many numbers are drawn, or as many as the least number of draws needs: of 39 draws the least and the greatest part
those that 95% of all lie between, on the average."""
SURE = Fraction(19, 20)
"""Quantiles are taken at this confidence at most, and the noise stretched to a higher one."""
ABSENT = math.inf
"""Stands in a table of draws for a line that a draw does not have: no number that a query makes is infinite."""
SMALL = 0.02
"""A little noise: this part of what it is."""


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
        width = first.halfwidth(self.confidence)
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
            width = estimate.halfwidth(self.confidence)
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

    @cached_property
    def confidence(self) -> Fraction:
        """Of each interval: where lines are chosen, so that all hold at once."""
        half = self.half
        return at_once(half.confidence, half.candidates) if half.lineage.is_chosen else half.confidence

    def _rows_of(self, place: int) -> Sequence[Row]:
        """The numbers of the line of a block that a line of the result is."""
        number = int(self.found.lines[place])
        answer = self.half.answers[bisect_right([one.start for one in self.half.answers], number) - 1]
        return answer.lines[number - answer.start][1]

    def row(self, name: str, place: int) -> Row:
        """The row of a number, with its interval."""
        half, ends = self.half, self.ends(name)
        rows = self._rows_of(place) if half.is_direct else ()  # of a block that only lists values there are none
        if rows:
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
            return _Drawing(self).ends()
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


@dataclass(frozen=True, eq=False)
class _Noisy:
    """A column of a block, and where its errors are among those that are drawn: that of each number itself, or those of
    an average's sum and count; −1 for none."""

    answer: BlockAnswer
    place: int
    numbers: Floats
    """As they came out, not cut to what the domain allows."""
    first: Ints
    second: Ints
    totals: Floats
    counts: Floats

    @classmethod
    def of(cls, answer: BlockAnswer, place: int, noise: JointNoise) -> "_Noisy":
        columns, numbers = answer.columns, answer.values[place]
        none, nan = np.full(answer.count, -1), np.full(answer.count, np.nan)
        if columns is not None:
            added = [noise.add_grid(part) for part in columns[place].alike]
            if not columns[place].is_average:
                return cls(answer, place, numbers, added[0], none, nan, nan)
            totals, counts = (part.numbers for part in columns[place].parts)
            return cls(answer, place, numbers, added[0], added[1], totals, counts)
        found = cls(answer, place, numbers.copy(), none, none.copy(), nan, nan.copy())
        for line, (_, rows) in enumerate(answer.lines):
            match rows[place].source:
                case Estimate() as estimate:
                    found.first[line], found.numbers[line] = noise.add(estimate), estimate.value
                case Ratio(total=total, count=count):
                    found.first[line], found.second[line] = noise.add(total), noise.add(count)
                    found.totals[line], found.counts[line] = total.value, count.value
        return found

    def within(self, half: PublicHalf, draws: Floats) -> Floats:
        """Draws cut to what the domain has the numbers, whatever their noise says."""
        own = half.range_of_number(self.answer.numbers[self.place])
        if self.answer.columns is not None:
            return np.clip(draws, own.low, own.high)
        known = [rows[self.place].bounds or (own.low, own.high) for _, rows in self.answer.lines]
        least, most = np.array(known, np.float64).reshape(-1, 2).T
        return np.clip(draws, least, most)

    def drawn(self, errors: Floats, times: float) -> Floats:
        """What the column could have been, with each error times a number: draw by line."""
        draws = errors.shape[1]
        plain, ratio = (self.first >= 0) & (self.second < 0), self.second >= 0
        if plain.all():
            return np.asarray(self.numbers - times * errors[self.first].T)
        found = np.tile(self.numbers, (draws, 1))
        found[:, plain] -= times * errors[self.first[plain]].T
        if ratio.any():
            total = self.totals[ratio] - times * errors[self.first[ratio]].T
            count = self.counts[ratio] - times * errors[self.second[ratio]].T
            with np.errstate(divide="ignore", invalid="ignore"):
                found[:, ratio] = np.where(count > 0, total / count, np.nan)
        for line in np.flatnonzero(self.first < 0).tolist():
            row = self.answer.lines[line][1][self.place]
            if row.low is not None and row.high is not None:
                # A quantile: which values it may have is known, and not how likely they are.
                found[:, line] = np.where(np.arange(draws) % 2, row.low, row.high)
        return found

    def corners(self, confidence: Fraction) -> Floats:
        """The column at the lower ends of intervals with this confidence, and at the upper ones."""
        columns = self.answer.columns
        if columns is not None and not columns[self.place].is_average:
            width = columns[self.place].alike[0].one.halfwidth(confidence)
            values = self.answer.values[self.place]
            return np.array([values - width, values + width])
        both = [_at_ends(rows[self.place], confidence) for _, rows in self.answer.lines]
        return np.array(both, np.float64).reshape(-1, 2).T


def _bounds(rows: Sequence[tuple[float, Row]], constant: float) -> tuple[float, float]:
    """Between what a sum of numbers lies, each times a weight, that are between bounds of their own."""
    least = most = constant
    for weight, row in rows:
        ends = [weight * end for end in row.bounds or (-math.inf, math.inf)]
        least, most = least + min(ends), most + max(ends)
    return least, most


def _at_ends(row: Row, confidence: Fraction) -> tuple[float, float]:
    if row.value is None:
        return math.nan, math.nan
    if isinstance(row.source, Estimate):
        width = row.source.halfwidth(confidence)
        least, most = row.bounds or (-math.inf, math.inf)
        return max(row.value - width, least), min(row.value + width, most)
    return row.value if row.low is None else row.low, row.value if row.high is None else row.high


class _Drawing:
    """The query run over numbers that could have been true."""

    def __init__(self, intervals: Intervals) -> None:
        self.intervals, self.half, self.found = intervals, intervals.half, intervals.found
        lines = sum(answer.count for answer in self.half.answers)
        self.level = min(self.half.confidence, SURE)
        least = math.ceil(2 / (1 - float(self.level))) - 1
        most = MOST_IN_TURN if self._is_in_turn else MOST_DRAWS
        self.draws = max(min(DRAWN_NUMBERS // max(lines, 1), most), least)
        noise = JointNoise(self.half.desk)
        self.noisy = [
            [_Noisy.of(answer, place, noise) for place in range(len(answer.numbers))] for answer in self.half.answers
        ]
        self.errors = noise.drawn(self.draws, self._key())

    def _key(self) -> int:
        digest = hashlib.blake2b(self.half.statement.text.encode(), digest_size=8)
        for answer in self.half.answers:
            for values in answer.values:
                digest.update(values.tobytes())
        return int.from_bytes(digest.digest(), "big")

    def ends(self) -> dict[str, tuple[Floats, Floats]]:
        half = self.half
        if not half.lineage.is_chosen:
            return self._quantiles(self._matched(self._run(half.tree, self._stretch(half.confidence))))
        stretch = self._stretch(self.intervals.confidence)
        if half.is_direct and not half.lineage.deep:
            return self._quantiles(self._matched(self._run(half.unchosen, stretch)))
        return self._hull(stretch)

    def _stretch(self, confidence: Fraction) -> float:
        """How much further noise reaches with another confidence than with that of the quantiles: a few draws tell
        nothing of what happens once in a million."""
        noise = self.half.desk.ledger.budget.noise_of_scale(Fraction(1000))
        return float(noise.halfwidth(confidence) / noise.halfwidth(self.level))

    def _hull(self, stretch: float) -> dict[str, tuple[Floats, Floats]]:
        """A draw in which a line was not chosen says nothing of it."""
        half = self.half
        tree = half.tree
        whole = self._matched(self._run(tree, self._stretch(half.confidence)), ABSENT)
        drawn = self._quantiles(whole)
        little = self._matched(self._run(tree, SMALL), ABSENT)
        confidence = self.intervals.confidence
        corners = self._matched(
            self._run_over(tree, [[one.corners(confidence) for one in own] for own in self.noisy], 2), np.nan
        )
        found = {}
        for name in self.found.numbers:
            value = self.found.floats(name)
            moved, leapt = (
                np.where(one[name] == ABSENT, ABSENT, np.abs(one[name] - value[:, None])) for one in (little, whole)
            )
            # A number that leaps (a count of groups) moves by all or nothing with a little noise: with all of it, less.
            width = stretch * np.fmin(
                _quantile(moved, float(self.level), 0.0) / SMALL, _quantile(leapt, float(self.level), 0.0)
            )
            low, high = drawn[name]
            every = np.column_stack([low, value - width, corners[name], value])
            above = np.column_stack([high, value + width, corners[name], value])
            found[name] = np.nanmin(every, axis=1), np.nanmax(above, axis=1)
        return found

    def _run(self, tree: exp.Query, times: float) -> tuple["pa.Table", int]:
        """Run a query for every draw, each error times a number."""
        drawn = [[one.drawn(self.errors, times) for one in own] for own in self.noisy]
        if self._is_of_single_numbers:
            pairs = [zip(own, draws, strict=True) for own, draws in zip(self.noisy, drawn, strict=True)]
            drawn = [[one.within(self.half, draws) for one, draws in own] for own in pairs]
        return self._run_over(tree, drawn, self.draws)

    @cached_property
    def _is_of_single_numbers(self) -> bool:
        """Whether every output is made of one noisy number of its line. Draws are cut for those alone: of several, each
        at the end of its domain, all cut draws would miss to one side, and that adds up."""
        half = self.half
        if not half.is_direct or any(half.statement.public.find_all(exp.Window, exp.Subquery)):
            return False
        noisy = {column.name for answer in half.answers for column in answer.numbers}
        outputs = half.statement.public.selects
        return all(len(noisy & {column.name for column in one.find_all(exp.Column)}) <= 1 for one in outputs)

    @cached_property
    def _is_in_turn(self) -> bool:
        """Whether every draw is a query of its own: where no label tells some lines of the result apart."""
        return not self.half.is_direct and not has_lines_apart(self.found.table, self.found.labels)

    def _run_over(self, tree: exp.Query, numbers: Sequence[Sequence[Floats]], draws: int) -> tuple["pa.Table", int]:
        """Run a query for several sets of numbers."""
        import pyarrow as pa

        names = tuple(answer.block.name for answer in self.half.answers)
        if self._is_in_turn:
            return self._run_in_turn(tree, numbers, draws), draws
        kept = (*self.found.numbers, LINE) if self.half.is_direct else None
        query, read = _prepared_for_draws(_Shared(tree), names, tuple(self.half.lookups), kept)
        tables = {DRAWS: pa.table({DRAW: np.arange(draws, dtype=np.int16)}), **self.half.lookups}
        for answer, own in zip(self.half.answers, numbers, strict=True):
            tables[answer.block.name] = self.half.table(answer, own, read, draws)
        return run_prepared(query, tables), draws

    def _run_in_turn(self, tree: exp.Query, numbers: Sequence[Sequence[Floats]], draws: int) -> "pa.Table":
        """The same, one query a draw: run for all at once, a draw's lines come in any order, and lines that no label
        tells apart are known by theirs. Each alone is the query that made the result, over tables of the same form.
        All together have the time of one."""
        import pyarrow as pa

        names = tuple(answer.block.name for answer in self.half.answers)
        query, read = prepare(tree, (*names, *self.half.lookups)), columns_read(tree)
        ran, until = [], time.monotonic() + SECONDS
        for draw in range(draws):
            alone = [[one[draw] for one in own] for own in numbers]
            blocks = zip(self.half.answers, alone, strict=True)
            tables = {answer.block.name: self.half.table(answer, own, read) for answer, own in blocks}
            found = run_prepared(query, tables | self.half.lookups)
            if time.monotonic() > until:
                raise UnsupportedQuery(f"the statement takes longer than {SECONDS:g} seconds; ask for less at once")
            ran.append(found.append_column(DRAW, pa.array(np.full(found.num_rows, draw, np.int16))))
        return pa.concat_tables(ran)

    def _matched(self, ran: tuple["pa.Table", int], absent: float = np.nan) -> dict[str, Floats]:
        """Line by draw, for the lines of the result: nan where a draw has NULL in it, `absent` where it has no such
        line."""
        table, draws = ran
        draw = np.asarray(table.column(DRAW).to_numpy(), np.int64)
        index = self._lines(table, draw)
        keep = slice(None) if (index >= 0).all() else index >= 0
        places = (index * draws + draw)[keep]
        found = {}
        for name in self.found.numbers:
            column = np.asarray(table.column(name).cast("float64").to_numpy(zero_copy_only=False), float)
            column = np.where(np.isfinite(column), column, np.nan)
            matrix = np.full(self.found.count * draws, absent)
            matrix[places] = column[keep]
            found[name] = matrix.reshape(self.found.count, draws)
        return found

    def _lines(self, table: "pa.Table", draw: Ints) -> Ints:
        """For each line of a table of draws, which line of the result it is; −1 for none."""
        if not self.half.is_direct:
            return same_lines(self.found.table, table, self.found.labels, draw)
        place_of = np.full(self.half.candidates, -1, np.int64)
        place_of[self.found.lines] = np.arange(self.found.count)
        return np.asarray(place_of[table.column(LINE).to_numpy()])

    def _quantiles(self, drawn: Mapping[str, Floats]) -> dict[str, tuple[Floats, Floats]]:
        """What is not a number in some draws may be anything there."""
        allowed = 1 - float(self.level)
        found = {}
        for name, matrix in drawn.items():
            found[name] = _quantile(matrix, allowed / 2, -math.inf), _quantile(matrix, 1 - allowed / 2, math.inf)
        return found


def _quantile(matrix: Floats, level: float, unknown: float) -> Floats:
    """Of each line; expected, of so many draws, to leave the level's share on its side. Of a line that is absent from
    some draws, of the others; nan of one that is in none."""
    is_absent = matrix == ABSENT
    if is_absent.any():
        found = np.full(len(matrix), np.nan)
        for line, there in enumerate(~is_absent):
            if there.any():
                [found[line]] = _quantile(matrix[line, there][None, :], level, unknown)
        return found
    draws = matrix.shape[1]
    filled = np.where(np.isnan(matrix), unknown, matrix)
    at = min(max((draws + 1) * level - 1, 0.0), draws - 1.0)
    below, above = math.floor(at), math.ceil(at)
    parted = np.partition(filled, [below, above], axis=1)
    first, second = parted[:, below], parted[:, above]
    with np.errstate(invalid="ignore"):
        return np.where(first == second, first, first + (at - below) * (second - first))


@dataclass(frozen=True, eq=False)
class _Shared:
    """A tree that is known again by being the same object: comparing trees takes longer than writing them."""

    tree: exp.Query

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Shared) and self.tree is other.tree

    def __hash__(self) -> int:
        return id(self.tree)


@lru_cache(256)
def _prepared_for_draws(
    shared: _Shared, blocks: tuple[str, ...], lookups: tuple[str, ...], kept: tuple[str, ...] | None
) -> tuple[Prepared, frozenset[str] | None]:
    """A query for every draw, and the columns that it reads; None where it reads all."""
    tree = shared.tree
    if kept is None or not _is_plain(tree):
        return prepare(_for_each_draw(tree, blocks), (*blocks, *lookups, DRAWS)), columns_read(tree)
    whole = _at_once(tree, kept)
    return prepare(whole, (*blocks, *lookups, DRAWS)), columns_read(whole)


def _is_plain(tree: exp.Query) -> bool:
    """Whether it looks at the lines of one block, each by itself or in windows, and keeps all."""
    parts = {part for part, value in tree.args.items() if value}
    return (
        isinstance(tree, exp.Select)
        and parts <= {"expressions", "from_", "where", "order", "kind"}
        and not any(tree.find_all(exp.Subquery, exp.Exists))
        and sum(1 for _ in tree.find_all(exp.Query)) == 1
        and not any(window.args.get("alias") or window.args.get("first") for window in tree.find_all(exp.Window))
    )


def _at_once(tree: exp.Query, kept: Sequence[str]) -> exp.Query:
    """The query for every draw: over all lines of all draws, with windows within each draw."""
    whole = tree.copy()
    whole.set("order", None)
    whole.set("expressions", [one for one in whole.selects if one.alias_or_name in kept])
    for window in whole.find_all(exp.Window):
        # First: the lines are in the order of the draws, and a sort that finds them so takes half the time.
        window.set("partition_by", [exp.column(DRAW), *(window.args.get("partition_by") or [])])
    whole.append("expressions", exp.column(DRAW))
    return whole


def _for_each_draw(tree: exp.Query, blocks: Sequence[str]) -> exp.Select:
    """The query for every draw: FROM d, LATERAL (the query over the blocks' lines of that draw)."""
    inner = tree.copy()
    for table in list(inner.find_all(exp.Table)):
        if table.name in blocks:
            own = exp.Select(expressions=[exp.Star()], from_=exp.From(this=exp.to_table(table.name)))
            own = own.where(exp.column(DRAW).eq(exp.column(DRAW, table=DRAWS)))
            table.replace(own.subquery(table.alias_or_name))
    outputs = [exp.column(DRAW, table=DRAWS), exp.Column(this=exp.Star(), table=exp.to_identifier(RESULT))]
    whole = exp.Select(expressions=outputs, from_=exp.From(this=exp.to_table(DRAWS)))
    lateral = exp.Lateral(this=inner.subquery(), alias=exp.TableAlias(this=exp.to_identifier(RESULT)))
    whole.append("joins", exp.Join(this=lateral))
    return whole
