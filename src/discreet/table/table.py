"""The sensitive rows. Only the gate reads them; the vault opens them.

The engine does the work: it codes, filters, groups and sums; what comes back is exact and as large as the answer.
"""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import duckdb
import ibis
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.domain.attribute import Integer
from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.errors import EngineError, TableError
from discreet.query.query import Count, Sum, answer_shape
from discreet.table.coding import code_column, coded, units_column
from discreet.table.open import SOURCE, Source, open_source

COPY_LIMIT = 1 << 30
"""Codes are kept in memory, from the second read on, where they take at most this many bytes."""
SHARED_SCAN_CELLS = 1 << 26
"""Several marginals come from one GROUP BY over all their attributes where that has at most this many cells."""
SATURATION = 1 << 62
"""Sums are clamped to ±2^62. Clamping moves no two tables further apart, so the sensitivity stays what it was."""

Array = NDArray[np.int64]
Measured = Count | Sum


def open_table(table: object, domain: Domain) -> "Table":
    """Open a path or a frame as the population that a domain describes; names and types must match."""
    source = open_source(table)
    return Table(source, domain, f"({ibis.to_sql(coded(source.rows, domain), dialect='duckdb')})")


@dataclass
class Table:
    """A population in codes. Every answer is exact: whoever holds a Table holds the data."""

    source: Source
    domain: Domain
    _coded: str
    _reads: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _verified: object = None

    def verify(self, fingerprint: str, key: bytes) -> None:
        """Raise unless the rows are those that the fingerprint was taken of; cheap while nothing was touched."""
        stamp = (fingerprint, self.source.stamp())
        if self._verified != stamp:
            if self.source.fingerprint(key) != fingerprint:
                raise TableError(
                    "the table has changed since the vault was made; put the old one back, "
                    "or accept the new one with `discreet refresh`, which keeps all spending"
                )
            self._verified = stamp

    def evaluate(self, queries: Sequence[Measured]) -> list[Array]:
        """The exact answers: one engine query for each distinct grouping, or one for all where they share a scan."""
        relation = self._relation()
        marginals = {query.by for query in queries if self._is_marginal(query)}
        shared = tuple(name for name in self.domain.names if any(name in by for by in marginals))
        if len(marginals) > 1 and prod(self.domain[name].size for name in shared) <= SHARED_SCAN_CELLS:
            return self._evaluate_shared(queries, shared, relation)
        answers: dict[int, Array] = {}
        for by in dict.fromkeys(query.by for query in queries):
            positions = [i for i, query in enumerate(queries) if query.by == by]
            arrays = self._grouped([queries[i] for i in positions], by, relation)
            answers.update(zip(positions, arrays, strict=True))
        return [answers[i] for i in range(len(queries))]

    def codes(self, batch_rows: int = 1 << 20) -> Iterator[pa.RecordBatch]:
        """The codes of every row, a column an attribute, in batches of bounded size: for counting natively."""
        columns = ", ".join(f"{_name(code_column(name))} AS {_name(name)}" for name in self.domain.names)
        try:
            with self.source.connection.cursor() as cursor:
                yield from cursor.sql(f"SELECT {columns} FROM {self._relation()}").to_arrow_reader(batch_rows)
        except duckdb.Error:
            raise _failed() from None

    def _is_marginal(self, query: Measured) -> bool:
        return isinstance(query, Count) and bool(query.by) and query.where == self.domain.everything

    def _evaluate_shared(self, queries: Sequence[Measured], shared: tuple[str, ...], relation: str) -> list[Array]:
        """Marginals rolled up from the finest one, each from the smallest that is already there."""
        [base] = self._grouped([Count(self.domain.everything, shared)], shared, relation)
        made = {shared: base}
        wanted = {query.by for query in queries if self._is_marginal(query)}
        for by in sorted(wanted, key=len, reverse=True):
            ordered = tuple(name for name in shared if name in by)
            finer = min((have for have in made if set(ordered) <= set(have)), key=lambda have: made[have].size)
            if ordered not in made:
                gone = tuple(axis for axis, name in enumerate(finer) if name not in ordered)
                made[ordered] = made[finer].sum(axis=gone)
        others = [query for query in queries if not self._is_marginal(query)]
        rest = iter(self.evaluate(others) if others else [])
        return [_reorder(made, query.by) if self._is_marginal(query) else next(rest) for query in queries]

    def _grouped(self, queries: Sequence[Measured], by: tuple[str, ...], relation: str) -> list[Array]:
        """One SELECT for queries with the same grouping; empty groups are there, as zeros."""
        shape = answer_shape(queries[0], self.domain)
        alike = all(query.where == queries[0].where for query in queries)
        common = f" WHERE {self._condition(queries[0].where)}" if alike else ""
        aggregates = ", ".join(self._aggregate(query, filtered=not alike) for query in queries)
        if not by:
            rows = self._run(f"SELECT {aggregates} FROM {relation}{common}")
            return [column.astype(np.int64).reshape(()) for column in rows]
        key = " + ".join(f"{prod(shape[i + 1 :])}::BIGINT * {_name(code_column(name))}" for i, name in enumerate(by))
        rows = self._run(f"SELECT {key} AS key, {aggregates} FROM {relation}{common} GROUP BY key")
        cells, *columns = rows
        answers = []
        for column in columns:
            dense = np.zeros(prod(shape), np.int64)
            dense[cells] = column
            answers.append(dense.reshape(shape))
        return answers

    def _aggregate(self, query: Measured, filtered: bool) -> str:
        only = f" FILTER (WHERE {self._condition(query.where)})" if filtered else ""
        match query:
            case Count():
                return f"COUNT(*){only}"
            case Sum():
                total = f"COALESCE(SUM({self._summand(query.of)}){only}, 0)"
                return f"CAST(GREATEST(LEAST({total}, {SATURATION}), -{SATURATION}) AS BIGINT)"

    def _summand(self, name: str) -> str:
        """What a row adds to a sum, in whole grains."""
        attribute = self.domain[name]
        if not isinstance(attribute, Integer):
            return _name(units_column(name))
        code = f"{_name(code_column(name))}::BIGINT"
        value = f"{code} + {attribute.low}"
        return (
            value
            if attribute.size == attribute.cells
            else f"CASE WHEN {code} < {attribute.cells} THEN {value} ELSE 0 END"
        )

    def _condition(self, region: Region) -> str:
        if not region:
            return "FALSE"
        return " OR ".join(f"({self._inside(box)})" for box in region.boxes)

    def _inside(self, box: Box) -> str:
        """The rows of a box; axes that it covers whole are not mentioned, so their columns are not read."""
        bounds = [
            f"{_name(code_column(attribute.name))} BETWEEN {low} AND {high}"
            for attribute, low, high in zip(self.domain.attributes, box.low, box.high, strict=True)
            if (low, high) != (0, attribute.size - 1)
        ]
        return " AND ".join(bounds) or "TRUE"

    def _relation(self) -> str:
        """Where to read codes from: computed on the fly the first time, kept in memory from the second read on."""
        with self._lock:
            self._reads += 1
            if self._reads == 2 and self._rows() * self._row_bytes() <= COPY_LIMIT:
                self._run(f"CREATE TABLE codes AS SELECT * FROM {self._coded} AS computed")
                self._coded = "codes"
        return self._coded if self._coded == "codes" else f"{self._coded} AS computed"

    def _rows(self) -> int:
        [[rows]] = self._run(f"SELECT COUNT(*) FROM {SOURCE}")
        return int(rows)

    def _row_bytes(self) -> int:
        widths = (1 if a.size <= 2**7 else 2 if a.size <= 2**15 else 8 for a in self.domain.attributes)
        return sum(widths) + 8 * sum(not isinstance(a, Integer) for a in self.domain.attributes)

    def _run(self, sql: str) -> list[NDArray[Any]]:
        """Run one statement to its end. The engine's own words never leave: they may quote a row."""
        try:
            with self.source.connection.cursor() as cursor:
                return [np.asarray(column) for column in cursor.execute(sql).fetchnumpy().values()]
        except duckdb.Error:
            raise _failed() from None


def _name(column: str) -> str:
    escaped = column.replace('"', '""')
    return f'"{escaped}"'


def _failed() -> EngineError:
    return EngineError("the engine failed; the charge stands and can be completed: `discreet ledger complete`")


def _reorder(made: dict[tuple[str, ...], Array], by: tuple[str, ...]) -> Array:
    have = next(names for names in made if sorted(names) == sorted(by))
    return made[have].transpose([have.index(name) for name in by])
