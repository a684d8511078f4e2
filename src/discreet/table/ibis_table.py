"""A table that Python holds as an Ibis expression: of DuckDB, Postgres or Spark."""

import ibis
from ibis.expr import operations as ops

from discreet.errors import TableError
from discreet.table.engine import FRAME, DuckEngine, Engine, Source
from discreet.table.postgres import postgres_engine_of
from discreet.table.recognise import hash_rows
from discreet.table.spark import SparkEngine


def open_ibis(table: ibis.Table) -> Source:
    """Open an expression where its own database is. Nothing is written there, and nothing is copied."""
    engine = _engine_of(table)
    relation = f"({engine.compile(table)})"
    columns = repr(list(table.schema().items()))
    return Source(
        location=FRAME,
        rows=table,
        engine=engine,
        fingerprint=lambda key, told=None: hash_rows(engine, [relation], columns, key, told),
        stamp=lambda: None,
    )


def _engine_of(table: ibis.Table) -> Engine:
    if table.op().find(ops.InMemoryTable) or not table.op().find((ops.DatabaseTable, ops.SQLQueryResult)):
        raise TableError("this Ibis table has no database behind it; hand over the data frame that it was made of")
    backend = table.get_backend()
    match backend.name:
        case "duckdb":
            return DuckEngine(backend.con, copies=False)
        case "postgres":
            return postgres_engine_of(backend.con)
        case "pyspark":
            return SparkEngine(backend)
    raise TableError(f"Ibis tables of DuckDB, Postgres and Spark are read here, not of {backend.name}")
