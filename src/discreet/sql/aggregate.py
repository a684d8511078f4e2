"""Aggregates of the SELECT list: syntax tree → the query that measures it, by an allow-list."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from discreet.domain.attribute import Attribute, Bins, Category
from discreet.domain.date import Date
from discreet.domain.region import Region
from discreet.errors import UnsupportedQuery
from discreet.exact import number_text
from discreet.query.cells import Labelling
from discreet.query.query import Combination, Count, Distinct, Group, Mean, People, Quantile, Sum, grain_of
from discreet.sql.amount import read_amount, read_labelling, read_present
from discreet.sql.condition import AllOf, Atom, Condition, atoms, region_of
from discreet.sql.expression import require_scalar, said_of_alike
from discreet.sql.question import Measure
from discreet.sql.scope import Scope
from discreet.sql.syntax import exact_number, literal, only, place_of, refused
from discreet.sql.where import cells_where, read_condition, value_of
from discreet.sql.where_text import identifier

AGGREGATES = (
    "COUNT, SUM, AVG, MIN, MAX, MEDIAN and QUANTILE(…, level) of expressions, each with FILTER (WHERE …); "
    "sums, differences and whole multiples of counts, or of sums of one column; columns of GROUP BY"
)
LEVELS = {exp.Min: Fraction(0), exp.Median: Fraction(1, 2), exp.Max: Fraction(1)}
LARGEST_FACTOR = 10**6
PERCENTILE = "PERCENTILE_CONT(level) WITHIN GROUP (ORDER BY column)"


@dataclass(frozen=True)
class Grouping:
    """What every aggregate of a statement shares: its WHERE, that WHERE's region, and its GROUP BY."""

    scope: Scope
    where: Condition
    region: Region
    by: tuple[Group, ...]
    most_cells: int


@dataclass(frozen=True)
class Aggregate:
    """A query with the name that its column has unless the statement gives one."""

    query: Measure
    name: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Term:
    """One aggregate call, times a whole number."""

    factor: int
    call: exp.Expression


def read_terms(node: exp.Expression) -> list[Term]:
    """An output expression as a sum of aggregate calls, each times a whole number."""
    return list(_terms(node))


def _terms(node: exp.Expression) -> Iterator[Term]:
    # A stack, not recursion: a long sum is a deep tree.
    waiting = [Term(1, node)]
    while waiting:
        term = waiting.pop()
        factor, call = term.factor, term.call.unnest()
        match call:
            case exp.Add():
                waiting += [Term(factor, call.expression), Term(factor, call.this)]
            case exp.Sub():
                waiting += [Term(-factor, call.expression), Term(factor, call.this)]
            case exp.Neg():
                waiting.append(Term(-factor, call.this))
            case (
                exp.Mul(this=exp.Literal() as number, expression=other)
                | exp.Mul(this=other, expression=exp.Literal() as number)
            ):
                waiting.append(Term(factor * _whole(number), other))
            case _:
                yield Term(factor, call)


def _whole(number: exp.Literal) -> int:
    value = None if number.is_string else exact_number(number.this)
    if value is None or value.denominator != 1 or value > LARGEST_FACTOR:
        raise UnsupportedQuery(f"an aggregate can be multiplied by a whole number up to {LARGEST_FACTOR} only")
    return int(value)


def read_aggregate(terms: list[Term], groups: Grouping) -> Aggregate:
    """The query of a sum of aggregate calls."""
    read = [(term.factor, _read_call(term.call, groups)) for term in terms]
    if len(read) == 1 and read[0][0] == 1:
        return read[0][1]
    total: dict[Count | Sum, int] = {}
    for factor, aggregate in read:
        if not isinstance(aggregate.query, Count | Sum):
            raise UnsupportedQuery(f"{aggregate.name} cannot be added or multiplied; only counts and sums can")
        total[aggregate.query] = total.get(aggregate.query, 0) + factor
    if len({query.quantity for query in total}) > 1:
        raise UnsupportedQuery(
            "counts add to counts, and sums to sums of the same column; ask for the others on their own"
        )
    combined = tuple((factor, query) for query, factor in total.items() if factor)
    if not combined:
        raise UnsupportedQuery("the terms of an expression cancel out; its answer is 0 on every table")
    notes = tuple(note for _, aggregate in read for note in aggregate.notes)
    if len(combined) == 1 and combined[0][0] == 1:
        return Aggregate(combined[0][1], "total", notes)
    return Aggregate(Combination(combined), "total", notes)


def _read_call(node: exp.Expression, groups: Grouping) -> Aggregate:
    filters: tuple[Condition, ...] = ()
    if isinstance(node, exp.Filter):
        filters = (read_condition(node.expression.this, groups.scope),)
        node = node.this.unnest()
    notes = tuple(note for condition in filters for atom in atoms(condition) for note in atom.notes)
    aggregate = _read_function(node, groups, filters)
    return replace(aggregate, notes=notes + aggregate.notes)


def _read_function(node: exp.Expression, groups: Grouping, filters: tuple[Condition, ...]) -> Aggregate:
    match node:
        case exp.Count():
            return _count(node, groups, filters)
        case exp.Sum() | exp.Avg():
            only(node, ("this",), f"{node.key.upper()} of a column or an expression")
            if not _is_numeric_column(node.this, groups.scope):
                return _summed(node, groups, filters)
            attribute, where, notes = _numbers(node, node.this, groups, filters)
            grain_of(attribute)
            if isinstance(node, exp.Sum):
                return Aggregate(Sum(attribute.name, where, groups.by), f"sum_{attribute.name}", notes)
            return Aggregate(Mean(attribute.name, where, groups.by), f"avg_{attribute.name}", notes)
        case exp.CountIf():
            only(node, ("this",), "COUNT_IF(condition)")
            held = read_condition(node.this, groups.scope)
            notes = tuple(note for atom in atoms(held) for note in atom.notes)
            return Aggregate(Count(_region(groups, (*filters, held)), groups.by), "count_if", notes)
        case exp.Min() | exp.Max() | exp.Median():
            only(node, ("this",), f"{node.key.upper()} of a column or an expression")
            of, where, notes = _ranked(node, node.this, groups, filters)
            name = f"{node.key}_{of}" if isinstance(of, str) else node.key
            return Aggregate(Quantile(of, LEVELS[type(node)], where, groups.by), name, notes)
        case exp.Quantile() | exp.ApproxQuantile() | exp.PercentileCont() | exp.PercentileDisc() | exp.WithinGroup():
            column, level = _quantile_parts(node)
            of, where, notes = _ranked(node, column, groups, filters)
            name = f"quantile_{of}_{number_text(level)}" if isinstance(of, str) else f"quantile_{number_text(level)}"
            return Aggregate(Quantile(of, level, where, groups.by), name, notes)
    raise refused(node, AGGREGATES)


def _count(node: exp.Count, groups: Grouping, filters: tuple[Condition, ...]) -> Aggregate:
    only(node, ("this", "big_int"), "COUNT(*) and COUNT(column)")
    counted = node.this.unnest() if node.this is not None else None
    if isinstance(counted, exp.Star | exp.Literal):
        only(counted, ("this", "is_string"), "COUNT(*) and COUNT(column)")
        return Aggregate(Count(_region(groups, filters), groups.by), "count")
    if isinstance(counted, exp.Distinct):
        return _distinct(counted, groups, filters)
    if counted is None:
        raise refused(counted, "COUNT(*) and COUNT(column or expression)")
    if not isinstance(counted, exp.Column):
        present, notes = read_present(counted, groups.scope)
        return Aggregate(Count(_region(groups, (*filters, present)), groups.by), "count", notes)
    axis = groups.scope.axis(counted)
    attribute = groups.scope.domain.attributes[axis]
    if not attribute.null:
        return Aggregate(Count(_region(groups, filters), groups.by), f"count_{attribute.name}")
    declared = Atom(axis, ((0, attribute.size - 2),))
    return Aggregate(Count(_region(groups, (*filters, declared)), groups.by), f"count_{attribute.name}")


def _distinct(node: exp.Distinct, groups: Grouping, filters: tuple[Condition, ...]) -> Aggregate:
    """COUNT(DISTINCT …) of columns and expressions: of those that have no missing value among them. A row (a, b) is a
    value, whatever is missing in it."""
    only(node, ("expressions",), "COUNT(DISTINCT column or expression)")
    rows = [one for one in node.expressions if isinstance(one, exp.Tuple)]
    parts = [part for one in node.expressions for part in (one.expressions if one in rows else [one])]
    in_rows = {id(part) for row in rows for part in row.expressions}
    if len(parts) == 1 and groups.scope.is_person(parts[0].unnest()):
        return Aggregate(People(_region(groups, filters), groups.by), "people")
    of: dict[Group, None] = {}
    present: list[Condition] = []
    notes: list[str] = []
    scope = groups.scope
    for part in parts:
        column = part.unnest()
        if isinstance(column, exp.Column) and scope.derived_of(column) is None:
            axis = scope.axis(column)
            attribute = scope.domain.attributes[axis]
            if isinstance(attribute, Bins):
                raise UnsupportedQuery(f"{attribute.name} is known in bins, so its different values cannot be counted")
            if attribute.outside == "other":
                notes.append(f"values of {attribute.name} outside the declared ones count as one")
            alike = said_of_alike(attribute, "COUNT(DISTINCT …)")
            notes += [] if alike is None else [alike]
            if id(part) not in in_rows:
                present.append(Atom(axis, ((0, attribute.size - 1 - attribute.null),)))
            of[attribute.name] = None
        else:
            labelling, said = read_labelling(column, scope)
            found = value_of(column, scope)
            if id(part) not in in_rows:
                present.append(cells_where(found, found.present))
            of[labelling] = None
            notes += said
    query = Distinct(tuple(one for one in of if one not in groups.by), _region(groups, (*filters, *present)), groups.by)
    return Aggregate(query, "count_distinct", tuple(notes))


def _is_numeric_column(node: exp.Expression | None, scope: Scope) -> bool:
    """Whether what is summed is a column by itself; one of TRUE and FALSE is an expression's value."""
    column = None if node is None else node.unnest()
    if not isinstance(column, exp.Column):
        return False
    attribute = scope.attribute(column)
    texts = set(attribute.values) if isinstance(attribute, Category) else set()
    return not texts or not texts <= {"true", "false"}


def _summed(node: exp.Sum | exp.Avg, groups: Grouping, filters: tuple[Condition, ...]) -> Aggregate:
    """SUM and AVG of an expression. A sum of one whole number over and over is that many times a count, and one of a
    column's value where something holds is a sum of that column: what was released of those serves it too."""
    if isinstance(node.this, exp.Distinct):
        name = node.key.upper()
        raise UnsupportedQuery(
            f"{name}(DISTINCT …) is not supported{place_of(node)}: which values occur is known by their counts alone; "
            f"ask SELECT {name}(x) FROM (SELECT x, COUNT(*) AS n … GROUP BY x) WHERE n > 100, say"
        )
    if node.this is None:
        raise refused(node.this, f"{node.key.upper()} of a column or an expression")
    read = read_amount(node.this, groups.scope)
    if isinstance(node, exp.Avg):
        where = _region(groups, (*filters, read.present))
        return Aggregate(Mean(read.amount, where, groups.by), "avg", read.notes)
    if read.times is not None:
        count = Count(_region(groups, (*filters, read.adds)), groups.by)
        query = count if read.times == 1 else Combination(((read.times, count),))
        return Aggregate(query, "sum", read.notes)
    if read.column is not None:
        return Aggregate(Sum(read.column, _region(groups, (*filters, read.adds)), groups.by), "sum", read.notes)
    return Aggregate(Sum(read.amount, _region(groups, (*filters, read.present)), groups.by), "sum", read.notes)


def _quantile_parts(node: exp.Expression) -> tuple[exp.Expression, Fraction]:
    """The column and the level of QUANTILE(column, level) and its other spellings."""
    if isinstance(node, exp.WithinGroup):
        only(node, ("this", "expression"), PERCENTILE)
        if not isinstance(node.this, exp.PercentileCont | exp.PercentileDisc):
            raise refused(node.this, AGGREGATES)
        only(node.this, ("this",), PERCENTILE)
        [ordered, *more] = node.expression.expressions
        if more:
            raise UnsupportedQuery(f"only {PERCENTILE} is supported, of one column")
        level = _level(node.this.this)
        return ordered.this, 1 - level if ordered.args.get("desc") else level
    only(node, ("this", "quantile", "expression"), "QUANTILE(column, level)")
    level = node.args.get("quantile") or node.args.get("expression")
    if level is None:
        raise refused(node, "QUANTILE(column, level)")
    return node.this, _level(level)


def _level(node: exp.Expression) -> Fraction:
    level = literal(node, "a level from 0 to 1")
    if not isinstance(level, Fraction) or not 0 <= level <= 1:
        raise UnsupportedQuery("a quantile's level is a number from 0 to 1")
    return level


def _ranked(
    node: exp.Expression, of: exp.Expression | None, groups: Grouping, filters: tuple[Condition, ...]
) -> tuple[str | Labelling, Region, tuple[str, ...]]:
    """What a quantile is of: a numeric attribute, or an expression by its values; the region in which it has one."""
    of = of.unnest() if of is not None else None
    is_expression = of is not None and of.find(exp.AggFunc, exp.Star) is None and of.find(exp.Column) is not None
    is_plain = isinstance(of, exp.Column) and groups.scope.derived_of(of) is None
    if of is None or is_plain or not is_expression:
        attribute, where, notes = _numbers(node, of, groups, filters)
        return attribute.name, where, notes
    require_scalar(of)
    found = value_of(of, groups.scope, exactly=True)
    if not found.is_numeric or found.is_boolean:
        raise UnsupportedQuery(f"{_called(node)} takes numbers{place_of(of)}; this is a text, a date or a condition")
    labelling, notes = read_labelling(of, groups.scope)
    return labelling, _region(groups, (*filters, cells_where(found, found.present))), notes


def _numbers(
    node: exp.Expression, column: exp.Expression | None, groups: Grouping, filters: tuple[Condition, ...]
) -> tuple[Attribute, Region, tuple[str, ...]]:
    """A numeric attribute and the region in which it has a declared value: what SQL's aggregates look at, but for
    values outside the declared ones, which no sum can hold."""
    column = column.unnest() if column is not None else None
    if column is None or column.find(exp.AggFunc) is not None or isinstance(column, exp.Literal | exp.Star):
        raise refused(column, f"{_called(node)} of a column")
    axis = groups.scope.axis(column)
    attribute = groups.scope.domain.attributes[axis]
    if isinstance(attribute, Category):
        what = "holds dates" if isinstance(attribute, Date) else "is a category"
        raise UnsupportedQuery(
            f"{attribute.name} {what}: it can be counted and grouped by, not calculated with; "
            f"COUNT(*) … GROUP BY {identifier(attribute.name)} shows how many there are of each"
        )
    if attribute.size == attribute.cells:
        return attribute, _region(groups, filters), ()
    note = f"values of {attribute.name} outside the declared ones are left out of {_called(node)}"
    declared = Atom(axis, ((0, attribute.cells - 1),))
    return attribute, _region(groups, (*filters, declared)), (note,) if attribute.outside == "other" else ()


def _called(node: exp.Expression) -> str:
    """What an aggregate is called in SQL."""
    return "PERCENTILE_CONT" if isinstance(node, exp.WithinGroup | exp.PercentileCont) else str(node.key.upper())


def _region(groups: Grouping, further: tuple[Condition, ...]) -> Region:
    if not further:
        return groups.region
    return region_of(AllOf((groups.where, *further)), groups.scope.domain, groups.most_cells)
