"""Tables in SQLite files. Any value can be in any column there, so every one is read as the text that writes it."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from urllib.parse import parse_qs

import pyarrow as pa

from discreet.errors import TableError
from discreet.table.literal import quoted_name
from discreet.table.paths import files_of, kind_of_all, stamp_of
from discreet.table.source import BATCH_ROWS, Source, Told, unreadable
from discreet.table.written import text_array, written


def open_sqlite(uri: str) -> Source:
    """Open `people.sqlite?table=people`, read-only. The table may be left out where there is only one."""
    path, _, query = uri.partition("?")
    files = files_of(path)
    kind_of_all(files)
    try:
        with closing(_connected(files[0])) as connection:
            table = _table_in(connection, files[0], query)
            names = [row[1].decode() for row in connection.execute(f"PRAGMA table_info({quoted_name(table)})")]
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

    return Source(uri, dict.fromkeys(names, pa.string()), read, lambda: stamp_of(path))


def _connected(file: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{Path(file).absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)
    connection.text_factory = bytes  # as it is stored: not all of it need be UTF-8
    return connection


def _table_in(connection: sqlite3.Connection, file: str, query: str) -> str:
    found = connection.execute(
        "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY name"
    ).fetchall()
    tables = [name.decode() for (name,) in found if not name.startswith(b"sqlite_")]
    asked = parse_qs(query).get("table", tables if len(tables) == 1 else [])
    if len(asked) != 1 or asked[0] not in tables:
        has = f"has tables {', '.join(tables)}; say which" if tables else "has no tables; name a file that has one"
        raise TableError(f"{file} {has}: {file}?table=NAME")
    return str(asked[0])
