"""Data frames in memory → Arrow."""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from discreet.errors import TableError
from discreet.table.source import BATCH_ROWS, FRAME, Source, Told
from discreet.table.types import readable


def open_frame(frame: object) -> Source:
    """Open a pandas, polars or Arrow frame."""
    table = to_arrow(frame)
    if not table.column_names:
        raise TableError("the frame has no columns; hand over one that has")
    columns, unread = readable({field.name: field.type for field in table.schema})

    def read(names: Sequence[str], told: Told) -> Iterator[pa.RecordBatch]:
        done = 0
        for batch in table.select(names).to_batches(max_chunksize=BATCH_ROWS):
            yield batch
            done += batch.num_rows
            told(done / max(1, table.num_rows))

    return Source(FRAME, columns, read, unread=unread)


def to_arrow(frame: object) -> pa.Table:
    """A pandas, polars or Arrow frame as an Arrow table, without its index."""
    try:
        if isinstance(frame, pa.Table):
            table = frame
        elif hasattr(frame, "to_arrow"):  # polars
            table = frame.to_arrow()
        else:
            table = pa.Table.from_pandas(frame, preserve_index=False)
    except (AttributeError, TypeError):
        raise TableError("a table is a path, or a pandas, polars or Arrow frame") from None
    except (ValueError, pa.ArrowException):
        raise _unfit() from None
    if len(set(table.column_names)) < len(table.column_names):
        raise _unfit()
    return table


def _unfit() -> TableError:
    return TableError("the frame cannot be read: give each column a name of its own, and values of one type")
