"""The sensitive rows. Only the gate reads them; the vault opens them.

The engine does the work: it codes, filters, groups and sums; what comes back is exact and as large as the answer.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.domain.attribute import Integer
from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.errors import EngineError, TableError
from discreet.progress import Progress, silent
from discreet.query.query import Count, SubsetCount, Sum, answer_shape
from discreet.table.bits import RosterBits
from discreet.table.coding import PEOPLE, code_column, coded, counted, row_bytes, units_column
from discreet.table.engine import Engine, Source
from discreet.table.open import SOURCE, open_source
from discreet.table.recognise import hash_rows, unreadable
from discreet.table.roster import Roster, canonical_ids, key_text
from discreet.table.running_sums import RunningSums
from discreet.table.unit import Unit, bounded, require_id, without_id
from discreet.table.watch import Told

COPY_LIMIT = 1 << 30
"""Codes are kept in memory, from the second read on, where they take at most this many bytes."""
MANY_READS = 32
"""After so many reads the running sums of a small domain are made, …"""
FEW_CELLS = 1 << 16
"""… from which answers of at most so many cells come without the engine."""
SHARED_SCAN_CELLS = 1 << 26
"""Several marginals come from one GROUP BY over all their attributes where that has at most this many cells …"""
SMALL_CELLS, SPARSER = 1 << 20, 16
"""… and is small, or not so many times larger than all of them: summing it up must not cost more than reading again."""
BAGS = 1 << 20
"""Rows are counted before they are coded, on engines that gain by it, where there are at most this many codes."""
MANY = 64
"""So many marginals that share no scan are counted natively, all in one pass over the codes …"""
STREAMED_CODES = 1 << 25
"""… of which so many are in memory at a time."""
FEW_BOXES = 32
"""A region of more boxes is summed up from a finer grouping: an engine plans long conditions in quadratic time."""
SATURATION = 1 << 62
"""Sums are clamped to ±2^62. Clamping moves no two tables further apart, so the sensitivity stays what it was."""

Array = NDArray[np.int64]
Measured = Count | Sum

BATCH_ROWS = 1 << 20


def open_table(
    table: object,
    domain: Domain,
    unit: Unit | None = None,
    key: bytes = b"",
    progress: Progress = silent,
    roster: Roster | None = None,
) -> "Table":
    """Open a location, a frame or an Ibis table as the population that a domain describes; names and types must match.

    With a unit, at most `max_rows` rows of each person are in it, chosen by the key. With a roster too, a person is a
    canonical id, and counts over subsets of the roster are answered. Whoever watches is told how far each reading has
    come, where the engine can tell.
    """
    source = open_source(table)
    engine = source.engine
    if unit is None:
        return Table(source, domain, _compiled(source.rows, domain, engine), source.rows, None, progress)
    people = source.rows
    if roster is not None:
        require_id(people, unit)
        people = people.mutate(**{unit.id: canonical_ids(people[unit.id])})
    rows = bounded(people, unit, domain.names, engine.dialect, key)
    opened = Table(source, domain, _compiled(rows, domain, engine), rows, unit, progress)
    if roster is not None:
        opened.people = RosterBits(domain, roster, _Records(engine, domain, rows, unit.id))
    return opened


def _compiled(rows: Any, domain: Domain, engine: Engine, **also: Any) -> str:
    return f"({engine.compile(coded(rows, domain, engine.dialect, **also))})"


@dataclass(frozen=True)
class _Records:
    """Reads whose row has which codes: the key of its record id, and the codes of some attributes."""

    engine: Engine
    domain: Domain
    rows: Any
    id: str

    def __call__(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        dialect = self.engine.dialect
        population = _compiled(self.rows, self.domain, self.engine, record=dialect.digest(self.rows[self.id]))
        columns = [f"{key_text(dialect, 'record')} AS record"]
        columns += [f"{dialect.name_of(code_column(name))} AS {dialect.name_of(code_column(name))}" for name in names]
        return self.engine.stream(f"SELECT {', '.join(columns)} FROM {population} AS computed", BATCH_ROWS)


@dataclass
class Table:
    """A population in codes. Every answer is exact: whoever holds a Table holds the data."""

    source: Source
    domain: Domain
    _coded: str
    _rows: Any
    unit: Unit | None = None
    """Where there is one, not every row is in it: at most so many of one person."""
    progress: Progress = silent
    people: RosterBits | None = None
    """Where there is a roster: its people's rows, for counts over subsets of it."""
    _counted: dict[tuple[str, ...], str] = field(default_factory=dict, repr=False)
    _copied: bool = False
    _sums: RunningSums | None = field(default=None, repr=False)
    _reads: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _verified: object = None

    def fingerprint(self, key: bytes) -> str:
        """A keyed hash of the rows and, where not all of them are in the population, of those that are.

        A person's rows must be the same ones in all releases: the budget is kept by region, and others would spend
        another region's. So an engine that chooses otherwise than it did is noticed too.
        """
        rows = self.source.fingerprint(key, self._told("reading the table"))
        if self.unit is None:
            return rows
        return hash_rows(self.source.engine, [self._coded], rows, key, self._told("choosing the rows of each person"))

    def accept(self, key: bytes) -> str:
        """The fingerprint of a table that a custodian takes in. Raises where it has rows that the domain refuses.

        Never called to answer: that there is a row without an id must not be told to those who ask.
        """
        if self.unit is not None and self.unit.null_ids == "refuse":
            self._refuse_null_ids(self.unit)
        return self.fingerprint(key)

    def _refuse_null_ids(self, unit: Unit) -> None:
        engine = self.source.engine
        try:
            [[rows]] = engine.run(engine.compile(without_id(self.source.rows, unit)))
        except EngineError:
            raise unreadable() from None
        if rows:
            raise TableError(
                f"the table has rows without {unit.id}, and its domain refuses them (null_ids): complete them, leave "
                'them out of the table, or say null_ids = "drop" or "own" in the domain of a new vault'
            )

    def verify(self, fingerprint: str, key: bytes) -> None:
        """Raise unless the rows are those that the fingerprint was taken of; cheap while nothing was touched."""
        stamp = (fingerprint, self.source.stamp())
        if self._verified != stamp:
            if self.fingerprint(key) != fingerprint:
                raise TableError(
                    "the table has changed since the vault was made; put the old one back, "
                    "or accept the new one with `discreet refresh`, which keeps all spending"
                )
            self._verified = stamp

    def evaluate(self, queries: Sequence[Measured | SubsetCount]) -> list[Array]:
        """The exact answers: one engine query for each distinct grouping, or one for all where they share a scan.

        Counts over subsets come from the roster's bits, and small counts of a small domain from running sums, without
        the engine once those are made.
        """
        counted = {place: self._over_roster(q) for place, q in enumerate(queries) if isinstance(q, SubsetCount)}
        others = [query for query in queries if not isinstance(query, SubsetCount)]
        rest = iter(self._evaluate(others) if others else [])
        return [counted[place] if place in counted else next(rest) for place in range(len(queries))]

    def _over_roster(self, query: SubsetCount) -> Array:
        if self.people is None:
            raise EngineError("this table has no roster")
        return self.people.count(query)

    def _evaluate(self, queries: Sequence[Measured]) -> list[Array]:
        relation, counts = self._relation(), [query for query in queries if isinstance(query, Count)]
        few = sum(self._cells(query.by) for query in queries) <= FEW_CELLS
        if self._sums is not None and few and len(counts) == len(queries):
            return [self._sums.count(query) for query in counts]
        read = [self._finer(query) for query in queries]
        exact = self._read(read, relation)
        return [
            array if finer == query else self._rolled_up(query, finer, array)
            for query, finer, array in zip(queries, read, exact, strict=True)
        ]

    def codes(self, batch_rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """The codes of every row, a column an attribute, in batches of bounded size: for counting natively."""
        return self._stream(self.domain.names, self._relation(), batch_rows)

    def _stream(self, names: Sequence[str], relation: str, batch_rows: int = 1 << 20) -> Iterator[pa.RecordBatch]:
        columns = ", ".join(f"{self._code(name)} AS {self._quoted(name)}" for name in names)
        return self.source.engine.stream(f"SELECT {columns} FROM {relation}", batch_rows)

    def _read(self, queries: Sequence[Measured], relation: str) -> list[Array]:
        marginals = {query.by for query in queries if self._is_marginal(query)}
        shared = tuple(name for name in self.domain.names if any(name in by for by in marginals))
        wanted = sum(self._cells(by) for by in marginals)
        if len(marginals) > 1 and self._cells(shared) <= min(SHARED_SCAN_CELLS, max(SMALL_CELLS, SPARSER * wanted)):
            return self._read_shared(queries, shared, relation)
        if len(marginals) >= MANY:
            return self._read_natively(queries, shared, relation)
        answers: dict[Measured, Array] = {}
        groupings = list(dict.fromkeys(query.by for query in queries))
        for place, by in enumerate(groupings):
            alike = list(dict.fromkeys(query for query in queries if query.by == by))
            told = self._told("counting", place, len(groupings))
            answers.update(zip(alike, self._grouped(alike, by, relation, told), strict=True))
        return [answers[query] for query in queries]

    def _cells(self, by: tuple[str, ...]) -> int:
        return prod(self.domain[name].size for name in by)

    def _finer(self, query: Measured) -> Measured:
        """The query itself, or for a region of many boxes the same of everything, by every attribute it restricts."""
        if len(query.where.boxes) <= FEW_BOXES:
            return query
        by = (*query.by, *(name for name in self._restricted(query.where) if name not in query.by))
        finer = replace(query, where=self.domain.everything, by=by)
        return finer if prod(answer_shape(finer, self.domain)) <= SHARED_SCAN_CELLS else query

    def _rolled_up(self, query: Measured, finer: Measured, exact: Array) -> Array:
        axes = [self.domain.axis(name) for name in finer.by]
        kept, gone = len(query.by), tuple(range(len(query.by), len(finer.by)))
        # Sums of saturated sums may pass 64 bits on the way.
        safe = int(np.abs(exact).max(initial=0)) * exact.size < SATURATION
        cells = exact if safe else exact.astype(object)
        answer = np.zeros(exact.shape[:kept], cells.dtype)
        for box in query.where.boxes:
            inside = tuple(slice(box.low[axis], box.high[axis] + 1) for axis in axes)
            answer[inside[:kept]] += cells[inside].sum(axis=gone)
        return np.array(np.clip(answer, -SATURATION, SATURATION), np.int64)

    def _is_marginal(self, query: Measured) -> bool:
        return isinstance(query, Count) and bool(query.by) and query.where == self.domain.everything

    def _read_shared(self, queries: Sequence[Measured], shared: tuple[str, ...], relation: str) -> list[Array]:
        """Marginals rolled up from the finest one, each from the smallest that is already there."""
        [base] = self._grouped([Count(self.domain.everything, shared)], shared, relation, self._told("counting"))
        made = {shared: base}
        wanted = {query.by for query in queries if self._is_marginal(query)}
        for by in sorted(wanted, key=len, reverse=True):
            ordered = tuple(name for name in shared if name in by)
            finer = min((have for have in made if set(ordered) <= set(have)), key=lambda have: made[have].size)
            if ordered not in made:
                gone = tuple(axis for axis, name in enumerate(finer) if name not in ordered)
                made[ordered] = made[finer].sum(axis=gone)
        others = [query for query in queries if not self._is_marginal(query)]
        rest = iter(self._read(others, relation) if others else [])
        return [_reorder(made, query.by) if self._is_marginal(query) else next(rest) for query in queries]

    def _read_natively(self, queries: Sequence[Measured], shared: tuple[str, ...], relation: str) -> list[Array]:
        """Marginals counted one by one, all in a single pass over the codes."""
        from discreet.table.tally import count_marginals  # compiled code that few questions need

        marginals = list(dict.fromkeys(query.by for query in queries if self._is_marginal(query)))
        place = {name: axis for axis, name in enumerate(shared)}
        sizes = [self.domain[name].size for name in shared]
        axes = [tuple(place[name] for name in by) for by in marginals]
        batches = self._stream(shared, relation, STREAMED_CODES // len(shared))
        counted = dict(zip(marginals, count_marginals(batches, sizes, axes), strict=True))
        others = [query for query in queries if not self._is_marginal(query)]
        rest = iter(self._read(others, relation) if others else [])
        return [counted[query.by] if self._is_marginal(query) else next(rest) for query in queries]

    def _grouped(
        self, queries: Sequence[Measured], by: tuple[str, ...], relation: str, told: Told | None
    ) -> list[Array]:
        """One SELECT for queries with the same grouping; empty groups are there, as zeros."""
        if self.source.engine.dialect.counts_first and (bags := self._bags(queries, by)):
            relation = bags
        shape = answer_shape(queries[0], self.domain)
        alike = all(query.where == queries[0].where for query in queries)
        common = f" WHERE {self._condition(queries[0].where)}" if alike else ""
        aggregates = ", ".join(
            f"{self._aggregate(query, not alike, relation)} AS answer{i}" for i, query in enumerate(queries)
        )
        if not by:
            rows = self._run(f"SELECT {aggregates} FROM {relation}{common}", told)
            return [column.astype(np.int64).reshape(()) for column in rows]
        key = " + ".join(f"CAST({prod(shape[i + 1 :])} AS BIGINT) * {self._code(name)}" for i, name in enumerate(by))
        rows = self._run(f"SELECT {key} AS key, {aggregates} FROM {relation}{common} GROUP BY key", told)
        cells, *columns = rows
        answers = []
        for column in columns:
            dense = np.zeros(prod(shape), np.int64)
            dense[cells] = column
            answers.append(dense.reshape(shape))
        return answers

    def _bags(self, queries: Sequence[Measured], by: tuple[str, ...]) -> str:
        """Where to read counts from that are made before codes; empty where that does not pay."""
        named = {*by, *(name for query in queries for name in self._restricted(query.where))}
        names = tuple(name for name in self.domain.names if name in named)
        few = prod(self.domain[name].size for name in names) <= BAGS
        if not names or not few or not all(isinstance(query, Count) for query in queries):
            return ""
        if names not in self._counted:
            engine = self.source.engine
            bags = engine.compile(counted(self._rows, self.domain, names, engine.dialect))
            self._counted[names] = f"(SELECT {engine.dialect.together} * FROM ({bags}) AS groups) AS bags"
        return self._counted[names]

    def _restricted(self, region: Region) -> list[str]:
        return [
            attribute.name
            for axis, attribute in enumerate(self.domain.attributes)
            if any((box.low[axis], box.high[axis]) != (0, attribute.size - 1) for box in region.boxes)
        ]

    def _aggregate(self, query: Measured, filtered: bool, relation: str) -> str:
        only = f" FILTER (WHERE {self._condition(query.where)})" if filtered else ""
        match query:
            case Count() if relation in self._counted.values():
                return f"CAST(COALESCE(SUM({PEOPLE}){only}, 0) AS BIGINT)"
            case Count():
                return f"COUNT(*){only}"
            case Sum():
                total = f"COALESCE({self.source.engine.dialect.total.format(self._summand(query.of))}{only}, 0)"
                return f"CAST(GREATEST(LEAST({total}, {SATURATION}), -{SATURATION}) AS BIGINT)"

    def _summand(self, name: str) -> str:
        """What a row adds to a sum, in whole grains."""
        attribute = self.domain[name]
        if not isinstance(attribute, Integer):
            return self._quoted(units_column(name))
        code = f"CAST({self._code(name)} AS BIGINT)"
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
            f"{self._code(attribute.name)} BETWEEN {low} AND {high}"
            for attribute, low, high in zip(self.domain.attributes, box.low, box.high, strict=True)
            if (low, high) != (0, attribute.size - 1)
        ]
        return " AND ".join(bounds) or "TRUE"

    def _code(self, name: str) -> str:
        return self._quoted(code_column(name))

    def _quoted(self, name: str) -> str:
        return self.source.engine.dialect.name_of(name)

    def _relation(self) -> str:
        """Where to read codes from: computed on the fly the first time; then from memory, if the engine copies."""
        with self._lock:
            self._reads += 1
            if self._reads == 2:
                self._copy()
            if self._reads == MANY_READS:
                self._sum_up()
        return "codes" if self._copied else f"{self._coded} AS computed"

    def hold(self) -> None:
        """Keep in memory at once what would be kept after many reads: for a server, which has many."""
        with self._lock:
            if self.people is None:
                self._copy()
                self._sum_up()

    def _copy(self) -> None:
        """Keep the codes in memory where they fit. Where they don't, they are computed each time: the same, slower."""
        if self._copied or not self.source.engine.copies:
            return
        with suppress(EngineError):
            [[rows]] = self._run(f"SELECT COUNT(*) FROM {SOURCE}")
            if int(rows) * row_bytes(self.domain) <= COPY_LIMIT:
                self._run(f"CREATE TABLE codes AS SELECT * FROM {self._coded} AS computed")
                self._copied = True

    def _sum_up(self) -> None:
        """Hold the running sums too. Where they cannot be made, the copy is read each time: the same, slower."""
        if self._sums is not None or not self._copied or not RunningSums.fit(self.domain):
            return
        names = self.domain.names
        with suppress(EngineError):
            [counts] = self._grouped([Count(self.domain.everything, names)], names, "codes", None)
            self._sums = RunningSums.of(self.domain, counts)

    def _run(self, sql: str, told: Told | None = None) -> list[Array]:
        return self.source.engine.run(sql, told)

    def _told(self, what: str, place: int = 0, of: int = 1) -> Told | None:
        """Whom an engine tells how far it is with one of several statements; None where nobody watches."""
        return None if self.progress is silent else lambda share: self.progress(what, (place + share) / of)


def _reorder(made: dict[tuple[str, ...], Array], by: tuple[str, ...]) -> Array:
    have = next(names for names in made if sorted(names) == sorted(by))
    return made[have].transpose([have.index(name) for name in by])
