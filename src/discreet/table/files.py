"""Files of one kind that hold their types (Parquet, Arrow): several with equal columns are one source."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import pyarrow as pa

from discreet.errors import TableError
from discreet.table.partitions import Partition, require_apart, with_partition
from discreet.table.paths import files_of, partitions_of, stamp_of
from discreet.table.schemas import as_type, same_columns
from discreet.table.source import Source, Told, unreadable
from discreet.table.types import readable

Columns = Mapping[str, pa.DataType]
Batches = Callable[[str, Columns, Sequence[str]], Iterator[tuple[pa.RecordBatch, float]]]
"""The rows of some columns of a file, each batch with the share of the file that has been read by then."""


def open_files(path: str, kind: str, schema_of: Callable[[str], pa.Schema], batches: Batches) -> Source:
    """Open files with equal columns; their schemas are read, and no row."""

    def columns_of(file: str) -> Columns:
        try:
            schema = schema_of(file)
        except (OSError, pa.ArrowException):
            raise TableError(f"{file} cannot be read as a table; is it a whole {kind} file?") from None
        if len(set(schema.names)) < len(schema.names):
            raise TableError(f"{file} has two columns of one name; give each column a name of its own")
        return {field.name: field.type for field in schema}

    files = files_of(path)
    partitions = partitions_of(path, files)
    columns, unread = readable(same_columns(files, columns_of))
    require_apart(partitions[0], list(columns), files[0])
    return Source(
        location=path,
        columns={**columns, **dict.fromkeys(partitions[0], pa.string())},
        read=lambda names, told: _rows(batches, files, partitions, columns, names, told),
        stamp=lambda: stamp_of(path),
        unread=unread,
    )


def _rows(
    batches: Batches,
    files: Sequence[str],
    partitions: Sequence[Partition],
    columns: Columns,
    names: Sequence[str],
    told: Told,
) -> Iterator[pa.RecordBatch]:
    for place, (file, partition) in enumerate(zip(files, partitions, strict=True)):

        def rows(wanted: Sequence[str], file: str = file, place: int = place) -> Iterator[pa.RecordBatch]:
            for batch, share in batches(file, columns, wanted):
                yield pa.RecordBatch.from_arrays(
                    [as_type(batch.column(name), columns[name]) for name in batch.schema.names], batch.schema.names
                )
                told((place + share) / len(files))

        try:
            yield from with_partition(rows, partition, list(columns), names)
        except (OSError, pa.ArrowException):
            raise unreadable(file) from None
