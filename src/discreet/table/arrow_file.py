"""Arrow files (.arrow, .feather, .ipc): their columns, and their rows in batches."""

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from discreet.errors import TableError
from discreet.table.partitions import Partition, require_apart, with_partition
from discreet.table.paths import files_of, partitions_of, stamp_of
from discreet.table.schemas import same_columns
from discreet.table.source import BATCH_ROWS, Source, Told, unreadable
from discreet.table.types import readable


def open_arrow(path: str) -> Source:
    """Open Arrow files with equal columns; no row is read."""
    files = files_of(path)
    partitions = partitions_of(path, files)
    columns, unread = readable(same_columns(files, _schema))
    require_apart(partitions[0], list(columns), files[0])
    folders = dict.fromkeys(partitions[0], pa.string())
    return Source(
        location=path,
        columns={**columns, **folders},
        read=lambda names, told: _rows(files, partitions, columns, names, told),
        stamp=lambda: stamp_of(path),
        unread=unread,
    )


def _schema(file: str) -> dict[str, pa.DataType]:
    try:
        with pa.memory_map(file) as mapped, pa.ipc.open_file(mapped) as opened:
            schema = opened.schema
    except (OSError, pa.ArrowException):
        raise TableError(f"{file} cannot be read as a table; is it a whole Arrow file?") from None
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
    for place, (file, partition) in enumerate(zip(files, partitions, strict=True)):

        def rows(wanted: Sequence[str], file: str = file, place: int = place) -> Iterator[pa.RecordBatch]:
            with pa.memory_map(file) as mapped, pa.ipc.open_file(mapped) as opened:
                for number in range(opened.num_record_batches):
                    whole = pa.Table.from_batches([opened.get_batch(number)]).select(list(wanted))
                    yield from whole.to_batches(max_chunksize=BATCH_ROWS)
                    told((place + (number + 1) / opened.num_record_batches) / len(files))

        try:
            yield from with_partition(rows, partition, list(columns), names)
        except (OSError, pa.ArrowException):
            raise unreadable(file) from None
