"""The seam between the population and whatever runs its SQL."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import duckdb
import ibis
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import EngineError
from discreet.table.dialect import DUCKDB, Dialect
from discreet.table.watch import Told, watching

Array = NDArray[np.int64]

FRAME = "memory:"
"""The location of a table that Python holds, a data frame for one: it must be handed over again on each open."""


class Engine(Protocol):
    """Runs SELECTs whose columns are 64-bit integers without missing values.

    Its own words never leave: they may quote a row, or a password. Whatever goes wrong is an EngineError.
    """

    @property
    def dialect(self) -> Dialect: ...

    @property
    def copies(self) -> bool:
        """Whether the codes may be kept in the engine's memory, as a table `codes`."""

    def compile(self, rows: Any) -> str:
        """An Ibis expression as this engine's SQL."""

    def run(self, sql: str, told: Told | None = None) -> list[Array]:
        """The columns of the whole answer. Whoever watches is told how far it is, where the engine can tell."""

    def stream(self, sql: str, batch_rows: int) -> Iterator[pa.RecordBatch]:
        """The answer in batches of at most so many rows."""


class Fingerprint(Protocol):
    def __call__(self, key: bytes, told: Told | None = None) -> str:
        """A keyed hash of the rows. Whoever watches is told how far it has come, where that can be told."""


@dataclass(frozen=True)
class Source:
    """An opened table: its rows as an Ibis expression, the engine that reads them, and a way to recognise them."""

    location: str
    rows: Any
    engine: Engine
    fingerprint: Fingerprint
    stamp: Callable[[], object]
    """Changes whenever the rows may have changed; cheap, unlike the fingerprint."""


@dataclass(frozen=True)
class DuckEngine:
    """DuckDB in this process. Every statement has a cursor of its own, so that threads do not meet."""

    connection: duckdb.DuckDBPyConnection
    copies: bool = True
    dialect: Dialect = DUCKDB

    def compile(self, rows: Any) -> str:
        return str(ibis.to_sql(rows, dialect="duckdb"))

    def run(self, sql: str, told: Told | None = None) -> list[Array]:
        try:
            with self.connection.cursor() as cursor, _watched(cursor, told):
                return [np.asarray(column) for column in cursor.execute(sql).fetchnumpy().values()]
        except (duckdb.Error, MemoryError):
            raise failed() from None

    def stream(self, sql: str, batch_rows: int) -> Iterator[pa.RecordBatch]:
        try:
            with self.connection.cursor() as cursor:
                yield from cursor.sql(sql).to_arrow_reader(batch_rows)
        except (duckdb.Error, pa.ArrowException, MemoryError):
            raise failed() from None


@contextmanager
def _watched(cursor: duckdb.DuckDBPyConnection, told: Told | None) -> Iterator[None]:
    """DuckDB counts what it has read of its tables, for a bar of its own: it is made to count, and not to draw."""
    if told is None:
        yield
        return
    cursor.execute("SET enable_progress_bar_print = false")
    cursor.execute("SET enable_progress_bar = true")

    def look() -> float | None:
        percent = cursor.query_progress()
        return None if percent < 0 else percent / 100

    with watching(look, told):
        yield


def failed() -> EngineError:
    """The one thing that is ever said of a failure, since an engine's own words may hold data."""
    return EngineError("the engine failed; the charge stands and can be completed: `discreet ledger complete`")
