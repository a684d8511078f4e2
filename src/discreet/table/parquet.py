"""Parquet files: their columns, and their rows in batches."""

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.errors import TableError
from discreet.table.coding import stored_type
from discreet.table.paths import files_of, stamp_of
from discreet.table.source import BATCH_ROWS, Source, Told, unreadable
from discreet.table.text import is_text
from discreet.table.types import readable


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
