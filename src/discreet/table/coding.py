"""From a column's value to its code, as an engine's expression.

Every expression is total: casts that fail give a missing value, NaN is missing, a comparison never raises. So no row
can make a query fail, and a mismatch of values is never reported: only names and types are checked.
"""

from typing import Any

import ibis
import ibis.expr.datatypes as dt

from discreet.domain.attribute import Attribute, Bins, Category, Integer
from discreet.domain.domain import Domain
from discreet.errors import DomainError, UnsupportedQuery
from discreet.query.query import grain_of


def code_column(name: str) -> str:
    """The coded table's column for an attribute: its code."""
    return f"code_{name}"


def units_column(name: str) -> str:
    """The coded table's column for a summable Bins attribute: its value, in whole grains."""
    return f"units_{name}"


def coded(table: Any, domain: Domain) -> Any:
    """The population as codes: an Ibis table with a column for each attribute, rows without a code left out."""
    columns = {}
    for attribute in domain.attributes:
        value = _value(table, attribute)
        columns[code_column(attribute.name)] = _code(value, attribute).cast(_code_type(attribute))
        if isinstance(attribute, Bins) and _summable(attribute):
            columns[units_column(attribute.name)] = _units(value, attribute)
    everyone = table.select(**columns)
    has_code = [everyone[code_column(a.name)].notnull() for a in domain.attributes if not a.total]
    return everyone.filter(has_code) if has_code else everyone


def _value(table: Any, attribute: Attribute) -> Any:
    """The column as the attribute's kind reads it: text for categories, numbers for the others."""
    if attribute.name not in table.columns:
        raise DomainError(f"the table has no column {attribute.name!r}; its columns are {', '.join(table.columns)}")
    column = table[attribute.name]
    kind = column.type()
    if isinstance(attribute, Category):
        if not (kind.is_string() or kind.is_integer() or kind.is_boolean() or kind.is_date()):
            raise DomainError(_mismatch(attribute, kind, "text, whole numbers, booleans or dates"))
        return column.cast("string")
    if kind.is_integer() and isinstance(attribute, Integer):
        return column.cast("int64") if kind.nbytes <= 8 and kind != dt.uint64 else column.try_cast("int64")
    if not (kind.is_numeric() and not kind.is_boolean()) and not kind.is_string():
        raise DomainError(_mismatch(attribute, kind, "numbers, or text that holds numbers"))
    number = column.try_cast("float64")
    return number.isnan().ifelse(ibis.null("float64"), number)


def _mismatch(attribute: Attribute, kind: Any, wanted: str) -> str:
    return f"column {attribute.name!r} is {kind}, but the domain says {attribute.kind}, which needs {wanted}"


def _code(value: Any, attribute: Attribute) -> Any:
    missing = attribute.null_code if attribute.null else attribute.other_code
    match attribute:
        case Category():
            position = value.find_in_set(list(attribute.values))
            return ibis.cases((value.isnull(), missing), (position < 0, attribute.other_code), else_=position)
        case Integer(low=low, high=high):
            return _numeric_code(value, attribute, missing, value < low, value > high, _steps(value, attribute))
        case Bins(edges=edges):
            inner = [(value < float(edge), code) for code, edge in enumerate(edges[1:-1]) if edge is not None]
            inside = ibis.cases(*inner, else_=attribute.cells - 1) if inner else ibis.literal(0)
            below = ibis.literal(False) if edges[0] is None else value < float(edges[0])
            above = ibis.literal(False) if edges[-1] is None else value >= float(edges[-1])
            return _numeric_code(value, attribute, missing, below, above, inside)
    raise DomainError(f"{attribute.name}: a kind that this version does not know")


def _numeric_code(value: Any, attribute: Attribute, missing: int | None, below: Any, above: Any, inside: Any) -> Any:
    first, last = (0, attribute.cells - 1) if attribute.outside == "clamp" else (attribute.other_code,) * 2
    return ibis.cases((value.isnull(), missing), (below, first), (above, last), else_=inside)


def _steps(value: Any, attribute: Integer) -> Any:
    """Whole steps above `low`. A number between two whole ones is outside; clamped, it goes to the lower."""
    steps = value - attribute.low
    if value.type().is_integer():
        return steps
    whole = steps.floor()
    if attribute.outside == "clamp":
        return whole
    return ibis.cases((steps != whole, attribute.other_code), else_=whole)


def _code_type(attribute: Attribute) -> str:
    """The narrowest type that every engine has and that holds the attribute's codes."""
    return "int8" if attribute.size <= 2**7 else "int16" if attribute.size <= 2**15 else "int64"


def _summable(attribute: Bins) -> bool:
    try:
        return grain_of(attribute) > 0
    except UnsupportedQuery:
        return False


def _units(value: Any, attribute: Bins) -> Any:
    """The value clamped to the declared range, in whole grains; missing and other values add nothing."""
    low, *_, high = [float(edge) for edge in attribute.edges if edge is not None]
    clamped = ibis.cases((value < low, low), (value > high, high), else_=value)
    units = (clamped / float(grain_of(attribute))).round().cast("int64")
    outside = ((value < low) | (value >= high)) & ibis.literal(attribute.outside == "other")
    return ibis.cases((value.isnull() | outside, 0), else_=units)
