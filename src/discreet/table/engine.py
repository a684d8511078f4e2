"""The seam between the population and whatever runs its SQL."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import duckdb
import ibis
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import EngineError
from discreet.table.dialect import DUCKDB, Dialect

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

    def run(self, sql: str) -> list[Array]:
        """The columns of the whole answer."""

    def stream(self, sql: str, batch_rows: int) -> Iterator[pa.RecordBatch]:
        """The answer in batches of at most so many rows."""


@dataclass(frozen=True)
class Source:
    """An opened table: its rows as an Ibis expression, the engine that reads them, and a way to recognise them."""

    location: str
    rows: Any
    engine: Engine
    fingerprint: Callable[[bytes], str]
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

    def run(self, sql: str) -> list[Array]:
        try:
            with self.connection.cursor() as cursor:
                return [np.asarray(column) for column in cursor.execute(sql).fetchnumpy().values()]
        except duckdb.Error:
            raise failed() from None

    def stream(self, sql: str, batch_rows: int) -> Iterator[pa.RecordBatch]:
        try:
            with self.connection.cursor() as cursor:
                yield from cursor.sql(sql).to_arrow_reader(batch_rows)
        except (duckdb.Error, pa.ArrowException):
            raise failed() from None


def failed() -> EngineError:
    """The one thing that is ever said of a failure, since an engine's own words may hold data."""
    return EngineError("the engine failed; the charge stands and can be completed: `discreet ledger complete`")
