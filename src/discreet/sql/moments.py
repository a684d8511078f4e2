"""Constants that are days or moments: DATE '…', TIMESTAMP '…', and what INTERVAL and functions of dates make of them.

Beside a column of periods each is a literal: whatever a text in quotes means there, it means too.
"""

import datetime as dt

from sqlglot import exp

from discreet.errors import UnsupportedQuery
from discreet.sql.syntax import place_of

DAYS = ("date",)
MOMENTS = ("timestamp", "timestampntz", "timestamptz", "timestampltz", "datetime")
ISO_DAY = 10
"""Characters of 2026-01-31."""
NOT_CONSTANT = (exp.Column, exp.Query, exp.AggFunc, exp.Window)
PLAIN = (exp.Literal, exp.Boolean, exp.Null, exp.Neg)


def moment_text(node: exp.Expression) -> str | None:
    """A constant day or moment as a text; None where it is another expression. Raises UnsupportedQuery where it is
    none of the calendar."""
    inner = node.unnest()
    if isinstance(inner, PLAIN) or inner.find(*NOT_CONSTANT) is not None:
        return None
    if isinstance(inner, exp.Cast) and isinstance(inner.this.unnest(), exp.Literal) and inner.this.unnest().is_string:
        text = str(inner.this.unnest().this)
        if inner.to.is_type(*MOMENTS) or (inner.to.is_type(*DAYS) and len(text) <= ISO_DAY):
            return text
    return _evaluated(inner)


def _evaluated(node: exp.Expression) -> str | None:
    import pyarrow as pa

    from discreet.sql.sandbox import run  # an engine that ordinary questions do without

    try:
        found = run(exp.select(exp.alias_(node.copy(), "moment")), {}).column("moment")
    except UnsupportedQuery:
        return None  # it is refused where it is read as an expression
    if not pa.types.is_date(found.type) and not pa.types.is_timestamp(found.type):
        return None
    value = found.to_pylist()[0]
    if value is None:
        raise UnsupportedQuery(f"{node.sql('duckdb')} is no day from the year 1 to 9999{place_of(node)}")
    if isinstance(value, dt.datetime) and value.time() == dt.time():
        value = value.date()
    return str(value)
