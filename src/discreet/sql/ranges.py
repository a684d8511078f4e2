"""Between what the numbers of a public query lie, whatever the noise says: from what its blocks' columns lie between.

Holds for the query over the true numbers, so that an interval may be cut to it: one that holds the truth still does.
What is not looked into may be anything. What a query makes of NULL is not bounded, and is no number.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from sqlglot import exp

from discreet.query.query import Count, Sum
from discreet.sql.passes.tree import sources_of
from discreet.sql.shares import holds_lines_of, holds_own_line, some_of

SAME_AS_LINES = (exp.RowNumber, exp.Rank, exp.DenseRank)
SHARES = (exp.PercentRank, exp.CumeDist)
ONE_OF = (
    exp.Avg,
    exp.Max,
    exp.Min,
    exp.Median,
    exp.Quantile,
    exp.AnyValue,
    exp.First,
    exp.Last,
    exp.FirstValue,
    exp.LastValue,
    exp.NthValue,
)
"""Aggregates and window functions that lie between the least and the greatest of what they are of."""
SPREADS = (exp.Variance, exp.VariancePop, exp.Stddev, exp.StddevPop, exp.StddevSamp)
ROUNDING = 1e-9
"""A whole number that comes out of interpolation is at most so far off."""


@dataclass(frozen=True)
class Range:
    """What a number lies between; whether it is whole; and of which rows it is the count or sum, where it is one."""

    low: float = -math.inf
    high: float = math.inf
    is_whole: bool = False
    is_amount: bool = False
    """Whether the true number is not negative, whatever the noisy one is: counts are shown as they came out."""
    quantities: tuple[Count | Sum, ...] = ()
    """Of lines that several tables were put under one another for, one for each."""

    @property
    def is_open(self) -> bool:
        return self.low == -math.inf and self.high == math.inf

    @property
    def is_positive(self) -> bool:
        return self.is_amount or self.low >= 0

    def times(self, other: "Range") -> "Range":
        found = _hull([a * b for a in (self.low, self.high) for b in (other.low, other.high)])
        return replace(found, is_amount=self.is_positive and other.is_positive)

    def plus(self, other: "Range", sign: int = 1) -> "Range":
        ends = (other.low, other.high) if sign > 0 else (-other.high, -other.low)
        found = _hull([self.low + ends[0], self.high + ends[1]])
        return replace(found, is_amount=sign > 0 and self.is_positive and other.is_positive)


ANY = Range()


@dataclass(frozen=True)
class Ranges:
    """Of a table or a query: all its columns by their names, in their order, none where they are not looked into; and
    how many lines it has, at most."""

    columns: Mapping[str, Range] = field(default_factory=dict)
    lines: float = math.inf


Scope = Mapping[str, Ranges]


def ranges(query: exp.Expression, scope: Scope) -> Ranges:
    """What the columns of a public query lie between."""
    match query:
        case exp.Subquery() if not query.args.get("pivots"):
            return ranges(query.this, scope)
        case exp.SetOperation():
            return _set_operation(query, _with(query, scope))
        case exp.Select():
            return _Select(query, _with(query, scope)).ranges()
    return Ranges()


def _set_operation(query: exp.SetOperation, scope: Scope) -> Ranges:
    left, right = ranges(query.this, scope), ranges(query.expression, scope)
    lines = left.lines + right.lines
    if query.args.get("by_name") or len(left.columns) != len(right.columns):
        return Ranges(lines=lines)
    pairs = zip(left.columns.items(), right.columns.values(), strict=True)
    return Ranges({name: _under(one, other) for (name, one), other in pairs}, lines)


def _under(one: Range, other: Range) -> Range:
    """A column of two tables, one under the other."""
    both = one.quantities and other.quantities
    return replace(_either([one, other]), quantities=one.quantities + other.quantities if both else ())


def _with(query: exp.Expression, scope: Scope) -> Scope:
    clause = query.args.get("with_")
    inner = dict(scope)
    for cte in clause.expressions if clause else ():
        is_known = not clause.args.get("recursive")
        inner[cte.alias.lower()] = _renamed(ranges(cte.this, inner), cte.args.get("alias")) if is_known else Ranges()
    return inner


def _renamed(found: Ranges, alias: exp.Expression | None) -> Ranges:
    names = [column.name.lower() for column in alias.args.get("columns") or ()] if alias is not None else []
    columns = {
        names[place] if place < len(names) else name: own for place, (name, own) in enumerate(found.columns.items())
    }
    return Ranges(columns if len(columns) == len(found.columns) else {}, found.lines)


class _Select:
    def __init__(self, select: exp.Select, scope: Scope) -> None:
        self.select, self.scope = select, scope
        self.sources = {one.alias_or_name.lower(): self._source(one) for one in sources_of(select)}
        self.lines = prod(one.lines for one in self.sources.values()) if self.sources else 1.0
        if len(self.sources) > 1:  # an outer join has lines without a partner, too
            self.lines = prod(max(one.lines, 1.0) for one in self.sources.values()) * len(self.sources)
        if any(output.find(exp.UDTF, exp.Explode) for output in select.expressions):
            self.lines = math.inf

    def _source(self, table: exp.Expression) -> Ranges:
        if table.args.get("pivots"):
            return Ranges()
        if isinstance(table, exp.Table):
            return _renamed(self.scope.get(table.name.lower(), Ranges()), table.args.get("alias"))
        return _renamed(ranges(table, self.scope), table.args.get("alias"))

    def ranges(self) -> Ranges:
        columns: dict[str, Range] = {}
        for place, output in enumerate(self.select.expressions):
            named = self._star(output)
            for name, own in named or ():
                if name in columns:
                    return Ranges(lines=self.lines)
                columns[name or f"column {place}"] = own
            if not named:
                return Ranges(lines=self.lines)
        if len(self.sources) > 1:  # counts side by side may be of different lines
            columns = {name: own if _is_whole(own) else replace(own, quantities=()) for name, own in columns.items()}
        return Ranges(columns, self.lines)

    def _star(self, output: exp.Expression) -> list[tuple[str, Range]] | None:
        """The columns that an output is; None where that is not looked into."""
        if not output.is_star:
            return [(output.alias_or_name.lower(), self.of(output))]
        star = output.this if isinstance(output, exp.Column) else output
        if not isinstance(star, exp.Star) or any(star.args.values()):
            return None
        table = output.table.lower() if isinstance(output, exp.Column) else ""
        chosen = [self.sources.get(table, Ranges())] if table else [*self.sources.values()]
        if not all(one.columns for one in chosen):
            return None
        return [(name, own) for one in chosen for name, own in one.columns.items()]

    def of(self, node: exp.Expression | None) -> Range:
        """What an expression lies between."""
        match node:
            case exp.Alias() | exp.Paren() | exp.Filter() | exp.Nullif():
                return self.of(node.this)
            case exp.Column():
                return self._column(node)
            case exp.Literal() if not node.is_string:
                return Range(float(node.this), float(node.this))
            case exp.Subquery() | exp.Select():
                return _either([*ranges(node, self.scope).columns.values()][:1])
            case exp.Neg():
                return Range(0.0, 0.0).plus(self.of(node.this), -1)
            case exp.Add() | exp.Sub():
                sign = 1 if isinstance(node, exp.Add) else -1
                return self.of(node.this).plus(self.of(node.expression), sign)
            case exp.Mul():
                return self._product(node)
            case exp.Div():
                return self._quotient(node)
            case exp.Cast() if node.to.this in (exp.DataType.Type.DOUBLE, exp.DataType.Type.FLOAT):
                return self.of(node.this)
        return self._function(node)

    def _function(self, node: exp.Expression | None) -> Range:
        match node:
            case exp.Window():
                return self._window(node.this)
            case exp.Count():
                return Range(0.0, self.lines, is_whole=True)
            case exp.Sum():
                return self._sum(node, self.lines)
            case exp.Round():
                return self._rounded(node)
            case exp.Coalesce():
                return _either([self.of(one) for one in (node.this, *node.expressions)])
            case exp.Case():
                default = node.args.get("default")
                values = [one.args["true"] for one in node.args["ifs"]] + ([] if default is None else [default])
                return _either([self.of(one) for one in values])
            case exp.Greatest() | exp.Least():  # what is NULL is passed over
                return _either([self.of(one) for one in (node.this, *node.expressions)])
            case _ if isinstance(node, ONE_OF):
                return _either([self.of(node.this)])
            case _ if isinstance(node, SPREADS):
                return Range(low=0.0)
        return ANY

    def _window(self, node: exp.Expression) -> Range:
        match node:
            case _ if isinstance(node, SAME_AS_LINES):
                return Range(1.0, max(self._own_lines, 1.0), is_whole=True)
            case _ if isinstance(node, SHARES):
                return Range(0.0, 1.0)
            case exp.Ntile():
                buckets = self.of(node.this)
                return Range(1.0, max(buckets.high, 1.0), is_whole=True)
            case exp.Count():
                return Range(0.0, self._own_lines, is_whole=True)
            case exp.Sum():
                return self._sum(node, self._own_lines)
            case exp.Lag() | exp.Lead():
                default = node.args.get("default")
                return _either([self.of(one) for one in (node.this, default) if one is not None])
            case exp.IgnoreNulls() | exp.RespectNulls() | exp.Filter():
                return self._window(node.this)
        return self.of(node)

    def _sum(self, node: exp.Sum, lines: float) -> Range:
        own = self.of(node.this)
        found = _hull([min(own.low, 0.0) * lines, max(own.high, 0.0) * lines])
        return replace(found, is_amount=own.is_positive)

    @property
    def _own_lines(self) -> float:
        """How many lines a window sees: ROLLUP and its like make more of those that are read."""
        group = self.select.args.get("group")
        is_simple = group is None or not any(group.args.get(one) for one in ("rollup", "cube", "grouping_sets"))
        return max(self.lines, 1.0) if is_simple else math.inf

    def _column(self, node: exp.Column) -> Range:
        name, table = node.name.lower(), node.table.lower()
        if table:
            return self.sources.get(table, Ranges()).columns.get(name, ANY)
        found = [one.columns[name] for one in self.sources.values() if name in one.columns]
        return _either(found) if len(found) != 1 else found[0]

    def _product(self, node: exp.Mul) -> Range:
        return _either([self.of(node.this).times(self.of(node.expression))])

    def _quotient(self, node: exp.Div) -> Range:
        share = self._share(node)
        if share is not None:
            return share
        over = self.of(node.expression)
        if over.low != over.high or over.low == 0:
            return ANY
        return self.of(node.this).times(Range(1 / over.low, 1 / over.low))

    def _share(self, node: exp.Div) -> Range | None:
        """Of a part over a whole that holds it, neither of them negative: from 0 to all of it, times constants."""
        above, part = self._taken_apart(node.this)
        below, whole = self._taken_apart(node.expression)
        if above < 0 or below <= 0 or not self._holds(whole, part):
            return None
        return _hull([0.0, above / below])

    def _holds(self, whole: exp.Expression, part: exp.Expression) -> bool:
        """Whether one number is what another is a part of, in whatever line."""
        match whole, part:
            case exp.Window(this=exp.Sum(this=exp.Column() as summed)), exp.Column():
                return holds_own_line(whole) and self._is_part(part, summed)
            case exp.Window(this=exp.Sum(this=exp.Column() as summed)), exp.Window(
                this=exp.Sum(this=exp.Column() as own)
            ):
                return holds_lines_of(whole, part) and self._is_part(own, summed)
            case exp.Sum(this=exp.Column() as summed), exp.Sum() | exp.Filter(this=exp.Sum()):
                own = some_of(part)
                return own is not None and self._is_part(own, summed)
            case _, exp.Column():
                return self._covers(self.of_whole(whole), part, whole)
        return False

    def _is_part(self, part: exp.Column, whole: exp.Column) -> bool:
        """Of two columns of a line: whether one is a part of the other, or it itself, and not negative."""
        if self._home(part) is None or self._home(part) is not self._home(whole):
            return False
        if part.name.lower() == whole.name.lower():
            return self.of(part).is_positive
        return self._covers(self.of(whole), part, whole)

    def _covers(self, whole: Range, part: exp.Column, node: exp.Expression) -> bool:
        """Whether the rows of a part are among those of a whole, in each line."""
        wholes, parts = whole.quantities, self.of(part).quantities
        if not wholes or not parts or not whole.is_positive or not self.of(part).is_positive:
            return False
        if _is_whole(whole):
            wholes *= len(parts)
        elif not (isinstance(node, exp.Column) and self._home(part) is self._home(node)) or (
            [one.by for one in wholes] != [one.by for one in parts]
        ):
            return False
        return all(
            one.quantity == other.quantity and one.where.covers(other.where)
            for one, other in zip(wholes, parts, strict=True)
        )

    def of_whole(self, node: exp.Expression) -> Range:
        """A number that is divided by: that of a sub-query of one line, too."""
        if isinstance(node, exp.Subquery | exp.Select):
            found = [*ranges(node, self.scope).columns.values()][:1]
            return found[0] if found and _is_whole(found[0]) else ANY
        return self.of(node) if isinstance(node, exp.Column) else ANY

    def _home(self, column: exp.Column) -> Ranges | None:
        """The table that a column is of."""
        name, table = column.name.lower(), column.table.lower()
        found = [one for own, one in self.sources.items() if name in one.columns and table in ("", own)]
        return found[0] if len(found) == 1 else None

    def _taken_apart(self, node: exp.Expression) -> tuple[float, exp.Expression]:
        """A constant times a number."""
        node = node.unnest()
        match node:
            case exp.Cast() if node.to.this in (exp.DataType.Type.DOUBLE, exp.DataType.Type.FLOAT):
                return self._taken_apart(node.this)
            case exp.Cast() if node.to.this == exp.DataType.Type.DECIMAL and self._is_count(node.this):
                return self._taken_apart(node.this)
            case exp.Nullif():
                return self._taken_apart(node.this)
            case exp.Mul():
                for one, other in ((node.this, node.expression), (node.expression, node.this)):
                    if isinstance(one.unnest(), exp.Literal) and not one.unnest().is_string:
                        times, inner = self._taken_apart(other)
                        return float(one.unnest().this) * times, inner
        return 1.0, node

    def _is_count(self, node: exp.Expression) -> bool:
        """Whether it is a count, or a sum of counts: whole numbers, which a DECIMAL holds as they are."""
        columns = [*node.find_all(exp.Column)]
        found = [self.of(column).quantities for column in columns]
        return bool(found) and all(own and all(isinstance(one, Count) for one in own) for own in found)

    def _rounded(self, node: exp.Round) -> Range:
        own, digits = self.of(node.this), node.args.get("decimals")
        if digits is not None and not (isinstance(digits, exp.Literal) and str(digits.this).isdigit()):
            return ANY
        step = 10.0 ** -(int(digits.this) if digits is not None else 0)
        # Between the nearest steps outside: rounding is monotone, and these are their own.
        return Range(_outward(own.low, step, math.floor), _outward(own.high, step, math.ceil))


def _outward(end: float, step: float, to: Callable[[float], int]) -> float:
    return to(end / step) * step if math.isfinite(end) else end


def _either(several: Sequence[Range]) -> Range:
    """One of several."""
    if not several:
        return ANY
    is_whole, is_amount = (
        all(found) for found in zip(*((one.is_whole, one.is_positive) for one in several), strict=True)
    )
    return Range(min(one.low for one in several), max(one.high for one in several), is_whole, is_amount)


def _is_whole(own: Range) -> bool:
    """Whether it is the one number of a whole table or of some of its rows, the same beside every line."""
    return len(own.quantities) == 1 and not own.quantities[0].by


def _hull(ends: Sequence[float]) -> Range:
    return ANY if any(map(math.isnan, ends)) else Range(min(ends), max(ends))
