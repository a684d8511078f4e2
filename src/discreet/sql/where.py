"""WHERE and FILTER: syntax tree → Condition, by an allow-list."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.domain.attribute import Attribute, Bins, Category, Integer
from discreet.domain.date import Date
from discreet.errors import UnsupportedQuery
from discreet.sql.codes import Codes, merged
from discreet.sql.compare import Bound, Verdict, is_among, is_missing, is_within, number, ordered
from discreet.sql.condition import AllOf, AnyOf, Atom, CellSet, Condition
from discreet.sql.expression import ClassValues, evaluate
from discreet.sql.moments import moment_text
from discreet.sql.scope import Scope
from discreet.sql.syntax import literal, only, place_of, refused
from discreet.sql.tokens import shown

CONDITIONS = "AND, OR, NOT, IN, BETWEEN, IS NULL, TRUE, FALSE, and = <> < <= > >= of a column and a value"
VALUES = "a number, a text in single quotes, TRUE or FALSE"

DATE = re.compile(r"\d{4}-\d{2}(-\d{2}([ T]\d{2}(:\d{2}(:\d{2})?)?)?)?", re.ASCII)
ORDERINGS = {exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def read_condition(node: exp.Expression, scope: Scope, wanted: bool = True) -> Condition:
    """Where the tree's condition is `wanted`, true or false; a point where it is unknown is in neither."""
    node = node.unnest()
    match node:
        case exp.And() | exp.Or():
            return _connective(node, scope, wanted)
        case exp.Not():
            return read_condition(node.this, scope, not wanted)
        case exp.Boolean():
            return AllOf(()) if bool(node.this) == wanted else AnyOf(())
        case exp.In() if _is_literal(node.this) and node.expressions:
            # The value is sought in columns: 'x' IN (a, b).
            only(node, ("this", "expressions"), "IN (values)")
            either = [exp.EQ(this=one.copy(), expression=node.this.copy()) for one in node.expressions]
            parts = tuple(_sought(one, scope, wanted) for one in either)
            return AnyOf(parts) if wanted else AllOf(parts)
    if type(node) in ORDERINGS and is_ordinary(node, scope):
        ordering = _ordering(node, scope, wanted)
        return _atom(ordering.axis, is_within(ordering.attribute, *ordering.bounds), True)
    if is_ordinary(node, scope):
        differs = isinstance(node, exp.NEQ)
        axis, verdict = _verdict(exp.EQ(**node.args) if differs else node, scope)
        return _atom(axis, verdict, wanted != differs)
    if isinstance(node, exp.Column) and scope.derived_of(node) is None:
        axis = scope.axis(node)
        if (truth := _truth(scope.domain.attributes[axis])) is not None:
            return _atom(axis, is_among(scope.domain.attributes[axis], [truth]), wanted)
        raise UnsupportedQuery(f"{shown(node.name)} alone is not a condition; compare it with a value")
    if isinstance(node, exp.Between) and not node.args.get("symmetric"):
        ends = (
            exp.GTE(this=node.this, expression=node.args["low"]),
            exp.LTE(this=node.this, expression=node.args["high"]),
        )
        return read_condition(exp.and_(*ends, copy=True), scope, wanted)
    _require_texts(node, scope)
    return _expressed(node, scope, wanted)


def _require_texts(node: exp.Expression, scope: Scope) -> None:
    """Refuse a text in double quotes where a column is compared with it."""
    for side in (node.args.get("this"), node.args.get("expression")) if isinstance(node, exp.Predicate) else ():
        inner = side.unnest() if isinstance(side, exp.Expression) else None
        if not isinstance(inner, exp.Column) or not isinstance(inner.this, exp.Identifier) or scope.knows(inner):
            continue
        if inner.this.args.get("quoted"):
            raise UnsupportedQuery(f"{shown(inner.name)} is in double quotes, as columns are; texts take single quotes")


def is_ordinary(node: exp.Expression, scope: Scope) -> bool:
    """Whether a condition compares one column with values: the form whose meaning `compare.py` says."""

    def is_column(side: exp.Expression) -> bool:
        return isinstance(side, exp.Column) and scope.derived_of(side) is None

    match node:
        case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
            left, right = node.this.unnest(), node.expression.unnest()
            sides = ((left, right), (right, left))
            column = next((one for one, other in sides if is_column(one) and _is_value(other, one, scope)), None)
            return column is not None and not (type(node) in ORDERINGS and _holds_dates(column, scope))
        case exp.In():
            column = node.this.unnest()
            are_values = is_column(column) and all(_is_value(value, column, scope) for value in node.expressions)
            return are_values and not node.args.get("query")
        case exp.Between():
            column, ends = node.this.unnest(), (node.args["low"], node.args["high"])
            are_values = is_column(column) and all(_is_value(end, column, scope) for end in ends)
            return are_values and not _holds_dates(column, scope)
        case exp.Is(expression=exp.Null()):
            return is_column(node.this.unnest())
    return False


def _holds_dates(column: exp.Column, scope: Scope) -> bool:
    """Whether a category's values are dates, which their spelling orders too; periods have an order of their own."""
    attribute = scope.attribute(column)
    if isinstance(attribute, Date):
        return False
    values = attribute.values if isinstance(attribute, Category) else ()
    return bool(values) and all(DATE.fullmatch(value) for value in values)


def _is_value(node: exp.Expression, column: exp.Expression, scope: Scope) -> bool:
    """Whether it is a literal, or a constant day or moment beside a column that holds periods."""
    if _is_literal(node) or node.find(exp.Column) is not None:
        return _is_literal(node)
    is_dated = isinstance(column, exp.Column) and isinstance(scope.attribute(column), Date)
    return is_dated and moment_text(node) is not None


def _value(node: exp.Expression) -> Fraction | str | bool:
    """What `_is_value` says a value is."""
    text = moment_text(node)
    return literal(node, VALUES) if text is None else text


def _is_literal(node: exp.Expression) -> bool:
    """Whether it is a literal, or a number with signs before it."""
    inner = node.unnest()
    while isinstance(inner, exp.Neg):
        inner = inner.this.unnest()
    return isinstance(inner, exp.Literal | exp.Boolean | exp.Null)


def _verdict(node: exp.Expression, scope: Scope) -> tuple[int, Verdict]:
    """What an ordinary condition is for every code of its column."""
    match node:
        case exp.EQ() | exp.NEQ():
            column, value, _ = _sides(node)
            axis = scope.axis(column)
            verdict = is_among(scope.domain.attributes[axis], [value])
            return axis, verdict if isinstance(node, exp.EQ) else _opposite(verdict)
        case exp.In():
            only(node, ("this", "expressions"), "IN (values)")
            axis = _axis(node.this, scope)
            values = [_value(value) for value in node.expressions]
            if not values:
                raise UnsupportedQuery("IN () holds no values; name at least one")
            return axis, is_among(scope.domain.attributes[axis], values)
        case exp.Between():
            only(node, ("this", "low", "high"), "BETWEEN a value AND a value")
            axis = _axis(node.this, scope)
            attribute = scope.domain.attributes[axis]
            between = ordered(attribute)
            ends = (_value(node.args[end]) for end in ("low", "high"))
            low, high = (number(attribute, value, at_end) for value, at_end in zip(ends, (False, True), strict=True))
            return axis, is_within(between, Bound(low, False), Bound(high, False))
        case exp.Is():
            axis = _axis(node.this, scope)
            return axis, is_missing(scope.domain.attributes[axis])
    ordering, opposite = (_ordering(node, scope, wanted) for wanted in (True, False))
    true, false = (is_within(one.attribute, *one.bounds) for one in (ordering, opposite))
    return ordering.axis, Verdict(true.true, false.true, true.notes)


def _opposite(verdict: Verdict) -> Verdict:
    """What <> is where this is =."""
    return Verdict(verdict.false, verdict.true, verdict.notes + verdict.notes_if_false)


def _sought(node: exp.EQ, scope: Scope, wanted: bool) -> Condition:
    """Whether a column is a value that is sought in several: one that does not declare it does not have it."""
    column, value = node.this.unnest(), _value(node.expression)
    if not isinstance(column, exp.Column):
        return read_condition(node, scope, wanted)
    axis = scope.axis(column)
    attribute = scope.domain.attributes[axis]
    if isinstance(attribute, Category) and isinstance(value, str) and attribute.code(value) is None:
        present = ((0, attribute.size - 1 - attribute.null),)
        note = f"{attribute.name} does not declare {shown(value)}: none of its rows is counted as having it"
        return Atom(axis, () if wanted else present, (note,))
    return read_condition(node, scope, wanted)


def value_of(node: exp.Expression, scope: Scope, exactly: bool = False) -> ClassValues:
    """An expression's value at every point of the domain; see `evaluate`."""
    domain = scope.domain

    def verdict(inner: exp.Expression) -> tuple[int, NDArray[np.object_], tuple[str, ...]] | None:
        plain = inner.unnest()
        if not is_ordinary(plain, scope):
            return None
        axis, found = _verdict(plain, scope)
        values: NDArray[Any] = np.full(domain.shape[axis], None, np.object_)
        for codes, truth in ((found.true, True), (found.false, False)):
            for low, high in codes:
                values[low : high + 1] = truth
        return axis, values, found.notes

    return evaluate(node, scope, verdict, exactly)


def _expressed(node: exp.Expression, scope: Scope, wanted: bool) -> Condition:
    """A condition of any other form, evaluated on the domain."""
    found = value_of(node, scope)
    if not found.is_boolean:
        raise UnsupportedQuery(f"this is not a condition{place_of(node)}; compare it with a value")
    held = found.where(wanted)
    return cells_where(found, held)


def cells_where(found: ClassValues, held: NDArray[np.bool_]) -> Condition:
    """The cells of an expression where something holds, as a condition."""
    if not found.axes:
        return AllOf(()) if held.all() else AnyOf(())
    if len(found.axes) == 1:
        return Atom(found.axes[0], codes_where(held[found.classes[0]]), found.notes)
    return CellSet(found.axes, found.classes, held, found.notes)


def codes_where(held: NDArray[np.bool_]) -> Codes:
    """The codes for which something holds."""
    return merged((code, code) for code in np.flatnonzero(held).tolist())


def _truth(attribute: Attribute) -> Fraction | bool | None:
    """What a column is where it is true by itself: TRUE, or 1 of 0 and 1; None where it is no yes-or-no column."""
    match attribute:
        case Category(values=values) if sorted(values) == ["false", "true"]:
            return True
        case Category(values=values) if sorted(values) == ["0", "1"]:
            return Fraction(1)
        case Integer(low=0, high=1):
            return Fraction(1)
    return None


def _atom(axis: int, verdict: Verdict, wanted: bool) -> Atom:
    if wanted:
        return Atom(axis, verdict.true, verdict.notes)
    return Atom(axis, verdict.false, verdict.notes + verdict.notes_if_false)


@dataclass(frozen=True)
class _Ordering:
    """A column below or above a value."""

    axis: int
    attribute: Integer | Bins
    sign: str
    value: Fraction

    @property
    def bounds(self) -> tuple[Bound | None, Bound | None]:
        bound = Bound(self.value, strict=len(self.sign) == 1)
        return (bound, None) if self.is_low else (None, bound)

    @property
    def is_low(self) -> bool:
        return self.sign[0] == ">"

    @property
    def opposite(self) -> "_Ordering":
        return _Ordering(self.axis, self.attribute, OPPOSITE[self.sign], self.value)


def _ordering(node: exp.Expression, scope: Scope, wanted: bool) -> _Ordering:
    """The comparison as it must hold: where x < 5 is to be false, x >= 5 is to be true, and unknown stays unknown."""
    column, value, mirrored = _sides(node)
    axis = scope.axis(column)
    attribute = scope.domain.attributes[axis]
    between, sign = ordered(attribute), ORDERINGS[type(node)]
    sign = MIRRORED[sign] if mirrored else sign
    found = number(attribute, value, at_end=sign in (">", "<="))
    return _Ordering(axis, between, sign if wanted else OPPOSITE[sign], found)


def _connective(node: exp.And | exp.Or, scope: Scope, wanted: bool) -> Condition:
    """AND or OR of any number of parts; where it is to be false, De Morgan's rule swaps them."""
    every = isinstance(node, exp.And) == wanted
    parts: list[Condition] = []
    orderings: dict[int, list[_Ordering]] = {}
    for part in node.flatten():
        if type(part) in ORDERINGS and is_ordinary(part, scope):
            ordering = _ordering(part, scope, wanted)
            orderings.setdefault(ordering.axis, []).append(ordering)
        else:
            parts.append(read_condition(part, scope, wanted))
    for along_axis in orderings.values():
        parts += _paired(along_axis, every)
    return AllOf(tuple(parts)) if every else AnyOf(tuple(parts))


def _paired(orderings: Sequence[_Ordering], every: bool) -> list[Condition]:
    """Bounds on one column. Two that enclose a range of bins are one condition, as BETWEEN is: each moved to the
    nearest edge on its own, they could meet, and the range would be gone."""
    lows = [ordering for ordering in orderings if ordering.is_low == every]
    highs = [ordering for ordering in orderings if ordering.is_low != every]
    attribute = orderings[0].attribute
    if isinstance(attribute, Bins) and len(lows) == len(highs) == 1:
        low, high = (lows[0], highs[0]) if every else (lows[0].opposite, highs[0].opposite)
        return [_atom(low.axis, is_within(attribute, low.bounds[0], high.bounds[1]), every)]
    return [_atom(one.axis, is_within(attribute, *one.bounds), True) for one in orderings]


def _axis(node: exp.Expression, scope: Scope) -> int:
    column = node.unnest()
    if not isinstance(column, exp.Column):
        raise refused(column, f"a column of {scope.domain.name}")
    return scope.axis(column)


def _sides(node: exp.Expression) -> tuple[exp.Column, Fraction | str | bool, bool]:
    """The column and the value of a comparison, and whether the value stands on the left."""
    left, right = node.this.unnest(), node.expression.unnest()
    if isinstance(left, exp.Column):
        return left, _value(right), False
    return right, _value(left), True
