"""Files on this machine: which ones a path names, and reading Parquet."""

import os
from collections.abc import Iterator, Mapping, Sequence
from glob import glob, has_magic
from os.path import isfile

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.errors import TableError
from discreet.table.coding import is_text, stored_type
from discreet.table.source import BATCH_ROWS, Source, Told, unreadable
from discreet.table.types import readable

KINDS = {
    "parquet": (".parquet",),
    "csv": (".csv", ".csv.gz", ".tsv", ".tsv.gz"),
    "duckdb": (".duckdb", ".db"),
}


def files_of(path: str) -> list[str]:
    """The files that a path or a pattern names, in order. A file whose name looks like a pattern is that file."""
    files = [path] if isfile(path) else sorted(filter(isfile, glob(path))) if has_magic(path) else []
    if not files:
        raise TableError(f"there is no file {path}; put it there, or name another")
    return files


def _kind(file: str) -> str:
    for kind, ends in KINDS.items():
        if file.lower().endswith(ends):
            return kind
    raise TableError(f"{file}: not a kind of file that is read here; use .parquet, .csv, .csv.gz or .duckdb")


def kind_of_all(files: list[str]) -> str:
    kinds = {_kind(file) for file in files}
    if len(kinds) > 1 or (kinds == {"duckdb"} and len(files) > 1):
        raise TableError(f"{files[0]} and {files[1]} cannot be one table; name files of one kind, Parquet or CSV")
    return kinds.pop()


def stamp_of(path: str) -> list[list[int]]:
    """Size, time and place of each file: cheap to look at, and another where a file was touched.

    A DuckDB file's last changes may be in a log beside it.
    """
    files = files_of(path)
    logs = [log for file in files if _kind(file) == "duckdb" and isfile(log := f"{file}.wal")]
    return [list(_stat(file)) for file in files + logs]


def _stat(file: str) -> tuple[int, int, int]:
    try:
        info = os.stat(file)
    except OSError:
        raise unreadable(file) from None
    return info.st_size, info.st_mtime_ns, info.st_ino


def open_parquet(path: str) -> Source:
    """Open Parquet files with equal columns; their footers are read, and no row."""
    files = files_of(path)
    first, *others = (_schema(file) for file in files)
    for file, schema in zip(files[1:], others, strict=True):
        if schema != first:
            raise TableError(f"{file} has other columns, or other types, than {files[0]}")
    columns, unread = readable(first)
    return Source(
        location=path,
        columns=columns,
        read=lambda names, told: _rows(files, columns, names, told),
        stamp=lambda: stamp_of(path),
        unread=unread,
    )


def _schema(file: str) -> dict[str, pa.DataType]:
    try:
        schema = pq.read_schema(file)
    except (OSError, pa.ArrowException):
        raise TableError(f"{file} cannot be read as a table; is it a whole parquet file?") from None
    if len(set(schema.names)) < len(schema.names):
        raise TableError(f"{file} has two columns of one name; give each column a name of its own")
    return {field.name: field.type for field in schema}


def _rows(
    files: Sequence[str], columns: Mapping[str, pa.DataType], names: Sequence[str], told: Told
) -> Iterator[pa.RecordBatch]:
    """Texts come as dictionaries, which is how Parquet mostly stores them: each spelling is looked at once."""
    spelt = [name for name in names if is_text(stored_type(columns[name]))]
    for place, file in enumerate(files):
        try:
            with pq.ParquetFile(file, read_dictionary=spelt) as opened:
                rows, read = max(1, opened.metadata.num_rows), 0
                for batch in opened.iter_batches(BATCH_ROWS, columns=list(names)):
                    yield batch
                    read += batch.num_rows
                    told((place + min(1.0, read / rows)) / len(files))
        except (OSError, pa.ArrowException):
            raise unreadable(file) from None
