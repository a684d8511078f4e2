"""A table that Python holds as an Ibis expression: of DuckDB, Postgres or Spark."""

from collections.abc import Iterator, Sequence

import duckdb
import ibis
import pyarrow as pa
from ibis.expr import operations as ops

from discreet.errors import TableError
from discreet.table.duck import columns_of, read_duckdb
from discreet.table.source import FRAME, Source, Told, unreadable


def open_ibis(table: ibis.Table) -> Source:
    """Open an expression where its own database is. Nothing is written there."""
    if table.op().find(ops.InMemoryTable) or not table.op().find((ops.DatabaseTable, ops.SQLQueryResult)):
        raise TableError("this Ibis table has no database behind it; hand over the data frame that it was made of")
    backend = table.get_backend()
    match backend.name:
        case "duckdb":
            return _of_duckdb(backend.con, f"({ibis.to_sql(table, dialect='duckdb')})")
        case "postgres":
            from discreet.table.postgres import relation_of
            from discreet.table.postgres_source import source_of

            return source_of(relation_of(backend.con, str(ibis.to_sql(table, dialect="postgres"))), FRAME)
        case "pyspark":
            from discreet.table.spark import source_of_frame

            select = str(backend.compile(table))
            return source_of_frame(FRAME, lambda: backend._session.sql(select))
    raise TableError(f"Ibis tables of DuckDB, Postgres and Spark are read here, not of {backend.name}")


def _of_duckdb(connection: duckdb.DuckDBPyConnection, relation: str) -> Source:
    """Read on the connection itself: others do not see what is temporary there, such as files that Ibis reads."""
    try:
        columns, unread = columns_of(connection, relation)
    except duckdb.Error:
        raise unreadable("the Ibis table") from None

    def read(names: Sequence[str], told: Told) -> Iterator[pa.RecordBatch]:
        try:
            yield from read_duckdb(connection, relation, columns, names, told)
        except duckdb.Error:
            raise unreadable("the Ibis table") from None

    return Source(FRAME, columns, read, unread=unread)
