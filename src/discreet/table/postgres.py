"""Tables in Postgres: what a query of it holds, copied out in one statement and so of one moment."""

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import csv as arrow_csv

from discreet.errors import TableError
from discreet.table.coding import numbers_in
from discreet.table.literal import quoted_name
from discreet.table.source import Told, unreadable
from discreet.table.types import CAST

if TYPE_CHECKING:
    import psycopg

SESSION = (
    "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
    # A value's text must not depend on who asks, nor a name's on what the database takes its bytes for.
    "SET client_encoding = 'UTF8'",
    "SET TIME ZONE 'UTC'",
    "SET datestyle = ISO",
    "SET extra_float_digits = 1",
)
BLOCK_BYTES = 1 << 24
DAYS = (
    "CASE WHEN isfinite({0}) THEN {0} - DATE '1970-01-01' "
    "WHEN {0} > DATE '1970-01-01' THEN 2147483647 WHEN {0} IS NOT NULL THEN -2147483648 END"
)
"""Days since 1970. Without a day of its own, eternity is the last one that a number of 32 bits has."""
SECONDS = (
    "CASE WHEN isfinite({0}) THEN CAST(floor(EXTRACT(EPOCH FROM {0})) AS BIGINT) "
    "WHEN {0} > TIMESTAMP '1970-01-01' THEN 4611686018427387904 WHEN {0} IS NOT NULL THEN -4611686018427387904 END"
)
"""Whole seconds since 1970, which is enough to tell the day; eternity is further away than any moment."""
TEXT = 'CAST({0} AS TEXT) COLLATE "C"'
WHOLE = "CAST({0} AS BIGINT)"
DOUBLE = 'CAST(CAST({0} AS DOUBLE PRECISION) AS TEXT) COLLATE "C"'
"""Exact, also of a number of 32 bits: its own shortest text would be another double."""
TYPES: dict[str, tuple[str, pa.DataType]] = {
    "smallint": (WHOLE, pa.int64()),
    "integer": (WHOLE, pa.int64()),
    "bigint": (WHOLE, pa.int64()),
    "real": (DOUBLE, pa.float64()),
    "double precision": (DOUBLE, pa.float64()),
    "numeric": (TEXT, pa.float64()),
    "text": (TEXT, pa.string()),
    "character varying": (TEXT, pa.string()),
    "character": (TEXT, pa.string()),
    "boolean": ("{0}", pa.bool_()),
    "date": (DAYS, pa.date32()),
    "timestamp without time zone": (SECONDS, pa.timestamp("s")),
    "timestamp with time zone": (SECONDS, pa.timestamp("s", "UTC")),
    "uuid": (TEXT, pa.string()),
}
"""As Postgres calls them: how a value is read, and as what it arrives. Text is compared by its bytes from then on."""


@dataclass(frozen=True)
class Column:
    """A column by name, how it is read, and its type."""

    name: str
    reading: str
    kind: pa.DataType


@dataclass(frozen=True)
class Relation:
    """Something in a Postgres database that can be selected from."""

    parameters: dict[str, str] = field(repr=False)
    where: str
    """Host, database and user, for people to read."""
    text: str
    """The name of a table, or a SELECT in parentheses."""

    @contextmanager
    def session(self) -> "Iterator[psycopg.Connection]":
        """A transaction that only reads, and sees one moment throughout."""
        import psycopg
        from psycopg.conninfo import make_conninfo

        try:
            session = psycopg.connect(make_conninfo(**self.parameters), autocommit=True)
        except psycopg.Error as error:
            raise _unreachable(self.where, getattr(error, "pgconn", None)) from None
        try:
            with session:
                for statement in SESSION:
                    session.execute(statement.encode())
                session.execute(b"BEGIN")
                yield session
        except (psycopg.Error, UnicodeDecodeError):
            raise unreadable(f"the table at {self.where}") from None

    def columns(self) -> tuple[dict[str, Column], dict[str, str]]:
        """The columns that are read, and what to say of the others. A domain of Postgres is the type under it."""
        columns, unread = {}, {}
        with self.session() as session:
            described = session.execute(f"SELECT * FROM {self.text} AS everyone LIMIT 0".encode()).description or ()
            for found in described:
                kind, is_enum = _type_name(session, found.type_code)
                column = _column(found.name, kind, is_enum)
                if column is None:
                    name = quoted_name(found.name)
                    unread[found.name] = f"{kind} in Postgres, {CAST}, in a view with {name}::text say"
                else:
                    columns[found.name] = column
        return columns, unread

    def read(self, columns: Mapping[str, Column], names: Sequence[str], told: Told) -> Iterator[pa.RecordBatch]:
        """The values of some columns, in one statement."""
        with self.session() as session:
            [[rows]] = session.execute(f"SELECT GREATEST(1, COUNT(*)) FROM {self.text} AS everyone".encode()).fetchall()
            chosen = [columns[name] for name in names]
            done = 0
            for batch in copied(session, f"SELECT {selected(chosen)} FROM {self.text} AS everyone", chosen):
                yield batch
                done += batch.num_rows
                told(min(1.0, done / rows))


def relation_of(session: "psycopg.Connection", select: str) -> Relation:
    """What a SELECT of somebody's session holds, read in sessions of our own."""
    info = session.info
    parameters = {**info.get_parameters(), **({"password": info.password} if info.password else {})}
    return Relation(parameters, f"{info.user}@{info.host}:{info.port}/{info.dbname}", f"({select})")


def selected(columns: Sequence[Column]) -> str:
    """The SELECT list of some columns, each read as its type is."""
    return ", ".join(f"{column.reading} AS c{place}" for place, column in enumerate(columns))


def copied(session: "psycopg.Connection", sql: str, columns: Sequence[Column]) -> Iterator[pa.RecordBatch]:
    """The rows of a SELECT of these columns. Every value is quoted, so that a missing one is not an empty text."""
    import psycopg

    names = [column.name for column in columns]
    statement = f"COPY ({sql}) TO STDOUT (FORMAT csv, FORCE_QUOTE *)"
    try:
        session.execute(_encoding(session).encode())
        with session.cursor() as cursor, cursor.copy(statement.encode()) as copy:
            held = bytearray()
            for row in copy:  # one row at a time, whatever is in it
                held += row
                if len(held) >= BLOCK_BYTES:
                    yield _batch(bytes(held), names, columns)
                    held.clear()
            if held:
                yield _batch(bytes(held), names, columns)
    except (psycopg.Error, pa.ArrowException):
        raise unreadable("the table") from None


def _batch(block: bytes, names: Sequence[str], columns: Sequence[Column]) -> pa.RecordBatch:
    keys = [f"c{place}" for place in range(len(names))]
    table = arrow_csv.read_csv(
        io.BytesIO(block),
        arrow_csv.ReadOptions(column_names=keys, block_size=len(block) + 1),
        arrow_csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        arrow_csv.ConvertOptions(
            check_utf8=False,
            column_types={key: _arrives_as(column.kind) for key, column in zip(keys, columns, strict=True)},
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            true_values=["t"],
            false_values=["f"],
        ),
    ).combine_chunks()
    arrays = [_typed(array.chunk(0), column.kind) for array, column in zip(table.columns, columns, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, list(names))


def _arrives_as(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return pa.int32() if pa.types.is_date(kind) else pa.int64()
    return pa.string() if pa.types.is_floating(kind) else kind


def _typed(array: pa.Array, kind: pa.DataType) -> pa.Array:
    return numbers_in(array) if pa.types.is_floating(kind) else array.cast(kind)


def _column(name: str, kind: str, is_enum: bool) -> Column | None:
    reading, arrives = (TEXT, pa.string()) if is_enum else TYPES.get(kind.partition("(")[0], ("", None))
    return Column(name, reading.format(quoted_name(name)), arrives) if reading else None


def _type_name(session: "psycopg.Connection", oid: int) -> tuple[str, bool]:
    [[kind, is_enum]] = session.execute(
        "SELECT format_type(COALESCE(NULLIF(typbasetype, 0), oid), NULL), typtype = 'e' FROM pg_type "
        f"WHERE oid = {int(oid)}".encode()
    ).fetchall()
    return str(kind), bool(is_enum)


def _encoding(session: "psycopg.Connection") -> str:
    """Bytes as they are stored where they are UTF-8, or were never checked to be anything."""
    stored = session.info.parameter_status("server_encoding")
    return f"SET client_encoding = '{'SQL_ASCII' if stored in ('UTF8', 'SQL_ASCII') else 'UTF8'}'"


def _unreachable(where: str, connection: Any) -> TableError:
    """What may be wrong, as far as it can be told without the server's own words."""
    if connection is not None and connection.needs_password:
        return TableError(f"{where} asks for a password; set PGPASSWORD, or write it to ~/.pgpass")
    if connection is not None and connection.used_password:
        return TableError(f"{where} refuses this user with this password, or has no such database")
    return TableError(f"{where} cannot be reached; is the server running, and are host, database and user right?")
