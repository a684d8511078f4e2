"""Where the rows live → something that can be read: files, databases, and tables that Python holds."""

import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import duckdb
import ibis
import pyarrow as pa

from discreet.errors import TableError
from discreet.ledger.postgres_uri import is_postgres
from discreet.table.csv import read_csv_text
from discreet.table.engine import FRAME, DuckEngine, Source
from discreet.table.files import contents_of, files_of, hash_files, kind_of_all, stamp_of
from discreet.table.frame import hash_arrow, to_arrow
from discreet.table.ibis_table import open_ibis
from discreet.table.literal import quoted, quoted_name, quoted_paths
from discreet.table.postgres import open_postgres
from discreet.table.postgres_uri import has_password, parse_place
from discreet.table.spark import is_spark, locate_spark, open_spark
from discreet.table.watch import Told

SOURCE = "source"


def open_source(table: object) -> Source:
    """Open a location or a table in memory.

    Locations are paths (Parquet, CSV, or a DuckDB file as `people.duckdb?table=people`), and URIs of Postgres and of
    Spark; tables in memory are pandas, polars and Arrow frames, and Ibis tables of DuckDB, Postgres and Spark.
    """
    if isinstance(table, str | Path):
        return _open_location(str(table))
    if isinstance(table, ibis.Table):
        return open_ibis(table)
    return _open_frame(to_arrow(table))


def locate(table: object) -> str:
    """The location that a vault keeps: an absolute path, a URI without a password, or `memory:` for a frame."""
    if not isinstance(table, str | Path):
        return FRAME
    if is_postgres(str(table)):
        return parse_place(str(table)).location
    if is_spark(str(table)):
        return locate_spark(str(table))
    path, _, query = str(table).partition("?")
    return str(Path(path).absolute()) + (f"?{query}" if query else "")


def is_located(table: object) -> bool:
    """Whether the location says all that it takes to open the table again: it was no frame, and had no password."""
    return isinstance(table, str | Path) and not (is_postgres(str(table)) and has_password(str(table)))


def _open_location(uri: str) -> Source:
    if is_postgres(uri):
        return open_postgres(uri)
    if is_spark(uri):
        return open_spark(uri)
    scheme, found, _ = uri.partition("://")
    if found:
        raise TableError(f"{scheme} tables are not supported; use postgres, spark, or a Parquet, CSV or DuckDB file")
    return _open_file(uri)


def _open_file(uri: str) -> Source:
    path, _, query = uri.partition("?")
    files = files_of(path)
    kind = kind_of_all(files)
    backend = _connect()
    connection: duckdb.DuckDBPyConnection = backend.con
    try:
        match kind:
            case "parquet":
                connection.execute(f"CREATE VIEW {SOURCE} AS SELECT * FROM {_read_parquet(connection, files)}")
            case "csv":
                connection.execute(f"CREATE VIEW {SOURCE} AS SELECT * FROM {read_csv_text(files)}")
            case _:
                _attach(connection, files, query)
        rows = backend.table(SOURCE)
    except duckdb.Error:
        raise TableError(f"{path} cannot be read as a table; is it a whole {kind} file?") from None
    return Source(
        location=uri,
        rows=rows,
        engine=DuckEngine(connection),
        fingerprint=lambda key, told=None: hash_files(contents_of(path), key, told),
        stamp=lambda: stamp_of(path),
    )


def _connect() -> Any:
    """An engine of its own for each table. What does not fit its memory goes where only this user can read it."""
    aside = tempfile.mkdtemp(prefix="discreet-")
    backend = ibis.duckdb.connect(temp_directory=aside, autoinstall_known_extensions=False)
    weakref.finalize(backend, shutil.rmtree, aside, ignore_errors=True)
    backend.con.execute("SET enable_progress_bar = false")  # it writes to standard output, in the middle of answers
    # It lets the CSV reader cast instead, which then skips lines where a TRY_CAST would have given a missing value.
    if backend.con.execute("SELECT * FROM duckdb_optimizers() WHERE name = 'type_pushdown'").fetchall():
        backend.con.execute("SET GLOBAL disabled_optimizers = 'type_pushdown'")
    return backend


def _read_parquet(connection: duckdb.DuckDBPyConnection, files: list[str]) -> str:
    """A reader of files with equal columns. Unequal ones would be cast row by row, and a cast can fail."""
    first, *others = (_parquet_columns(connection, file) for file in files)
    for file, columns in zip(files[1:], others, strict=True):
        if columns != first:
            raise TableError(f"{file} has other columns, or other types, than {files[0]}")
    return f"read_parquet({quoted_paths(files)})"


def _parquet_columns(connection: duckdb.DuckDBPyConnection, file: str) -> object:
    return connection.execute(f"DESCRIBE SELECT * FROM read_parquet({quoted_paths([file])})").fetchall()


def _attach(connection: duckdb.DuckDBPyConnection, files: list[str], query: str) -> None:
    [file] = files
    connection.execute(f"ATTACH {quoted(file)} AS attached (READ_ONLY)")
    found = connection.execute(
        "SELECT table_name FROM duckdb_tables() WHERE database_name = 'attached' AND schema_name = 'main'"
    ).fetchall()
    tables = sorted(name for (name,) in found)
    asked = parse_qs(query).get("table", tables if len(tables) == 1 else [])
    if len(asked) != 1 or asked[0] not in tables:
        has = f"has tables {', '.join(tables)}; say which" if tables else "has no tables; name a file that has one"
        raise TableError(f"{file} {has}: {file}?table=NAME")
    connection.execute(f"CREATE VIEW {SOURCE} AS SELECT * FROM attached.main.{quoted_name(asked[0])}")


def _open_frame(rows: pa.Table) -> Source:
    backend = _connect()
    connection: duckdb.DuckDBPyConnection = backend.con
    try:
        connection.register("handed_over", rows)
        connection.execute(f"CREATE TABLE {SOURCE} AS SELECT * FROM handed_over")  # cursors don't see registered frames
        connection.unregister("handed_over")
    except duckdb.Error:
        raise TableError(
            "the frame has a column whose type the engine does not read, or none; leave it out or convert it"
        ) from None
    fingerprints: dict[bytes, str] = {}

    def fingerprint(key: bytes, told: Told | None = None) -> str:
        if key not in fingerprints:
            fingerprints[key] = hash_arrow(rows, key, told)
        return fingerprints[key]

    return Source(FRAME, backend.table(SOURCE), DuckEngine(connection), fingerprint, lambda: None)
