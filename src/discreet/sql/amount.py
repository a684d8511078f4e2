"""Expressions of GROUP BY and inside aggregates: syntax tree → the public table of codes that measures it."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import floor, log10
from typing import Any

import numpy as np
from sqlglot import exp

from discreet.domain.attribute import Integer
from discreet.errors import UnsupportedQuery
from discreet.exact import number_text
from discreet.query.cells import LARGEST, Amount, CellTable, Ints, Labelling
from discreet.sql.condition import AllOf, AnyOf, Condition
from discreet.sql.expression import Evaluated
from discreet.sql.scope import Scope
from discreet.sql.syntax import place_of
from discreet.sql.where import cells_where, value_of

DECIMALS = 6
"""Amounts that are whole in at most so many decimals are summed exactly …"""
DIGITS = 7
"""… others to so many digits of the largest."""
SLACK = Fraction(1, 10**9)
"""How far a double may be from the decimal that it stands for, as a part of its last place."""


def expression_text(node: exp.Expression, scope: Scope) -> str:
    """An expression as SQL, the same however its names are written."""
    plain = node.unnest().copy()
    for column in list(plain.find_all(exp.Column)):
        if column is not plain:
            column.replace(exp.column(exp.to_identifier(scope.name_of(column))))
    if isinstance(plain, exp.Column):
        return scope.name_of(plain)
    return str(plain.sql("duckdb"))


def read_labelling(node: exp.Expression, scope: Scope) -> tuple[Labelling, tuple[str, ...]]:
    """GROUP BY of an expression: its groups, in the order of their values, and notes."""
    found = value_of(node, scope)
    values: list[Any] = found.values
    if not found.axes:
        raise UnsupportedQuery(f"GROUP BY takes columns and expressions of them{place_of(node)}; this has no column")
    distinct = sorted({value for value in values if value is not None})
    codes = {value: code for code, value in enumerate(distinct)}
    numbers = [len(distinct) if value is None else codes[value] for value in values]
    named: list[object] = [*distinct, None] if None in values else list(distinct)
    table = _table(found, np.array(numbers, np.int64), scope)
    return Labelling(expression_text(node, scope), table, tuple(named)), found.notes


def _table(found: Evaluated, numbers: Ints, scope: Scope) -> CellTable:
    names = [scope.domain.attributes[axis].name for axis in found.axes]
    return CellTable.of(names, found.classes, numbers.reshape(found.shape))


@dataclass(frozen=True)
class ReadAmount:
    """What an expression inside an aggregate adds, and where it has a value. `times` of each row in `adds`, where all
    that add anything add the same whole number; of the attribute `column`, where they add its value."""

    amount: Amount
    present: Condition
    adds: Condition
    times: int | None
    column: str | None
    notes: tuple[str, ...]


def read_amount(node: exp.Expression, scope: Scope) -> ReadAmount:
    """An expression that is summed: whole numbers of a grain, which a note tells where they were rounded to it."""
    found = value_of(node, scope, exactly=True)
    if not found.is_numeric:
        raise UnsupportedQuery(f"only numbers can be summed{place_of(node)}; this is a text or a date")
    numbers = [None if value is None else _exact(value) for value in found.values]
    grain, notes = _grain([number for number in numbers if number is not None], node)
    grains = [0 if number is None else round(number / grain) for number in numbers]
    if max(map(abs, grains), default=0) >= LARGEST:
        raise UnsupportedQuery(f"the values of this expression are too large to be summed{place_of(node)}")
    whole = np.array(grains, np.int64).reshape(found.shape)
    present = np.array([number is not None for number in numbers], np.bool_).reshape(found.shape)
    text = expression_text(node, scope)
    if found.axes:
        amount = Amount(text, _table(found, whole, scope), grain)
    else:
        first = scope.domain.attributes[0]
        amount = Amount(text, CellTable((first.name,), (np.zeros(first.size, np.int64),), whole.reshape(1)), grain)
    adding = sorted({count for count in grains if count})
    value = adding[0] * grain if len(adding) == 1 else None
    return ReadAmount(
        amount=amount,
        present=_everywhere(present) if present.all() or not present.any() else cells_where(found, present),
        adds=cells_where(found, whole != 0),
        times=int(value) if value is not None and value.denominator == 1 else 0 if not adding else None,
        column=_column(found, whole, grain, scope),
        notes=(*found.notes, *notes),
    )


def _everywhere(held: Any) -> Condition:
    return AllOf(()) if held.all() else AnyOf(())


def _column(found: Evaluated, whole: Ints, grain: Fraction, scope: Scope) -> str | None:
    """The attribute whose value it is that every row adds which adds anything."""
    for place, axis in enumerate(found.axes):
        attribute = scope.domain.attributes[axis]
        codes = np.unique(found.classes[place])
        if not isinstance(attribute, Integer) or grain != 1 or len(codes) < attribute.cells:
            continue
        of_code = np.arange(attribute.size) + attribute.low
        of_code[attribute.cells :] = 0
        values = np.zeros(len(codes), np.int64)
        values[found.classes[place]] = of_code
        spread = values.reshape([-1 if other == place else 1 for other in range(len(found.axes))])
        if bool(np.all((whole == 0) | (whole == spread))):
            return attribute.name
    return None


def _exact(value: bool | int | float | Decimal) -> Fraction:
    return Fraction(value)


def _grain(numbers: Sequence[Fraction], node: exp.Expression) -> tuple[Fraction, list[str]]:
    """The unit in which all numbers are whole, as far as doubles can say; else one that is fine enough, with a note."""
    if all(number.denominator == 1 for number in numbers):
        return Fraction(1), []
    for decimals in range(1, DECIMALS + 1):
        unit = Fraction(1, 10**decimals)
        if all(abs(number / unit - round(number / unit)) <= SLACK * max(abs(number / unit), 1) for number in numbers):
            return unit, []
    largest: Fraction = max(abs(number) for number in numbers)
    unit = Fraction(10) ** (floor(log10(largest)) + 1 - DIGITS)
    return unit, [f"{node.sql('duckdb')} is rounded to {number_text(unit)} before it is summed"]
