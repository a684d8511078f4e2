"""CHECK constraints → which values a column may have. What is not understood declares nothing."""

from collections.abc import Iterator
from datetime import date
from decimal import Decimal, InvalidOperation

import sqlglot
from sqlglot import exp

from discreet.table.declared import Allowed, RangeEnd

LOWER = {exp.GT: False, exp.GTE: True}
UPPER = {exp.LT: False, exp.LTE: True}
TURNED = {exp.GT: exp.LT, exp.GTE: exp.LTE, exp.LT: exp.GT, exp.LTE: exp.GTE, exp.EQ: exp.EQ}

ByColumn = dict[str, Allowed]
"""Limits by the column's name in lower case."""


def limits_in(condition: str, dialect: str) -> ByColumn:
    """What a condition that every row keeps says of each column."""
    try:
        return limits_of(sqlglot.parse_one(condition, dialect=dialect))
    except (sqlglot.errors.SqlglotError, RecursionError):
        return {}


def limits_in_table(create: str, dialect: str) -> ByColumn:
    """What the CHECKs of a CREATE TABLE say of each column."""
    try:
        made = sqlglot.parse_one(create, dialect=dialect)
        return together(limits_of(check.this) for check in made.find_all(exp.CheckColumnConstraint))
    except (sqlglot.errors.SqlglotError, RecursionError):
        return {}


def together(conditions: Iterator[ByColumn]) -> ByColumn:
    """All of some conditions at once."""
    found: ByColumn = {}
    for condition in conditions:
        for name, limits in condition.items():
            found[name] = found.get(name, Allowed()).within(limits)
    return found


def limits_of(condition: exp.Expression) -> ByColumn:
    """The limits that a condition sets, as far as it is a conjunction of comparisons with constants."""
    match condition:
        case exp.Paren():
            return limits_of(condition.this)
        case exp.And():
            return together(map(limits_of, (condition.left, condition.right)))
        case exp.Or():
            return _either(condition)
        case exp.In():
            return _listed(condition.this, condition.expressions)
        case exp.Between():
            low = _compared(exp.GTE, condition.this, condition.args["low"])
            return together(iter((low, _compared(exp.LTE, condition.this, condition.args["high"]))))
        case exp.EQ() | exp.GT() | exp.GTE() | exp.LT() | exp.LTE():
            right = _bare(condition.right)
            if isinstance(condition, exp.EQ) and isinstance(right, exp.Any):
                array = _bare(right.this)
                return _listed(condition.left, array.expressions) if isinstance(array, exp.Array) else {}
            if _column(condition.left) is None:
                return _compared(TURNED[type(condition)], condition.right, condition.left)
            return _compared(type(condition), condition.left, condition.right)
    return {}


def _either(condition: exp.Or) -> ByColumn:
    """`x = 1 OR x = 2` is a list; what is missing is allowed beside anything."""
    sides = [side for side in condition.flatten() if not _is_missing(_bare(side))]
    found = [limits_of(side) for side in sides]
    if len(found) == 1:
        return found[0]
    names = {name for limits in found for name in limits}
    lists = [limits.values for one in found for limits in one.values() if limits.values is not None]
    if len(names) != 1 or len(lists) != len(found):
        return {}
    return {names.pop(): Allowed(tuple(dict.fromkeys(value for values in lists for value in values)))}


def _is_missing(condition: exp.Expression) -> bool:
    return isinstance(condition, exp.Is) and isinstance(condition.expression, exp.Null)


def _listed(of: exp.Expression, members: list[exp.Expression]) -> ByColumn:
    name, values = _column(of), [_constant(member) for member in members]
    said = [value for value in values if value is not None]
    return {name: Allowed(tuple(dict.fromkeys(said)))} if name and said and len(said) == len(values) else {}


def _compared(operator: type[exp.Expression], of: exp.Expression, to: exp.Expression) -> ByColumn:
    name, text = _column(of), _constant(to)
    if name is None or text is None:
        return {}
    if operator is exp.EQ:
        return {name: Allowed((text,))}
    value = _ordered(text)
    if value is None:
        return {}
    if operator in LOWER:
        return {name: Allowed(low=RangeEnd(value, LOWER[operator]))}
    return {name: Allowed(high=RangeEnd(value, UPPER[operator]))}


def _bare(expression: exp.Expression) -> exp.Expression:
    """Without parentheses and casts around it."""
    while isinstance(expression, exp.Paren | exp.Cast):
        expression = expression.this
    return expression


def _column(expression: exp.Expression) -> str | None:
    bare = _bare(expression)
    return str(bare.name).lower() if isinstance(bare, exp.Column) else None


def _constant(expression: exp.Expression) -> str | None:
    """A constant as a column's text would write it."""
    match _bare(expression):
        case exp.Literal() as literal:
            return str(literal.this)
        case exp.Boolean() as truth:
            return "true" if truth.this else "false"
        case exp.Neg(this=exp.Literal() as literal):
            return f"-{literal.this}"
    return None


def _ordered(text: str) -> Decimal | date | None:
    """A number, or a day."""
    try:
        number = Decimal(text)
        return number if number.is_finite() else None
    except InvalidOperation:
        pass
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
