"""Tables in SQLite files. Any value can be in any column there, so every one is read as the text that writes it."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.domain.attribute import Kind
from discreet.errors import TableError
from discreet.table.declared import Allowed, Declared
from discreet.table.literal import quoted_name
from discreet.table.paths import files_of, kind_of_all, stamp_of
from discreet.table.settings import settings_of
from discreet.table.source import BATCH_ROWS, Source, Told, unreadable
from discreet.table.written import text_array, written

AFFINITIES: tuple[tuple[str, Kind], ...] = (
    ("BOOL", "category"),
    ("DATE", "date"),
    ("TIME", "date"),
    ("INT", "integer"),
    ("CHAR", "category"),
    ("TEXT", "category"),
    ("REAL", "bins"),
    ("FLOA", "bins"),
    ("DOUB", "bins"),
    ("DEC", "bins"),
    ("NUM", "bins"),
)
"""What a declared type holds by its name, as SQLite itself goes by names."""


HIDDEN = 1
"""A column of a virtual table that SELECT * leaves out."""


def open_sqlite(uri: str) -> Source:
    """Open `people.sqlite?table=people`, read-only. The table may be left out where there is only one."""
    path, said = settings_of(uri, "an SQLite file", {"table": "NAME"})
    files = files_of(path)
    kind_of_all(files)
    try:
        with closing(_connected(files[0])) as connection:
            table = _table_in(connection, files[0], said.get("table"))
            names = [row[1].decode() for row in _columns_of(connection, table)]
    except sqlite3.Error:
        raise TableError(f"{path} cannot be read as a table; is it a whole SQLite file?") from None

    def read(wanted: Sequence[str], told: Told) -> Iterator[pa.RecordBatch]:
        chosen = ", ".join(map(quoted_name, wanted))
        try:
            with closing(_connected(files[0])) as connection:
                [(rows,)] = connection.execute(f"SELECT COUNT(*) FROM {quoted_name(table)}").fetchall()
                cursor = connection.execute(f"SELECT {chosen} FROM {quoted_name(table)}")
                done = 0
                while batch := cursor.fetchmany(BATCH_ROWS):
                    columns = [text_array(map(written, column)) for column in zip(*batch, strict=True)]
                    yield pa.RecordBatch.from_arrays(columns, list(wanted))
                    done += len(batch)
                    told(min(1.0, done / max(1, rows)))
        except sqlite3.Error:
            raise unreadable(path) from None

    columns = dict.fromkeys(names, pa.string())
    return Source(uri, columns, read, lambda: stamp_of(path), declared=partial(_declared, files[0], table))


def _declared(file: str, table: str) -> dict[str, Declared]:
    """What CREATE TABLE says: types, lists and ranges in CHECK, NOT NULL and the key."""
    from discreet.table.checks import limits_in_table

    try:
        with closing(_connected(file)) as connection:
            found = _columns_of(connection, table)
            made = connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", [table]).fetchall()
    except sqlite3.Error:
        raise unreadable(file) from None
    limits = limits_in_table(made[0][0].decode(errors="replace"), "sqlite")
    keys = [row for row in found if row[5]]
    return {
        name: Declared(
            kind=_kind(words),
            words=words,
            limits=limits.get(name.lower(), Allowed(("false", "true")) if "BOOL" in words.upper() else Allowed()),
            booleans="1/0" if "BOOL" in words.upper() else "",
            null=not row[3] and not row[5],
            by=f"CREATE TABLE {table} in {Path(file).name}",
            key=len(keys) == 1 and bool(row[5]),
        )
        for row in found
        for name, words in [(row[1].decode(), row[2].decode())]
    }


def _kind(words: str) -> Kind:
    return next((kind for part, kind in AFFINITIES if part in words.upper()), "category")


def _connected(file: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{Path(file).absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)
    connection.text_factory = bytes  # as it is stored: not all of it need be UTF-8
    return connection


def _columns_of(connection: sqlite3.Connection, table: str) -> list[tuple[Any, ...]]:
    """What SQLite says of each column, also of those that it computes itself; not of what virtual tables hide."""
    found = connection.execute(f"PRAGMA table_xinfo({quoted_name(table)})").fetchall()
    return [row for row in found if row[6] != HIDDEN]


def _table_in(connection: sqlite3.Connection, file: str, asked: str | None) -> str:
    found = connection.execute(
        "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY name"
    ).fetchall()
    tables = [name.decode() for (name,) in found if not name.startswith(b"sqlite_")]
    asked = tables[0] if asked is None and len(tables) == 1 else asked
    if asked is None or asked not in tables:
        has = f"has tables {', '.join(tables)}; say which" if tables else "has no tables; name a file that has one"
        raise TableError(f"{file} {has}: {file}?table=NAME")
    return asked
