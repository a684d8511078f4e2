"""From a column of any numeric type, or of text, to doubles: total on every engine."""

from typing import Any

import ibis

from discreet.table.dialect import DUCKDB, POSTGRES, Dialect

FINITE = "^ *[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]{1,4})? *$"
INFINITE = "^ *[+-]?[iI][nN][fF]([iI][nN][iI][tT][yY])? *$"
NEGATIVE = "^ *-"
LONGEST = 1000
"""Postgres reads numbers of up to 131,072 digits; a text that is longer than this is no number that somebody wrote."""


def as_double(column: Any, dialect: Dialect) -> Any:
    """The nearest double; infinite where it is beyond them, missing or NaN where there is no number."""
    kind = column.type()
    if dialect == DUCKDB:
        return column.try_cast("float64")
    if kind.is_string():
        return _parsed(column, dialect)
    if kind.is_decimal() and dialect == POSTGRES:
        return _from_numeric(column)
    return column.cast("float64")


def is_missing(value: Any) -> Any:
    """Whether there is no number. Elsewhere NaN may appear in a comparison: every engine holds it for the largest."""
    return value.isnull() | value.isnan() if value.type().is_floating() else value.isnull()


def _parsed(text: Any, dialect: Dialect) -> Any:
    """Text as a double where it is written as people write numbers: no engine's own forms, such as 1d or 0x1p3."""
    is_number = text.re_search(FINITE) & (text.length() <= LONGEST)
    finite = _from_numeric(text.cast("decimal")) if dialect == POSTGRES else text.try_cast("float64")
    infinite = text.re_search(NEGATIVE).ifelse(float("-inf"), float("inf"))
    return ibis.cases((is_number, finite), (text.re_search(INFINITE), infinite), else_=ibis.null("float64"))


def _from_numeric(number: Any) -> Any:
    """Postgres refuses to cast what is beyond the doubles, or too near to zero."""
    large, small = (ibis.literal(text).cast("decimal") for text in ("1e308", "1e-307"))
    return ibis.cases(
        (number.isnull(), ibis.null("float64")),
        ((number < small) & (number > -small), 0.0),
        ((number <= large) & (number >= -large), number.cast("float64")),
        (number < small, float("-inf")),
        (number.cast("string") == "NaN", ibis.null("float64")),
        else_=float("inf"),
    )
