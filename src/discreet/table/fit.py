"""Does a domain fit a table? What becomes of every row, exactly: for the custodian whose table it is, and nobody else.

Nothing of it is kept: it is handed to whoever called, and goes into no vault, journal, log or server. A row's code is
that of the snapshot, from the same coders; only rows that have no ordinary code are looked at again, for the reason.
"""

import math
import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.domain.attribute import Attribute, Bins, Category, Integer
from discreet.domain.date import Date
from discreet.domain.domain import Domain
from discreet.fit import ColumnFit, Fit, OddValue
from discreet.progress import Progress, silent
from discreet.table.advice import Odd, advice_on, advice_on_rounded, nearest
from discreet.table.coding import (
    Codes,
    Flags,
    Reader,
    coders,
    declared_missing,
    distinct_values,
    number_reader,
    stored_type,
)
from discreet.table.dates import period_reader
from discreet.table.source import Source, read_ahead
from discreet.table.text import as_bytes, is_text
from discreet.table.written import number_text

MOST_CELLS = 1 << 20
"""Of an attribute whose values are counted one by one, to tell which of them nobody has."""
REMEMBERED = 10_000
"""Different values without a code that are remembered of a column: those that come first."""
SHOWN = 5
UNSELECTED = {pa.string_view(): pa.large_string(), pa.float16(): pa.float32()}
"""Types of which Arrow can neither choose rows nor list values, and what they become for that."""


def fit_source(source: Source, domain: Domain, progress: Progress = silent) -> Fit:
    """Read a table once, and say what would become of its rows."""
    code, counting = coders(source.require, domain), FitCounter(domain, source)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        batches = source.read(list(domain.names), lambda share: progress("reading the table", share))
        for batch in read_ahead(batches, pool):

            def coded(name: str, batch: pa.RecordBatch = batch) -> Codes | None:
                """The codes of a column that loses rows of this batch."""
                codes = code[name](batch.column(name)).codes
                return codes if counting.add_column(name, batch.column(name), codes) else None

            losing = [codes for codes in pool.map(coded, code) if codes is not None]
            counting.add_rows(np.logical_and.reduce([np.ones(batch.num_rows, np.bool_), *(c >= 0 for c in losing)]))
    return counting.fit()


class FitCounter:
    """Counts batch after batch. Different columns of one batch may be added at the same time."""

    def __init__(self, domain: Domain, source: Source, table: str | None = None) -> None:
        self._columns = {a.name: _ColumnCounter(a, stored_type(source.require(a.name))) for a in domain.attributes}
        self._location, self._table = source.location, table
        self._growing: str | None = None
        self._rows = self._fitting = 0
        self.nameless = self.beyond_bound = self.erased = self.late = self.to_come = self.alike = 0

    def expect(self, name: str, first: int, last: int) -> None:
        """Of a table that grows, rows are expected of these periods alone."""
        self._columns[name].expect(first, last)
        self._growing = name

    def add_column(self, name: str, column: pa.Array, codes: Codes) -> bool:
        """Whether the column loses any of these rows."""
        before = self._columns[name].lost
        self._columns[name].add(column, codes)
        return self._columns[name].lost > before

    def add_rows(self, kept: Flags) -> None:
        self._rows += kept.size
        self._fitting += int(np.count_nonzero(kept))

    def fit(self) -> Fit:
        left_out = self.nameless, self.beyond_bound, self.erased, self.late, self.to_come
        empty: tuple[str, ...] = () if self._growing is None else self._columns[self._growing].empty
        columns = tuple(column.fit(self._location) for column in self._columns.values())
        return Fit(self._rows, self._fitting - sum(left_out), columns, *left_out, self.alike, self._table, empty)


@dataclass
class _ColumnCounter:
    attribute: Attribute
    kind: pa.DataType
    outside: int = 0
    missing: int = 0
    unreadable: int = 0
    rounded: int = 0
    lost: int = 0
    odd: Counter[Odd] = field(default_factory=Counter)
    _remembered: pa.Array | None = None
    """The values that `odd` counts, as the column stores them."""

    def __post_init__(self) -> None:
        counted = self.attribute.cells <= MOST_CELLS
        self._unseen = np.full(self.attribute.cells if counted else 0, True)
        self._expected = range(0)
        self._read: Reader | None = None
        if isinstance(self.attribute, Date):
            self._read = period_reader(self.attribute, self.kind)
        elif not isinstance(self.attribute, Category):
            self._read = number_reader(self.kind, self.attribute.notation)

    def expect(self, first: int, last: int) -> None:
        """That nobody has codes before and after these says nothing."""
        self._unseen[:first] = self._unseen[last + 1 :] = False
        self._expected = range(first, last + 1)

    def add(self, column: pa.Array, codes: Codes) -> None:
        if not codes.size:
            return
        if self._unseen.any():
            seen = _those_in(codes)
            self._unseen[seen[(seen >= 0) & (seen < self.attribute.cells)]] = False
        asked = np.zeros(codes.size, np.bool_)
        if codes.min() < 0 or codes.max() >= self.attribute.cells:
            asked = (codes < 0) | (codes >= self.attribute.cells)
            self.lost += int(np.count_nonzero(codes < 0))
        if self.attribute.outside == "clamp":
            asked |= self._may_be_clamped(column, codes)
        if column.null_count:
            self.missing += column.null_count
            asked &= column.is_valid().to_numpy(zero_copy_only=False)
        if asked.any():
            if column.type in UNSELECTED:
                column = column.cast(UNSELECTED[column.type])
            self._explain(column.filter(pa.array(asked)))

    def _may_be_clamped(self, column: pa.Array, codes: Codes) -> Flags:
        """Rows whose number may lie beyond the range or between two whole ones: those that do, or, where reading it is
        dear, all at its ends and all that are written as if they did."""
        if pa.types.is_dictionary(column.type):  # each spelling is looked at once
            beyond = np.append(np.logical_or.reduce(self._reasons(column.dictionary)), False)
            return beyond.take(distinct_values(column)[1]) if beyond.any() else np.zeros(codes.size, np.bool_)
        plain = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
        if self._read is None or isinstance(self.attribute, Date) or not plain:
            at_ends = (codes == 0) | (codes == self.attribute.cells - 1)
            return np.asarray(at_ends | self._may_be_rounded(column))
        numbers, missing = self._read(column)
        return (_is_outside(self.attribute, numbers) | _is_rounded(self.attribute, numbers)) & ~missing

    def _may_be_rounded(self, column: pa.Array) -> Flags:
        """Rows that may hold a number between two whole ones: one with a decimal sign, or a negative exponent."""
        if not isinstance(self.attribute, Integer) or not (is_text(self.kind) or pa.types.is_decimal(self.kind)):
            return np.zeros(len(column), np.bool_)
        if pa.types.is_decimal(self.kind):
            return np.full(len(column), self.kind.scale > 0)
        texts = as_bytes(column)
        signs = pc.match_substring(texts, self.attribute.notation.decimal)
        found = pc.or_(signs, pc.match_substring(texts, "e-", ignore_case=True))
        return np.asarray(found.fill_null(False).to_numpy(zero_copy_only=False), np.bool_)

    def _explain(self, column: pa.Array) -> None:
        """Why these rows have no code of their own, or the code at an end of a range."""
        every, places = distinct_values(column)
        counts = np.bincount(places[places >= 0], minlength=len(every))
        values, rows = every.filter(pa.array(counts > 0)), counts[counts > 0]
        self.missing += int(rows[values.is_null().to_numpy(False)].sum())  # null by its dictionary
        missing, unreadable, outside, rounded = self._reasons(values)
        self.missing += int(rows[missing].sum())
        self.unreadable += int(rows[unreadable].sum())
        self.outside += int(rows[outside].sum())
        self.rounded += int(rows[rounded].sum())
        strange = unreadable | outside
        if strange.any():
            self._remember(values.filter(pa.array(strange)), rows[strange])

    def _remember(self, values: pa.Array, rows: NDArray[np.int64]) -> None:
        """Count rows of values without a code: of all that are remembered, and of new ones while there is room."""
        if self._remembered is None:
            self._remembered = values.slice(0, 0)
        known = pc.is_in(values, value_set=self._remembered).to_numpy(zero_copy_only=False)
        new = np.flatnonzero(~known)[: REMEMBERED - len(self._remembered)]
        self._remembered = pa.concat_arrays([self._remembered, values.take(pa.array(new))])
        for place in (*np.flatnonzero(known).tolist(), *new.tolist()):
            self.odd[_written(values[place])] += int(rows[place])

    def _reasons(self, values: pa.Array) -> tuple[Flags, Flags, Flags, Flags]:
        """Which of some distinct values are missing, not readable as numbers, outside, and rounded. Null is none."""
        there = ~values.is_null().to_numpy(False)
        dated = isinstance(self.attribute, Date)
        if dated and pa.types.is_integer(self.kind):
            values = values.cast(pa.string())
        written = is_text(values.type)
        missing = np.zeros(len(values), np.bool_)
        if written or not dated:
            missing = declared_missing(self.attribute, values.type if dated else self.kind, values) & there
        none = np.zeros(len(values), np.bool_)
        if self._read is None:
            if pa.types.is_floating(values.type):
                missing |= pc.is_nan(values).fill_null(False).to_numpy(False)
            return missing, none, there & ~missing, none
        numbers, unread = self._read(values)
        if not written:
            missing |= unread & there
        unreadable = unread & there & ~missing
        read, outside = there & ~missing & ~unreadable, _is_outside(self.attribute, numbers)
        return missing, unreadable, read & outside, read & ~outside & _is_rounded(self.attribute, numbers)

    @property
    def empty(self) -> tuple[str, ...]:
        """What of the expected nobody has."""
        return tuple(self.attribute.label(code) for code in self._expected if self._unseen[code])

    def fit(self, location: str) -> ColumnFit:
        attribute = self.attribute
        if isinstance(attribute, Date) and attribute.grows:  # up to its high, later rows are yet to come
            seen = np.flatnonzero(~self._unseen)
            self._unseen[seen[-1] + 1 if seen.size else 0 :] = False
        nobody = np.flatnonzero(self._unseen)
        written = attribute.values if isinstance(attribute, Category) else ()
        has_utf8 = any(not text.isascii() for text, unseen in zip(written, self._unseen, strict=False) if not unseen)
        frequent = [(odd, rows) for odd, rows in self.odd.most_common(SHOWN)]
        return ColumnFit(
            attribute.name,
            self.outside,
            self.missing,
            self.unreadable,
            self.rounded,
            self.lost,
            {"drop": "left out", "clamp": "clamped", "other": "(other)"}[attribute.outside],
            "(missing)" if attribute.null else "(other)" if attribute.outside == "other" else "left out",
            nobody.size,
            tuple(attribute.label(code) for code in nobody[:SHOWN].tolist()),
            tuple(OddValue(odd.text, rows, nearest(attribute, odd)) for odd, rows in frequent),
            (*advice_on(attribute, self.odd, location, self.missing, has_utf8), *advice_on_rounded(self.rounded)),
        )


def _those_in(codes: Codes) -> Codes:
    """The distinct codes among some; those of one byte are looked at in pairs, which takes half the time."""
    if codes.itemsize > 1:
        return np.unique(codes)
    pairs = np.bincount(codes[: codes.size // 2 * 2].view(np.uint16), minlength=1 << 16).reshape(256, 256)
    there: Flags = np.any(pairs, axis=0) | np.any(pairs, axis=1)
    there[codes[-1:].view(np.uint8)] = True
    return np.flatnonzero(there).astype(np.uint8).view(codes.dtype)


def _is_outside(attribute: Attribute, numbers: NDArray[Any]) -> Flags:
    if isinstance(attribute, Date):
        return np.asarray((numbers < 0) | (numbers >= attribute.cells))
    if isinstance(attribute, Integer):
        beyond = (numbers < attribute.low) | (numbers > attribute.high)
        between = numbers.dtype.kind == "f" and attribute.outside != "clamp"
        return np.asarray(beyond | (numbers != np.floor(numbers)) if between else beyond)
    assert isinstance(attribute, Bins)
    outside = np.zeros(numbers.size, np.bool_)
    low, high = (None if edge is None else float(edge) for edge in (attribute.edges[0], attribute.edges[-1]))
    if numbers.dtype.kind != "f":  # compared as what they are: making doubles of them would take longer
        low, high = (None if edge is None else math.ceil(edge) for edge in (low, high))
    if low is not None:
        outside |= numbers < low
    if high is not None:
        outside |= numbers >= high
    return outside


def _is_rounded(attribute: Attribute, numbers: NDArray[Any]) -> Flags:
    """Which numbers go to the whole one below them."""
    if not isinstance(attribute, Integer) or attribute.outside != "clamp" or numbers.dtype.kind != "f":
        return np.zeros(numbers.size, np.bool_)
    return np.asarray(numbers != np.floor(numbers))


def _written(value: pa.Scalar) -> Odd:
    """A value as the bytes that a file would have."""
    if is_text(value.type):
        return Odd(value.as_buffer().to_pybytes())
    try:
        number = value.as_py()
        text = (number_text(number) or "nan") if isinstance(number, float | Decimal) else str(number)
    except (OverflowError, ValueError):  # a date that Python has no calendar for
        text = str(value.value)
    return Odd((text.lower() if pa.types.is_boolean(value.type) else text).encode())
