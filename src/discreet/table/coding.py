"""From a column's value to its code, as an engine's expression.

Every expression is total on every engine: casts that fail give a missing value, NaN is missing, a comparison never
raises. So no row can make a query fail, and a mismatch of values is never reported: only names and types are checked.
"""

from collections.abc import Sequence
from typing import Any

import ibis
import ibis.expr.datatypes as dt

from discreet.domain.attribute import Attribute, Bins, Category, Integer
from discreet.domain.domain import Domain
from discreet.errors import DomainError, UnsupportedQuery
from discreet.query.query import grain_of
from discreet.table.dialect import Dialect
from discreet.table.number import as_double, is_missing

PEOPLE = "people"


def code_column(name: str) -> str:
    """The coded table's column for an attribute: its code."""
    return f"code_{name}"


def units_column(name: str) -> str:
    """The coded table's column for a summable Bins attribute: its value, in whole grains."""
    return f"units_{name}"


def coded(table: Any, domain: Domain, dialect: Dialect, **also: Any) -> Any:
    """The population as codes: an Ibis table with a column for each attribute, rows without a code left out.

    `also` are further columns, by the names that they get.
    """
    columns = dict(also)
    for attribute in domain.attributes:
        value = _value(_column(table, attribute), attribute, dialect)
        columns[code_column(attribute.name)] = _code(value, attribute, dialect).cast(_code_type(attribute))
        if isinstance(attribute, Bins) and _summable(attribute):
            columns[units_column(attribute.name)] = _units(value, attribute)
    return _population(table.select(**columns), domain.attributes)


def counted(table: Any, domain: Domain, names: Sequence[str], dialect: Dialect) -> Any:
    """The same population as bags: codes of these attributes, and how many rows have them in the column PEOPLE.

    Columns that store one value for each code, or nearly so, are grouped as they are and their groups coded: an engine
    without vectors codes a row more slowly than it counts it. A bag may be in several pieces.
    """
    attributes = [domain[name] for name in names]
    rest = [a for a in domain.attributes if a not in attributes and not a.total]
    rows = table.filter([_belongs(_column(table, a), a, dialect) for a in rest]) if rest else table
    stored = {f"stored_{a.name}": _as_stored(_column(rows, a), a, dialect) for a in attributes}
    groups = rows.group_by(**stored).aggregate(**{PEOPLE: rows.count()})
    columns = {}
    for attribute in attributes:
        code = groups[f"stored_{attribute.name}"]
        if _is_plain(table[attribute.name], attribute):
            code = _code(_value(code, attribute, dialect), attribute, dialect)
        # A condition on a code must not move before the count: it would be computed for each row.
        columns[code_column(attribute.name)] = ibis.cases((groups[PEOPLE] > 0, code.cast(_code_type(attribute))))
    return _population(groups.select(**columns, **{PEOPLE: groups[PEOPLE]}), attributes)


def _is_plain(column: Any, attribute: Attribute) -> bool:
    """Whether the column has about as many values as the attribute has codes."""
    return isinstance(attribute, Category) or (isinstance(attribute, Integer) and column.type().is_integer())


def _as_stored(column: Any, attribute: Attribute, dialect: Dialect) -> Any:
    if _is_plain(column, attribute):
        return column
    return _code(_value(column, attribute, dialect), attribute, dialect)


def _belongs(column: Any, attribute: Attribute, dialect: Dialect) -> Any:
    """Whether a row has a code, in the words that are fastest to evaluate."""
    value = _value(column, attribute, dialect)
    if isinstance(attribute, Category):
        known = value.isin(list(attribute.values))
    elif attribute.outside == "clamp":
        known = ~is_missing(value)
    elif isinstance(attribute, Integer) and value.type().is_integer():
        known = value.between(attribute.low, attribute.high)
    else:
        return _code(value, attribute, dialect).notnull()
    return known | is_missing(value) if attribute.null else known


def _population(everyone: Any, attributes: Sequence[Attribute]) -> Any:
    has_code = [everyone[code_column(a.name)].notnull() for a in attributes if not a.total]
    return everyone.filter(has_code) if has_code else everyone


def _column(table: Any, attribute: Attribute) -> Any:
    if attribute.name not in table.columns:
        raise DomainError(f"the table has no column {attribute.name!r}; its columns are {', '.join(table.columns)}")
    return table[attribute.name]


def _value(column: Any, attribute: Attribute, dialect: Dialect) -> Any:
    """The column as the attribute's kind reads it: text for categories, numbers for the others."""
    kind = column.type()
    if isinstance(attribute, Category):
        if not is_categorical(kind):
            raise DomainError(_mismatch(attribute, kind, "text, whole numbers, booleans or dates"))
        return column.cast("string")
    if kind.is_integer() and isinstance(attribute, Integer):
        return _signed(column)
    if not (kind.is_numeric() and not kind.is_boolean()) and not kind.is_string():
        raise DomainError(_mismatch(attribute, kind, "numbers, or text that holds numbers"))
    return as_double(column, dialect)


def _signed(column: Any) -> Any:
    """Whole numbers in 64 bits with a sign; those beyond are the largest, which lies outside every domain."""
    if column.type() != dt.uint64:
        return column.cast("int64")
    largest = ibis.literal(2**63 - 1, "uint64")
    return ibis.cases((column > largest, largest), else_=column).cast("int64")


def is_categorical(kind: Any) -> bool:
    """Whether a column of this type can be a category: its values have one spelling each."""
    return bool(kind.is_string() or kind.is_integer() or kind.is_boolean() or kind.is_date())


def _mismatch(attribute: Attribute, kind: Any, wanted: str) -> str:
    return f"column {attribute.name!r} is {kind}, but the domain says {attribute.kind}, which needs {wanted}"


def _code(value: Any, attribute: Attribute, dialect: Dialect) -> Any:
    missing = _constant(attribute.null_code if attribute.null else attribute.other_code)
    match attribute:
        case Category():
            position = dialect.position(value, list(attribute.values)).nullif(-1)
            code = position if attribute.other_code is None else position.fill_null(attribute.other_code)
            return ibis.cases((value.isnull(), missing), else_=code)
        case Integer(low=low, high=high):
            return _numeric_code(value, attribute, missing, value < low, value > high, _steps(value, attribute))
        case Bins(edges=edges):
            below = ibis.literal(False) if edges[0] is None else value < float(edges[0])
            above = ibis.literal(False) if edges[-1] is None else value >= float(edges[-1])
            return _numeric_code(value, attribute, missing, below, above, _bin(value, attribute))
    raise DomainError(f"{attribute.name}: a kind that this version does not know")


def _constant(code: int | None) -> Any:
    """A code that an engine reads as 64 bits; None is no code."""
    return ibis.null("int64") if code is None else ibis.literal(code, "int64")


def _numeric_code(value: Any, attribute: Attribute, missing: Any, below: Any, above: Any, inside: Any) -> Any:
    first, last = (0, attribute.cells - 1) if attribute.outside == "clamp" else (attribute.other_code,) * 2
    return ibis.cases((is_missing(value), missing), (below, _constant(first)), (above, _constant(last)), else_=inside)


def _steps(value: Any, attribute: Integer) -> Any:
    """Whole steps above `low`. A number between two whole ones is outside; clamped, it goes to the lower."""
    # Within the range first: the steps then fit their type, whether or not an engine computes them for every row.
    inside = ibis.greatest(ibis.least(value, attribute.high), attribute.low)
    if value.type().is_integer():
        return inside - attribute.low
    whole = inside.floor()
    steps = whole.cast("int64") - attribute.low
    if attribute.outside == "clamp":
        return steps
    return ibis.cases((inside != whole, _constant(attribute.other_code)), else_=steps)


def _bin(value: Any, attribute: Bins) -> Any:
    ends = enumerate(attribute.edges[1:-1])
    inner = [(value < float(edge), _constant(code)) for code, edge in ends if edge is not None]
    last = _constant(attribute.cells - 1)
    return ibis.cases(*inner, else_=last) if inner else last


def _code_type(attribute: Attribute) -> Any:
    """The narrowest type that every engine has and that holds the attribute's codes."""
    return dt.int8 if attribute.size <= 2**7 else dt.int16 if attribute.size <= 2**15 else dt.int64


def row_bytes(domain: Domain) -> int:
    """What a row takes in the coded table."""
    codes = sum(int(_code_type(attribute).nbytes) for attribute in domain.attributes)
    return codes + 8 * sum(isinstance(a, Bins) and _summable(a) for a in domain.attributes)


def _summable(attribute: Bins) -> bool:
    try:
        return grain_of(attribute) > 0
    except UnsupportedQuery:
        return False


def _units(value: Any, attribute: Bins) -> Any:
    """The value clamped to the declared range, in whole grains; missing and other values add nothing."""
    low, *_, high = [float(edge) for edge in attribute.edges if edge is not None]
    clamped = ibis.cases((value < low, low), (value > high, high), else_=value)
    units = _rounded(clamped / float(grain_of(attribute))).cast("int64")
    outside = ((value < low) | (value >= high)) & ibis.literal(attribute.outside == "other")
    return ibis.cases((is_missing(value) | outside, _constant(0)), else_=units)


def _rounded(value: Any) -> Any:
    """The nearest whole number, halves away from zero; engines' own functions differ there."""
    size = value.abs()
    whole = size.floor()
    nearest = ibis.cases((size - whole >= 0.5, whole + 1.0), else_=whole)
    return ibis.cases((value < 0.0, -nearest), else_=nearest)
