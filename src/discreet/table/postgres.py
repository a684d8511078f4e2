"""Tables in Postgres. Everything is computed there; what comes back is as large as the answer."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import ibis
import numpy as np
import pyarrow as pa

from discreet.errors import EngineError, TableError
from discreet.table.dialect import POSTGRES, Dialect
from discreet.table.engine import Array, Source, failed
from discreet.table.literal import quoted, quoted_name
from discreet.table.postgres_uri import PostgresPlace, parse_place
from discreet.table.recognise import hash_rows
from discreet.table.watch import Told

if TYPE_CHECKING:
    import psycopg

SESSION = (
    "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
    # A value's text must not depend on who asks, since texts are coded and hashed.
    "SET TIME ZONE 'UTC'",
    "SET datestyle = ISO",
    "SET extra_float_digits = 1",
    "SET bytea_output = hex",
    "SET intervalstyle = iso_8601",
)
CONNECT_SECONDS = "10"
PIECE_BLOCKS = 1 << 13
"""A large table is hashed in pieces of so many blocks, 64 MB as a rule, so that somebody can be told how far it is."""
COPY_HEADER, COPY_END = 19, b"\xff\xff"
"""What binary COPY writes before the rows, in bytes, and after them."""


@dataclass(frozen=True)
class PostgresEngine:
    """Sessions that only read, one for each statement under way; idle ones are kept for the next."""

    parameters: dict[str, str] = field(repr=False)
    where: str
    """Host, database and user, for people to read."""
    dialect: Dialect = POSTGRES
    copies: bool = False
    _idle: "list[tuple[int, psycopg.Connection]]" = field(default_factory=list, repr=False)

    def compile(self, rows: Any) -> str:
        return str(ibis.to_sql(rows, dialect="postgres"))

    def run(self, sql: str, told: Told | None = None) -> list[Array]:  # noqa: ARG002 (nobody sees how far it is)
        with self._session() as session, _copied(session, sql) as (fields, chunks):
            return _columns(b"".join(chunks), fields)

    def stream(self, sql: str, batch_rows: int) -> Iterator[pa.RecordBatch]:
        with self._session() as session:
            names = [column.name for column in session.execute(f"SELECT * FROM ({sql}) AS s LIMIT 0").description or ()]
            wide = ", ".join(f"CAST({quoted_name(name)} AS BIGINT)" for name in names)
            with _copied(session, f"SELECT {wide} FROM ({sql}) AS narrow") as (fields, chunks):
                for data in _batches(chunks, batch_rows * _row_type(fields).itemsize):
                    yield pa.RecordBatch.from_arrays([pa.array(column) for column in _columns(data, fields)], names)

    def texts(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a query on the catalogue."""
        with self._session() as session:
            return session.execute(sql.encode()).fetchall()

    @contextmanager
    def _session(self) -> "Iterator[psycopg.Connection]":
        import psycopg

        session = self._idle_session() or self._connect()
        try:
            yield session
        except psycopg.Error:
            session.close()
            self._idle.clear()  # a server that went away took all of them
            raise failed() from None
        except BaseException:
            session.close()  # the rest of an answer that nobody wants any more is still on its way
            raise
        self._idle.append((os.getpid(), session))

    def _idle_session(self) -> "psycopg.Connection | None":
        """One that is not in use. Those from before a fork are the parent's, and left to it."""
        while self._idle:
            with suppress(IndexError):  # another thread may be faster
                process, session = self._idle.pop()
                if process == os.getpid():
                    return session
        return None

    def _connect(self) -> "psycopg.Connection":
        import psycopg
        from psycopg.conninfo import make_conninfo

        try:
            session = psycopg.connect(make_conninfo(**self.parameters), autocommit=True)
            for statement in SESSION:
                session.execute(statement.encode())
        except psycopg.Error as error:
            raise _unreachable(self.where, getattr(error, "pgconn", None)) from None
        return session


def open_postgres(uri: str) -> Source:
    """Open `postgres://user@host:port/database?table=people`; the columns are read, and no row."""
    place = parse_place(uri)
    _require_driver()
    engine = PostgresEngine({"connect_timeout": CONNECT_SECONDS, **place.parameters}, place.where)
    schema, kind = _find(engine, place)
    relation = f"{quoted_name(schema)}.{quoted_name(place.table)}"
    columns = _columns_of(engine, relation)
    rows = ibis.table({name: _ibis_type(text) for name, text, _ in columns}, name=place.table, database=schema)
    enums = {name: rows[name].cast("string") for name, _, is_enum in columns if is_enum}
    return Source(
        location=place.location,
        rows=rows.mutate(**enums) if enums else rows,
        engine=engine,
        fingerprint=lambda key, told=None: hash_rows(engine, _pieces(engine, relation), repr(columns), key, told),
        stamp=lambda: _stamp(engine, relation) if kind == "r" else None,
    )


def postgres_engine_of(session: "psycopg.Connection") -> PostgresEngine:
    """An engine with sessions of its own, to where this session is."""
    info = session.info
    parameters = {**info.get_parameters(), **({"password": info.password} if info.password else {})}
    return PostgresEngine(parameters, f"{info.user}@{info.host}:{info.port}/{info.dbname}")


def _require_driver() -> None:
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise TableError("a table in Postgres needs its driver: pip install 'discreet[postgres]'") from None


def _unreachable(where: str, connection: Any) -> TableError:
    """What may be wrong, as far as it can be told without the server's own words."""
    if connection is not None and connection.needs_password:
        return TableError(f"{where} asks for a password; set PGPASSWORD, or write it to ~/.pgpass")
    if connection is not None and connection.used_password:
        return TableError(f"{where} refuses this user with this password, or has no such database")
    return TableError(f"{where} cannot be reached; is the server running, and are host, database and user right?")


def _find(engine: PostgresEngine, place: PostgresPlace) -> tuple[str, str]:
    """The schema and the kind of the table: r is a plain one."""
    wanted = f"= {quoted(place.schema)}" if place.schema else "= ANY (current_schemas(false))"
    found = engine.texts(
        "SELECT n.nspname, c.relkind FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        f"WHERE c.relname = {quoted(place.table)} AND n.nspname {wanted} AND c.relkind IN ('r', 'v', 'm', 'p', 'f') "
        "ORDER BY array_position(current_schemas(false), n.nspname)"
    )
    if not found:
        raise TableError(f"{place.where} has no table {place.full_name} that you may see; name another, or its schema")
    schema, kind = found[0]
    return str(schema), kind.decode() if isinstance(kind, bytes) else str(kind)


def _columns_of(engine: PostgresEngine, relation: str) -> list[tuple[str, str, bool]]:
    """Name, type, and whether it is an enumeration. A domain of Postgres is the type under it."""
    return [
        (str(name), str(text), bool(is_enum))
        for name, text, is_enum in engine.texts(
            "SELECT a.attname, format_type(COALESCE(NULLIF(t.typbasetype, 0), t.oid), "
            "CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END), t.typtype = 'e' "
            "FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid "
            f"WHERE a.attrelid = {quoted(relation)}::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"
        )
    ]


def _ibis_type(text: str) -> Any:
    from ibis.backends.sql.datatypes import PostgresType

    return PostgresType.from_string("unknown" if text == "money" else text)


def _pieces(engine: PostgresEngine, relation: str) -> list[str]:
    """The table as pieces without a common row, by where the rows are stored; whole where it has no such places.

    Postgres goes straight to a range of blocks since version 14; before, it would read the whole table for each.
    """
    with suppress(EngineError):
        sizes = engine.texts(
            "SELECT pg_relation_size(c.oid) / current_setting('block_size')::int FROM pg_class c "
            "JOIN pg_am a ON a.oid = c.relam AND a.amname = 'heap' "
            f"WHERE c.oid = to_regclass({quoted(relation)}) AND current_setting('server_version_num')::int >= 140000"
        )
        blocks = sum(int(size) for (size,) in sizes)
        starts = [f"ctid >= '({block},0)'" for block in range(0, blocks, PIECE_BLOCKS)]
        ends = [start.replace(">=", "<") for start in starts[1:]]
        if ends:  # the last piece has no end, so that no row is beyond it
            ranges = [" AND ".join(pair) for pair in zip(starts, [*ends, "TRUE"], strict=True)]
            return [f"(SELECT * FROM {relation} WHERE {where})" for where in ranges]
    return [relation]


def _stamp(engine: PostgresEngine, relation: str) -> object:
    """What the server counts of writes to the table. It may be seconds late, and is reset after a crash."""
    with suppress(EngineError):
        return engine.texts(
            "SELECT c.oid, pg_relation_filenode(c.oid), s.n_tup_ins, s.n_tup_upd, s.n_tup_del "
            "FROM pg_class c JOIN pg_stat_all_tables s ON s.relid = c.oid "
            f"WHERE c.oid = to_regclass({quoted(relation)})"
        )
    return None


@contextmanager
def _copied(session: "psycopg.Connection", sql: str) -> Iterator[tuple[int, Iterator[bytes]]]:
    """How many columns an answer has, and its rows as binary COPY writes them."""
    with session.cursor() as cursor, cursor.copy(f"COPY ({sql}) TO STDOUT (FORMAT BINARY)".encode()) as copy:
        yield cursor.pgresult.nfields if cursor.pgresult else 0, map(bytes, copy)


def _row_type(fields: int) -> Any:
    """A row of 64-bit integers in binary COPY: how many fields, and before each one its length."""
    parts = [part for i in range(fields) for part in ((f"length{i}", ">i4"), (f"value{i}", ">i8"))]
    return np.dtype([("fields", ">i2"), *parts])


def _batches(chunks: Iterator[bytes], size: int) -> Iterator[bytes]:
    """Rows in pieces of at most `size` bytes, each a whole number of rows with a header and an end of its own."""
    header, held = b"", bytearray()
    for chunk in chunks:
        held += chunk
        if not header:
            header = bytes(held[:COPY_HEADER])
            del held[:COPY_HEADER]
        while len(held) > size + len(COPY_END):
            yield header + bytes(held[:size]) + COPY_END
            del held[:size]
    if len(held) > len(COPY_END):
        yield header + bytes(held)


def _columns(data: bytes, fields: int) -> list[Array]:
    """The columns of binary COPY output whose fields are 64-bit integers, none missing."""
    row = _row_type(fields)
    body = memoryview(data)[COPY_HEADER : -len(COPY_END)]
    if len(body) % row.itemsize:
        raise failed()
    rows = np.frombuffer(body, row)
    return [rows[f"value{i}"].astype(np.int64) for i in range(fields)]
