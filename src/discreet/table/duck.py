"""Tables of DuckDB: in a file, or behind an Ibis expression."""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from discreet.errors import TableError
from discreet.table.declared import Allowed, Declared
from discreet.table.literal import quoted, quoted_name
from discreet.table.paths import files_of, kind_of_all, stamp_of
from discreet.table.settings import settings_of
from discreet.table.source import BATCH_ROWS, Source, Told, unreadable
from discreet.table.types import CAST

TYPES: dict[str, pa.DataType] = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INTEGER": pa.int32(),
    "BIGINT": pa.int64(),
    "UTINYINT": pa.uint8(),
    "USMALLINT": pa.uint16(),
    "UINTEGER": pa.uint32(),
    "UBIGINT": pa.uint64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "VARCHAR": pa.string(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us"),
    "TIMESTAMP_S": pa.timestamp("s"),
    "TIMESTAMP_MS": pa.timestamp("ms"),
    "TIMESTAMP_NS": pa.timestamp("ns"),
    "TIMESTAMP WITH TIME ZONE": pa.timestamp("us", "UTC"),
    "TIMESTAMPTZ_NS": pa.timestamp("ns", "UTC"),
}
"""As DuckDB calls them, and as they arrive."""
AS_TEXT = ("HUGEINT", "UHUGEINT", "UUID", "ENUM(", '"NULL"')
"""Types whose values have one spelling each, and are read by it."""


def open_duckdb_file(uri: str) -> Source:
    """Open `people.duckdb?table=people`. The table may be left out where there is only one."""
    path, said = settings_of(uri, "a DuckDB file", {"table": "NAME"})
    files = files_of(path)
    kind_of_all(files)
    aside = tempfile.mkdtemp(prefix="discreet-")
    try:
        with _connected(files[0], aside) as connection:
            table = _table_in(connection, files[0], said.get("table"))
            columns, unread = columns_of(connection, table)
    except duckdb.Error:
        raise TableError(f"{path} cannot be read as a table; is it a whole duckdb file?") from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)

    def read(names: Sequence[str], told: Told) -> Iterator[pa.RecordBatch]:
        with tempfile.TemporaryDirectory(prefix="discreet-") as spill:
            try:
                with _connected(files[0], spill) as connection:
                    yield from read_duckdb(connection, table, columns, names, told)
            except duckdb.Error:
                raise unreadable(path) from None

    return Source(uri, columns, read, lambda: stamp_of(path), unread, declared=partial(_declared, files[0], table))


def _declared(file: str, relation: str) -> dict[str, Declared]:
    """What CREATE TABLE and COMMENT say: ENUM, lists and ranges in CHECK, NOT NULL and the key."""
    from discreet.table.checks import limits_in, together

    with tempfile.TemporaryDirectory(prefix="discreet-") as aside:
        try:
            with _connected(file, aside) as connection:
                types = connection.sql(f"SELECT * FROM {relation}")
                table = _name_in(relation)
                rules = connection.execute(
                    "SELECT constraint_type, expression, constraint_column_names FROM duckdb_constraints() "
                    f"WHERE database_name = 'attached' AND schema_name = 'main' AND table_name = {quoted(table)}"
                ).fetchall()
                said = connection.execute(
                    "SELECT column_name, comment, is_nullable, data_type FROM duckdb_columns() "
                    f"WHERE database_name = 'attached' AND schema_name = 'main' AND table_name = {quoted(table)}"
                ).fetchall()
                lists = {
                    name: _labels(kind)
                    for name, kind in zip(types.columns, types.types, strict=True)
                    if kind.id == "enum"
                }
        except duckdb.Error:
            raise unreadable(file) from None
    limits = together(limits_in(text, "duckdb") for kind, text, _ in rules if kind == "CHECK")
    keys = [names for kind, _, names in rules if kind == "PRIMARY KEY"]
    return {
        name: Declared(
            words="ENUM" if name in lists else kind,
            title=comment or "",
            limits=limits.get(name.lower(), Allowed()).within(Allowed(lists.get(name))),
            null=bool(nullable),
            by=f"CREATE TABLE {table} in {Path(file).name}",
            key=[name] in keys,
        )
        for name, comment, nullable, kind in said
    }


def _labels(kind: Any) -> tuple[str, ...]:
    return tuple(dict(kind.children)["values"])


def _name_in(relation: str) -> str:
    return relation.removeprefix("attached.main.")[1:-1].replace('""', '"')


def _connected(file: str, aside: str) -> duckdb.DuckDBPyConnection:
    """What does not fit its memory goes where only this user can read it."""
    connection = duckdb.connect(config={"temp_directory": aside, "autoinstall_known_extensions": False})
    connection.execute("SET enable_progress_bar = false")  # it writes to standard output, in the middle of answers
    connection.execute(f"ATTACH {quoted(file)} AS attached (READ_ONLY)")
    return connection


def _table_in(connection: duckdb.DuckDBPyConnection, file: str, asked: str | None) -> str:
    found = connection.execute(
        "SELECT table_name FROM duckdb_tables() WHERE database_name = 'attached' AND schema_name = 'main' "
        "UNION SELECT view_name FROM duckdb_views() WHERE database_name = 'attached' AND schema_name = 'main'"
    ).fetchall()
    tables = sorted(name for (name,) in found)
    asked = tables[0] if asked is None and len(tables) == 1 else asked
    if asked is None or asked not in tables:
        has = f"has tables {', '.join(tables)}; say which" if tables else "has no tables; name a file that has one"
        raise TableError(f"{file} {has}: {file}?table=NAME")
    return f"attached.main.{quoted_name(asked)}"


def columns_of(connection: duckdb.DuckDBPyConnection, relation: str) -> tuple[dict[str, pa.DataType], dict[str, str]]:
    """The columns that are read, and what to say of the others."""
    columns: dict[str, pa.DataType] = {}
    unread: dict[str, str] = {}
    for name, kind, *_ in connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall():
        if kind in TYPES:
            columns[name] = TYPES[kind]
        elif kind.startswith("DECIMAL"):
            columns[name] = pa.decimal128(38, 0)
        elif kind.startswith(AS_TEXT):
            columns[name] = pa.string()
        else:
            unread[name] = f"{kind.partition('(')[0]} in DuckDB, {CAST}, by CAST({quoted_name(name)} AS VARCHAR) say"
    return columns, unread


def read_duckdb(
    connection: duckdb.DuckDBPyConnection, relation: str, columns: Any, names: Sequence[str], told: Told
) -> Iterator[pa.RecordBatch]:
    chosen = ", ".join(
        f"CAST({quoted_name(name)} AS VARCHAR) AS {quoted_name(name)}"
        if pa.types.is_string(columns[name])
        else quoted_name(name)
        for name in names
    )
    [(rows,)] = connection.execute(f"SELECT COUNT(*) FROM {relation}").fetchall()
    read = 0
    batches: Iterator[pa.RecordBatch] = connection.sql(f"SELECT {chosen} FROM {relation}").to_arrow_reader(BATCH_ROWS)
    for batch in batches:
        yield batch
        read += batch.num_rows
        told(min(1.0, read / max(1, rows)))
