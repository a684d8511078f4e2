"""Parquet files: their columns, and their rows in batches."""

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.errors import TableError
from discreet.table.coding import stored_type
from discreet.table.partitions import Partition, require_apart, with_partition
from discreet.table.paths import files_of, partitions_of, stamp_of
from discreet.table.schemas import same_columns
from discreet.table.source import BATCH_ROWS, Source, Told, unreadable
from discreet.table.text import is_text
from discreet.table.types import readable


def open_parquet(path: str) -> Source:
    """Open Parquet files with equal columns; their footers are read, and no row."""
    files = files_of(path)
    partitions = partitions_of(path, files)
    columns, unread = readable(same_columns(files, _schema))
    require_apart(partitions[0], list(columns), files[0])
    return Source(
        location=path,
        columns={**columns, **dict.fromkeys(partitions[0], pa.string())},
        read=lambda names, told: _rows(files, partitions, columns, names, told),
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
    files: Sequence[str],
    partitions: Sequence[Partition],
    columns: Mapping[str, pa.DataType],
    names: Sequence[str],
    told: Told,
) -> Iterator[pa.RecordBatch]:
    """Texts come as dictionaries, which is how Parquet mostly stores them: each spelling is looked at once."""
    for place, (file, partition) in enumerate(zip(files, partitions, strict=True)):

        def rows(wanted: Sequence[str], file: str = file, place: int = place) -> Iterator[pa.RecordBatch]:
            spelt = [name for name in wanted if is_text(stored_type(columns[name]))]
            with pq.ParquetFile(file, read_dictionary=spelt) as opened:
                size, read = max(1, opened.metadata.num_rows), 0
                for batch in opened.iter_batches(BATCH_ROWS, columns=list(wanted)):
                    yield batch.select(list(wanted))
                    read += batch.num_rows
                    told((place + min(1.0, read / size)) / len(files))

        try:
            yield from with_partition(rows, partition, list(columns), names)
        except (OSError, pa.ArrowException):
            raise unreadable(file) from None
