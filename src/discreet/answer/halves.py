"""The public half of a statement: its query run over the noisy answers of its blocks, with an interval for each number.

An interval is exact where a number is a sum of noisy numbers. Elsewhere the query is run again, in one go, over numbers
that could have been true: the released ones, each less an error drawn from the known law of its noise, those in common
drawn together. For a ratio the quantiles of that are Fieller's interval: T/N is below r for as many draws as T − rN,
which is nothing but noise for the true r, exceeds its own noise.

Lines that were chosen by noise get intervals that hold for all lines at once that they were chosen from: each error is
drawn as much larger as the noise of one number reaches at the confidence of all together. Where the choice lies deeper
(the largest group, a count of groups above a bound), the interval also covers what the query makes of all numbers at
their lower and at their upper ends, and how far it moves with a little noise while the same lines stay chosen.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.answer.answer import Codes, Desk
from discreet.answer.chosen import at_once
from discreet.answer.estimate import Estimate, Kind, Ratio, combined, worst
from discreet.answer.joint import JointNoise
from discreet.answer.policy import noise_of_scale
from discreet.answer.reply import Row
from discreet.domain.attribute import Attribute, Category, Integer
from discreet.domain.domain import Domain
from discreet.errors import UnsupportedQuery
from discreet.query.query import Group
from discreet.sql.lineage import Lineage, lineage, linear_terms
from discreet.sql.question import AggregateColumn, GroupColumn
from discreet.sql.sandbox import run
from discreet.sql.split import LINE, TABLE, Block, Statement

if TYPE_CHECKING:
    import pyarrow as pa

Floats = NDArray[np.float64]
Label = str | int | float | bool | None
MOST_DRAWS, LEAST_DRAWS = 1999, 99
DRAWN_NUMBERS = 1_000_000
"""So many numbers are drawn, or as many as the least number of draws needs."""
SMALL = 0.02
"""A little noise: this part of what it is."""
MOST_LINES = 100_000
DRAW, DRAWS, RESULT = "discreet_draw", "discreet_draws", "discreet_result"
"""Names of the sandbox's own tables and columns begin like no other's."""


@dataclass(frozen=True)
class BlockAnswer:
    """The noisy answer of a block: a line for each group, a row for each of its numbers."""

    block: Block
    lines: Sequence[tuple[Codes, Sequence[Row]]]
    start: int
    """The number of its first line, among those of all blocks."""

    @property
    def numbers(self) -> tuple[AggregateColumn, ...]:
        return self.block.question.aggregates


@dataclass(frozen=True)
class Line:
    """A line of the result: its labels, and for each number its value, its ends and where it comes from."""

    labels: tuple[Label, ...]
    numbers: tuple[Row, ...]


@dataclass(frozen=True)
class Result:
    """What a public half makes. `columns` has the names of all columns in their order, True for numbers."""

    columns: Mapping[str, bool]
    lines: tuple[Line, ...]
    notes: tuple[str, ...]


def value_of(attribute: Attribute, code: int) -> Label:
    """A code as the public half calculates with it: NULL for missing ones."""
    if code == attribute.null_code:
        return None
    match attribute:
        case Integer():
            return attribute.low + code if code < attribute.cells else None
        case Category() if set(attribute.values) == {"true", "false"} and code < attribute.cells:
            return attribute.values[code] == "true"
    return attribute.label(code)


def group_values(group: Group, domain: Domain) -> list[object]:
    """The groups of an attribute or of an expression, as the public half calculates with them."""
    if not isinstance(group, str):
        return list(group.values)
    return [value_of(domain[group], code) for code in range(domain[group].size)]


@dataclass
class PublicHalf:
    """A statement's public query with the answers of its blocks."""

    statement: Statement
    answers: Sequence[BlockAnswer]
    confidence: Fraction
    desk: Desk
    notes: list[str] = field(default_factory=list)

    def result(self) -> Result:
        """Run it. Deterministic: the same statement over the same released numbers makes the same result."""
        columns, values = self._evaluated()
        names = list(columns)
        intervals = _Intervals(self, names, columns, values)
        rows = {name: intervals.of(name) for name in names if columns[name]}
        if rows and self.lineage.is_chosen:
            self.notes.append(
                f"lines are chosen by noise: the intervals of {' and '.join(rows)} hold for all "
                f"{self.candidates:,} at once"
            )
        return self._lines(columns, values, rows)

    def values_only(self) -> Result:
        """The same without intervals."""
        columns, values = self._evaluated()
        where = self.answers[0].block.question.where
        rows = {
            name: [Row((), name, _number(value), None, None, "derived", where, where) for value in values[name]]
            for name in columns
            if columns[name]
        }
        return self._lines(columns, values, rows)

    def _evaluated(self) -> tuple[dict[str, bool], dict[str, list[Any]]]:
        """The columns, True for noisy numbers; and the values of each."""
        found = run(self._tree(with_line=self.is_direct), self._tables())
        if found.num_rows > MOST_LINES:
            raise UnsupportedQuery(f"the answer has {found.num_rows:,} lines, and at most {MOST_LINES:,} are shown")
        names = [name for name in found.column_names if name != LINE]
        noisy = dict(zip(names, self._noisy(names), strict=True))
        columns = {name: noisy[name] and _is_number(found.schema.field(name).type) for name in names}
        return columns, {name: found.column(name).to_pylist() for name in found.column_names}

    def _lines(
        self, columns: Mapping[str, bool], values: Mapping[str, list[Any]], rows: Mapping[str, Sequence[Row]]
    ) -> Result:
        count = len(next(iter(values.values()), []))
        labels, numbers = ([name for name in columns if columns[name] is wanted] for wanted in (False, True))
        lines = tuple(
            Line(tuple(_plain(values[name][place]) for name in labels), tuple(rows[name][place] for name in numbers))
            for place in range(count)
        )
        return Result(columns, lines, tuple(self.notes))

    @cached_property
    def lineage(self) -> Lineage:
        return lineage_of(self.statement, [len(answer.lines) for answer in self.answers])

    @property
    def candidates(self) -> int:
        """How many lines the chosen ones were chosen from, at most."""
        return max(sum(len(answer.lines) for answer in self.answers), 1)

    @cached_property
    def is_direct(self) -> bool:
        return is_direct(self.statement)

    def _noisy(self, names: Sequence[str]) -> list[bool]:
        known = self.lineage.columns
        places = [*known.values()]
        return [
            known.get(name.lower(), places[place] if place < len(places) else True) for place, name in enumerate(names)
        ]

    def _tree(self, with_line: bool = False) -> exp.Query:
        tree = self.statement.public.copy()
        if with_line:
            tree.append("expressions", exp.alias_(exp.column(LINE, table=TABLE), LINE))
        return tree

    def unchosen(self) -> exp.Query:
        """The query without what chooses lines by noise in its outermost SELECT."""
        tree = self._tree(with_line=True)
        for part in ("where", "qualify", "order", "limit", "offset"):
            tree.set(part, None)
        return tree

    def _tables(self) -> dict[str, "pa.Table"]:
        return {answer.block.name: self.table(answer, self.values(answer)) for answer in self.answers}

    def values(self, answer: BlockAnswer) -> list[Floats]:
        return [
            np.array([np.nan if rows[place].value is None else rows[place].value for _, rows in answer.lines], float)
            for place in range(len(answer.numbers))
        ]

    def table(self, answer: BlockAnswer, numbers: Sequence[Floats], draws: int | None = None) -> "pa.Table":
        """A block's table: its labels, their codes, its numbers; with `draws` once for each of them."""
        import pyarrow as pa

        codes = np.array([codes for codes, _ in answer.lines], np.int64).reshape(len(answer.lines), -1)
        times = draws or 1
        by = answer.block.question.by
        columns: dict[str, Any] = {}
        for column in answer.block.question.columns:
            if isinstance(column, GroupColumn):
                axis = by.index(column.attribute)
                values = pa.array(group_values(column.attribute, self.desk.domain))
                repeated = np.tile(codes[:, axis], times)
                columns[column.name] = values.take(pa.array(repeated))
                columns[f"{column.name}_code"] = pa.array(repeated)
        for column, found in zip(answer.numbers, numbers, strict=True):
            columns[column.name] = pa.array(found.reshape(-1), pa.float64(), from_pandas=True)
        columns[LINE] = pa.array(np.tile(np.arange(answer.start, answer.start + len(answer.lines)), times))
        if draws is not None:
            columns[DRAW] = pa.array(np.repeat(np.arange(draws), len(answer.lines)))
        return pa.table(columns)


def lineage_of(statement: Statement, lines: Sequence[int]) -> Lineage:
    """What the statement does with the noise of its blocks, of so many lines each."""
    blocks = {
        block.name: Lineage(_block_columns(block), lines=count)
        for block, count in zip(statement.blocks, lines, strict=True)
    }
    return lineage(statement.public, blocks)


def _block_columns(block: Block) -> dict[str, bool]:
    columns: dict[str, bool] = {LINE: False}
    for column in block.question.columns:
        noisy = isinstance(column, AggregateColumn)
        columns |= {column.name: noisy} if noisy else {column.name: False, f"{column.name}_code": False}
    return columns


def is_direct(statement: Statement) -> bool:
    """Whether every line of the result is a line of a block."""
    tree = statement.public
    if (
        not isinstance(tree, exp.Select)
        or tree.args.get("distinct")
        or tree.args.get("group")
        or tree.args.get("joins")
    ):
        return False
    source = tree.args.get("from_")
    if source is None or source.this.alias_or_name != TABLE or not statement.names:
        return False
    return not any(
        not isinstance(call.parent, exp.Window | exp.Filter | exp.IgnoreNulls | exp.RespectNulls)
        and call.find_ancestor(exp.Query) is tree
        for output in tree.expressions
        for call in output.find_all(exp.AggFunc)
    )


def _is_number(kind: Any) -> bool:
    import pyarrow.types as types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _number(value: Any) -> float | None:
    found = _plain(value)
    assert found is None or isinstance(found, int | float)
    return found


def _plain(value: Any) -> Label:
    if value is None or isinstance(value, str | int | bool):
        return value
    if isinstance(value, float):
        return None if not math.isfinite(value) else int(value) if value.is_integer() and abs(value) < 2**53 else value
    if hasattr(value, "isoformat"):
        text = str(value.isoformat(sep=" ") if hasattr(value, "hour") else value.isoformat())
        return text.removesuffix(" 00:00:00")
    number = float(value)
    return int(number) if number.is_integer() else number


@dataclass
class _Intervals:
    """Rows for the numbers of a result."""

    half: PublicHalf
    names: Sequence[str]
    columns: Mapping[str, bool]
    values: Mapping[str, list[Any]]

    def of(self, name: str) -> list[Row]:
        half = self.half
        terms = self._terms(name)
        if half.is_direct and not half.lineage.deep and terms is not None:
            return [self._linear(name, place, terms) for place in range(len(self.values[name]))]
        low, high = self._ends[name]
        found = []
        for place, value in enumerate(self.values[name]):
            number = _number(value)
            ends = (None, None) if number is None else (_end(low[place]), _end(high[place]))
            found.append(self._row(name, place, number, *ends))
        return found

    def _terms(self, name: str) -> dict[str, float] | None:
        if not self.half.is_direct:
            return None
        output = self.half.statement.public.selects[self.names.index(name)]
        return linear_terms(output.unalias(), [c.name for answer in self.half.answers for c in answer.numbers])

    def _linear(self, name: str, place: int, terms: Mapping[str, float]) -> Row:
        """An exact interval, for a sum of a line's own numbers."""
        half, confidence = self.half, self.confidence
        rows = self._line_rows(self.values[LINE][place])
        constant = terms.get("", 0.0)
        used = [(weight, rows[column]) for column, weight in terms.items() if column and weight]
        value = _number(self.values[name][place])
        if value is None or not used:
            return self._row(name, place, value, value, value)
        if len(used) == 1 and not isinstance(used[0][1].source, Estimate):
            [(weight, row)] = used
            ends = sorted(weight * end + constant for end in (row.low, row.high) if end is not None)
            if half.lineage.own or len(ends) < 2:
                low, high = self._ends[name]
                return self._row(name, place, value, _end(low[place]), _end(high[place]))
            return self._row(name, place, value, *ends)
        sources = [(weight, row.source) for weight, row in used]
        if not all(isinstance(source, Estimate) for _, source in sources):
            low, high = self._ends[name]
            return self._row(name, place, value, _end(low[place]), _end(high[place]))
        estimate = combined([(weight, source) for weight, source in sources if isinstance(source, Estimate)])
        width = estimate.halfwidth(confidence)
        if len(used) == 1:
            width = abs(used[0][0]) * sources[0][1].halfwidth(confidence)  # type: ignore[union-attr]
        found = self._row(name, place, value, _whole(value - width), _whole(value + width))
        may_be_zero = bool(estimate.variance) and value - width <= 0 <= value + width
        from dataclasses import replace

        return replace(found, source=estimate, may_be_zero=may_be_zero)

    @cached_property
    def confidence(self) -> Fraction:
        half = self.half
        return at_once(half.confidence, half.candidates) if half.lineage.is_chosen else half.confidence

    def _line_rows(self, line: int) -> dict[str, Row]:
        for answer in self.half.answers:
            if answer.start <= line < answer.start + len(answer.lines):
                _, rows = answer.lines[line - answer.start]
                return {column.name: row for column, row in zip(answer.numbers, rows, strict=True)}
        raise AssertionError(line)

    def _row(self, name: str, place: int, value: float | None, low: float | None, high: float | None) -> Row:
        half = self.half
        if half.is_direct:
            rows = [*self._line_rows(self.values[LINE][place]).values()]
            used = self._used(name)
            mine = [row for row in rows if row.column in used] or rows
            kind: Kind = worst({row.kind for row in mine})
            asked, answered = mine[0].asked, next((row.answered for row in mine if row.is_near), mine[0].asked)
        else:
            kind = self._kind
            asked = answered = half.answers[0].block.question.where
        return Row((), name, value, low, high, kind, asked, answered, chosen=half.lineage.is_chosen, line=place)

    def _used(self, name: str) -> set[str]:
        output = self.half.statement.public.selects[self.names.index(name)]
        return {column.name for column in output.find_all(exp.Column)}

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

    def __init__(self, intervals: _Intervals) -> None:
        self.intervals, self.half = intervals, intervals.half
        self.names = [name for name in intervals.names if intervals.columns[name]]
        self.labels = [name for name in intervals.names if not intervals.columns[name]]
        lines = sum(len(answer.lines) for answer in self.half.answers)
        self.draws = min(max(DRAWN_NUMBERS // (8 * max(lines, 1)), LEAST_DRAWS), MOST_DRAWS)
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
            return self._quantiles(self._run(half._tree(half.is_direct), 1.0))
        stretch = self._stretch()
        if half.is_direct and not half.lineage.deep:
            return self._quantiles(self._run(half.unchosen(), stretch))
        return self._hull(stretch)

    def _stretch(self) -> float:
        """How much further noise reaches at the confidence of all candidates together."""
        noise = noise_of_scale(Fraction(1000), self.half.desk.ledger.budget)
        return float(noise.halfwidth(self.intervals.confidence) / noise.halfwidth(self.half.confidence))

    def _hull(self, stretch: float) -> dict[str, tuple[Floats, Floats]]:
        half = self.half
        tree = half._tree(half.is_direct)
        drawn = self._quantiles(self._run(tree, 1.0))
        little = self._matched(self._run(tree, SMALL))
        corners = self._matched(self._run(tree, 1.0, self._corners()))
        found = {}
        for name in self.names:
            value = np.array([np.nan if one is None else float(one) for one in self.intervals.values[name]])
            moved = np.abs(little[name] - value[:, None]) * (stretch / SMALL)
            width = np.nan_to_num(_quantile(moved, float(half.confidence), 0.0))
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
        tables = {DRAWS: pa.table({DRAW: np.arange(draws)})}
        for at, answer in enumerate(self.half.answers):
            if fixed is None:
                numbers = [self._numbers(answer, at, place, times) for place in range(len(answer.numbers))]
            else:
                numbers = [np.array(sides) for sides in fixed[at]]
            tables[answer.block.name] = self.half.table(answer, numbers, draws)
        return run(_for_each_draw(tree, [answer.block.name for answer in self.half.answers]), tables), draws

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

    def _quantiles(self, ran: tuple["pa.Table", int]) -> dict[str, tuple[Floats, Floats]]:
        """What is not a number in some draws may be anything there."""
        allowed = 1 - float(self.half.confidence)
        found = {}
        for name, matrix in self._matched(ran).items():
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
