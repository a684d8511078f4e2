"""Where the rows live → something that can be read: files, DuckDB databases, and data frames in memory."""

import csv
import gzip
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import duckdb
import ibis
import pyarrow as pa

from discreet.errors import TableError

SOURCE = "source"
FRAME = "memory:"
"""The location of a table that was handed over as a data frame: it must be handed over again on each open."""


@dataclass(frozen=True)
class Source:
    """An opened table: its rows as an Ibis expression, the connection that runs SQL, and a way to recognise it."""

    location: str
    rows: Any
    connection: duckdb.DuckDBPyConnection
    fingerprint: Callable[[bytes], str]
    stamp: Callable[[], object]
    """Changes whenever the rows may have changed; cheap, unlike the fingerprint."""


def open_source(table: object) -> Source:
    """Open a path (Parquet, CSV, or a DuckDB file as `people.duckdb?table=people`) or a pandas/polars/Arrow frame."""
    if isinstance(table, str | Path):
        return _open_file(str(table))
    return _open_frame(table)


def locate(table: object) -> str:
    """The location that a vault keeps: an absolute path, or `memory:` for a frame."""
    if not isinstance(table, str | Path):
        return FRAME
    path, _, query = str(table).partition("?")
    return str(Path(path).absolute()) + (f"?{query}" if query else "")


def _open_file(uri: str) -> Source:
    path, _, query = uri.partition("?")
    if "://" in path:
        raise TableError(f"{path.partition('://')[0]} tables are not supported; use a Parquet, CSV or DuckDB file")
    files = _files(path)
    suffix = "".join(Path(files[0]).suffixes[-2:]).lower()
    backend = ibis.duckdb.connect()
    connection: duckdb.DuckDBPyConnection = backend.con
    try:
        if suffix.endswith(".parquet"):
            connection.execute(f"CREATE VIEW {SOURCE} AS SELECT * FROM read_parquet({_strings(files)})")
        elif suffix.endswith((".csv", ".csv.gz", ".tsv", ".tsv.gz")):
            connection.execute(f"CREATE VIEW {SOURCE} AS SELECT * FROM {_csv(files)}")
        elif suffix.endswith((".duckdb", ".db")):
            _attach(connection, files[0], query)
        else:
            raise TableError(f"{path}: not a kind of file that is read here; use .parquet, .csv, .csv.gz or .duckdb")
        rows = backend.table(SOURCE)
    except duckdb.Error:
        raise TableError(f"{path} cannot be read as a table; is it a whole {suffix} file?") from None
    return Source(
        location=uri,
        rows=rows,
        connection=connection,
        fingerprint=lambda key: _hash_files(_files(path), key),
        stamp=lambda: [_stat(file) for file in _files(path)],
    )


def _files(path: str) -> list[str]:
    files = sorted(glob(path)) if has_magic(path) else [path] if Path(path).is_file() else []
    if not files:
        raise TableError(f"there is no file {path}; put it there, or name another")
    return files


def _strings(values: list[str]) -> str:
    return "[" + ", ".join(_quoted(value) for value in values) + "]"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _csv(files: list[str]) -> str:
    """A reader that takes names from the header and every value as text: nothing is guessed from the rows."""
    opener = gzip.open if files[0].endswith(".gz") else open
    try:
        with opener(files[0], "rt", encoding="utf-8-sig", newline="") as file:
            header = file.readline(1 << 20)
    except (OSError, UnicodeDecodeError, EOFError):
        raise TableError(f"{files[0]} cannot be read as a CSV file in UTF-8") from None
    separator = max(",;\t|", key=header.count)
    names = next(csv.reader([header], delimiter=separator), [])
    if not names or len(set(names)) < len(names):
        raise TableError(f"{files[0]}: the first line must name the columns, each once")
    columns = "{" + ", ".join(f"{_quoted(name)}: 'VARCHAR'" for name in names) + "}"
    return (
        f"read_csv({_strings(files)}, columns = {columns}, header = true, auto_detect = false, delim = '{separator}', "
        "quote = '\"', escape = '\"', ignore_errors = true, null_padding = true, strict_mode = false, parallel = false)"
    )


def _attach(connection: duckdb.DuckDBPyConnection, file: str, query: str) -> None:
    connection.execute(f"ATTACH {_quoted(file)} AS attached (READ_ONLY)")
    found = connection.execute("SELECT table_name FROM duckdb_tables() WHERE database_name = 'attached'").fetchall()
    tables = sorted(name for (name,) in found)
    asked = parse_qs(query).get("table", tables if len(tables) == 1 else [])
    if len(asked) != 1 or asked[0] not in tables:
        raise TableError(f"{file} has tables {', '.join(tables)}; say which: {file}?table=NAME")
    name = asked[0].replace('"', '""')
    connection.execute(f'CREATE VIEW {SOURCE} AS SELECT * FROM attached."{name}"')


def _stat(file: str) -> tuple[int, int, int]:
    try:
        info = Path(file).stat()
    except OSError:
        raise TableError(f"{file} cannot be read; is it still there?") from None
    return info.st_size, info.st_mtime_ns, info.st_ino


def _hash_files(files: list[str], key: bytes) -> str:
    digest = hashlib.blake2b(key=key, digest_size=32)
    for chunk in (chunk for file in files for chunk in _chunks(file)):
        digest.update(chunk)
    return digest.hexdigest()


def _chunks(file: str) -> Iterator[bytes]:
    try:
        with open(file, "rb") as stream:
            while chunk := stream.read(1 << 22):
                yield chunk
    except OSError:
        raise TableError(f"{file} cannot be read; is it still there?") from None


def _open_frame(frame: object) -> Source:
    rows = _arrow(frame)
    backend = ibis.duckdb.connect()
    connection: duckdb.DuckDBPyConnection = backend.con
    connection.register("handed_over", rows)
    connection.execute(f"CREATE TABLE {SOURCE} AS SELECT * FROM handed_over")  # cursors don't see registered frames
    connection.unregister("handed_over")
    fingerprints: dict[bytes, str] = {}

    def fingerprint(key: bytes) -> str:
        if key not in fingerprints:
            fingerprints[key] = _hash_arrow(rows, key)
        return fingerprints[key]

    return Source(FRAME, backend.table(SOURCE), connection, fingerprint, lambda: None)


def _arrow(frame: object) -> pa.Table:
    try:
        if isinstance(frame, pa.Table):
            table = frame
        elif hasattr(frame, "to_arrow"):  # polars
            table = frame.to_arrow()
        else:
            table = pa.Table.from_pandas(frame, preserve_index=False)
    except (AttributeError, TypeError, pa.ArrowException):
        raise TableError("a table is a path, or a pandas, polars or Arrow frame") from None
    return table.replace_schema_metadata(None).combine_chunks()


def _hash_arrow(rows: pa.Table, key: bytes) -> str:
    digest = hashlib.blake2b(key=key, digest_size=32)
    with pa.PythonFile(_Hashing(digest), mode="w") as sink, pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows, max_chunksize=1 << 20)
    return digest.hexdigest()


@dataclass
class _Hashing:
    """A file that hashes what is written to it."""

    digest: Any
    closed: bool = False

    def write(self, data: bytes) -> int:
        self.digest.update(data)
        return len(data)

    def flush(self) -> None:
        """Nothing is buffered."""

    def close(self) -> None:
        self.closed = True
