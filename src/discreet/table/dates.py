"""From dates, times and texts that hold them to the codes of periods: total, and alike for every source.

No row is converted to a calendar: the days and moments at which periods begin are known, and a row lies between two.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.domain.date import Date
from discreet.table.text import as_bytes, is_text

Flags = NDArray[np.bool_]
Read = tuple[NDArray[np.int64], Flags]
"""The place of each row's period, -1 before all of them and `cells` behind, and which rows have no date at all."""
UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def is_dated(kind: pa.DataType) -> bool:
    """Whether a column of this type can be coded as dates."""
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind) or is_text(kind) or pa.types.is_integer(kind))


def may_have_moments(kind: pa.DataType) -> bool:
    """Whether values of a column may say when they are, and not the day alone."""
    return is_text(kind) or (pa.types.is_timestamp(kind) and kind.tz is not None)


def period_reader(attribute: Date, kind: pa.DataType) -> Callable[[pa.Array], Read]:
    """Reads a column of dates, of moments, or of texts and numbers written as the attribute says."""
    days = np.array(attribute.edges_in_days, np.int64)
    moments = np.array(attribute.edges_in_seconds if may_have_moments(kind) else (), np.int64)
    gone = np.array(attribute.missing_days, np.int64)
    gone_moments = [(attribute.moment_of(day), attribute.moment_of(day + 1)) for day in attribute.missing_days]

    def by_day(day: NDArray[np.int64], missing: Flags) -> Read:
        return np.searchsorted(days, day, side="right") - 1, missing | np.isin(day, gone)

    def dated(column: pa.Array) -> Read:
        numbers, missing = _whole(column.cast(pa.int32()) if pa.types.is_date32(kind) else column.cast(pa.int64()))
        return by_day(numbers if pa.types.is_date32(kind) else numbers // 86_400_000, missing)

    def timed(column: pa.Array) -> Read:
        numbers, missing = _whole(column.cast(pa.int64()))
        seconds = numbers // UNITS[kind.unit]
        if kind.tz is None:
            return by_day(seconds // 86_400, missing)
        for first, behind in gone_moments:
            missing = missing | ((seconds >= first) & (seconds < behind))
        return np.searchsorted(moments, seconds, side="right") - 1, missing

    def written(column: pa.Array) -> Read:
        found = [_place(attribute, text, days, moments) for text in as_bytes(column).to_pylist()]
        missing = np.array([place is None for place in found], np.bool_)
        return np.array([0 if place is None else place for place in found], np.int64), missing

    if is_text(kind) or pa.types.is_integer(kind):
        return written
    return dated if pa.types.is_date(kind) else timed


def _place(attribute: Date, text: bytes | None, days: NDArray[np.int64], moments: NDArray[np.int64]) -> int | None:
    """The place of the period that a text names a day or a moment of; None where it is missing, or no date."""
    if text is None:
        return None
    text = attribute.notation.folded(text)
    if text.decode(errors="replace") in attribute.notation.missing:
        return None
    day = attribute.day_in(text)
    if day is None or day in attribute.missing_days:
        return None
    edges = days if isinstance(day, int) else moments
    return int(np.searchsorted(edges, day, side="right")) - 1


def _whole(column: pa.Array) -> tuple[NDArray[np.int64], Flags]:
    missing: NDArray[Any] = column.is_null().to_numpy(zero_copy_only=False)
    return column.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64), missing
