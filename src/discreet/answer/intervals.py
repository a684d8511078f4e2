"""Intervals for the numbers that a public half makes: `halves.py` says how, and why they hold."""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.answer.chosen import at_once
from discreet.answer.estimate import Estimate, Kind, Ratio, combined, worst
from discreet.answer.halves import DRAW, DRAWS, BlockAnswer, PublicHalf, Result, number_of
from discreet.answer.joint_noise import JointNoise
from discreet.answer.reply import Row
from discreet.sql.lineage import linear_terms
from discreet.sql.sandbox import Prepared, prepare, run_prepared
from discreet.sql.split import LINE

if TYPE_CHECKING:
    import pyarrow as pa

Floats = NDArray[np.float64]
RESULT = "discreet_result"
MOST_DRAWS = 999
DRAWN_NUMBERS = 100_000
"""So many numbers are drawn, or as many as the least number of draws needs: of 39 draws the least and the greatest part
those that 95% of all lie between, on the average."""
SURE = Fraction(19, 20)
"""Quantiles are taken at this confidence at most, and the noise stretched to a higher one."""
SMALL = 0.02
"""A little noise: this part of what it is."""


def result_of(half: PublicHalf) -> Result:
    """Run a public half. Deterministic: the same statement over the same released numbers makes the same result."""
    columns, values = half.evaluated()
    intervals = Intervals(half, columns, values)
    rows = {name: intervals.of(name) for name in columns if columns[name]}
    if rows and half.lineage.is_chosen:
        half.notes.append(
            f"lines are chosen by noise: the intervals of {' and '.join(rows)} hold for all {half.candidates:,} at once"
        )
    return half.lines_of(columns, values, rows)


@dataclass
class Intervals:
    """Rows for the numbers of a result. `values` has its columns, `columns` says which are noisy numbers."""

    half: PublicHalf
    columns: Mapping[str, bool]
    values: Mapping[str, list[Any]]

    @cached_property
    def names(self) -> list[str]:
        return list(self.columns)

    def of(self, name: str) -> list[Row]:
        """A row for each line."""
        half, values = self.half, [number_of(value) for value in self.values[name]]
        terms = self._terms(name)
        if terms is not None and not half.lineage.deep:
            return [self._linear(name, place, value, terms) for place, value in enumerate(values)]
        return [self._drawn(name, place, value) for place, value in enumerate(values)]

    def _terms(self, name: str) -> dict[str, float] | None:
        """What a line's own numbers are multiplied with, where their sum is what the column shows."""
        if not self.half.is_direct:
            return None
        output = self.half.statement.public.selects[self.names.index(name)]
        return linear_terms(output.unalias(), [c.name for answer in self.half.answers for c in answer.numbers])

    def _linear(self, name: str, place: int, value: float | None, terms: Mapping[str, float]) -> Row:
        """An exact interval, for a sum of a line's own numbers."""
        rows = self._rows_of_lines[self.values[LINE][place]]
        of_column = {row.column: row for row in rows}
        used = [(weight, of_column[column]) for column, weight in terms.items() if column and weight]
        if value is None or not used:
            return self._row(name, place, value, value, value)
        parts = [(weight, row.source) for weight, row in used if isinstance(row.source, Estimate)]
        if len(parts) == len(used):
            return self._exact(name, place, value, combined(parts), terms.get("", 0.0))
        if len(used) > 1 or self.half.lineage.own:
            return self._drawn(name, place, value)
        [(weight, row)], constant = used, terms.get("", 0.0)
        ends = [None if end is None else _whole(weight * end + constant) for end in (row.low, row.high)]
        return self._row(name, place, value, *(ends if weight > 0 else reversed(ends)))

    def _exact(self, name: str, place: int, value: float, estimate: Estimate, constant: float) -> Row:
        width = estimate.halfwidth(self.confidence)
        low, high = _whole(value - width), _whole(value + width)
        doubtful = estimate.variance > 0 and low <= 0 <= high
        return self._row(name, place, value, low, high, doubtful, None if constant else estimate)

    def _drawn(self, name: str, place: int, value: float | None) -> Row:
        if value is None:
            return self._row(name, place, None, None, None)
        low, high = self._ends[name]
        return self._row(name, place, value, _end(low[place]), _end(high[place]))

    @cached_property
    def confidence(self) -> Fraction:
        """Of each interval: where lines are chosen, so that all hold at once."""
        half = self.half
        return at_once(half.confidence, half.candidates) if half.lineage.is_chosen else half.confidence

    @cached_property
    def _rows_of_lines(self) -> list[Sequence[Row]]:
        """The numbers of every line of all blocks."""
        return [rows for answer in self.half.answers for _, rows in answer.lines]

    def _row(
        self,
        name: str,
        place: int,
        value: float | None,
        low: float | None,
        high: float | None,
        may_be_zero: bool = False,
        source: Estimate | None = None,
    ) -> Row:
        half = self.half
        if half.is_direct:
            used = self._used[name]
            rows = self._rows_of_lines[self.values[LINE][place]]
            mine = [row for row in rows if row.column in used] or rows
            kind: Kind = mine[0].kind if len(mine) == 1 else worst({row.kind for row in mine})
            asked, answered = mine[0].asked, next((row.answered for row in mine if row.is_near), mine[0].asked)
        else:
            kind = self._kind
            asked = answered = half.answers[0].block.question.where
        return Row(
            self._labels[place],
            name,
            value,
            low,
            high,
            kind,
            asked,
            answered,
            source=source,
            may_be_zero=may_be_zero,
            chosen=half.lineage.is_chosen,
            line=place,
        )

    @cached_property
    def _labels(self) -> list[tuple[str | None, ...]]:
        return self.half.labels(self.columns, self.values)

    @cached_property
    def _used(self) -> dict[str, set[str]]:
        """The columns of blocks that each output column is made of."""
        outputs = zip(self.names, self.half.statement.public.selects, strict=False)
        return {name: {column.name for column in output.find_all(exp.Column)} for name, output in outputs}

    @cached_property
    def _kind(self) -> Kind:
        kinds = {row.kind for answer in self.half.answers for _, rows in answer.lines for row in rows}
        return worst(kinds) if kinds else "derived"

    @cached_property
    def _ends(self) -> dict[str, tuple[Floats, Floats]]:
        """Low and high of every number, by draws."""
        return _Drawing(self).ends()


def _end(value: float) -> float | None:
    return _whole(float(value)) if math.isfinite(value) else None


def _whole(value: float) -> float:
    return int(value) if value == int(value) and abs(value) < 2**53 else value


class _Drawing:
    """The query run over numbers that could have been true."""

    def __init__(self, intervals: Intervals) -> None:
        self.intervals, self.half = intervals, intervals.half
        self.names = [name for name in intervals.names if intervals.columns[name]]
        self.labels = [name for name in intervals.names if not intervals.columns[name]]
        lines = sum(len(answer.lines) for answer in self.half.answers)
        self.level = min(self.half.confidence, SURE)
        least = math.ceil(2 / (1 - float(self.level))) - 1
        self.draws = max(min(DRAWN_NUMBERS // max(lines, 1), MOST_DRAWS), least)
        self.noise = JointNoise(self.half.desk)
        self.places = [[[self._added(row) for row in rows] for _, rows in answer.lines] for answer in self.half.answers]
        self.errors = self.noise.drawn(self.draws, self._key())

    def _added(self, row: Row) -> tuple[int, ...]:
        match row.source:
            case Estimate() as estimate:
                return (self.noise.add(estimate),)
            case Ratio(total=total, count=count):
                return (self.noise.add(total), self.noise.add(count))
        return ()

    def _key(self) -> int:
        digest = hashlib.blake2b(self.half.statement.text.encode(), digest_size=8)
        for answer in self.half.answers:
            for values in self.half.values(answer):
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
        half = self.half
        tree = half.tree
        whole = self._matched(self._run(tree, self._stretch(half.confidence)))
        drawn = self._quantiles(whole)
        little = self._matched(self._run(tree, SMALL))
        corners = self._matched(self._run(tree, 1.0, self._corners()))
        found = {}
        for name in self.names:
            value = np.array([np.nan if one is None else float(one) for one in self.intervals.values[name]])
            moved, leapt = (np.abs(one[name] - value[:, None]) for one in (little, whole))
            # A number that leaps (a count of groups) moves by all or nothing with a little noise: with all of it, less.
            width = stretch * np.fmin(
                _quantile(moved / SMALL, float(self.level), 0.0), _quantile(leapt, float(self.level), 0.0)
            )
            low, high = drawn[name]
            every = np.column_stack([low, value - width, corners[name], value])
            above = np.column_stack([high, value + width, corners[name], value])
            found[name] = np.nanmin(every, axis=1), np.nanmax(above, axis=1)
        return found

    def _corners(self) -> list[list[list[Floats]]]:
        """All numbers at the lower end of intervals that hold at once, and at the upper one."""
        confidence = self.intervals.confidence
        found = []
        for answer in self.half.answers:
            columns = []
            for place in range(len(answer.numbers)):
                both = [self._at_ends(rows[place], confidence) for _, rows in answer.lines]
                columns.append([np.array([one[side] for one in both]) for side in (0, 1)])
            found.append(columns)
        return found

    def _at_ends(self, row: Row, confidence: Fraction) -> tuple[float, float]:
        if row.value is None:
            return math.nan, math.nan
        if isinstance(row.source, Estimate):
            width = row.source.halfwidth(confidence)
            return row.value - width, row.value + width
        return row.value if row.low is None else row.low, row.value if row.high is None else row.high

    def _run(
        self, tree: exp.Query, times: float, fixed: list[list[list[Floats]]] | None = None
    ) -> tuple["pa.Table", int]:
        """Run a query for every draw, each error times a number; or for two fixed sets of numbers."""
        import pyarrow as pa

        draws = self.draws if fixed is None else 2
        tables = {DRAWS: pa.table({DRAW: np.arange(draws)}), **self.half.lookups}
        for at, answer in enumerate(self.half.answers):
            if fixed is None:
                numbers = [self._numbers(answer, at, place, times) for place in range(len(answer.numbers))]
            else:
                numbers = [np.array(sides) for sides in fixed[at]]
            tables[answer.block.name] = self.half.table(answer, numbers, draws)
        names = tuple(answer.block.name for answer in self.half.answers)
        return run_prepared(_prepared_for_draws(_Shared(tree), names, tuple(self.half.lookups)), tables), draws

    def _numbers(self, answer: BlockAnswer, at: int, place: int, times: float) -> Floats:
        """What a column of a block could have been: draw by line."""
        rows, places = [rows[place] for _, rows in answer.lines], [one[place] for one in self.places[at]]
        value = np.array([math.nan if row.value is None else row.value for row in rows], float)
        if all(len(one) == 1 for one in places):
            return np.asarray(value - times * self.errors[[one[0] for one in places]].T)
        found = np.tile(value, (self.draws, 1))
        for line, (row, one) in enumerate(zip(rows, places, strict=True)):
            if len(one) == 1:
                found[:, line] -= times * self.errors[one[0]]
            elif isinstance(row.source, Ratio):
                total = row.source.total.value - times * self.errors[one[0]]
                count = row.source.count.value - times * self.errors[one[1]]
                with np.errstate(divide="ignore", invalid="ignore"):
                    found[:, line] = np.where(count > 0, total / count, np.nan)
            elif row.low is not None and row.high is not None:
                # A quantile: which values it may have is known, and not how likely they are.
                found[:, line] = np.where(np.arange(self.draws) % 2, row.low, row.high)
        return found

    def _matched(self, ran: tuple["pa.Table", int]) -> dict[str, Floats]:
        """Line by draw, for the lines of the result: nan where a draw has no such line, or NULL in it."""
        table, draws = ran
        index = self._lines(table)
        draw = np.asarray(table.column(DRAW).to_numpy(), np.int64)
        size = max((len(values) for values in self.intervals.values.values()), default=0)
        found = {}
        keep = index >= 0
        for name in self.names:
            column = np.asarray(table.column(name).cast("float64").to_numpy(zero_copy_only=False), float)
            matrix = np.full((size, draws), np.nan)
            matrix[index[keep], draw[keep]] = column[keep]
            found[name] = matrix
        return found

    def _lines(self, table: "pa.Table") -> NDArray[np.int64]:
        """For each line of a table of draws, which line of the result it is; −1 for none."""
        values = self.intervals.values
        if self.half.is_direct:
            shown = {line: place for place, line in enumerate(values[LINE])}
            longest = max((answer.start + len(answer.lines) for answer in self.half.answers), default=0)
            place_of = np.full(longest + 1, -1, np.int64)
            place_of[list(shown)] = list(shown.values())
            return np.asarray(place_of[table.column(LINE).to_numpy()])
        keys = [*zip(*(values[name] for name in self.labels), strict=True)] if self.labels else []
        size = len(values[self.names[0]])
        if not keys:
            keys = [()] * size
        known: dict[tuple[Any, ...], list[int]] = {}
        for place, key in enumerate(keys):
            known.setdefault(key, []).append(place)
        drawn = [*zip(*(table.column(name).to_pylist() for name in self.labels), strict=True)] or [()] * table.num_rows
        seen: dict[tuple[int, tuple[Any, ...]], int] = {}
        found = np.full(table.num_rows, -1, np.int64)
        for row, (draw, key) in enumerate(zip(table.column(DRAW).to_pylist(), drawn, strict=True)):
            places = known.get(key, [])
            number = seen.get((draw, key), 0)
            seen[draw, key] = number + 1
            if number < len(places):
                found[row] = places[number]
        return found

    def _quantiles(self, drawn: Mapping[str, Floats]) -> dict[str, tuple[Floats, Floats]]:
        """What is not a number in some draws may be anything there."""
        allowed = 1 - float(self.level)
        found = {}
        for name, matrix in drawn.items():
            found[name] = _quantile(matrix, allowed / 2, -math.inf), _quantile(matrix, 1 - allowed / 2, math.inf)
        return found


def _quantile(matrix: Floats, level: float, unknown: float) -> Floats:
    """Of each line; expected, of so many draws, to leave the level's share on its side."""
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
def _prepared_for_draws(shared: _Shared, blocks: tuple[str, ...], lookups: tuple[str, ...]) -> Prepared:
    return prepare(_for_each_draw(shared.tree, blocks), (*blocks, *lookups, DRAWS))


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
