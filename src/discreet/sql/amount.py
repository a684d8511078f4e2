"""Expressions of GROUP BY and inside aggregates: syntax tree → the public table of codes that measures it."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import product
from math import comb, floor, lcm, log10, prod
from typing import Any

import numpy as np
from sqlglot import exp

from discreet.domain.attribute import Attribute, Bins, Integer
from discreet.domain.domain import Domain
from discreet.errors import UnsupportedQuery
from discreet.exact import number_text
from discreet.query.cells import LARGEST, Amount, CellTable, Ints, Labelling, joined
from discreet.query.query import grain_of, grains_of
from discreet.sql.beside import by_equalities
from discreet.sql.condition import AllOf, AnyOf, Condition
from discreet.sql.expression import ClassValues, require_scalar
from discreet.sql.passes.tree import with_parts
from discreet.sql.polynomial import Polynomial, Powers, has_bins, read_polynomial
from discreet.sql.scope import DerivedColumn, Scope
from discreet.sql.syntax import OWN, place_of
from discreet.sql.where import cells_where, is_ordinary, value_of

DECIMALS = 6
"""Amounts that are whole in at most so many decimals, or …"""
DIGITS = 7
"""… have at most so many digits are summed exactly; others to so many digits of the largest."""
ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Neg, exp.Paren)
SLACK = Fraction(1, 2**46)
"""How far a double may be from the number that it stands for, as a share of it."""
DENOMINATORS = 10**6
"""A factor of bins that is a double is taken for a fraction n/d, up to such d (of small ones: n), that is that near."""
SMALLEST = Fraction(sys.float_info.min)
"""A grain is a double too."""
WRITTEN = 12
"""… or for a decimal of so many digits."""
PRESENT = f"{OWN}present_"
"""Before the name of a column in bins: 1 where it has a value, and NULL elsewhere."""
THE_SAME = "each person adds the same; write 2 * COUNT(*) for SUM(2), or add up a column of the SELECT by person"


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
    require_scalar(node)
    if node.find(exp.Column) is None:
        raise UnsupportedQuery(f"GROUP BY takes columns and expressions of them{place_of(node)}; this has no column")
    found = value_of(node, scope)
    values: list[Any] = found.values
    if any(isinstance(value, list | dict) for value in values):
        raise UnsupportedQuery(f"GROUP BY takes single values{place_of(node)}; group by a, b instead of (a, b)")
    distinct = sorted({value for value in values if value is not None})
    codes = {value: code for code, value in enumerate(distinct)}
    numbers = [len(distinct) if value is None else codes[value] for value in values]
    named: list[object] = [*distinct, None] if None in values else list(distinct)
    table = table_of(found, np.array(numbers, np.int64), scope)
    return Labelling(expression_text(node, scope), table, tuple(named)), found.notes


def table_of(found: ClassValues, numbers: Ints, scope: Scope) -> CellTable:
    if not scope.domain.attributes:
        raise UnsupportedQuery(THE_SAME)
    if not found.axes:
        first = scope.domain.attributes[0]
        return CellTable((first.name,), (np.zeros(first.size, np.int64),), numbers.reshape(1))
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

    def ordinary(inner: exp.Expression) -> bool:
        return is_ordinary(inner, scope)

    require_scalar(node)
    if has_bins(node, scope, ordinary):
        node = _by_equalities(node, scope)
        return _of_bins(node, read_polynomial(node, scope, ordinary), scope)
    found = _number(node, scope)
    numbers = [None if value is None else Fraction(value) for value in found.values]
    grain, notes = _grain([number for number in numbers if number is not None], node)
    whole = _whole(numbers, grain, node).reshape(found.shape)
    amount = Amount(expression_text(node, scope), table_of(found, whole, scope), grain)
    adding = np.unique(whole[whole != 0]).tolist()
    value = adding[0] * grain if len(adding) == 1 else None
    return ReadAmount(
        amount=amount,
        present=_condition(found, found.present),
        adds=_condition(found, whole != 0),
        times=int(value) if value is not None and value.denominator == 1 else 0 if not adding else None,
        column=_column(found, whole, grain, scope),
        notes=(*found.notes, *notes),
    )


def read_present(node: exp.Expression, scope: Scope) -> tuple[Condition, tuple[str, ...]]:
    """Where an expression has a value, of whatever kind, and notes."""

    def ordinary(inner: exp.Expression) -> bool:
        return is_ordinary(inner, scope)

    require_scalar(node)
    if has_bins(node, scope, ordinary):
        node = _by_equalities(node, scope)
        try:
            read_polynomial(node, scope, ordinary)
        except UnsupportedQuery:
            pass  # of other functions of bins the engine may tell where they have a value
        else:
            found = _filled(node, scope)
            return _condition(found, found.present), found.notes
    found = value_of(node, scope)
    return cells_where(found, found.present), found.notes


def _by_equalities(node: exp.Expression, scope: Scope) -> exp.Expression:
    """NULLIF and the like of columns in bins as comparisons of them."""

    def bins(column: exp.Column) -> Attribute | None:
        attribute = None if scope.derived_of(column) is not None else scope.attribute(column)
        return attribute if isinstance(attribute, Bins) else None

    return by_equalities(node, bins)


def _number(node: exp.Expression, scope: Scope) -> ClassValues:
    found = value_of(node, scope, exactly=True)
    if not found.is_numeric:
        raise UnsupportedQuery(f"only numbers can be summed{place_of(node)}; this is a text or a date")
    return found


def _whole(numbers: Sequence[Fraction | None], grain: Fraction, node: exp.Expression) -> Ints:
    grains = [0 if number is None else round(number / grain) for number in numbers]
    if max(map(abs, grains), default=0) >= LARGEST:
        raise _too_large(node)
    return np.array(grains, np.int64)


def _condition(found: ClassValues, held: Any) -> Condition:
    return _everywhere(held) if held.all() or not held.any() else cells_where(found, held)


def _of_bins(node: exp.Expression, polynomial: Polynomial, scope: Scope) -> ReadAmount:
    """A sum of products of columns in bins, each with a coefficient from the domain. See `Amount`."""
    domain = scope.domain
    parts = {power: _number(_wide(part), scope) for power, part in polynomial.terms.items()}
    whole, grain, notes = _in_grains(parts, node, domain)
    tables = {power: table_of(found, whole[power].reshape(found.shape), scope) for power, found in parts.items()}
    used = {power: table for power, table in tables.items() if power and table.table.any()}
    constant = tables.get((), table_of(ClassValues((), (), None), np.zeros(1, np.int64), scope))
    amount = Amount(expression_text(node, scope), constant, grain)
    if used:
        ends = ends_of(constant, used, domain)
        if ends is None:
            raise _too_large(node)
        amount = replace(amount, terms=tuple(used.items()), low=ends[0], high=ends[1])
    filled = _filled(node, scope)
    _require_coefficients(filled, parts, scope, node)
    present = _condition(filled, filled.present)
    column, adds = _one_column(tables, parts, grain, scope)
    return ReadAmount(
        amount=amount,
        present=present,
        adds=AllOf((present, adds)),
        times=None,
        column=column,
        notes=(*(note for found in parts.values() for note in found.notes), *notes),
    )


def _filled(node: exp.Expression, scope: Scope) -> ClassValues:
    """A polynomial of bins with 1 for every bin, and NULL for missing ones: it has a value where the polynomial has."""
    columns: dict[str, DerivedColumn] = {}

    def filled(inner: exp.Expression) -> exp.Expression:
        if is_ordinary(inner.unnest(), scope):
            return inner
        if not isinstance(inner, exp.Column):
            return with_parts(inner, filled)
        attribute = None if scope.derived_of(inner) is not None else scope.attribute(inner)
        if not isinstance(attribute, Bins):
            return inner
        name = f"{PRESENT}{attribute.name}".lower()
        beyond = [None] * (attribute.size - attribute.cells)
        columns[name] = DerivedColumn(name, scope.axis(inner), (*[1.0] * attribute.cells, *beyond))
        return exp.column(exp.to_identifier(name, quoted=True))

    whole = filled(node)
    return _number(whole, replace(scope, derived={**scope.derived, **columns}))


def _require_coefficients(
    found: ClassValues, parts: Mapping[Powers, ClassValues], scope: Scope, node: exp.Expression
) -> None:
    """Refuse an expression that has a value where a coefficient of it has none: one that leaves 64 bits by itself."""
    tables = [table_of(one, one.present.astype(np.int64), scope) for one in (found, *parts.values())]
    if joined(lambda whole, *each: whole * (1 - reduce(np.multiply, each)), *tables).table.any():
        raise _too_large(node)


def _too_large(node: exp.Expression) -> UnsupportedQuery:
    return UnsupportedQuery(f"the values of this expression are too large to be summed{place_of(node)}")


def _in_grains(
    parts: Mapping[Powers, ClassValues], node: exp.Expression, domain: Domain
) -> tuple[dict[Powers, Ints], Fraction, list[str]]:
    """The coefficients of products of bins, in whole grains, that grain, and notes.

    A coefficient that is off by δ makes a row's amount wrong by up to δ times the largest product of its bins. So the
    grain is one in which all of them are whole, be it 1/700; where there is none, it is as fine as it takes for a
    row's amount to be right in DIGITS digits of the largest.
    """
    units = {power: prod((grain_of(domain[name]) for name in power), start=Fraction(1)) for power in parts}
    most = {power: prod(_most_grains(domain[name]) for name in power) for power in parts}
    given = {power: [Fraction(value or 0) for value in found.values] for power, found in parts.items()}
    sizes = [units[power] * most[power] * max(map(abs, values)) for power, values in given.items()]
    size = sum(sizes, start=Fraction(0))
    near = {power: list(map(_fraction, values)) for power, values in given.items()}
    grain, notes = _common(given, near, units), []
    if grain is None or size / grain >= LARGEST:
        last = _last_digit(size)
        rounded = Fraction(10) ** floor(log10(last / sum(most.values())))
        if size / rounded < LARGEST:
            grain, near = rounded, given
            within = number_text(last / 2)
            notes = [f"{node.sql('duckdb')} is rounded: the value that a row adds is within {within} of its own"]
    if grain is None:
        text = f"factors of columns in bins have too many digits to be summed{place_of(node)}"
        raise UnsupportedQuery(f"{text}; round them")
    whole = {power: _whole([value * units[power] for value in values], grain, node) for power, values in near.items()}
    return whole, grain, notes


def _common(
    given: Mapping[Powers, Sequence[Fraction]],
    near: Mapping[Powers, Sequence[Fraction]],
    units: Mapping[Powers, Fraction],
) -> Fraction | None:
    """The grain in which all coefficients are whole, a power of 10 where that is possible; None where there is none."""
    denominator = 1
    for power, unit in units.items():
        for value, fraction in set(zip(given[power], near[power], strict=True)):
            if not _is_near(fraction, value):
                return None
            denominator = lcm(denominator, (fraction * unit).denominator)
            if denominator >= LARGEST:
                return None
    tenths = next((10**places for places in range(len(str(LARGEST))) if 10**places % denominator == 0), denominator)
    return Fraction(1, tenths)


@lru_cache(maxsize=1 << 16)
def _fraction(value: Fraction) -> Fraction:
    """The fraction or the decimal of few digits that a double stands for, where there is one."""
    small = 0 < abs(value) < 1
    near = 1 / (1 / value).limit_denominator(DENOMINATORS) if small else value.limit_denominator(DENOMINATORS)
    return near if _is_near(near, value) else Fraction(f"{float(value):.{WRITTEN}g}")


def _is_near(one: Fraction, other: Fraction) -> bool:
    return abs(one - other) <= SLACK * abs(other)


def _most_grains(attribute: Attribute) -> int:
    return max(abs(int(end)) for table in _ranges(attribute) for end in (table.table.min(), table.table.max()))


def _wide(node: exp.Expression) -> exp.Expression:
    """The same with whole numbers that are added and multiplied in 64 bits."""

    def widened(part: exp.Expression) -> exp.Expression:
        is_whole = isinstance(part, exp.Literal) and not part.is_string and part.this.isdigit()
        return exp.cast(part, "BIGINT") if is_whole and isinstance(part.parent, ARITHMETIC) else part

    return node.transform(widened)


def _one_column(
    tables: Mapping[Powers, CellTable], parts: Mapping[Powers, ClassValues], grain: Fraction, scope: Scope
) -> tuple[str | None, Condition]:
    """The one column in bins whose own value it is that rows add, or nothing; and where they do."""
    used = [power for power, table in tables.items() if table.table.any()]
    if len(used) != 1 or len(used[0]) != 1:
        return None, AllOf(())
    [power] = used
    share = grain_of(scope.domain[power[0]]) / grain
    if not set(np.unique(tables[power].table).tolist()) <= {0, int(share)} or share.denominator != 1:
        return None, AllOf(())
    found = parts[power]
    return power[0], _condition(found, np.array([bool(value) for value in found.values]).reshape(found.shape))


def ends_of(
    constant: CellTable, terms: Mapping[Powers, CellTable], domain: Domain
) -> tuple[CellTable, CellTable] | None:
    """The least and the most grains that a row of each cell can add: the sharper of two enclosures. None where one of
    them is not below LARGEST.

    Term by term, each is between its coefficient times the least and the greatest product of its bins. And around the
    middle m of a bin of half-width h: the polynomial of (x − m) is within Σ |coefficient| h^k of its constant, which is
    exact for products and squares of differences.
    """
    names = sorted({name for power in terms for name in power})
    ranges = [_ranges(domain[name]) for name in names]
    tables = [constant, *terms.values(), *(table for of_name in ranges for table in of_name)]
    powers = [tuple(power.count(name) for name in names) for power in terms]

    def enclosed(*grids: Ints) -> tuple[Any, Any]:
        # In doubled units the middle of a bin is whole; Python's integers do not overflow.
        whole = [grid.astype(object) for grid in grids]
        base, coefficients, spans = whole[0], whole[1 : 1 + len(powers)], whole[1 + len(powers) :]
        low = high = base
        for coefficient, power in zip(coefficients, powers, strict=True):
            ends: list[Any] = [coefficient]
            for place, exponent in enumerate(power):
                for _ in range(exponent):
                    ends = [end * spans[2 * place + side] for end in ends for side in (0, 1)]
            low = low + reduce(np.minimum, ends)
            high = high + reduce(np.maximum, ends)
        middle, rest = _around(base, coefficients, powers, spans)
        degree = 2 ** max(sum(power) for power in powers)
        return np.maximum(low, -((rest - middle) // degree)), np.minimum(high, -((-middle - rest) // degree))

    def clipped(end: Any) -> Ints:
        whole: Ints = np.clip(end, -LARGEST, LARGEST).astype(np.int64)
        return whole

    low = joined(lambda *grids: clipped(enclosed(*grids)[0]), *tables)
    high = joined(lambda *grids: clipped(enclosed(*grids)[1]), *tables)
    return (low, high) if low.table.min() > -LARGEST and high.table.max() < LARGEST else None


def _around(base: Any, coefficients: Sequence[Any], powers: Sequence[tuple[int, ...]], spans: Sequence[Any]) -> Any:
    """The polynomial at the middle of the bins, and the most that it differs from that: both times 2^degree."""
    degree = max(sum(power) for power in powers)
    middles = [spans[2 * place] + spans[2 * place + 1] for place in range(len(powers[0]))]
    halves = [spans[2 * place + 1] - spans[2 * place] for place in range(len(powers[0]))]
    shifted: dict[tuple[int, ...], Any] = {}
    for coefficient, power in zip(coefficients, powers, strict=True):
        scaled = coefficient * 2 ** (degree - sum(power))
        for chosen in product(*(range(exponent + 1) for exponent in power)):
            part = scaled
            for place, (exponent, kept) in enumerate(zip(power, chosen, strict=True)):
                part = part * comb(exponent, kept) * middles[place] ** (exponent - kept)
            shifted[chosen] = shifted.get(chosen, 0) + part
    zero = (0,) * len(powers[0])
    middle = shifted.pop(zero, 0) + base * 2**degree
    rest = 0
    for chosen, part in shifted.items():
        for place, kept in enumerate(chosen):
            part = part * halves[place] ** kept
        rest = rest + abs(part)
    return middle, rest


def _ranges(attribute: Attribute) -> tuple[CellTable, CellTable]:
    """The least and the most grains of a row in each bin; of missing and other values, none."""
    assert isinstance(attribute, Bins)
    edges = [grains_of(edge, attribute) for edge in attribute.edges]
    beyond = [0] * (attribute.size - attribute.cells)
    own = np.arange(attribute.size, dtype=np.int64)
    tables = (np.array([*part, *beyond], np.int64) for part in (edges[:-1], edges[1:]))
    low, high = (CellTable((attribute.name,), (own,), table) for table in tables)
    return low, high


def _everywhere(held: Any) -> Condition:
    return AllOf(()) if held.all() else AnyOf(())


def _column(found: ClassValues, whole: Ints, grain: Fraction, scope: Scope) -> str | None:
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


def _grain(numbers: Sequence[Fraction], node: exp.Expression) -> tuple[Fraction, list[str]]:
    """The unit in which all numbers are whole, as far as doubles can say; else one that is fine enough, with a note."""
    if all(number.denominator == 1 for number in numbers):
        return Fraction(1), []
    last = _last_digit(max(max(numbers), -min(numbers)))
    if last < SMALLEST:
        raise UnsupportedQuery(f"the values of this expression are too small to be summed{place_of(node)}")
    for decimals in range(1, max(DECIMALS, len(str(last.denominator)) - 1) + 1):
        unit = Fraction(1, 10**decimals)
        if all(_is_near(round(number / unit) * unit, number) for number in numbers):
            return unit, []
    return last, [f"{node.sql('duckdb')} is rounded to {number_text(last)} before it is summed"]


def _last_digit(largest: Fraction) -> Fraction:
    """The unit of the last of DIGITS digits of a number, and at most 1."""
    return Fraction(10) ** min(floor(log10(largest)) + 1 - DIGITS, 0)
